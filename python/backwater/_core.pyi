"""The compiled simulator: reads, checks and runs scenarios, and returns rows in Arrow batches.

Private: use `import backwater`. Times are integer picoseconds (`*_ps`), and sizes are bytes.

Work that may take long (to read, check, resolve, sketch and build a scenario) runs in another
thread, so that signals are handled meanwhile. If a handler raises, so does the call, within 0.1 s,
and the result of that thread is dropped.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

CONTROL_TABLE: str
"""The table of a scenario for the mechanism that runs a `backwater.Control`."""

class ScenarioError(ValueError):
    """A scenario, a key or a value that cannot be used.

    `str(error)` is the complete message: place, excerpt of the source, value, reason, `hint:` line.
    Attributes without a value are None.
    """

    file: str | None
    line: int | None
    column: int | None
    key: str | None
    value: str | None
    reason: str
    hint: str | None

class RunError(RuntimeError):
    """A run broke a promise of its scenario, such as `lossless`.

    `str(error)` is the complete message, with where, when and why.
    """

    time_ps: int
    reason: str
    hint: str | None
    run: Any
    """The `backwater.Run` up to the error, if a run raised it."""

class Scenario:
    """A scenario as read. Every change returns a new object."""

    @staticmethod
    def from_file(path: str) -> Scenario: ...
    @staticmethod
    def from_text(text: str, origin: str = "<text>", base: str = ".") -> Scenario:
        """Read TOML text; names of files in it are relative to the directory `base`."""

    def with_variant(self, name: str) -> Scenario:
        """Merge the table `[variant.NAME]` of the file over the scenario."""

    def with_mechanism(self, name: str) -> Scenario:
        """Switch a mechanism on, with the scenario's values for it, else its defaults."""

    def with_set(self, key: str, value: str, *, where_on: bool = False) -> Scenario:
        """Override one dotted key; `value` is TOML text, and a bare word or quantity is a string.

        If the key's mechanism is off, the key is skipped with `where_on`, else an error once the
        scenario is used.
        """

    def with_control(
        self, name: str, control: type, parameters: Sequence[str], marks: bool
    ) -> Scenario:
        """Offer a class under a name, which the scenario may then use as its control.

        `parameters`: the names of its parameters; `marks`: it has a hook for marks.
        """

    def with_flows(self, table: object, label: str) -> Scenario:
        """Add a group of flows from an Arrow stream.

        Columns: id, src, dst, bytes, start_ps, and optionally class and path.
        """

    def with_table(self, table: object, path: str) -> Scenario:
        """Supply the rows of the Parquet file in `flow_table`, for all groups that name it."""

    def with_operations(self, table: object, path: str) -> Scenario:
        """Supply the rows of the Parquet file in `operation_table`, for all jobs that name it.

        Columns: id, rank, kind, and optionally peer, bytes, time_ps, after, after_ack (lists),
        needs, start_ps, class, label, stream.
        """

    @property
    def text(self) -> str:
        """The text that it was read from, without changes."""

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
        """The absolute path of a Parquet flow table that has not been read yet; None: all have."""

    @property
    def operation_table(self) -> str | None:
        """The absolute path of a Parquet table of operations, as `flow_table`."""

    def check(self, capture: Capture | None = None) -> list[dict[str, str]]:
        """Check everything, and return the warnings as {key, value, reason, hint}.

        The ports of a capture are checked, too, and its file is not touched.
        """

    def controls(self) -> list[tuple[str, str]]:
        """Return the flows of each control that has only some, as (mechanism, flows in words)."""

    def resolved_toml(self) -> str:
        """Return every value, defaults included, as the text of a scenario."""

    def values(self) -> list[dict[str, str]]:
        """Return every value and where it came from, as {key, value, origin}."""

    def facts(self, mechanism: str) -> dict[str, Any]:
        """Return the scenario's answers to the questions of a mechanism, quantities as text.

        Without an answer, the value is None. For `sfc`: receiver, senders (None: no incast is
        known), rate, links, switches, link_delay, switch_latency, pfc_threshold (None: nothing
        limits the queue), pfc_threshold_key, threshold, pause and interval (None: not given),
        packet, message.
        """

    def sketch(self, seed: int, most: int) -> dict[str, Any]:
        """Return the network, with the first `most` flows of each source.

        nodes: (name, tier, True for a host); links: (node, node, b/s, ps); flows: (group, nodes on
        the path or the two ends, number, bytes of all); complete: True if these are all flows.
        """

    def start(
        self,
        seed: int | None = None,
        capture: Capture | None = None,
        stop: Callable[[], bool] | None = None,
        threads: int = 1,
        saved: tuple[bytes, Scenario, Sequence[str]] | None = None,
    ) -> Simulation:
        """Build the network, and return the simulation at its start.

        `seed` replaces the scenario's own. `capture` replaces its file. `stop` is called meanwhile,
        and raises `KeyboardInterrupt` here once it returns true. `threads`: how many the run may
        use; results do not depend on it. `saved` continues a run of another scenario: its state,
        that scenario, and the keys in which this one differs.
        """

    def live(
        self,
        seed: int | None,
        label: str,
        flags: tuple[bool, bool],
        directory: Path | None,
        saved: bytes | None = None,
    ) -> Live:
        """Build the network, and return a run at its start, to which messages are sent.

        `flags`: to keep connections, and to tell when last bytes have left. `directory` is created
        for the run as a scenario. `saved` continues a run with the same choices.
        """

class Capture:
    """A pcapng file, for Wireshark, with the frames that pass some ports of a run.

    `path`: the file.
    `ports`: entries separated by commas: `all`, a tier (`leaf`: all ports of all leaves), a node
    (all its ports), `node/port`, or `node:peer` (the ports of a node that lead to that peer).
    `kinds`: some of data, ack, control (all except these two), pause, pfc, cnm, cim, sfcm, bcn,
    cnp, uet, other; by default all.
    `classes`: classes of frames, 0 to 7, or those that a MAC control frame pauses; by default all.
    `snap`: how much of each frame is kept, from "14 B" to "262144 B", which is the default.
    `limit`: the file ends before the first frame that would make it longer, such as "10 MB".

    Raises `backwater.ScenarioError` for values that cannot be. The run reports a limit without room
    for a frame, before it replaces the file.
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
        """The file. The run replaces an existing one when it starts."""

class Simulation:
    """A run in progress. Create and use it within one thread; each thread may have its own."""

    def advance(self, wall_ms: int, until_ps: int | None = None) -> Status:
        """Simulate for about `wall_ms` ms of wall time, without the interpreter's lock.

        With `until_ps`, no event after that time is handled, and the status has `reached` once all
        others are.
        """

    def save(self) -> bytes:
        """Return the state of the run, for `Scenario.start`; take all its batches before."""

    def batches(self, partial: bool = False) -> list[tuple[str, Batch]]:
        """Return the batches closed since the last call, as (table, batch).

        With `partial`, those that are not full are closed, too.
        """

    def stop(self) -> None:
        """End the run here: flush unfinished flows and port totals to `batches`."""

    def summary(self) -> dict[str, Any]:
        """Return totals after the end: fingerprint, time_ps, events, hops, flows, drops, loads.

        With a capture: `capture`, with its ports, frames, bytes, and frames that `limit` left out.
        If several threads were allowed: `threads`, the number used in the end, and
        `one_thread_because`, why it is one (None: it is more).
        """

class Live:
    """A run to which messages are sent while it is in progress. Use it within one thread."""

    def send(
        self,
        ends: tuple[int, int],
        size: int,
        traffic_class: int | None,
        delay_ps: int,
        token: int,
    ) -> int:
        """Send a message, and return its number. Without a class it is in class 3."""

    def timer(self, at_ps: int, token: int) -> None:
        """Set a timer."""

    def step(self, until_ps: int | None = None) -> list[tuple[int, str]]:
        """Run to the next instant at which something occurs, and return (token, what) of it."""

    @property
    def now_ps(self) -> int: ...
    @property
    def hosts(self) -> int: ...
    def host(self, name: str) -> int | None:
        """Return the number of a host by its name; None: there is no such host."""

    @property
    def counts(self) -> tuple[int, int]:
        """Messages sent, and those of them that have ended."""

    @property
    def fingerprint(self) -> str: ...
    def links(self) -> list[dict[str, Any]]:
        """Return the totals of every port so far."""

    def save(self) -> bytes:
        """Return the state of the run."""

    def close(self) -> None:
        """End the run."""

class Divergence:
    """Two runs of one network side by side, until their frames first differ."""

    def __init__(self, a: Scenario, seed_a: int, b: Scenario, seed_b: int) -> None: ...
    def advance(self, wall_ms: int) -> dict[str, Any] | None:
        """Simulate both for about `wall_ms` ms of wall time; return the difference, or None yet.

        `same_frames`: how many equal frames both sent. `frames`: the first that differ, as (of a,
        of b), with None for a run that sends nothing more, or None if none differs. `control`: the
        same for control messages.
        """

    def time_ps(self) -> int:
        """Return the simulated time that both have reached, in ps."""

class Acknowledgement:
    """An acknowledgement, as a hook of a `backwater.Control` gets it."""

    received_bytes: int
    """Payload that the receiver has received so far, in bytes."""
    rtt_ps: int
    """Time since the acknowledged packet was sent, in ps."""
    marked: bool
    """True if that packet was marked."""

class Status:
    """The progress of a run. A hop is one frame sent on one link, ACKs included."""

    done: bool
    """True once the run has ended."""
    reached: bool
    """True once all events up to the time in `until_ps` are over, and none after it."""
    time_ps: int
    """The simulated time, in ps."""
    end_ps: int | None
    """The simulated time at which the run ends at the latest, in ps; None: without a limit."""
    events: int
    hops: int
    """Hops of all frames."""
    data_hops: int
    """Hops of data frames."""
    flows_done: int
    flows_total: int | None
    """How many flows the run will have; None: unknown."""

def explain(key: str) -> dict[str, Any]:
    """Return what a key means: meaning, symbol, unit, default, range, source, aliases, children."""

def items(what: str) -> list[dict[str, str]]:
    """Return the known `mechanisms`, `topologies` or `workloads`, as {name, summary, source}."""

def formats() -> list[dict[str, str]]:
    """Return the kinds of files that can be imported, as {name, summary, source}."""

def recognise(file: str | os.PathLike[str]) -> str | None:
    """Return the kind of a file that can be imported, by its content; None: of no kind.

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
    asic: str | None = None,
) -> dict[str, Any]:
    """Turn files into the text of one scenario, and write its tables to `folder`.

    Names of tables begin with `stem`. `kind`: the kind or family of the files. `from_ps`: the time
    in them that becomes 0 s. `fabric`: the name and the text of a scenario. `servers`: the number
    of servers. `memory`: that of a switch, in B. `response_ps`: the time in which its neighbours
    obey a pause. `asic`: its chip, a name of `items("silicon")`. Returns {kinds, scenario, notes:
    [(file, line, sort, text, lines, names)]}. Raises
    `ScenarioError`.
    """

def schema() -> str:
    """Return the JSON Schema of a scenario file."""

def new_scenario() -> str:
    """Return a commented scenario to start from."""

def advice_forms() -> list[tuple[str, dict[str, Any]]]:
    """Return the form of questions to each mechanism that gives advice.

    A form is {about, options: [{name, help, whole, default}], scenario, proof}. A proof is None or
    {key, largest, condition, row, below, from}.
    """

def advise(
    mechanism: str,
    given: dict[str, Any],
    facts: dict[str, Any] | None = None,
    scenario: str = "",
) -> dict[str, Any]:
    """Return the advice of a mechanism; `given`: the options of its form, or None for each.

    Defaults come from the `facts` of the scenario with this name, then from the form. The answer is
    {title, rows: [{name, value, unit, formula}], problems, feasible, cautions, summary}, with
    numbers under names that end in their unit. For `sfc` these follow the contribution to
    P802.1Qdw, with `packet` also in `with_serialisation`; `our_bound` is by this project.
    """

def read_capture(
    path: str,
    take: Callable[[dict[str, Any]], None],
    *,
    sfcm_port: int | None = None,
    cim_port: int | None = None,
    bcn_ethertype: int | None = None,
) -> None:
    """Read a capture, and call `take` with each frame, and each place that cannot be read.

    A frame is {frame, interface, time_ps, direction, kind, source, ..., fields}, and such a place
    is {offset, reason}. The numbers, 0 to 65535, are the capture's UDP ports and EtherType of
    messages, if they are not Backwater's: 61185, 61186 and 0x88B5. Raises ValueError if the file is
    not a capture, and OSError if it cannot be read.
    """

def sample_frames() -> list[tuple[str, bytes]]:
    """Return a frame of each format, as (name, octets without frame check sequence)."""

def write_capture(path: str, frames: Sequence[bytes]) -> None:
    """Write frames one microsecond apart."""

class Batch:
    """Rows of a result table, which pyarrow and polars accept."""

    @property
    def nbytes(self) -> int:
        """The size of its values, in B."""

    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def column(self, name: str) -> list[Any]:
        """Return the values of a column. Raises KeyError for an unknown column."""

def batches(table: object) -> list[Batch]:
    """Return the batches of any object with `__arrow_c_stream__`."""

class Part:
    """A Parquet file of one table under construction, in memory."""

    def __init__(self, compressed: bool) -> None:
        """Begin a file, compressed by Zstandard or not."""

    def write(self, batch: Batch, run: int | None = None) -> None:
        """Add a batch; `run`: a seed for a column `run` of all its rows."""

    @property
    def nbytes(self) -> int:
        """The size so far, in B, with an estimate of rows that are not encoded yet."""

    def close(self) -> bytes:
        """End the file and return its content; empty if nothing was written."""

class Scan:
    """Rows of a result table, whose files are read a batch at a time.

    Methods raise ValueError if a file or a column is missing or damaged.
    """

    def __init__(self, table: str, slices: list[tuple[str, int, int | None]]) -> None:
        """Scan Parquet files, each with the number of its first row and of rows (None: all)."""

    @staticmethod
    def of(batches: list[Batch]) -> Scan:
        """Return the rows of batches."""

    def only(self, name: str, value: str | int) -> Scan:
        """Return the rows with this value in a column."""

    def known(self, name: str) -> Scan:
        """Return the rows that have a value in a column."""

    def above(self, name: str, limit: int) -> Scan:
        """Return the rows with more than a limit in a column of whole numbers."""

    def __len__(self) -> int: ...
    def total(self, name: str) -> int:
        """Return the sum of a column of whole numbers; 0 without rows."""

    def distinct(self, names: list[str], by: str | None = None) -> list[tuple[Any, ...]]:
        """Return the distinct combinations of values, in the order of their first rows.

        `by`: the column that orders the rows for this.
        """

    def first(self, name: str, by: str | None = None) -> str | int | None:
        """Return a column's value in the first row, or in the first with the least of `by`."""

    def at(self, name: str, places: list[int]) -> list[float]:
        """Return a column's numbers at places, from 0, of their ascending order.

        Raises IndexError for a place beyond the last.
        """

    def values(self, name: str) -> Iterator[list[float]]:
        """Yield a column's numbers, those of a batch at a time, in the order of rows."""

def check_part(file: str, table: str) -> str | None:
    """Return what is wrong with the columns of a Parquet file of a table; None: nothing."""

def base_units(kind: str, text: str, name: str) -> int:
    """Return a quantity in base units: a `time` in ps, a `size` in B, a `rate` in b/s.

    Raises ScenarioError, which calls the quantity `name`.
    """

def empty_tables() -> list[tuple[str, Batch]]:
    """Return every result table, by name, without rows."""

def tables() -> list[tuple[str, str]]:
    """Return every result table, as (name, meaning of a row)."""

def version() -> dict[str, str]:
    """Return the package's version and `build`, a hash of the sources: results depend on both."""
