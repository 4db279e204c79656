"""What a sweep is to be, from the options of `backwater sweep` or from a file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import ScenarioError
from backwater.cli.arguments import changed, check_used, overrides, read, seeds, split_variant
from backwater.cli.labels import check_labels
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from backwater.scenario import Scenario
    from backwater.sweep.definition import Definition
    from backwater.sweep.plan import Plan
    from backwater.sweep.run import Sweeping

KEPT = ("flows",)
OPTIONS = (
    *("vary", "variants", "seeds", "zip", "where", "sample", "sample_seed", "metrics", "keep"),
    *("with", "set", "goal", "trials", "base"),
)
"""What says which points there are, and what is kept of them, in options or in a file."""


def sweeping(file: str, given: dict[str, Any], out: str | None) -> Sweeping:
    """Read what a sweep is to be, from a file and the options. Raises `InputError`."""
    from backwater.directory import free_name
    from backwater.sweep.definition import definition
    from backwater.sweep.run import Sweeping

    path, variant = split_variant(file, ",".join(given["variants"] or ()) or None)
    if variant is not None:
        given = given | {"variants": [variant]}
    known = None if path == "-" else definition(Path(path))
    scenario = path
    if known is not None:
        given = _merged(known, given)
        scenario = str(Path(path).parent / known.scenario)
    plan, facts, cases = _plan(scenario, given)
    for name in given["keep"] or ():
        if name not in KEPT:
            raise InputError(f"--keep {name}: cannot be kept", f"there is {', '.join(KEPT)}")
    usual = free_name(Path("results") / f"{'stdin' if path == '-' else Path(path).stem}-sweep")
    base = usual if out is None else Path(out)
    metrics = tuple(given["metrics"] or ())
    if metrics:
        _check_metrics(metrics, plan)
    asked = Sweeping(plan, base, facts, metrics, tuple(given["keep"] or ()))
    if given["goal"] is not None:
        from backwater.cli.sweep_goal import seek

        seek(asked, given, cases)
    return asked


def _check_metrics(metrics: Sequence[str], plan: Plan) -> None:
    """Refuse what is no metric, or one of what no point has. Raises `InputError`."""
    from backwater.numbers.metrics import metric
    from backwater.sweep.legal import examples

    wanted = [metric(name) for name in metrics]
    # Where no point is legal, the points say why.
    with contextlib.suppress(ScenarioError):
        check_labels(wanted, list(examples(plan).values()))


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
    return value if isinstance(value, str) else json.dumps(value)


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
    from backwater.sweep.legal import examples
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
        raise InputError(f"--variant {twice}: is named twice", "leave one out")

    def named(name: str) -> Scenario:
        one = case.variant(name) if name else case
        return changed(one, pairs, given["with"], where_on=True)

    cases = {name: named(name) for name in names or [ALONE]}
    check_used(pairs, cases.values(), "every variant" if names else scenario)
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
        examples(plan)
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
