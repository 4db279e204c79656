"""`backwater run`: simulate a scenario, for one seed or several.

The libraries that write results are imported when something runs, so that help is quick.
"""

from __future__ import annotations

import dataclasses
import shlex
from functools import partial
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
    Set,
    Variant,
    With,
    check_one_seed,
    option_of,
    overrides,
    read,
    seeds,
    split_variant,
)
from backwater.cli.capture import (
    OPTIONS,
    CaptureClasses,
    CaptureFile,
    CaptureKinds,
    CaptureLimit,
    CapturePorts,
    CaptureSnap,
    wanted,
)
from backwater.cli.figures import DONE, Asked, FigureFiles, Font, Theme, Width, asked
from backwater.cli.output import warn
from backwater.cli.targets import Kind, writable
from backwater.cli.workers import Scheduler, SlurmJobs, check_workers, cluster, slurm_jobs
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from backwater.resumed import Resumed
    from backwater.running import Job
    from backwater.scenario import Scenario


def run(
    files: Annotated[list[str] | None, typer.Argument(help=ABOUT_FILES, metavar="FILE")] = None,
    settings: Set = None,
    mechanisms: With = None,
    variant: Variant = None,
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
            "--threads", metavar="N", help="Run on N threads where that can be; one by default."
        ),
    ] = None,
    out: Out = None,
    json: Json = None,
    force: Force = False,
    allow: Allow = False,
    capture: CapturePorts = None,
    capture_file: CaptureFile = None,
    kinds: CaptureKinds = None,
    classes: CaptureClasses = None,
    snap: CaptureSnap = None,
    limit: CaptureLimit = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="T", help="Run up to this time, and save the run there."),
    ] = None,
    save: Annotated[
        str | None, typer.Option("--save", metavar="F", help="The file that the run is saved to.")
    ] = None,
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="T", help="Save it each time that so much is simulated."),
    ] = None,
    saved: Annotated[
        str | None,
        typer.Option("--from", metavar="F", help="Go on from a saved run, in place of FILE."),
    ] = None,
    scheduler: Scheduler = None,
    slurm: SlurmJobs = None,
    watched: Annotated[
        bool, typer.Option("--watch", help="Run again each time that FILE is saved.")
    ] = False,
    figure: FigureFiles = None,
    width: Width = None,
    font: Font = None,
    theme: Theme = None,
    json_progress: JsonProgress = False,
) -> int:
    """Simulate a scenario and keep its results.

    Results are Parquet tables and a manifest in a directory of the run's own. Ctrl-C stops cleanly
    and keeps what has been simulated. With --json - the JSON is all that goes to stdout.
    With the --out of an earlier command, a run that is there, complete and of the same scenario,
    seed and build, is not done again. --force replaces what Backwater has written there.
    Files of another tool, such as a workload and a topology, are imported first: see `import`.
    Where flows or rounds of jobs are not complete though the scenario asked for no such end, the
    summary says so first, and the command ends with code 3.
    With --threads a large run is split over several processors, and its results are the same. A
    run that cannot be split uses one thread and says why. Runs of --seeds use a processor each, or
    workers of a cluster with --scheduler or --slurm, and their rows come back.
    With --until T --save F all events up to T, T included, are simulated, and the run is saved to
    F. --from F goes on from there, as if it had never stopped; with --set values of mechanisms are
    others from T on, and the summary says so. With --save F --every T a run that is killed goes
    on from where it was last saved.
    With --watch the scenario runs again each time that its file is saved, until Ctrl-C. What has
    changed is said, and results go to one directory, by default results/NAME-watch.
    With --capture and -o, frames that pass some ports go to a pcapng file, which Wireshark opens.
    With --figure a figure of the results is drawn for a paper or a slide: see `backwater report`.
    """
    from backwater.cli.runs import repeat, save_once
    from backwater.directory import free_directory
    from backwater.repetitions import taking_up
    from backwater.running import Job
    from backwater.saving import saving, with_saving

    if figure and until is not None:
        raise InputError(
            "--figure and --until exclude each other", "a run that is saved has no results yet"
        )
    if saved is not None:
        given = {
            "FILE": files,
            "--variant": variant,
            "--with": mechanisms,
            "--seed": seed,
            "--seeds": many,
            "--threads": threads,
            "--capture": capture,
            "-o": capture_file,
            "--capture-kind": kinds,
            "--capture-class": classes,
            "--capture-snap": snap,
            "--capture-limit": limit,
            "--scheduler": scheduler,
            "--slurm": slurm,
            "--watch": watched or None,
        }
        return _go_on(
            saved,
            given,
            settings,
            until,
            save,
            every,
            out,
            json,
            partial(asked, figure, width, font, theme),
            force=force,
            allow=allow,
            json_progress=json_progress,
        )
    if not files:
        raise InputError("Missing argument 'FILE'.", "`backwater run --help` says what it takes")
    file, variant = split_variant(files[0], variant)
    beside = files[1:]
    if seed is not None and many is not None:
        raise InputError("--seed and --seeds exclude each other", "give one of them")
    check_one_seed(seed, overrides(settings))
    if capture is not None and many is not None:
        raise InputError("--capture and --seeds exclude each other", "a capture is of one run")
    if threads is not None and many is not None:
        raise InputError(
            "--threads and --seeds exclude each other", "the runs of --seeds use a processor each"
        )
    if many is None and (scheduler is not None or slurm is not None):
        option = "--slurm" if scheduler is None else "--scheduler"
        raise InputError(f"{option}: is for the runs of --seeds", "one run is done here")
    check_workers(scheduler, slurm)
    if watched:
        given = {
            "--seeds": many,
            "--json": json,
            "--capture": capture,
            "--until": until,
            "--save": save,
            "--figure": figure,
        }
        named = [file, *beside]
        return _watch(named, variant, settings, mechanisms, seed, threads, out, given, force=force)
    if save is not None and many is not None:
        raise InputError("--save and --seeds exclude each other", "a saved run is one run")
    _check_times(until, save, every, out, force=force)
    case = read(file, variant, settings, mechanisms, beside=beside)
    captured = wanted(capture, capture_file, kinds=kinds, classes=classes, snap=snap, limit=limit)
    numbers = None if many is None else seeds(many, case.seed)
    with option_of(OPTIONS):
        prepared = case.prepare(captured)
    writable(capture_file, Kind.CAPTURE, file, *beside)
    writable(json, Kind.JSON, file, *beside)
    drawing = asked(figure, width, font, theme, file, *beside)
    parts, kept = _threads(threads), saving(save, every) if until is None else None
    usual = Path("results") / _name(file, variant, mechanisms)
    if until is not None and save is not None:
        warn(prepared.warnings)
        seed = case.seed if seed is None else seed
        job = Job(prepared, seed, None, captured, threads=parts)
        return save_once(job, until, Path(save), json, json_progress=json_progress)
    base = free_directory(usual) if out is None else Path(out)
    warn(prepared.warnings)
    if numbers is None:
        seed = case.seed if seed is None else seed
        job = with_saving(Job(prepared, seed, base, captured, threads=parts), kept, force=force)
        return _once(
            case, job, base, json, drawing, allow=allow, force=force, progress=json_progress
        )
    jobs = [Job.repeated(prepared, number, base) for number in numbers]
    workers = cluster(scheduler, slurm_jobs(slurm))
    with taking_up(jobs, base, force=force) as done:
        again = ["run", file, *beside]
        again += [*_options("--variant", variant), *_options("--with", mechanisms)]
        again += _options("--set", settings)
        again += [*_options("--scheduler", scheduler), *_options("--slurm", slurm)]
        words = shlex.join([*again, "--seeds", str(many)])
        code = repeat(
            case,
            jobs,
            done,
            base,
            json,
            words,
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
    drawing: Asked | None,
    *,
    allow: bool,
    force: bool,
    progress: bool,
) -> int:
    """Do one run unless it is in `base` already, print its report, and draw what was asked for."""
    from backwater.cli.runs import once
    from backwater.experiments.execute import taken_up

    there = taken_up([job], force=force)[0]
    more = drawing is not None
    code = once(case, job, there, base, json, allow=allow, json_progress=progress, more=more)
    return _drawn(code, drawing, base)


def _drawn(code: int, drawing: Asked | None, base: Path) -> int:
    """Draw what was asked for, once a command has come so far that there are results."""
    if drawing is not None and code in DONE:
        drawing.draw_of(base)
    return code


def _watch(
    files: list[str],
    variant: str | None,
    settings: list[str] | None,
    mechanisms: list[str] | None,
    seed: int | None,
    threads: int | None,
    out: str | None,
    given: Mapping[str, object],
    *,
    force: bool,
) -> int:
    """Run what is in files each time that one of them is saved."""
    from backwater.cli.runs import once
    from backwater.cli.watching import watch
    from backwater.experiments.execute import taken_up
    from backwater.running import Job

    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{option} and --watch exclude each other", "run once more without --watch for it"
            )
    file, *beside = files
    if file == "-":
        raise InputError("--watch and stdin exclude each other", "give the name of a file")
    parts = _threads(threads)
    usual = Path("results") / f"{_name(file, variant, mechanisms)}-watch"
    base = usual if out is None else Path(out)

    def simulate(case: Scenario, again: bool) -> int:
        prepared = case.prepare(None)
        warn(prepared.warnings)
        job = Job(prepared, case.seed if seed is None else seed, base, None, threads=parts)
        anew = again or force or out is None
        there = taken_up([job], force=anew)[0]
        return once(case, job, there, base, None, allow=True, more=True)

    def now() -> Scenario:
        return read(file, variant, settings, mechanisms, beside=beside)

    return watch(files, now, simulate, base)


def _check_times(
    until: str | None, save: str | None, every: str | None, out: str | None, *, force: bool
) -> None:
    if until is not None and (out is not None or force):
        option = "--force" if out is None else "--out"
        raise InputError(
            f"{option} and --until exclude each other",
            "a run that is saved on its way has no results yet; --from goes on to them",
        )
    if until is not None and every is not None:
        raise InputError("--until and --every exclude each other", "give one of them with --save")
    if save is None and (until is not None or every is not None):
        option = "--until" if every is None else "--every"
        raise InputError(f"{option}: nothing says where the run is saved", "add --save F")
    if save is not None and until is None and every is None:
        raise InputError(
            "--save: nothing says when the run is saved",
            "add --until T to stop there, or --every T to save it on its way",
        )


def _go_on(
    saved: str,
    given: Mapping[str, object],
    settings: list[str] | None,
    until: str | None,
    save: str | None,
    every: str | None,
    out: str | None,
    json: str | None,
    drawn: Callable[[], Asked | None],
    *,
    force: bool,
    allow: bool,
    json_progress: bool,
) -> int:
    """Go on from a saved run."""
    from backwater.cli.runs import save_once
    from backwater.directory import free_directory
    from backwater.resumed import resume
    from backwater.saving import saving

    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"{option} and --from exclude each other",
                "the saved run has its scenario and its seed; --set changes values from there on",
            )
    _check_times(until, save, every, out, force=force)
    case = resume(saved)
    for key, value in overrides(settings):
        case = case.set(key, value)
    writable(json, Kind.JSON)
    drawing = drawn()
    if until is not None and save is not None:
        return save_once(case.job(None), until, Path(save), json, json_progress=json_progress)
    job = case.job(None, saving(save, every))
    # It has been checked before a directory is made.
    usual = Path("results") / Path(saved).stem
    base = free_directory(usual) if out is None else Path(out)
    job = dataclasses.replace(job, out=base)
    warn(job.prepared.warnings)
    return _once(case, job, base, json, drawing, allow=allow, force=force, progress=json_progress)


def _threads(asked: int | None) -> int:
    from backwater.running import check_threads

    if asked is None:
        return 1
    check_threads(asked, f"--threads {asked}")
    return asked


def _name(file: str, variant: str | None, mechanisms: list[str] | None) -> str:
    stem = "stdin" if file == "-" else Path(file).stem
    named = stem if variant is None else f"{stem}-{variant}"
    return "+".join([named, *(mechanisms or ())])


def _options(name: str, values: str | list[str] | None) -> list[str]:
    given = [values] if isinstance(values, str) else values or []
    return [word for value in given for word in (name, value)]
