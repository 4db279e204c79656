"""Prints the table of a comparison, and the remarks below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.cli.output import show
from backwater.cli.views import View
from backwater.comparison import OTHERS, UNLIKE, Difference, Row, judged
from backwater.findings import headlines
from backwater.findings import remarks as noticed
from backwater.numbers.registry import MORE
from backwater.samples import too_few
from backwater.wording import difference, digits, given_up_ports, series, unit_beside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.cli.comparing import Plan

# A longer name of a metric has its group in a line of its own.
LONG_METRIC = 20

# Metrics whose names show that more of them is better.
RATES = ("throughput", "algbw", "busbw")


def show_rows(
    plan: Plan,
    rows: Sequence[Row],
    scenarios: Sequence[dict[str, Any]],
    least: float,
    put: Callable[..., None],
    *,
    every: bool,
) -> None:
    """Print a row for each metric: values, differences from the first scenario, winner.

    `scenarios` has the results of each as JSON; `least` is the smallest difference that matters.
    With `every` rows of zeros are printed as well; otherwise they are named below the table.
    """
    shown = [one for one in rows if every or any(one.means)]
    for line in beginning(plan, scenarios):
        put(line, style="bold red")
    letters = [_letter(number) for number in range(len(plan.cases))]
    for letter, case in zip(letters, plan.cases, strict=True):
        put(f"{letter} = {case.label}: {case.scenario.title}")
    put("")
    left_out = [one for one in rows if one not in shown]
    remarks = [*_left_out(left_out), *_remarks(plan, shown, scenarios, least, letters)]
    if shown:
        show(table(shown, len(plan.seeds)), None, *remarks, keys=2)
    else:
        put("\n".join(remarks), style="dim")


def table(rows: Sequence[Row], seeds: int) -> View:
    """Lay out the rows of a comparison over so many seeds."""
    letters = [_letter(number) for number in range(len(rows[0].means))]
    fewer = any(len(one.seeds) != seeds for one in rows)
    view = View()
    view.add_column("metric")
    view.add_column("unit")
    for letter in letters:
        view.add_column(letter, justify="right")
    for letter in letters[1:]:
        view.add_column(f"{letter} - {letters[0]}\n(95 %)", justify="right")
    if fewer:
        view.add_column("seeds", justify="right")
    view.add_column("samples", justify="right")
    view.add_column("winner")
    for one in rows:
        name = one.metric.name
        view.add_row(
            name if len(name) <= LONG_METRIC else name.replace(":", ":\n  ", 1),
            unit_beside(name, one.metric.unit),
            *(digits(mean, 6) for mean in one.means),
            *(_against(one, number, letters) for number in range(1, len(letters))),
            *([str(len(one.seeds))] if fewer else []),
            _flows(one),
            _winner(one, letters),
        )
    return view


def _left_out(rows: Sequence[Row]) -> list[str]:
    """Name the metrics that have no row."""
    zero = [one.metric.name for one in rows if any(mean is not None for mean in one.means)]
    none = [one.metric.name for one in rows if one.metric.name not in zero]
    return [
        f"{what}: {', '.join(names)}."
        for what, names in (("All 0", zero), ("No value", none))
        if names
    ]


def beginning(plan: Plan, scenarios: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines that begin the output: scenarios with incomplete runs."""
    return [
        f"{case.label}: {line}"
        for case, one in zip(plan.cases, scenarios, strict=True)
        for line in headlines(one["warnings"])
    ]


def _remarks(
    plan: Plan,
    rows: Sequence[Row],
    scenarios: Sequence[dict[str, Any]],
    least: float,
    letters: Sequence[str],
) -> list[str]:
    n = len(plan.seeds)
    over = "Values of one seed" if n == 1 else f"Means over {n} seeds"
    remarks = [
        f"{over}; differences are formed seed by seed, ± is half of their 95 % interval "
        "(Student's t).",
        "A winner differs from every other scenario by at least "
        f"{100 * least:g} % (--least), with an interval that excludes zero. Equal, or A = B: the "
        f"whole interval lies within ±{100 * least:g} %. A or B: more seeds are needed to decide. "
        f"{_better(rows)} Times are of complete flows, collectives and rounds; `samples` is the "
        "least number of them in a seed.",
    ]
    if (few := too_few(n)) is not None:
        remarks.append(few)
    missing: dict[str, list[str]] = {}
    for told in rows:
        for letter, reason in zip(letters, told.reasons, strict=True):
            if reason is not None:
                missing.setdefault(f"{told.metric.name}: {reason}", []).append(letter)
    if missing:
        said = (f"{reason} ({', '.join(of)})" for reason, of in missing.items())
        remarks.append(f"No value: {'; '.join(said)}.")
    if any(0 < count < n for one in rows for count in one.counts):
        remarks.append(
            "Some metrics have fewer values than seeds: a row is over the seeds that all scenarios "
            "with values share (--json names them)."
        )
    others: dict[str, list[str]] = {}
    for one in rows:
        if one.verdict == OTHERS:
            others.setdefault(_complete(one, letters), []).append(one.metric.name)
    remarks += [
        f"{', '.join(names)}: no winner, since different flows are complete ({of}), and only these "
        "have times."
        for of, names in others.items()
    ]
    remarks += [
        f"{one.metric.name}: no winner, since the scenarios have different references "
        f"({_references(one, letters)})."
        for one in rows
        if one.verdict == UNLIKE
    ]
    remarks += [f"{said}." for case in plan.cases for said in case.skipped]
    lost = [
        f"{_letter(number)} {what} {one[what]} of {n}"
        for number, one in enumerate(scenarios)
        for what in ("failed", "incomplete")
        if one[what]
    ]
    if lost:
        remarks.append(
            f"{', '.join(lost)}: these runs count in `unfinished` only; the other rows compare the "
            "scenarios that have values."
        )
    for number, scenario in enumerate(scenarios):
        if ports := scenario["given_up"]:
            remarks.append(f"{_letter(number)}: {given_up_ports(ports)}.")
        for found in noticed(scenario["warnings"]):
            remarks.append(f"{_letter(number)}: {found['message']}.")
    return remarks


def _better(rows: Sequence[Row]) -> str:
    """Describe in which metrics more is better, and in which neither is."""
    of = {one.metric.quantity.name: one.metric.quantity.better for one in rows}
    more = [name for name, better in of.items() if better == MORE and name not in RATES]
    but = series(["throughputs", "bandwidths", *more])
    neither = [name for name, better in of.items() if better is None]
    said = f" Neither is better in {series(neither)}." if neither else ""
    return f"Less is better, except in {but}.{said}"


def _complete(one: Row, letters: Sequence[str]) -> str:
    """Describe how many flows of each scenario are complete, in the seed with fewest."""
    return ", ".join(
        f"{letter} {samples if part is None else part.complete} of "
        f"{samples if part is None else part.flows}"
        for letter, samples, part in zip(letters, one.samples, one.parts, strict=True)
        if samples
    )


def _references(one: Row, letters: Sequence[str]) -> str:
    """Describe the reference of each scenario's values."""
    assert one.metric.held_against is not None
    of, unit = one.metric.held_against
    said = (
        f"{letter} {digits(reference, 6)} {unit}"
        for letter, reference in zip(letters, one.references, strict=True)
        if reference is not None
    )
    return f"{of}: {', '.join(said)}"


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"


def _against(one: Row, number: int, letters: Sequence[str]) -> str:
    """Format the difference of a scenario, with its base if the first has no values."""
    said = _difference(one.differences[number])
    if not one.base or one.differences[number] is None:
        return said
    return f"{letters[number]} - {letters[one.base]}: {said}"


def _difference(found: Difference | None) -> str:
    if found is None:
        return "-"
    return difference(found.mean, None if found.ci_high is None else found.ci_high - found.mean)


def _winner(one: Row, letters: Sequence[str]) -> str:
    if not one.winners:
        return "-"
    judged_ = sum(mean is not None for mean in one.means)
    return judged(one.verdict, [letters[winner] for winner in one.winners], judged_)


def _flows(one: Row) -> str:
    known = [n for n in one.samples if n is not None]
    if not known:
        return "-"
    least, most = min(known), max(known)
    return str(least) if least == most else f"{least} to {most}"
