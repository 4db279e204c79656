"""The goal of `backwater sweep`: its additions to a plan, and the output of its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from backwater._core import ScenarioError
from backwater.cli.labels import check_labels
from backwater.cli.output import listing, message, put, show, write
from backwater.cli.views import View
from backwater.directory import FIGURES, SUMMARY, TRIALS
from backwater.errors import InputError
from backwater.manifest import SWEEP, read_manifest
from backwater.wording import chance, many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from backwater.cli.sweep_plan import PlanOptions
    from backwater.scenario import Scenario
    from backwater.sweep.goal import Goal
    from backwater.sweep.plan import Plan
    from backwater.sweep.run import Sweeping
    from backwater.sweep.seek import Batch, Rows, Seeking
    from backwater.sweep.values import Axis, Value

TRIED = 60
"""Sets of values that a search tries by default."""
MOST_TRIALS = 100_000


def sought(axes: tuple[Axis, ...], options: PlanOptions) -> tuple[tuple[Axis, ...], bool]:
    """Return the axes with that of the goal, and whether a search chooses their values.

    Raises `InputError`.
    """
    trials = options.trials
    if options.goal is None:
        for option in ("trials", "base"):
            if getattr(options, option) is not None:
                raise InputError(f"--{option}: needs a goal", 'add --goal "METRIC min"')
        return axes, False
    from backwater.sweep.goal import Goal, stepped

    goal = Goal.of(options.goal)
    if trials is not None and not 1 <= trials <= MOST_TRIALS:
        raise InputError(f"--trials {trials}: not from 1 to {MOST_TRIALS}")
    if not goal.threshold:
        if not axes and len(options.variants or ()) == 0:
            raise InputError(f"--goal {goal.text}: nothing is varied", 'add --vary "KEY=A..B"')
        if trials is not None and options.sample is not None:
            raise InputError("--trials and --sample exclude each other", "give one of them")
        if trials is not None and not axes:
            raise InputError("--trials: nothing is varied", 'add --vary "KEY=A..B"')
        intervals = any(one.interval is not None for one in axes)
        searched = trials is not None or (intervals and options.sample is None)
        if searched and options.zip:
            raise InputError("--zip: a search draws each key alone", "give --vary lists or steps")
        return axes, searched
    for option in ("trials", "sample"):
        if getattr(options, option) is not None:
            raise InputError(
                f"--{option}: a threshold is bisected, not drawn", f"leave --{option} out"
            )
    if any(goal.key in group for group in options.zip or ()):
        raise InputError(f"--zip: {goal.key} is sought alone", "leave it out of --zip")
    mine = [n for n, one in enumerate(axes) if one.key == goal.key]
    if goal.axis is not None:
        if mine:
            raise InputError(
                f"--goal {goal.text}: --vary {goal.key} also has its values", "give one of them"
            )
        return (*axes, goal.axis), False
    if not mine:
        raise InputError(
            f"--goal {goal.text}: has no range of {goal.key}",
            f'"largest {goal.key} in A..B where …", or --vary "{goal.key}=A..B step C"',
        )
    return tuple(stepped(one) if n in mine else one for n, one in enumerate(axes)), False


def seek(asked: Sweeping, options: PlanOptions, cases: Callable[[str], Scenario]) -> None:
    """Have a sweep search for its goal; `cases` returns variants. Raises `InputError`."""
    from backwater.sweep.answer import Answering, answered
    from backwater.sweep.goal import Goal
    from backwater.sweep.legal import examples
    from backwater.sweep.seek import Grid, Thresholds, Trials

    assert options.goal is not None
    goal, plan = Goal.of(options.goal), asked.plan
    keys = [axis.key for axis in plan.axes]
    more = goal.see(keys)
    check_labels(more, list(examples(plan).values()))
    asked.metrics = tuple(dict.fromkeys([*asked.metrics, *(one.name for one in more)]))
    if plan.searched and not goal.threshold:
        _check_references(goal, plan)
    called, base = base_batch(plan, options.base, cases)
    asked.beside = [] if base is None else [base]

    def make() -> Seeking:
        if goal.threshold:
            return Thresholds(plan, goal, asked.beside)
        if not plan.searched:
            return Grid(plan, asked.beside)
        from backwater.sweep.trials import storage

        count = TRIED if options.trials is None else options.trials
        seed = 1 if options.sample_seed is None else options.sample_seed
        return Trials(plan, goal, count, seed, storage(asked.directory / TRIALS), asked.beside)

    def answering(seeking: Seeking, rounds: Sequence[Batch], rows: Rows) -> dict[str, Any]:
        beside = None if base is None else (called, base.points)
        question = Answering(goal, plan, rows, beside, asked.metrics)
        return answered(seeking, question, rounds)

    extra = 0 if base is None else len(base.points)
    if goal.threshold:
        first = make().ask({})
        asked.most = 0 if first is None else len(first.points) + first.later
    elif not plan.searched:
        asked.most = len(plan.points) + extra
    else:
        count = TRIED if options.trials is None else options.trials
        asked.most = count * len(plan.seeds) + extra
    asked.seeking, asked.answering = make, answering


def _check_references(goal: Goal, plan: Plan) -> None:
    """Refuse a search by a metric whose reference the search changes. Raises `InputError`."""
    from backwater.sweep.references import moved
    from backwater.sweep.words import hints

    for one in moved(plan, [name for name, _ in goal.metrics]):
        name, (of, _) = one.metric.name, one.metric.held_against or ("", "")
        raise InputError(
            f"--goal {goal.text}: {name} is relative to {of}, which {one.key} changes: its "
            "values cannot be compared",
            next(iter(hints(goal.text, [{"metric": name, "instead": one.metric.instead}])), None),
        )


def base_batch(
    plan: Plan, variant: str | None, cases: Callable[[str], Scenario]
) -> tuple[str, Batch | None]:
    """Return the name and the points of the base of an answer: a variant with its own values.

    Without `--base`, a scenario that is refused with its own values has no base.
    """
    from backwater.sweep.seek import Batch

    name = next(iter(plan.scenarios)) if variant is None else variant
    case = plan.scenarios[name] if name in plan.scenarios else _case(name, cases)
    try:
        own = {one["key"]: one["value"] for one in case.values()}
    except ScenarioError as error:
        if variant is not None:
            raise
        message(f"no base: the scenario is refused with its own values: {error.reason}")
        return "", None
    values = tuple(_own(axis, own.get(axis.key)) for axis in plan.axes)
    whole = replace(plan, scenarios={**plan.scenarios, name: case}, where=())
    its, [points] = whole.exactly([(name, values)])
    settings = [f"{key} {text}" for key, text in its.settings(points[0])]
    plain = [] if "" in plan.scenarios else ["the file without a variant"]
    called = ", ".join([*([name] if name else plain), *settings])
    return called or "the scenario as it is", Batch(its, points, 0, apart=True)


def _case(name: str, cases: Callable[[str], Scenario]) -> Scenario:
    """Return the variant that `--base` names. Raises `InputError` if the file lacks it."""
    known = cases("").variants
    if name and name not in known:
        variants = f"there are {', '.join(known)}, and " if known else ""
        raise InputError(
            f"--base {name}: is not a variant", f'{variants}"" is the file without a variant'
        )
    return cases(name)


def _own(one: Axis, text: str | None) -> Value | None:
    """Return a scenario's own value of a key; None if it is not set or absent."""
    from backwater.sweep.values import axis

    if text is None or text == "absent":
        return None
    try:
        [value] = axis(one.key, [text]).values
    except (InputError, ValueError):
        return None
    return value if (value.number is None) == (one.unit is None) else None


def show_answer(directory: Path, answer: dict[str, Any], *, loud: bool) -> bool:
    """Print an answer, and keep it with its figures. Return whether there is an answer."""
    from backwater.report.sweep import sweep_page
    from backwater.sweep.dataset import Sweep as Dataset
    from backwater.sweep.words import front, tables, words

    lines = words(answer)
    if loud:
        put("")
        for line in lines:
            put(line)
        for title, tests in tables(answer):
            _show_tests(title, tests, answer["base"])
        titles, rows = front(answer)
        if rows:
            put("")
            listing(titles, rows, "")
    page = sweep_page(Dataset(read_manifest(directory, SWEEP), directory))
    write(str(directory / SUMMARY), "\n".join([f"goal: {answer['text']}", *lines]) + "\n")
    folder = directory / FIGURES
    folder.mkdir(exist_ok=True)
    for figure in page.figures:
        write(str(folder / f"{figure.id}.svg"), figure.drawing)
    figures = many(len(page.figures), "figure")
    message(f"summary and {figures}: {directory / SUMMARY}, {folder}")
    return any(line["answer"] for line in answer.get("lines", ())) or bool(answer.get("points"))


def _show_tests(title: str, tests: Sequence[Mapping[str, Any]], base: str | None) -> None:
    from backwater.numbers.metrics import unit_of
    from backwater.sweep.words import interval, remarks

    view = View()
    view.add_column("metric", [test["metric"] for test in tests])
    view.add_column("unit", [unit_of(test["metric"]) for test in tests])
    view.add_column("here", [interval(test["value"]) for test in tests], justify="right")
    if any("base" in test for test in tests):
        for name, text in (("base", interval), ("difference", interval), ("p", chance)):
            cells = [text(test[name]) if "base" in test else "-" for test in tests]
            view.add_column(name, cells, justify="right")
    put("")
    show(view, title, *remarks(tests, base))
