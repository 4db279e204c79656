"""`backwater run`: simulate a scenario, for one seed or several.

The libraries that write results are imported only when something runs, so that help is quick.
"""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater.cli.arguments import (
    ABOUT_FILES,
    Allow,
    Force,
    Json,
    JsonProgress,
    Out,
    Selection,
    check_one_seed,
    option_of,
    overrides,
    read,
    seeds,
    split_variant,
)
from backwater.cli.capture import OPTIONS, Capturing
from backwater.cli.figures import DONE, Drawing, Figures
from backwater.cli.options import exclusive, given, words
from backwater.cli.output import warn
from backwater.cli.targets import Kind, writable
from backwater.cli.workers import Cluster
from backwater.errors import InputError

if TYPE_CHECKING:
    from backwater.resumed import Resumed
    from backwater.running import Job
    from backwater.scenario import Scenario


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """When a run is saved while it is in progress, and where."""

    until: Annotated[
        str | None,
        typer.Option("--until", metavar="T", help="Run up to this time, and save the run."),
    ] = None
    save: Annotated[
        str | None, typer.Option("--save", metavar="F", help="The file of the saved run.")
    ] = None
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="T", help="Save the run after each T of simulated time."),
    ] = None

    def check(self) -> None:
        """Refuse a file without a time, and a time without a file."""
        if self.save is None and (self.until is not None or self.every is not None):
            option = "--until" if self.every is None else "--every"
            raise InputError(f"{option}: no file for the saved run", "add --save F")
        if self.save is not None and self.until is None and self.every is None:
            raise InputError(
                "--save: no time at which the run is saved",
                "add --until T to stop there, or --every T to save it repeatedly",
            )


@exclusive("--figure --json", "--until", "a saved run has no results yet")
@exclusive(
    "FILE --variant --with --seed --seeds --threads --capture -o --capture-kind --capture-class "
    "--capture-snap --capture-limit --scheduler --slurm --watch",
    "--from",
    "the saved run has its own scenario and seed; --set changes values from there on",
)
@exclusive("--seed", "--seeds", "give one of them")
@exclusive("--capture", "--seeds", "a capture is of one run")
@exclusive("--threads", "--seeds", "the runs of --seeds use a processor each")
@exclusive(
    "--seeds --json --capture --until --save --figure",
    "--watch",
    "use it in a run without --watch",
)
@exclusive("--save", "--seeds", "a saved run is one run")
@exclusive(
    "--out --force",
    "--until",
    "a saved run has no results yet; --from resumes it and writes them",
)
@exclusive("--until", "--every", "give one of them with --save")
def run(
    files: Annotated[list[str] | None, typer.Argument(help=ABOUT_FILES, metavar="FILE")] = None,
    *,
    selection: Selection,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed; by default the scenario's own.")
    ] = None,
    many: Annotated[
        str | None,
        typer.Option(
            "--seeds", metavar="N|A..B", help="Repeat with N seeds, or with the seeds A to B."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            help="Split the run over N threads if possible; by default one.",
        ),
    ] = None,
    out: Out = None,
    json: Json = None,
    force: Force = False,
    allow: Allow = False,
    capturing: Capturing,
    checkpoint: Checkpoint,
    saved: Annotated[
        str | None,
        typer.Option("--from", metavar="F", help="Resume a saved run, in place of FILE."),
    ] = None,
    cluster: Cluster,
    watched: Annotated[
        bool, typer.Option("--watch", help="Run again each time FILE is saved.")
    ] = False,
    figures: Figures,
    json_progress: JsonProgress = False,
) -> int:
    """Simulate a scenario and keep its results.

    Results are Parquet tables and a manifest in a directory for each run. Ctrl-C stops cleanly and
    keeps the results so far. With --json - only the JSON goes to stdout. If flows or rounds of jobs
    did not complete although the scenario sets no earlier end, the summary reports it first, and
    the command ends with code 3. Files of another tool, for example a workload and a topology, are
    imported first: see `backwater import`.

    With the --out of an earlier command, a complete run of the same scenario, seed and build is
    reused; --force repeats it and replaces the results that Backwater wrote in this directory.

    With --threads a large run is split over several processors, and its results are the same. A
    run that cannot be split uses one thread and reports why. Runs of --seeds use a processor each,
    or, with --scheduler or --slurm, workers of a cluster, which return their rows.

    --until T --save F simulates all events up to T, T included, and saves the run to F. --from F
    resumes it as if it had never stopped; --set then changes values of mechanisms from T on, and
    the summary reports them. With --save F --every T a killed run can be resumed from its last
    save.

    With --watch the scenario runs again each time its file is saved, until Ctrl-C. The command
    reports what changed, and results go to one directory, by default results/NAME-watch. --capture
    and -o write the frames at some ports to a pcapng file, which Wireshark opens. --figure draws a
    figure of the results for a paper or a slide: see `backwater report`.
    """
    from backwater.cli.runs import repeat, save_once
    from backwater.directory import free_directory
    from backwater.repetitions import taking_up
    from backwater.running import Job
    from backwater.saving import saving, with_saving

    checkpoint.check()
    if saved is not None:
        return _go_on(
            saved,
            selection.settings,
            checkpoint,
            out,
            json,
            figures,
            force=force,
            allow=allow,
            json_progress=json_progress,
        )
    if not files:
        raise InputError("Missing argument 'FILE'.", "see `backwater run --help`")
    file, variant = split_variant(files[0], selection.variant)
    selection = dataclasses.replace(selection, variant=variant)
    inputs = [file, *files[1:]]
    check_one_seed(seed, overrides(selection.settings))
    if many is None and (options := list(given(cluster))):
        raise InputError(f"{options[0]}: only runs of --seeds use a cluster", "add --seeds")
    if watched:
        return _watch(inputs, selection, seed, threads, out, force=force)
    case = read(file, selection, beside=inputs[1:])
    captured = capturing.capture()
    numbers = None if many is None else seeds(many, case.seed)
    with option_of(OPTIONS):
        prepared = case.prepare(captured)
    writable(capturing.capture_file, Kind.CAPTURE, *inputs)
    writable(json, Kind.JSON, *inputs)
    drawing = figures.drawing(*inputs)
    job = Job(
        prepared,
        case.seed if seed is None else seed,
        None,
        captured,
        threads=_threads(threads),
    )
    if checkpoint.until is not None and checkpoint.save is not None:
        warn(prepared.warnings)
        path = Path(checkpoint.save)
        return save_once(job, checkpoint.until, path, json_progress=json_progress)
    kept = saving(checkpoint.save, checkpoint.every)
    base = free_directory(_usual(file, selection)) if out is None else Path(out)
    warn(prepared.warnings)
    if numbers is None:
        job = with_saving(dataclasses.replace(job, out=base), kept, force=force)
        return _once(
            case, job, base, json, drawing, allow=allow, force=force, progress=json_progress
        )
    jobs = [Job.repeated(prepared, number, base) for number in numbers]
    workers = cluster.workers()
    again = ["run", *inputs, *words(selection), *words(cluster), "--seeds", str(many)]
    with taking_up(jobs, base, force=force) as done:
        code = repeat(
            case,
            jobs,
            done,
            base,
            json,
            shlex.join(again),
            workers,
            allow=allow,
            json_progress=json_progress,
            more=drawing is not None,
        )
    return _drawn(code, drawing, base)


def _once(
    case: Scenario | Resumed,
    job: Job,
    base: Path,
    json: str | None,
    drawing: Drawing | None,
    *,
    allow: bool,
    force: bool,
    progress: bool,
) -> int:
    """Do one run unless `base` has it, print its report, and draw the requested figures."""
    from backwater.cli.runs import once
    from backwater.experiments.execute import taken_up

    there = taken_up([job], force=force)[0]
    more = drawing is not None
    code = once(case, job, there, base, json, allow=allow, json_progress=progress, more=more)
    return _drawn(code, drawing, base)


def _drawn(code: int, drawing: Drawing | None, base: Path) -> int:
    """Draw the requested figures if the exit code stands for results."""
    if drawing is not None and code in DONE:
        drawing.draw_of(base)
    return code


def _watch(
    files: list[str],
    selection: Selection,
    seed: int | None,
    threads: int | None,
    out: str | None,
    *,
    force: bool,
) -> int:
    """Run a scenario now, and again each time that one of its files is saved."""
    from backwater.cli.runs import once
    from backwater.cli.watching import watch
    from backwater.experiments.execute import taken_up
    from backwater.running import Job

    file, *beside = files
    if file == "-":
        raise InputError("--watch and stdin exclude each other", "give the name of a file")
    parts = _threads(threads)
    base = Path(f"{_usual(file, selection)}-watch" if out is None else out)

    def simulate(case: Scenario, again: bool) -> int:
        prepared = case.prepare(None)
        warn(prepared.warnings)
        job = Job(prepared, case.seed if seed is None else seed, base, None, threads=parts)
        there = taken_up([job], force=again or force or out is None)[0]
        return once(case, job, there, base, None, allow=True, more=True)

    return watch(files, lambda: read(file, selection, beside=beside), simulate, base)


def _go_on(
    saved: str,
    settings: list[str] | None,
    checkpoint: Checkpoint,
    out: str | None,
    json: str | None,
    figures: Figures,
    *,
    force: bool,
    allow: bool,
    json_progress: bool,
) -> int:
    """Resume a saved run."""
    from backwater.cli.runs import save_once
    from backwater.directory import free_directory
    from backwater.resumed import resume
    from backwater.saving import saving

    case = resume(saved)
    for key, value in overrides(settings):
        case = case.set(key, value)
    writable(json, Kind.JSON)
    drawing = figures.drawing()
    if checkpoint.until is not None and checkpoint.save is not None:
        path = Path(checkpoint.save)
        return save_once(case.job(None), checkpoint.until, path, json_progress=json_progress)
    job = case.job(None, saving(checkpoint.save, checkpoint.every))
    # The job is checked by now; only then is a directory made.
    base = free_directory(Path("results") / Path(saved).stem) if out is None else Path(out)
    job = dataclasses.replace(job, out=base)
    warn(job.prepared.warnings)
    return _once(case, job, base, json, drawing, allow=allow, force=force, progress=json_progress)


def _threads(number: int | None) -> int:
    from backwater.running import check_threads

    if number is None:
        return 1
    check_threads(number, f"--threads {number}")
    return number


def _usual(file: str, selection: Selection) -> Path:
    """Return the directory that results of a scenario go to without --out."""
    stem = "stdin" if file == "-" else Path(file).stem
    named = stem if selection.variant is None else f"{stem}-{selection.variant}"
    return Path("results") / "+".join([named, *(selection.mechanisms or ())])
