"""Scenarios as Python sees them: load, build, change, check, run.

The libraries that read tables and write results are imported when they are needed, so that a check
is quick.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

from backwater import _core
from backwater.errors import InputError
from backwater.files import regular
from backwater.speaking import spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from backwater.control import Control
    from backwater.experiments.hands import Workers
    from backwater.repetitions import Series
    from backwater.results import Run
    from backwater.running import Job, Prepared


class Listed(Protocol):
    """A number or an array of numpy, or of what is like it."""

    def tolist(self) -> Any:  # noqa: ANN401 - numbers, or lists of them
        """Give it as Python's own."""


Value = str | int | float | bool | Sequence[Any] | Listed
"""What a key can be set to. A string is read as on the command line: `"400 KB"`, `"voq"`, `"7"`."""

Change = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A change of a scenario: the method of the core that makes it, and what that was given."""


def load(path: str | os.PathLike[str], *beside: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file, or files of another tool that can be imported.

    `beside` are further files of that tool, which belong to the first one, as a topology to a
    workload. What was ignored or assumed of files of another tool is in `facts["notes"]`. Raises
    `backwater.ScenarioError` with place, value, reason and hint if they cannot be read, and
    `backwater.InputError` where one of several is a scenario.
    """
    facts: dict[str, Any] = {"file": os.fspath(path)}
    file = Path(path)
    if beside or file.suffix != ".toml":
        from backwater.import_files import check_together, foreign, imported

        files = [file, *map(Path, beside)]
        check_together(files)
        if beside or foreign(file):
            brought = imported(files)
            file = brought.path
            facts["notes"] = [str(note) for note in brought.notes]
    if beside:
        facts["beside"] = [os.fspath(one) for one in beside]
    return Scenario(_core.Scenario.from_file(os.fspath(file)), facts, file.parent)


def parse(text: str, origin: str = "<text>") -> Scenario:
    """Read a scenario from TOML text; `origin` is what messages call the text."""
    return Scenario(_core.Scenario.from_text(text, origin), {"file": origin})


def build(content: Mapping[str, Any]) -> Scenario:
    """Make a scenario from nested dictionaries, keys as in a scenario file."""
    import tomli_w

    try:
        text = tomli_w.dumps(content)
    except TypeError as error:
        raise InputError(f"not expressible in TOML: {error}") from None
    return parse(text, "<build>")


def _written(value: Value) -> str:
    """Write a value as TOML. Raises `InputError` for what no key can be."""

    def plain(other: Any) -> Any:  # noqa: ANN401 - numbers and arrays of numpy, and whatever else
        told = getattr(other, "tolist", None)
        if told is None:
            raise TypeError
        return told()

    try:
        return json.dumps(value, default=plain)
    except TypeError:
        kind = type(value).__name__
        raise InputError(
            f"{value!r}: a key has no value of type {kind}", "text or numbers"
        ) from None


def shorter(path: Path) -> Path:
    """Give a path relative to the current directory, if that is shorter to read."""
    relative = os.path.relpath(path)
    return Path(relative) if len(relative) < len(str(path)) else path


class Scenario:
    """A simulation to be run. Immutable: every change gives a new scenario."""

    def __init__(
        self,
        core: _core.Scenario,
        facts: Mapping[str, Any],
        base: Path | None = None,
        changes: Sequence[Change] = (),
    ) -> None:
        """Hold a scenario of the core; `base` is what names of its flow tables are relative to.

        `changes` are those that were made to what was read.
        """
        self._core = core
        self._facts = dict(facts)
        self._base = base or Path()
        self._changes = tuple(changes)

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[object, ...]]:
        """Be pickled: as text and changes, with the content of the files that it names."""
        from backwater.pickling import named_content

        base = self._base.absolute()
        files = named_content(self._core.text, self._changes, base)
        origin = str(self._facts["file"])
        return _restored, (self._core.text, origin, base, files, self._changes, self._facts)

    def _changed(
        self, core: _core.Scenario, change: Change, facts: Mapping[str, Any] | None = None
    ) -> Scenario:
        known = {**self._facts, **(facts or {})}
        return Scenario(core, known, self._base, (*self._changes, change))

    def __repr__(self) -> str:
        name = self._facts.get("variant")
        variant = f", variant {name!r}" if name else ""
        return f"<backwater.Scenario {self.title!r} from {self._facts['file']!r}{variant}>"

    @property
    def title(self) -> str:
        """The title that the scenario gives itself."""
        return self._core.title

    @property
    def variants(self) -> list[str]:
        """Names of the variants that the scenario defines."""
        return self._core.variants

    @property
    def seed(self) -> int:
        """The seed that a run uses unless told otherwise."""
        return self._core.seed

    @property
    def folder(self) -> Path:
        """The directory that names of its flow tables are relative to."""
        return self._base

    @property
    def facts(self) -> dict[str, Any]:
        """Where it comes from, and what was changed: file, variant, with, set, skipped.

        `set` has what took effect, `skipped` what did not.
        """
        skipped = self.skipped
        off = {one["key"] for one in skipped}
        settings = {key: text for key, text in self._facts.get("set", {}).items() if key not in off}
        with_ = list(self._facts.get("with", ()))
        return self._facts | {"with": with_, "set": settings, "skipped": skipped}

    @property
    def skipped(self) -> list[dict[str, str]]:
        """Settings that change nothing, their mechanism being off: {key, value, mechanism, reason}.

        Only those that were set with `where_on`; any other is an error once the scenario is used.
        """
        return self._core.skipped

    @property
    def changes(self) -> tuple[Change, ...]:
        """What was changed over the text that was read, in order."""
        return self._changes

    def without(self, change: Change) -> Scenario:
        """Give the scenario as it is without one of its changes. Raises `ScenarioError`."""
        changes = [one for one in self._changes if one is not change]
        origin, base = str(self._facts["file"]), self._base
        return _restored(self._core.text, origin, base, {}, changes, self._facts)

    @contextmanager
    def _judged(self) -> Iterator[None]:
        """Have an error of this scenario know it: the command names options that are to blame."""
        with spoken():
            try:
                yield
            except _core.ScenarioError as error:
                error.scenario = self  # type: ignore[attr-defined]
                raise

    def variant(self, name: str) -> Scenario:
        """Merge the table `[variant.NAME]` of the scenario over it, below all that is set."""
        core = self._core.with_variant(name)
        return self._changed(core, ("with_variant", (name,), {}), {"variant": name})

    def enable(self, mechanism: str) -> Scenario:
        """Switch a mechanism on, such as `"sfc"`; one that is on stays as it is.

        It has the values that file and variants have for it, else its defaults; what is set comes
        over them, before or after.
        """
        with spoken():
            core = self._core.with_mechanism(mechanism)
        names = dict.fromkeys((*self._facts.get("with", ()), mechanism))
        return self._changed(core, ("with_mechanism", (mechanism,), {}), {"with": list(names)})

    def set(self, key: str, value: Value, *, where_on: bool = False) -> Scenario:
        """Override one value by its dotted key, for example `("switch.buffer", "400 KB")`.

        A key of a mechanism, such as `"sfc.pause"`, does not switch the mechanism on. Where it is
        off, the setting is an error once the scenario is used; with `where_on` it is skipped there,
        and `skipped` lists it. `("sfc", True)` and `("sfc", False)` switch it on and off.
        """
        text = value if isinstance(value, str) else _written(value)
        overrides = {**self._facts.get("set", {}), key: text}
        with spoken():
            core = self._core.with_set(key, text, where_on=where_on)
        change = ("with_set", (key, text), {"where_on": where_on})
        return self._changed(core, change, {"set": overrides})

    def prototype(self, control: type[Control], **parameters: float) -> Scenario:
        """Have every flow controlled by an object of a Python class, derived from `Control`.

        Slow, for prototypes: each acknowledgement is a call into Python. `parameters` replace
        numbers that the class has; so does `set` afterwards, with the keys that `values` lists.
        Results keep the class's name with a digest of its code. Such a run has one thread, and
        cannot be saved. Raises `backwater.InputError` for what is no such class, for hooks that
        nothing calls, unknown parameters, and a scenario that has a prototype already.
        """
        from backwater.control import OFFERED, hears_marks, name_of, parameters_of, see

        control = see(control, parameters)
        table, name = _core.CONTROL_TABLE, name_of(control)
        own = (f"{table}.control", f"{table}.parameters")
        before = [key for key in self._facts.get("set", ()) if key.startswith(own)]
        if before:
            raise InputError(
                f"the scenario has a prototype already: {before[0]}",
                "take the scenario from before it; set values after prototype(CLASS)",
            )
        known = parameters_of(control)
        given = (name, control, list(known), hears_marks(control))
        offered = self._changed(self._core.with_control(*given), ("with_control", given, {}))
        OFFERED.add(name)
        scenario = offered.enable(table).set(f"{table}.control", name)
        for key, value in (known | parameters).items():
            scenario = scenario.set(f"{table}.parameters.{key}", float(value))
        return scenario

    def flows(self, table: object, label: str = "table") -> Scenario:
        """Take the flows of an Arrow table (pyarrow, polars, pandas, ...) as a group `label`.

        Columns: id, src, dst (host numbers), bytes, start_ps (picoseconds), and optionally class
        (0 to 7; missing or null: 3) and path (the nodes to pass).
        """
        import pyarrow as pa

        from backwater.files import Hashing

        if not hasattr(table, "__arrow_c_stream__"):
            # For its words.
            core = self._core.with_flows(table, label)
            return self._changed(core, ("with_flows", (table, label), {}))
        # Read once, since a stream is over when it has been read.
        content = pa.RecordBatchReader.from_stream(table).read_all()
        core = self._core.with_flows(content, label)
        hashing = Hashing()
        with pa.ipc.new_stream(pa.PythonFile(hashing, "w"), content.schema) as stream:
            stream.write_table(content)
        inputs = {**self._facts.get("inputs", {}), f"table of {label}": hashing.hexdigest()}
        return self._changed(core, ("with_flows", (content, label), {}), {"inputs": inputs})

    def check(self) -> list[dict[str, str]]:
        """Check everything that a run would; gives the warnings.

        Each is {kind, message, hint, key, value, reason}; the kind is `setting`.
        """
        with self._judged():
            return self.complete().check()

    def controls(self) -> dict[str, str]:
        """Which flows each control has that is confined to some, in words."""
        return dict(self._core.controls())

    def resolved(self) -> str:
        """Every value, defaults included, as the text of a scenario file."""
        with self._judged():
            return self._core.resolved_toml()

    def values(self) -> list[dict[str, str]]:
        """Every value with where it came from, as {key, value, origin}."""
        with self._judged():
            return self._core.values()

    def advice_facts(self, mechanism: str) -> dict[str, Any]:
        """What the scenario answers of the questions of `backwater advise MECHANISM`.

        From its largest incast that is known beforehand (None: none is), delays, thresholds.
        """
        return self._core.facts(mechanism)

    @overload
    def run(
        self,
        seed: int | None = None,
        out: str | os.PathLike[str] | None = None,
        progress: Callable[[_core.Status], None] | None = None,
        *,
        force: bool = False,
        capture: _core.Capture | None = None,
        threads: int = 1,
        save: str | os.PathLike[str] | None = None,
        every: str | None = None,
    ) -> Run: ...

    @overload
    def run(
        self,
        *,
        seeds: int | Iterable[int],
        out: str | os.PathLike[str] | None = None,
        progress: Callable[[_core.Status], None] | None = None,
        force: bool = False,
        workers: int | Workers | None = None,
    ) -> Series: ...

    def run(
        self,
        seed: int | None = None,
        out: str | os.PathLike[str] | None = None,
        progress: Callable[[_core.Status], None] | None = None,
        *,
        seeds: int | Iterable[int] | None = None,
        force: bool = False,
        capture: _core.Capture | None = None,
        threads: int = 1,
        save: str | os.PathLike[str] | None = None,
        every: str | None = None,
        workers: int | Workers | None = None,
    ) -> Run | Series:
        """Run to the end and give the results.

        With `out` the results go to that directory while the run goes on, in bounded memory;
        without, they are kept in memory. A complete run of the same scenario, seed and build that
        is there already is given as it is; one that was cut short is done again. Anything else
        there is an error (`InputError`), and so is another process that writes there. `force`
        replaces earlier results in `out`, and only what Backwater wrote. `progress` is called about
        ten times a second. `capture` says which frames go to a pcapng file beside the results.
        `threads`: how many the run may use, 1 to 64; results are the same with any number, and
        `run.summary` says how many it was, and why if it was one. With `save` and `every`, such as
        `"1 ms"`, the run is saved to a file each such time, from which `backwater.resume` goes on.
        Ctrl-C or SIGTERM raises `backwater.Interrupted`, which carries what there is.

        With `seeds`, a number of them from the scenario's own on or the seeds themselves, it is run
        with each and gives a `backwater.Series`. In `out` that is the directory which
        `backwater run --seeds` writes and `report`, `compare` and others read; seeds that are there
        are not run again. `progress` is then called from the threads of the runs, of which there is
        one a processor. Runs that a Python class controls come one after another, in the order of
        their seeds. If a run breaks a promise, its error is raised when all others are done.
        `workers` is the number of runs at a time, or a cluster:
        `backwater.experiments.clusters.scheduler("tcp://HOST:8786")` of Dask, whose results are the
        same.
        """
        from backwater.run_one import run_to_end
        from backwater.saving import saving, with_saving

        if seeds is not None:
            from backwater.repetitions import numbers, repeat

            of_one = {"seed": seed, "capture": capture, "save": save, "every": every}
            of_one["threads"] = None if threads == 1 else threads
            for name, value in of_one.items():
                if value is not None:
                    raise InputError(
                        f"{name} and seeds exclude each other", f"{name} is of a single run"
                    )
            wanted, place = numbers(seeds, self.seed), None if out is None else Path(out)
            return repeat(self.prepare(), wanted, place, progress, force=force, workers=workers)
        if workers is not None:
            raise InputError("workers: is of several runs", "seeds=N runs a scenario N times")
        job = self.job(seed, None if out is None else Path(out), capture, threads)
        where = saving(save, every)
        return run_to_end(with_saving(job, where, force=force), progress, force=force)

    def save(self, path: str | os.PathLike[str], until: str, seed: int | None = None) -> None:
        """Run up to a time, such as `"2 ms"`, that time included, and save the run to a file.

        `backwater.resume` goes on from there, exactly or with other values of mechanisms. Raises
        `backwater.InputError` if the run is over before, or cannot be saved.
        """
        from backwater.run_one import save_there

        save_there(self.job(seed, None), until, Path(path))

    def job(
        self,
        seed: int | None,
        out: Path | None,
        capture: _core.Capture | None = None,
        threads: int = 1,
    ) -> Job:
        """Make a checked job of this scenario."""
        from backwater.running import Job, check_threads

        check_threads(threads, f"threads = {threads}")
        prepared = self.prepare(capture)
        seed = self.seed if seed is None else seed
        return Job(prepared, seed, out, capture, threads=threads)

    def prepare(self, capture: _core.Capture | None = None) -> Prepared:
        """Check this scenario, and work out what all its runs have in common."""
        from backwater.running import Prepared

        with self._judged():
            return Prepared.of(self.complete(), self.facts, capture, self._base, self)

    def complete(self) -> _core.Scenario:
        """Read the Parquet tables that the scenario may refer to, each file once."""
        core = self._core
        while (path := core.flow_table) is not None:
            with _parquet(shorter(Path(path)), "flow table") as rows:
                core = core.with_table(rows, path)
        while (path := core.operation_table) is not None:
            with _parquet(shorter(Path(path)), "table of operations") as rows:
                core = core.with_operations(rows, path)
        return core


def _restored(
    text: str,
    origin: str,
    base: Path,
    files: Mapping[str, bytes],
    changes: Sequence[Change],
    facts: Mapping[str, Any],
) -> Scenario:
    """Make a scenario that was pickled, maybe on another machine."""
    from backwater.pickling import placed

    base = placed(base, files)
    core = _core.Scenario.from_text(text, origin, str(base))
    for method, arguments, options in changes:
        core = getattr(core, method)(*arguments, **options)
    return Scenario(core, facts, base, changes)


@contextmanager
def _parquet(path: Path, what: str) -> Iterator[pa.RecordBatchReader]:
    """Read a table batch by batch: it may be larger than memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # In CSV these columns may have any unit, and none in their names; here they are in ps.
    in_ps = {"start": "start_ps", "time": "time_ps"}
    try:
        # Not as a data set: what is named like a partition is one file all the same.
        with pq.ParquetFile(_there(path, what)) as file:
            names = [in_ps.get(name, name) for name in file.schema_arrow.names]
            fields = zip(file.schema_arrow, names, strict=True)
            schema = pa.schema([field.with_name(name) for field, name in fields])
            batches = (batch.rename_columns(names) for batch in file.iter_batches())
            yield pa.RecordBatchReader.from_batches(schema, batches)
            return
    except (_core.ScenarioError, InputError):
        raise
    except (OSError, ValueError, pa.ArrowException):
        # What is wrong within the file comes as a ValueError, through the core that reads it.
        reason = "not a readable Parquet file"
    raise InputError(f"{path}: {reason}", _hint(what))


def _there(path: Path, what: str) -> Path:
    """See that a table is a regular file. Raises `InputError`."""
    try:
        return regular(path)
    except FileNotFoundError:
        reason = f"the scenario's {what} does not exist"
    except OSError as error:
        reason = f"{error.strerror}"
    raise InputError(f"{path}: {reason}", _hint(what))


def _hint(what: str) -> str:
    return (
        f"a {what} is Parquet or CSV, told apart by the end of its name; "
        "its name is relative to the scenario's"
    )
