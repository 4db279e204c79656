"""Reads a sweep from the options of `backwater sweep` and from a file."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater._core import ScenarioError
from backwater.cli.arguments import (
    Set,
    With,
    changed,
    check_used,
    overrides,
    read,
    seeds,
    split_variant,
)
from backwater.cli.labels import check_labels
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from backwater.scenario import Scenario
    from backwater.sweep.definition import Definition
    from backwater.sweep.plan import Plan
    from backwater.sweep.run import Sweeping

KEPT = ("flows",)


@dataclass(frozen=True)
class PlanOptions:
    """The points of a sweep, and the data that it keeps of them."""

    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="KEY=VALUES",
            help='Values of a key: a list "3us,6us", a range "A..B step C" or "A..B in N". Like '
            "--set, it switches no mechanism on.",
        ),
    ] = None
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N|A..B", help="N seeds, or those from A to B."),
    ] = None
    variants: Annotated[
        list[str] | None,
        typer.Option("--variant", metavar="NAME,NAME", help="Variants of the file to run."),
    ] = None
    zip: Annotated[
        list[str] | None,
        typer.Option("--zip", metavar="KEY,KEY", help="Vary these keys together, value by value."),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="CONDITION", help="Run only points at which this holds."),
    ] = None
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="HOW N", help='Draw N points: "random 200" or "lhs 200".'),
    ] = None
    sample_seed: Annotated[
        int | None, typer.Option("--sample-seed", min=0, help="Seed of the samples; 1 by default.")
    ] = None
    goal: Annotated[
        str | None,
        typer.Option(
            "--goal",
            metavar="GOAL",
            help='The goal: "largest KEY in A..B where CONDITION", "smallest …", or "METRIC min '
            'where CONDITION".',
        ),
    ] = None
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials", metavar="N", help="Sets of values that a search tries; 60 by default."
        ),
    ] = None
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="VARIANT",
            help='Base of the answer: a variant, or "" for the file without one; by default the '
            "first variant with its own values.",
        ),
    ] = None
    settings: Set = None
    mechanisms: With = None
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="A metric to keep besides the usual ones."),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="TABLE", help="A table to keep of each run: flows."),
    ] = None


def sweeping(file: str, options: PlanOptions, out: str | None) -> Sweeping:
    """Read a sweep from a file and the options. Raises `InputError`."""
    from backwater.directory import free_name
    from backwater.sweep.definition import definition
    from backwater.sweep.run import Sweeping

    path, variant = split_variant(file, ",".join(options.variants or ()) or None)
    if variant is not None:
        options = replace(options, variants=[variant])
    known = None if path == "-" else definition(Path(path))
    scenario, vary = path, _varied(options.vary or ())
    if known is not None:
        options = _merged(known, options)
        scenario = str(Path(path).parent / known.scenario)
        vary = list((known.vary | dict(vary)).items())
    plan, facts, cases = _plan(scenario, options, vary)
    for name in options.keep or ():
        if name not in KEPT:
            raise InputError(f"--keep {name}: cannot be kept", f"only {', '.join(KEPT)} can")
    usual = free_name(Path("results") / f"{'stdin' if path == '-' else Path(path).stem}-sweep")
    base = usual if out is None else Path(out)
    metrics = tuple(options.metrics or ())
    if metrics:
        _check_metrics(metrics, plan)
    asked = Sweeping(plan, base, facts, metrics, tuple(options.keep or ()))
    if options.goal is not None:
        from backwater.cli.sweep_goal import seek

        seek(asked, options, cases)
    return asked


def _check_metrics(metrics: Sequence[str], plan: Plan) -> None:
    """Refuse an unknown metric, and a metric that no point has. Raises `InputError`."""
    from backwater.numbers.metrics import metric
    from backwater.sweep.legal import examples

    wanted = [metric(name) for name in metrics]
    # If no point is legal, the points report why.
    with contextlib.suppress(ScenarioError):
        check_labels(wanted, list(examples(plan).values()))


def _merged(known: Definition, options: PlanOptions) -> PlanOptions:
    """Return the options, with a file's values for those that are absent, and all settings."""
    settings = [f"{key}={_text(value)}" for key, value in known.set.items()]
    of_file = PlanOptions(
        variants=known.variants,
        seeds=None if known.seeds is None else str(known.seeds),
        zip=[",".join(group) for group in known.zip],
        where=[known.where] if isinstance(known.where, str) else known.where,
        sample=known.sample,
        sample_seed=known.sample_seed,
        goal=known.goal,
        trials=known.trials,
        base=known.base,
        metrics=known.metrics,
        keep=known.keep,
        mechanisms=known.mechanisms,
    )
    given = {name: value for name, value in vars(options).items() if value is not None}
    return replace(of_file, **given | {"settings": [*settings, *(options.settings or ())]})


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _varied(vary: Iterable[str]) -> list[tuple[str, Any]]:
    """Read `--vary`. Return keys, each with its values as a text."""
    found = []
    for one in vary:
        key, equals, values = one.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"--vary {one}: not of the form KEY=VALUES",
                'for example --vary "switch.buffer=100 KB..400 KB step 100 KB"',
            )
        found.append((key.strip(), values.strip()))
    return found


def _plan(
    scenario: str, options: PlanOptions, vary: Iterable[tuple[str, Any]]
) -> tuple[Plan, dict[str, Any], Callable[[str], Scenario]]:
    """Return the plan of a sweep, the facts about its origin, and a reader of its variants."""
    from backwater.cli.sweep_goal import sought
    from backwater.sweep.legal import examples
    from backwater.sweep.plan import ALONE, Plan, Sampling
    from backwater.sweep.values import axis, split

    case = read(scenario)
    pairs = overrides(options.settings)
    axes, searched = sought(tuple(axis(key, values) for key, values in vary), options)
    for one in axes:
        if one.key in dict(pairs):
            raise InputError(f"--vary and --set {one.key} exclude each other", "leave one out")
        if one.key == "seed":
            raise InputError("--vary seed: --seeds varies seeds", "--seeds 1..10")
    names = [name for some in options.variants or () for name in split(some)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--variant {twice}: is named twice", "leave one out")

    def named(name: str) -> Scenario:
        one = case.variant(name) if name else case
        return changed(one, pairs, options.mechanisms, where_on=True)

    cases = {name: named(name) for name in names or [ALONE]}
    check_used(pairs, cases.values(), "every variant" if names else scenario)
    sampling = None
    if options.sample is not None:
        seed = options.sample_seed
        sampling = Sampling.of(options.sample, 1 if seed is None else seed)
    elif options.sample_seed not in (None, 1) and not searched:
        raise InputError("--sample-seed: no points are drawn", "add --sample 'lhs 200'")
    own = next(iter(cases.values())).seed
    plan = Plan(
        cases,
        axes,
        tuple(seeds(options.seeds, own)) if options.seeds is not None else (own,),
        tuple(tuple(split(group)) for group in options.zip or ()),
        sampling,
        tuple(options.where or ()),
        searched,
    )
    try:
        examples(plan)
    except ScenarioError as error:
        option, _, value = (error.file or "").partition(" ")
        if option != "--set" or value.partition("=")[0] in dict(pairs):
            raise
        hint = error.hint or f"see `backwater explain {error.key}`"
        raise InputError(f"--vary {value}: {error.reason}", hint) from None
    asked = vars(options)
    facts = {
        "title": case.title,
        "file": scenario,
        "with": list(options.mechanisms or ()),
        "set": dict(pairs),
        "asked": {
            "vary": dict(vary),
            **{key: asked[key] for key in ("variants", "seeds", "zip", "where", "sample")},
            **{
                key: asked[key]
                for key in ("goal", "trials", "base", "sample_seed")
                if asked[key] is not None
            },
        },
    }
    return plan, facts, named
