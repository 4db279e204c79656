"""The compiled simulator: reads, checks and runs scenarios, hands rows over in Arrow batches.

Private: `import backwater` is the front door. Times are integer picoseconds (`*_ps`), sizes bytes.

What may take long (to read, check, resolve, sketch and build a scenario) is done by a thread of its
own, so that signals are heard meanwhile: what a handler raises is raised, within 0.1 s, and that
thread's work is dropped when it comes to its end.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

CONTROL_TABLE: str
"""The table of a scenario that names a control: that of the mechanism that such a class is."""

class ScenarioError(ValueError):
    """A scenario, a key or a value that cannot be used.

    `str(error)` is the complete message: place, excerpt of the source, value, reason, `hint:` line.
    """

    file: str | None
    line: int | None
    column: int | None
    key: str | None
    value: str | None
    reason: str
    hint: str | None

class RunError(RuntimeError):
    """A run broke a promise of its scenario (for example `lossless`); says where, when, why."""

    time_ps: int
    reason: str
    hint: str | None
    run: Any
    """The `backwater.Run` as far as it came, where a run raised it."""

class Scenario:
    """A scenario as read; every change gives a new object."""

    @staticmethod
    def from_file(path: str) -> Scenario: ...
    @staticmethod
    def from_text(text: str, origin: str = "<text>", base: str = ".") -> Scenario:
        """Read TOML text; `base` is the directory that names of files in it are relative to."""

    def with_variant(self, name: str) -> Scenario:
        """Merge the table `[variant.NAME]` of the file over the scenario."""

    def with_mechanism(self, name: str) -> Scenario:
        """Switch a mechanism on, with its defaults where the scenario has no values for it."""

    def with_set(self, key: str, value: str, *, where_on: bool = False) -> Scenario:
        """Override one dotted key; `value` is TOML text, a bare word or quantity is a string.

        Where the key's mechanism is off it is skipped with `where_on`, and an error once the
        scenario is used without.
        """

    def with_control(
        self, name: str, control: type, parameters: Sequence[str], marks: bool
    ) -> Scenario:
        """Offer a class under a name, which the scenario may then have for its control.

        `parameters`: the names of its own; `marks`: it has a hook for marks.
        """

    def with_flows(self, table: object, label: str) -> Scenario:
        """Add a group of flows from an Arrow stream.

        Columns: id, src, dst, bytes, start_ps, and maybe class and path.
        """

    def with_table(self, table: object, path: str) -> Scenario:
        """Give the rows of the Parquet file that `flow_table` named, for all groups it is of."""

    def with_operations(self, table: object, path: str) -> Scenario:
        """Give the rows of the Parquet file that `operation_table` named, for all jobs it is of.

        Columns: id, rank, kind, and maybe peer, bytes, time_ps, after, after_ack (lists), needs,
        start_ps, class, label, stream.
        """

    @property
    def text(self) -> str:
        """The text that it was read from, without any change."""

    @property
    def title(self) -> str: ...
    @property
    def variants(self) -> list[str]: ...
    @property
    def skipped(self) -> list[dict[str, str]]:
        """Settings of mechanisms that are off, as {key, value, mechanism, reason}."""

    @property
    def seed(self) -> int: ...
    @property
    def flow_table(self) -> str | None:
        """The absolute path of a Parquet flow table that is still to be read, if any is left."""

    @property
    def operation_table(self) -> str | None:
        """The absolute path of a Parquet table of operations still to be read, if any is left."""

    def check(self, capture: Capture | None = None) -> list[dict[str, str]]:
        """Check everything; gives the warnings as {key, value, reason, hint}.

        Of a capture the ports are looked up; its file is left alone.
        """

    def controls(self) -> list[tuple[str, str]]:
        """Which flows each confined control has, as (mechanism, flows in words)."""

    def resolved_toml(self) -> str:
        """Every value, defaults included, as a scenario text."""

    def values(self) -> list[dict[str, str]]:
        """Every value with where it came from, as {key, value, origin}."""

    def facts(self, mechanism: str) -> dict[str, Any]:
        """What the scenario answers of the questions of a mechanism, quantities as text.

        None where it has no answer. Of `sfc`: receiver, senders (None: no incast is known), rate,
        links, switches, link_delay, switch_latency, pfc_threshold (None: nothing limits the queue),
        pfc_threshold_key, threshold, pause and interval (None: not given), packet, message.
        """

    def sketch(self, seed: int, most: int) -> dict[str, Any]:
        """What the scenario looks like, with the first `most` flows of each source.

        nodes: (name, tier, whether a host); links: (node, node, b/s, ps); flows: (group, nodes on
        the way or the two ends, how many, bytes of all); complete: whether that is all.
        """

    def start(
        self,
        seed: int | None = None,
        capture: Capture | None = None,
        stop: Callable[[], bool] | None = None,
        threads: int = 1,
        saved: tuple[bytes, Scenario, Sequence[str]] | None = None,
    ) -> Simulation:
        """Build the network; `seed` replaces the scenario's own, `capture` replaces its file.

        `stop` is asked meanwhile whether to give up, which is a `KeyboardInterrupt`. The run uses
        up to `threads` threads, and its results are the same with any number of them. `saved` has
        it go on from a run of another scenario: its state, that scenario, and the keys by which
        this one differs.
        """

class Capture:
    """Frames that pass some ports of a run, to be written to a pcapng file that Wireshark opens.

    `ports` are parts with commas between: `all`, a tier (`leaf`: all ports of all leaves), a node
    (all its ports), `node/port`, or `node:peer` (the ports of a node that lead to another). `kinds`
    are some of data, ack, control (all but these two), pause, pfc, cnm, cim, sfcm, bcn, cnp, uet,
    other; `classes` are those that frames travel in, of MAC control those that it pauses. Of each
    frame `snap` is kept (14 B to 262144 B, which is the default), and the file ends before the
    first frame that would make it longer than `limit`; both are sizes with a unit, such as "128 B".
    What cannot be is a `backwater.ScenarioError`; a limit without room for a frame is told by the
    run, before the file is replaced.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        ports: str,
        *,
        kinds: Sequence[str] = (),
        classes: Sequence[int] = (),
        snap: str | None = None,
        limit: str | None = None,
    ) -> None: ...
    @property
    def path(self) -> Path:
        """The file; one that is there already is replaced when the run starts."""

class Simulation:
    """A run under way. Create and use it within one thread; each thread may have its own."""

    def advance(self, wall_ms: int, until_ps: int | None = None) -> Status:
        """Simulate for about `wall_ms` ms of wall time, without the interpreter's lock.

        With `until_ps` no event after that time is handled, and the status says whether all others
        are: `reached`.
        """

    def save(self) -> bytes:
        """What the run has come to, for `Scenario.start`; all its batches have been taken."""

    def batches(self, partial: bool = False) -> list[tuple[str, Batch]]:
        """Batches closed since the last call: (table, object with `__arrow_c_array__`).

        With `partial` those that are not full are closed, too.
        """

    def stop(self) -> None:
        """End here: flush unfinished flows and port totals to `batches`."""

    def summary(self) -> dict[str, Any]:
        """Totals after the end: fingerprint, time_ps, events, hops, flows, drops, offered loads.

        With a capture: `capture`, with its ports, frames, bytes, and frames that `limit` left out.
        If more than one thread was asked for: `threads`, how many it used in the end, and
        `one_thread_because`, why it used one (None: it used more).
        """

class Divergence:
    """Two runs of one network side by side, until what they send first differs."""

    def __init__(self, a: Scenario, seed_a: int, b: Scenario, seed_b: int) -> None: ...
    def advance(self, wall_ms: int) -> dict[str, Any] | None:
        """Simulate both for about `wall_ms` ms of wall time; None: no difference yet.

        `same_frames`: frames sent alike; `frames`: (of a, of b), the first that differ, None where
        a run sends nothing more, or None in all; `control`: the same of control messages.
        """

    def time_ps(self) -> int:
        """How far both are, in ps."""

class Acknowledgement:
    """What an acknowledgement tells a sender."""

    received_bytes: int
    """Payload that the receiver has received so far, in bytes."""
    rtt_ps: int
    """Time since the packet that it answers was sent, in ps."""
    marked: bool
    """Whether that packet was marked."""

class Status:
    """Where a run stands. Times in ps; a hop is one frame put on one link, ACKs included."""

    done: bool
    reached: bool
    """Whether all events up to the time that was asked for are over, and none after it."""
    time_ps: int
    end_ps: int | None
    events: int
    hops: int
    data_hops: int
    flows_done: int
    flows_total: int | None

def explain(key: str) -> dict[str, Any]:
    """What a key means: meaning, symbol, unit, default, range, source, aliases, children."""

def items(what: str) -> list[dict[str, str]]:
    """The known `mechanisms`, `topologies` or `workloads`, as {name, summary, source}."""

def formats() -> list[dict[str, str]]:
    """The kinds of files that can be imported, as {name, summary, source}."""

def recognise(file: str | os.PathLike[str]) -> str | None:
    """The kind of a file that can be imported, by its content; None: it is of no kind.

    Raises `ScenarioError` if it cannot be read, or could be of several kinds.
    """

def import_files(
    files: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    stem: str,
    *,
    kind: str | None = None,
    start_unit: str | None = None,
    from_ps: int | None = None,
    command: Sequence[str] = (),
    fabric: tuple[str, str] | None = None,
    servers: int | None = None,
    memory: int | None = None,
    response_ps: int | None = None,
) -> dict[str, Any]:
    """Turn files into the text of one scenario; its tables are written to `folder`.

    Names of tables begin with `stem`. `kind` is the kind or the family of the files, `from_ps` the
    time in them that becomes 0 s, `fabric` the name and the text of a scenario, `servers` how many
    there are, `memory` that of a switch, in B, `response_ps` the time in which its neighbours obey
    a pause. Gives {kinds, scenario, notes: [(file, line, sort, text, lines, names)]}.
    Raises `ScenarioError`.
    """

def schema() -> str:
    """The JSON Schema of a scenario file."""

def new_scenario() -> str:
    """A commented scenario to start from."""

def advice_forms() -> list[tuple[str, dict[str, Any]]]:
    """What each mechanism that gives advice may be asked.

    A form is {about, options: [{name, help, whole, default}], scenario, proof}, and a proof None
    or {key, largest, condition, row, below, from}.
    """

def advise(
    mechanism: str,
    given: dict[str, Any],
    facts: dict[str, Any] | None = None,
    scenario: str = "",
) -> dict[str, Any]:
    """Answer a question: `given` are options of the mechanism's form, None where they are not.

    What is not given comes from the `facts` of a scenario of this name, then from the form. Gives
    {title, rows: [{name, value, unit, formula}], problems, feasible, cautions, summary} and numbers
    by names that end in their unit. Of `sfc` these are by the contribution to P802.1Qdw, with
    `packet` also in `with_serialisation`, and in `our_bound` by this project.
    """

def read_capture(
    path: str,
    take: Callable[[dict[str, Any]], None],
    *,
    sfcm_port: int | None = None,
    cim_port: int | None = None,
    bcn_ethertype: int | None = None,
) -> None:
    """Read a capture and hand each frame, and each thing that could not be read, to `take`.

    A frame is {frame, interface, time_ps, direction, kind, source, ..., fields}, a problem
    {offset, reason}. The numbers, 0 to 65535, are those by which the capture's messages came where
    they are not Backwater's own: UDP ports 61185 and 61186, EtherType 0x88B5. Raises ValueError if
    the file is no capture, OSError if it cannot be read.
    """

def sample_frames() -> list[tuple[str, bytes]]:
    """A frame of each format, without frame check sequence, with what it is."""

def write_capture(path: str, frames: Sequence[bytes]) -> None:
    """Write frames one microsecond apart."""

class Batch:
    """Rows of a result table, which pyarrow and polars take as they are."""

    @property
    def nbytes(self) -> int:
        """Octets that its values take."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def column(self, name: str) -> list[Any]:
        """Give the values of a column; raises KeyError if there is no such column."""

def batches(table: object) -> list[Batch]:
    """Give the batches of any object with `__arrow_c_stream__`."""

class Part:
    """A Parquet file of one table under construction, in memory."""

    def __init__(self, compressed: bool) -> None:
        """Begin one, compressed by Zstandard or not."""

    def write(self, batch: Batch, run: int | None = None) -> None:
        """Add a batch; with the seed of its run, each row has that in a column `run`."""

    @property
    def nbytes(self) -> int:
        """Octets so far, of what is not written out yet an estimate."""

    def close(self) -> bytes:
        """End the file and give its octets; none if nothing was written."""

class Scan:
    """Rows of a result table, of which files are read a batch at a time.

    What reads raises ValueError if a file or a column is not there, or not as it should be.
    """

    def __init__(self, table: str, slices: list[tuple[str, int, int | None]]) -> None:
        """Of Parquet files, each with the number of the first row and how many; None: all."""

    @staticmethod
    def of(batches: list[Batch]) -> Scan:
        """Those of batches."""

    def only(self, name: str, value: str | int) -> Scan:
        """Give the rows with this value in a column."""

    def known(self, name: str) -> Scan:
        """Give the rows that have a value in a column."""

    def above(self, name: str, limit: int) -> Scan:
        """Give the rows with more than a limit in a column of whole numbers."""

    def __len__(self) -> int: ...
    def total(self, name: str) -> int:
        """Give the sum of a column of whole numbers; 0 of nothing."""

    def distinct(self, names: list[str], by: str | None = None) -> list[tuple[Any, ...]]:
        """Give the combinations of values that there are, by when they first come.

        `by`: the column in whose order the rows are taken for that.
        """

    def first(self, name: str, by: str | None = None) -> str | int | None:
        """Give a column's value in the first row, or in the first with the least of `by`."""

    def at(self, name: str, places: list[int]) -> list[float]:
        """Give a column's numbers at places of their ascending order, from 0.

        Raises IndexError if there are not so many.
        """

    def values(self, name: str) -> Iterator[list[float]]:
        """Give a column's numbers, those of a batch at a time, in the order of the rows."""

def check_part(file: str, table: str) -> str | None:
    """Say what is wrong with the columns of a Parquet file of a table; None: nothing."""

def base_units(kind: str, text: str, name: str) -> int:
    """Read a quantity: a `time` in ps, a `size` in B, a `rate` in b/s.

    Raises ScenarioError, which calls the quantity `name`.
    """

def empty_tables() -> list[tuple[str, Batch]]:
    """Every result table without rows."""

def tables() -> list[tuple[str, str]]:
    """Every result table: its name, and what a row is."""

def version() -> dict[str, str]:
    """What a run's numbers depend on: the package's version, and `build`, a hash of the sources."""
