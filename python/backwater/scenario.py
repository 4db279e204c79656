"""Load, build, change, check and run scenarios.

Libraries that read tables and write results are imported on first use, so that a check is fast.
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
    """A number or an array of numpy, or anything else with `tolist`."""

    def tolist(self) -> Any:  # noqa: ANN401 - numbers, or lists of them
        """Return it as Python numbers or lists."""


Value = str | int | float | bool | Sequence[Any] | Listed
"""A value of a key. A string is read as on the command line: `"400 KB"`, `"voq"`, `"7"`."""

Change = tuple[str, tuple[Any, ...], dict[str, Any]]
"""A change of a scenario: the core's method that makes it, its arguments and its keywords."""


def load(path: str | os.PathLike[str], *beside: str | os.PathLike[str]) -> Scenario:
    """Read a scenario file, or files of another tool that can be imported.

    `beside` are further files of that tool that belong to the first one, such as a topology to a
    workload. `facts["notes"]` lists what the import ignored or assumed. Raises
    `backwater.ScenarioError` with place, value, reason and hint if a file cannot be read, and
    `backwater.InputError` if one of several files is a scenario.
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
    """Read a scenario from TOML text, which errors call `origin`.

    Raises `backwater.ScenarioError`.
    """
    return Scenario(_core.Scenario.from_text(text, origin), {"file": origin})


def build(content: Mapping[str, Any]) -> Scenario:
    """Make a scenario from nested dictionaries with the keys of a scenario file.

    Raises `backwater.InputError` for a value that TOML cannot express, and
    `backwater.ScenarioError` for a key or value that a scenario cannot have.
    """
    import tomli_w

    try:
        text = tomli_w.dumps(content)
    except TypeError as error:
        raise InputError(f"not expressible in TOML: {error}") from None
    return parse(text, "<build>")


def _written(value: Value) -> str:
    """Return a value as TOML text. Raises `InputError` for a type that no key has."""

    def plain(other: Any) -> Any:  # noqa: ANN401 - numbers and arrays of numpy, or anything else
        convert = getattr(other, "tolist", None)
        if convert is None:
            raise TypeError
        return convert()

    try:
        return json.dumps(value, default=plain)
    except TypeError:
        kind = type(value).__name__
        raise InputError(
            f"{value!r}: a key has no value of type {kind}", "text or numbers"
        ) from None


def shorter(path: Path) -> Path:
    """Return a path relative to the current directory if that is shorter, else the path itself."""
    relative = os.path.relpath(path)
    return Path(relative) if len(relative) < len(str(path)) else path


class Scenario:
    """A simulation to run. Immutable: every change returns a new scenario.

    `load`, `parse` and `build` make scenarios. A change raises `backwater.ScenarioError` for a
    variant, mechanism, key or value that does not exist.
    """

    def __init__(
        self,
        core: _core.Scenario,
        facts: Mapping[str, Any],
        base: Path | None = None,
        changes: Sequence[Change] = (),
    ) -> None:
        """Wrap a scenario of the core.

        `base`: the directory that names of its flow tables are relative to. `changes`: all changes
        since its text was read.
        """
        self._core = core
        self._facts = dict(facts)
        self._base = base or Path()
        self._changes = tuple(changes)

    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[object, ...]]:
        """Pickle its text and changes, and the content of the files that it names."""
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
        """The title in the scenario."""
        return self._core.title

    @property
    def variants(self) -> list[str]:
        """Names of the variants that the scenario defines."""
        return self._core.variants

    @property
    def seed(self) -> int:
        """The scenario's seed, which a run uses by default."""
        return self._core.seed

    @property
    def folder(self) -> Path:
        """The directory that names of its flow tables are relative to."""
        return self._base

    @property
    def facts(self) -> dict[str, Any]:
        """Where it comes from, and what was changed: file, variant, with, set, skipped.

        `set` holds the settings that take effect, `skipped` the others.
        """
        skipped = self.skipped
        off = {one["key"] for one in skipped}
        settings = {key: text for key, text in self._facts.get("set", {}).items() if key not in off}
        with_ = list(self._facts.get("with", ()))
        return self._facts | {"with": with_, "set": settings, "skipped": skipped}

    @property
    def skipped(self) -> list[dict[str, str]]:
        """Settings whose mechanism is off, as {key, value, mechanism, reason}: they change nothing.

        It lists settings with `where_on` only. Others are an error once the scenario is used.
        """
        return self._core.skipped

    @property
    def changes(self) -> tuple[Change, ...]:
        """All changes since the text was read, in order."""
        return self._changes

    def without(self, change: Change) -> Scenario:
        """Return the scenario without one of its changes. Raises `ScenarioError`."""
        changes = [one for one in self._changes if one is not change]
        origin, base = str(self._facts["file"]), self._base
        return _restored(self._core.text, origin, base, {}, changes, self._facts)

    @contextmanager
    def _judged(self) -> Iterator[None]:
        """Attach this scenario to its errors: the command names the options that cause them."""
        with spoken():
            try:
                yield
            except _core.ScenarioError as error:
                error.scenario = self  # type: ignore[attr-defined]
                raise

    def variant(self, name: str) -> Scenario:
        """Return the scenario with its table `[variant.NAME]` merged over it.

        Values from `set` take precedence over those of the variant.
        """
        core = self._core.with_variant(name)
        return self._changed(core, ("with_variant", (name,), {}), {"variant": name})

    def enable(self, mechanism: str) -> Scenario:
        """Return the scenario with a mechanism on, such as `"sfc"`; one that is on stays as it is.

        The mechanism has the values of file and variants, else its defaults. Values from `set`,
        before or after, take precedence.
        """
        with spoken():
            core = self._core.with_mechanism(mechanism)
        names = dict.fromkeys((*self._facts.get("with", ()), mechanism))
        return self._changed(core, ("with_mechanism", (mechanism,), {}), {"with": list(names)})

    def set(self, key: str, value: Value, *, where_on: bool = False) -> Scenario:
        """Return the scenario with one value set by its dotted key: `("switch.buffer", "400 KB")`.

        A key of a mechanism, such as `"sfc.pause"`, does not switch the mechanism on. If the
        mechanism is off, the setting is an error once the scenario is used. With `where_on` the
        scenario skips it instead, and `skipped` lists it. `("sfc", True)` and `("sfc", False)`
        switch the mechanism on and off. Raises `backwater.InputError` for a type that no key has.
        """
        text = value if isinstance(value, str) else _written(value)
        overrides = {**self._facts.get("set", {}), key: text}
        with spoken():
            core = self._core.with_set(key, text, where_on=where_on)
        change = ("with_set", (key, text), {"where_on": where_on})
        return self._changed(core, change, {"set": overrides})

    def prototype(self, control: type[Control], **parameters: float) -> Scenario:
        """Return the scenario with all flows under a Python class that is derived from `Control`.

        Slow, for prototypes: each acknowledgement is a call into Python. `parameters` replace
        numbers of the class; later, `set` can replace them by the keys that `values` lists. Results
        keep the class's name with a digest of its code. Runs use one thread and cannot be saved.
        Raises `backwater.InputError` if the class is not derived from `Control`, defines an unknown
        hook or lacks a parameter, and if the scenario already has a prototype.
        """
        from backwater.control import OFFERED, check_control, hears_marks, name_of, parameters_of

        control = check_control(control, parameters)
        table, name = _core.CONTROL_TABLE, name_of(control)
        own = (f"{table}.control", f"{table}.parameters")
        before = [key for key in self._facts.get("set", ()) if key.startswith(own)]
        if before:
            raise InputError(
                f"the scenario has a prototype already: {before[0]}",
                "start from the scenario without it; set values after prototype(CLASS)",
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
        """Return the scenario with the flows of an Arrow table added as a group `label`.

        The table is of pyarrow, polars, pandas or any other with `__arrow_c_stream__`. Columns:
        id, src, dst (host numbers), bytes, start_ps (picoseconds), and optionally class (0 to 7;
        missing or null: 3) and path (the nodes to pass). Raises `TypeError` for anything but a
        table, and `backwater.ScenarioError` for its columns.
        """
        import pyarrow as pa

        from backwater.files import Hashing

        if not hasattr(table, "__arrow_c_stream__"):
            # The core raises the error.
            core = self._core.with_flows(table, label)
            return self._changed(core, ("with_flows", (table, label), {}))
        # A stream can be read only once, and both the core and the digest need it.
        content = pa.RecordBatchReader.from_stream(table).read_all()
        core = self._core.with_flows(content, label)
        hashing = Hashing()
        with pa.ipc.new_stream(pa.PythonFile(hashing, "w"), content.schema) as stream:
            stream.write_table(content)
        inputs = {**self._facts.get("inputs", {}), f"table of {label}": hashing.hexdigest()}
        return self._changed(core, ("with_flows", (content, label), {}), {"inputs": inputs})

    def check(self) -> list[dict[str, str]]:
        """Check everything that a run checks, and return the warnings.

        Each is {kind, message, hint, key, value, reason}; the kind is `setting`. Raises
        `backwater.ScenarioError` for a scenario that cannot run, and `backwater.InputError` for a
        table that cannot be read.
        """
        with self._judged():
            return self.complete().check()

    def controls(self) -> dict[str, str]:
        """Return, for each control that has only some of the flows, which ones, in words."""
        return dict(self._core.controls())

    def resolved(self) -> str:
        """Return every value, defaults included, as the text of a scenario file."""
        with self._judged():
            return self._core.resolved_toml()

    def values(self) -> list[dict[str, str]]:
        """Return every value and where it came from, as {key, value, origin}."""
        with self._judged():
            return self._core.values()

    def advice_facts(self, mechanism: str) -> dict[str, Any]:
        """Return the scenario's answers to the questions of `backwater advise MECHANISM`.

        They come from its delays, its thresholds, and the largest incast that the scenario
        prescribes. A question without an answer has None.
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
        """Run to the end and return the results.

        `seed`: replaces the scenario's seed, and is from 0 to 2^64 - 1.
        `out`: the directory to which results are written during the run, in bounded memory. Without
        it, memory keeps them. A complete run of the same scenario, seed and build in `out` is
        returned as it is, and one that was cut short is repeated. Anything else in `out`, or
        another process that writes there, is a `backwater.InputError`.
        `force`: replaces earlier results in `out`, and removes only what Backwater wrote.
        `progress`: called with a `backwater.Status` about twenty times a second.
        `capture`: the frames to write to a pcapng file.
        `threads`: how many the run may use, 1 to 64; results do not depend on it. `run.summary` has
        the number used, and the reason if it is one.
        `save` and `every`: a file, and a simulated time of at least 1 us, such as `"1 ms"`. The run
        is saved to the file each time, and `backwater.resume` continues it from there.

        `seeds`: the seeds, or how many of them from the scenario's seed on, 100,000 at most. The
        scenario runs with each, and a `backwater.Series` is returned. `out` is then the directory
        that `backwater run --seeds` writes and `report`, `compare` and others read. Complete runs
        in it are not repeated. `progress` is called from the threads of the runs, one for each
        processor. Runs that a Python class controls follow one another in the order of seeds.
        `workers`: the number of runs at a time, or a Dask cluster, which gives the same results:
        `backwater.experiments.clusters.scheduler("tcp://HOST:8786")`.

        Raises `backwater.ScenarioError` for a scenario that cannot run, `backwater.RunError` for a
        run that breaks a promise of its scenario (with `seeds`, after all others are done),
        `backwater.ResultError` if results cannot be written, and `backwater.Interrupted`, which
        carries the results so far, at Ctrl-C or SIGTERM.
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
                        f"{name} and seeds exclude each other", f"{name} is for a single run"
                    )
            wanted, place = numbers(seeds, self.seed), None if out is None else Path(out)
            return repeat(self.prepare(), wanted, place, progress, force=force, workers=workers)
        if workers is not None:
            raise InputError("workers: is for several runs", "seeds=N runs a scenario N times")
        job = self.job(seed, None if out is None else Path(out), capture, threads)
        where = saving(save, every)
        return run_to_end(with_saving(job, where, force=force), progress, force=force)

    def save(self, path: str | os.PathLike[str], until: str, seed: int | None = None) -> None:
        """Run up to and including a time, such as `"2 ms"`, and save the run to a file.

        `backwater.resume` continues it, as it is or with other values of mechanisms. Raises
        `backwater.InputError` if the run ends before that time or cannot be saved, and otherwise
        as `run` does.
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
        """Check this scenario, and return a job that runs it."""
        from backwater.running import Job, check_threads

        check_threads(threads, f"threads = {threads}")
        prepared = self.prepare(capture)
        seed = self.seed if seed is None else seed
        return Job(prepared, seed, out, capture, threads=threads)

    def prepare(self, capture: _core.Capture | None = None) -> Prepared:
        """Check this scenario, and return what all its runs have in common."""
        from backwater.running import Prepared

        with self._judged():
            return Prepared.of(self.complete(), self.facts, capture, self._base, self)

    def complete(self) -> _core.Scenario:
        """Return the core's scenario with the Parquet tables that it names, each file read once."""
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
    """Return a scenario that was pickled, possibly on another machine."""
    from backwater.pickling import placed

    base = placed(base, files)
    core = _core.Scenario.from_text(text, origin, str(base))
    for method, arguments, options in changes:
        core = getattr(core, method)(*arguments, **options)
    return Scenario(core, facts, base, changes)


@contextmanager
def _parquet(path: Path, what: str) -> Iterator[pa.RecordBatchReader]:
    """Yield the rows of a table batch by batch: it may be larger than memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # In CSV these columns may have any unit, and have none in their names; in Parquet it is ps.
    in_ps = {"start": "start_ps", "time": "time_ps"}
    try:
        # Not as a data set: a file that is named like a partition is still one file.
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
        # The core, which reads the rows, raises ValueError for a fault within the file.
        reason = "not a readable Parquet file"
    raise InputError(f"{path}: {reason}", _hint(what))


def _there(path: Path, what: str) -> Path:
    """Return the path of a table that is a regular file. Raises `InputError`."""
    try:
        return regular(path)
    except FileNotFoundError:
        reason = f"the scenario's {what} does not exist"
    except OSError as error:
        reason = f"{error.strerror}"
    raise InputError(f"{path}: {reason}", _hint(what))


def _hint(what: str) -> str:
    return (
        f"the end of its name decides whether a {what} is Parquet or CSV; "
        "its name is relative to the scenario's"
    )
