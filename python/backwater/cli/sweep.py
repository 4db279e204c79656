"""`backwater sweep`: run a scenario at many points, and keep all of them in one dataset."""

from __future__ import annotations

import json as json_
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater._core import ScenarioError
from backwater.cli.arguments import (
    Force,
    Json,
    JsonProgress,
    Out,
    Set,
    With,
    changed,
    overrides,
    read,
    see_used,
    seeds,
)
from backwater.cli.figures import DONE, FigureFiles, Font, Theme, Width
from backwater.cli.figures import asked as drawings
from backwater.cli.output import message, show, write, write_json
from backwater.cli.targets import Kind, writable
from backwater.cli.views import View
from backwater.errors import InputError
from backwater.wording import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from backwater.scenario import Scenario
    from backwater.sweep.clusters import Slurm
    from backwater.sweep.definition import Definition
    from backwater.sweep.drive import State
    from backwater.sweep.pilot import Estimate
    from backwater.sweep.plan import Plan, Point
    from backwater.sweep.run import Sweeping

FAILED = 1
KEPT = ("flows",)
OPTIONS = (
    *("vary", "variants", "seeds", "zip", "where", "sample", "sample_seed", "metrics", "keep"),
    *("with", "set", "goal", "trials", "base"),
)
"""What says which points there are, and what is kept of them, in options or in a file."""
# A pilot that only estimates runs so many points, for so many seconds at most together.
_PILOT_POINTS, _PILOT_SECONDS = 3, 10.0
# Different errors of points that are told.
_ERRORS = 5


def sweep(
    file: Annotated[
        str, typer.Argument(help="A scenario file, or a file of a sweep.", metavar="FILE")
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=VALUES",
            help='Values of a key: a list "3us,6us", a range "A..B step C" or "A..B in N". Like '
            "--set, it switches no mechanism on.",
        ),
    ] = None,
    many: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N|A..B", help="N seeds, or those from A to B."),
    ] = None,
    variants: Annotated[
        list[str] | None,
        typer.Option("--variant", metavar="NAME,NAME", help="Variants of the file to be run."),
    ] = None,
    zipped: Annotated[
        list[str] | None,
        typer.Option("--zip", metavar="KEY,KEY", help="Keys whose values go together in order."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="CONDITION", help="Only points at which this holds."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="HOW N", help='Draw N points: "random 200" or "lhs 200".'),
    ] = None,
    sample_seed: Annotated[
        int | None, typer.Option("--sample-seed", min=0, help="Seed of the samples; 1 by default.")
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(
            "--goal",
            metavar="GOAL",
            help='What is sought: "largest KEY in A..B where CONDITION", "smallest …", or "METRIC '
            'min where CONDITION".',
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", metavar="N", help="Sets of values that a search tries; 60 by default."
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="VARIANT",
            help="What the answer is held against; by default the scenario's own values.",
        ),
    ] = None,
    settings: Set = None,
    mechanisms: With = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="A metric to keep beside the usual ones."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="TABLE", help="Keep a table of each run, too: flows."),
    ] = None,
    out: Out = None,
    force: Force = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run points again that have failed.")
    ] = False,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Count points, estimate time and disk, write nothing.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", help="Processes on this machine; one a core by default."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="Limit of each of these, as 2GB."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Use a Dask scheduler that is there."),
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option(
            "--slurm", metavar="OPTIONS", help='Run in jobs of SLURM: "queue=q cores=8 jobs=4".'
        ),
    ] = None,
    figure: FigureFiles = None,
    width: Width = None,
    font: Font = None,
    theme: Theme = None,
    json_progress: JsonProgress = False,
    json: Json = None,
) -> int:
    """Run a scenario at many points of its parameters, with several seeds, into one dataset.

    All combinations of the values are run, with each variant and seed; --zip has keys go together,
    --sample draws points, --where leaves some out. FILE is a scenario, or a file with a table
    `sweep` that says the same as the options, and names a scenario.
    The same command goes on where an earlier one was stopped or killed. Values and seeds that are
    added run what is new. Another scenario or build is refused, and --force does all anew.
    A point that fails is a row with its error, and the others go on; --retry runs those again.
    Points run in processes on this machine, on a Dask cluster (--scheduler), or in jobs of SLURM.
    With --goal only points that lead to an answer are run: thresholds are bisected, with all seeds
    at each value; a best point is sought by Optuna where intervals are varied, or with --trials,
    and else among all points. The answer is told with its interval, and against a base.
    `backwater query` and `backwater.open_sweep` read the dataset, `backwater status` says how far
    it is. --figure draws a figure of it for a paper or a slide.
    """
    given = {
        "vary": vary,
        "variants": variants,
        "seeds": many,
        "zip": zipped,
        "where": where,
        "sample": sample,
        "sample_seed": sample_seed,
        "goal": goal,
        "trials": trials,
        "base": base,
        "metrics": metrics,
        "keep": keep,
        "with": mechanisms,
        "set": settings,
    }
    _see_engine(workers, memory, scheduler, slurm)
    writable(json, Kind.JSON, file)
    drawing = drawings(figure, width, font, theme, file)
    if drawing is not None and dry:
        raise InputError("--figure and --dry-run exclude each other", "nothing is run to be drawn")
    asked = sweeping(file, given, out)
    from backwater.sweep import clusters

    jobs = None if slurm is None else clusters.Slurm.of(slurm)
    if dry:
        told = foresee(asked, workers or _processors(), force=force)
        if jobs is not None:
            write("-", jobs.script())
        if json is not None:
            write_json(json, told)
        return 0
    if jobs is not None:
        message(f"{_many(jobs.jobs, 'job')} of SLURM to be submitted; they may wait in its queue")
        asked.wait = math.inf
    code = _carry_out(
        asked,
        _engine(workers, memory, scheduler, jobs),
        json,
        force=force,
        retry=retry,
        json_progress=json_progress,
        workers=workers or (_processors() if scheduler is None and jobs is None else None),
    )
    if drawing is not None and code in DONE:
        drawing.draw_of(asked.directory)
    return code


def _see_engine(
    workers: int | None, memory: str | None, scheduler: str | None, slurm: str | None
) -> None:
    if scheduler is not None and slurm is not None:
        raise InputError("--scheduler and --slurm exclude each other", "give one of them")
    for option, value in (("--workers", workers), ("--memory", memory)):
        if value is not None and (scheduler is not None or slurm is not None):
            raise InputError(
                f"{option}: is of the processes on this machine", "a cluster has its own workers"
            )
    if workers is not None and not 1 <= workers <= 1024:
        raise InputError(f"--workers {workers}: not from 1 to 1024", "one a core is the default")


def _processors() -> int:
    from backwater.sweep.clusters import processors

    return processors()


def _engine(
    workers: int | None, memory: str | None, scheduler: str | None, jobs: Slurm | None
) -> Callable[[], AbstractContextManager[Any]]:
    from backwater.extras import needed
    from backwater.numbers.units import size_bytes
    from backwater.sweep import clusters

    needed("distributed", "sweep")
    limit = None if memory is None else size_bytes(memory, "--memory")
    if limit is not None and limit < clusters.LEAST_MEMORY:
        raise InputError(
            f"--memory {memory}: too little, a process takes some 150 MB before its first point",
            f"{clusters.LEAST_MEMORY // 10**6} MB or more, as in --memory 2GB",
        )
    if scheduler is not None:
        address = clusters.address_of(scheduler)
        return lambda: clusters.connected(address)
    if jobs is not None:
        clusters.see_sbatch()
        return lambda: clusters.slurm(jobs)
    return lambda: clusters.local(workers or clusters.processors(), limit)


def sweeping(file: str, given: dict[str, Any], out: str | None) -> Sweeping:
    """Read what a sweep is to be, from a file and the options. Raises `InputError`."""
    from backwater.directory import free_name
    from backwater.sweep.definition import definition
    from backwater.sweep.run import Sweeping

    known = None if file == "-" else definition(Path(file))
    if known is not None:
        given = _merged(known, given)
        scenario = str(Path(file).parent / known.scenario)
    else:
        scenario = file
    plan, facts, cases = _plan(scenario, given)
    for name in given["keep"] or ():
        if name not in KEPT:
            raise InputError(f"--keep {name}: cannot be kept", f"there is {', '.join(KEPT)}")
    usual = free_name(Path("results") / f"{'stdin' if file == '-' else Path(file).stem}-sweep")
    base = usual if out is None else Path(out)
    metrics = tuple(given["metrics"] or ())
    if metrics:
        from backwater.numbers.metrics import metric

        for name in metrics:
            metric(name)
    asked = Sweeping(plan, base, facts, metrics, tuple(given["keep"] or ()))
    if given["goal"] is not None:
        from backwater.cli.sweep_goal import seek

        seek(asked, given, cases)
    return asked


def _merged(known: Definition, given: dict[str, Any]) -> dict[str, Any]:
    """Take what a file says for what the options do not; keys of --vary and --set one by one."""
    where = [known.where] if isinstance(known.where, str) else known.where
    seeds_ = None if known.seeds is None else str(known.seeds)
    own: dict[str, Any] = {
        "vary": dict(known.vary),
        "variants": known.variants,
        "seeds": seeds_,
        "zip": [",".join(group) for group in known.zip],
        "where": where,
        "sample": known.sample,
        "sample_seed": known.sample_seed,
        "goal": known.goal,
        "trials": known.trials,
        "base": known.base,
        "metrics": known.metrics,
        "keep": known.keep,
        "with": known.mechanisms,
        "set": [f"{key}={_text(value)}" for key, value in known.set.items()],
    }
    merged = {key: own[key] if value is None else value for key, value in given.items()}
    merged["vary"] = own["vary"] | dict(_varied(given["vary"]))
    merged["set"] = [*own["set"], *(given["set"] or ())]
    return merged


def _text(value: object) -> str:
    return value if isinstance(value, str) else json_.dumps(value)


def _varied(vary: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - options, or a table
    """Read `--vary`, or take a table as it is."""
    if isinstance(vary, dict):
        yield from vary.items()
        return
    for one in vary or ():
        key, equals, values = one.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"--vary {one}: not of the form KEY=VALUES",
                'for example --vary "switch.buffer=100 KB..400 KB step 100 KB"',
            )
        yield key.strip(), values.strip()


def _plan(
    scenario: str, given: dict[str, Any]
) -> tuple[Plan, dict[str, Any], Callable[[str], Scenario]]:
    """Make the plan of a sweep, what its manifest says of where it comes from, and its variants."""
    from backwater.cli.sweep_goal import sought
    from backwater.sweep.plan import ALONE, Plan, Sampling
    from backwater.sweep.values import axis, split

    case = read(scenario)
    pairs = overrides(given["set"])
    axes, searched = sought(
        tuple(axis(key, values) for key, values in _varied(given["vary"])), given
    )
    for one in axes:
        if one.key in dict(pairs):
            raise InputError(f"--vary and --set {one.key} exclude each other", "leave one out")
        if one.key == "seed":
            raise InputError("--vary seed: seeds are not varied like this", "--seeds 1..10")
    names = [name for some in given["variants"] or () for name in split(some)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--variant {twice}: is named twice")

    def named(name: str) -> Scenario:
        one = case.variant(name) if name else case
        return changed(one, pairs, given["with"], where_on=True)

    cases = {name: named(name) for name in names or [ALONE]}
    see_used(pairs, cases.values(), "every variant" if names else scenario)
    sampling = None
    if given["sample"] is not None:
        seed = given["sample_seed"]
        sampling = Sampling.of(given["sample"], 1 if seed is None else seed)
    elif given["sample_seed"] not in (None, 1) and not searched:
        raise InputError("--sample-seed: nothing is drawn", "--sample 'lhs 200' as well")
    own = next(iter(cases.values())).seed
    plan = Plan(
        cases,
        axes,
        tuple(seeds(given["seeds"], own)) if given["seeds"] is not None else (own,),
        tuple(tuple(split(group)) for group in given["zip"] or ()),
        sampling,
        tuple(given["where"] or ()),
        searched,
    )
    try:
        plan.see_values()
    except ScenarioError as error:
        option, _, value = (error.file or "").partition(" ")
        if option != "--set" or value.partition("=")[0] in dict(pairs):
            raise
        hint = error.hint or f"`backwater explain {error.key}` says what it takes"
        raise InputError(f"--vary {value}: {error.reason}", hint) from None
    facts = {
        "title": case.title,
        "file": scenario,
        "with": list(given["with"] or ()),
        "set": dict(pairs),
        "asked": {
            "vary": dict(_varied(given["vary"])),
            **{key: given[key] for key in ("variants", "seeds", "zip", "where", "sample")},
            **{
                key: given[key]
                for key in ("goal", "trials", "base", "sample_seed")
                if given[key] is not None
            },
        },
    }
    return plan, facts, named


def counted(plan: Plan) -> str:
    """Say what a plan is of, for people."""
    parts = [f"{len(plan.scenarios)} variants"] if len(plan.scenarios) > 1 else []
    if plan.searched:
        parts += [f"{axis.key}" for axis in plan.axes]
        parts.append(_many(len(plan.seeds), "seed"))
        return f"a search over {', '.join(parts)}"
    if plan.sampling is not None:
        keys = ", ".join(axis.key for axis in plan.axes)
        parts.append(f"{plan.sampling.count} samples ({plan.sampling.how}) of {keys}")
    else:
        parts += [f"{len(axis.values)} of {axis.key}" for axis in plan.axes]
    parts.append(_many(len(plan.seeds), "seed"))
    return f"{_many(len(plan.points), 'point')}: {', '.join(parts)}"


def searching(asked: Sweeping) -> str:
    """Say what is sought, for people."""
    return f"goal: {asked.facts['asked']['goal']}; {_many(len(asked.plan.seeds), 'seed')} a point"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def foresee(asked: Sweeping, workers: int, *, force: bool) -> dict[str, Any]:
    """Count the points of a sweep, and estimate what it takes; gives it as JSON has it."""
    from backwater.sweep.pilot import pilot, recipe_of

    known = {} if force else asked.known()
    plan = asked.plan
    missing = [point for point in plan.points if point.id not in known]
    if asked.most is not None:
        return _foresee_search(asked, asked.most, missing, workers)
    message(counted(plan))
    if len(missing) < len(plan.points):
        message(f"{len(plan.points) - len(missing)} of them are in {asked.directory} already")
    told: dict[str, Any] = {"points": len(plan.points), "missing": len(missing)}
    if missing:
        recipe = recipe_of(plan, asked.metrics, asked.keep)
        estimate = pilot(plan, recipe, missing, _PILOT_POINTS, _PILOT_SECONDS)
        message(estimated(estimate, workers))
        seconds = estimate.seconds
        told |= {
            "seconds_per_point": seconds,
            "seconds": None if seconds is None else seconds * len(missing) / workers,
            "workers": workers,
            "bytes": None if estimate.nbytes is None else round(estimate.nbytes * len(missing)),
        }
        for _, rows in estimate.measured:
            for error in filter(None, rows["points"]["error"].to_pylist()):
                message(f"a point has failed: {error}")
    return told


def _foresee_search(
    asked: Sweeping, most: int, missing: Sequence[Point], workers: int
) -> dict[str, Any]:
    """Estimate a search: how many points it runs is known by an upper bound alone."""
    from backwater.sweep.pilot import pilot, recipe_of

    message(searching(asked), f"at most {_many(most, 'point')}")
    told: dict[str, Any] = {"points": most, "goal": asked.facts["asked"]["goal"]}
    if missing:
        recipe = recipe_of(asked.plan, asked.metrics, asked.keep)
        estimate = pilot(asked.plan, recipe, missing, _PILOT_POINTS, _PILOT_SECONDS)
        estimate.points = most
        message(estimated(estimate, workers))
        seconds = estimate.seconds
        told |= {
            "seconds_per_point": seconds,
            "seconds": None if seconds is None else seconds * most / workers,
            "workers": workers,
        }
    return told


def estimated(estimate: Estimate, workers: int | None) -> str:
    """Say what is foreseen, for people."""
    if estimate.seconds is None:
        return "a pilot run did not come to an end that could be foreseen: no estimate"
    whole = estimate.seconds * estimate.points
    said = f"about {_took(estimate.seconds)} a point by a pilot"
    if workers is None:
        said += f", {duration(whole)} of processor time together"
    else:
        on = "process" if workers == 1 else "processes"
        said += f", {duration(whole / workers)} for {estimate.points} on {workers} {on}"
    if estimate.nbytes is not None:
        said += f", {_size(estimate.nbytes * estimate.points)} of disk at most"
    return said


def _took(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else duration(seconds)


def _size(nbytes: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if nbytes >= factor:
            return f"{nbytes / factor:.1f} {unit}"
    return f"{nbytes:.0f} B"


def _carry_out(
    asked: Sweeping,
    engine: Callable[[], AbstractContextManager[Any]],
    json: str | None,
    *,
    force: bool,
    retry: bool,
    json_progress: bool,
    workers: int | None,
) -> int:
    from backwater.cli.sweep_goal import show_answer
    from backwater.cli.sweep_progress import watching
    from backwater.running import interruptible

    message(searching(asked) if asked.seeking is not None else counted(asked.plan))

    def announce(estimate: Estimate) -> None:
        there = len(asked.plan.points) - estimate.points
        if there and asked.seeking is None:
            message(f"{there} of them are in {asked.directory} already")
        message(estimated(estimate, workers))

    with interruptible() as stop, watching(json=json_progress) as display:
        state = asked.carry_out(engine, display, stop, announce, force=force, retry=retry)
    told = _told(asked, state)
    if json is not None and asked.answer is None:
        write_json(json, told)
    if json != "-":
        _show(told)
    if stop.is_set():
        message(
            f"{stop}; {state.done} of {state.points} points are done in {asked.directory}",
            "hint: the same command goes on",
        )
        return stop.exit_code
    if asked.answer is not None:
        if json is not None:
            write_json(json, told | {"goal": asked.answer})
        found = show_answer(asked.directory, asked.answer, loud=json != "-")
        message(f"results: {asked.directory}")
        return 0 if found else FAILED
    if state.failed:
        message(f"{state.failed} of {state.points} points have failed; --retry runs them again")
    message(f"results: {asked.directory}")
    return FAILED if state.failed else 0


def carry_out_here(asked: Sweeping) -> int:
    """Carry a sweep out on this machine, and say nothing of its points; gives what has stopped it.

    0: nothing has.
    """
    from backwater.cli.sweep_progress import watching
    from backwater.running import interruptible

    message(searching(asked))
    engine = _engine(None, None, None, None)
    with interruptible() as stop, watching(json=False) as display:
        asked.carry_out(engine, display, stop, lambda _: None)
    return stop.exit_code if stop.is_set() else 0


def _told(asked: Sweeping, state: State) -> dict[str, Any]:
    """Give what came of a sweep, as JSON has it."""
    from backwater.manifest import SWEEP, read_manifest
    from backwater.sweep.dataset import Sweep

    errors: dict[str, int] = {}
    if state.failed:
        points = Sweep(read_manifest(asked.directory, SWEEP), asked.directory).arrow()
        for error in map(str, points["error"].drop_null().to_pylist()):
            errors[error] = errors.get(error, 0) + 1
    return {
        "directory": str(asked.directory),
        "points": state.points,
        "done": state.done,
        "failed": state.failed,
        "fresh": state.fresh,
        "seconds": round(state.fresh / state.rate, 3) if state.fresh else 0.0,
        "errors": [
            {"error": error, "points": many}
            for error, many in sorted(errors.items(), key=lambda one: -one[1])
        ],
    }


def _show(told: dict[str, Any]) -> None:
    view = View()
    for name in ("points", "done", "failed", "run now"):
        view.add_column(name, justify="right")
    view.add_row(*(str(told[name]) for name in ("points", "done", "failed", "fresh")))
    show(view)
    for one in told["errors"][:_ERRORS]:
        message(f"{one['points']} failed: {one['error']}")
