"""Writes the answer to a goal in words and tables for people, from its JSON form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from backwater.numbers.metrics import unit_of
from backwater.sweep.answer import (
    ELSEWHERE,
    EVERYWHERE,
    FAILED,
    FOUND,
    REFUSED,
    UNKNOWN,
    VALUELESS,
)
from backwater.sweep.values import axis, shown
from backwater.wording import digits, figure, many, series, with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Digits shown of the values of a best point, as drawn values have many.
DIGITS = 4


def words(answer: Mapping[str, Any]) -> list[str]:
    """Write an answer for people, without its table."""
    if answer["kind"] == "threshold":
        lines = []
        for line in answer["lines"]:
            lines += _line_words(answer, line)
        return lines or ["the key has no effect in any variant, so nothing was searched"]
    return _point_words(answer)


def tables(answer: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Return the names and the metrics of the single points in an answer."""
    found = []
    if answer["kind"] == "front":
        return []
    if answer["kind"] == "threshold":
        for line in answer["lines"]:
            of = _of(line)
            if line["answer"] is not None:
                of.append(f"{answer['key']} {shown(answer['key'], line['answer'])}")
            found.append((", ".join(of), line["tests"]))
        return [one for one in found if one[1]]
    for one in answer["points"]:
        of = [one["variant"]] if one["variant"] else []
        of += [f"{key} {shown(key, value, DIGITS)}" for key, value in one["values"].items()]
        found.append((", ".join(of), one["tests"]))
    return found


def front(answer: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the points of a front as a table: titles and rows.

    Points whose metrics are all equal share a row; the base is the last row.
    """
    points = answer["points"] if answer["kind"] == "front" else []
    if not points:
        return [], []
    keys = list(dict.fromkeys(key for one in points for key in one["values"]))
    variants = len({one["variant"] for one in points}) > 1
    names = [test["metric"] for test in points[0]["tests"]]
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for one in points:
        values = tuple((test["metric"], interval(test["value"])) for test in one["tests"])
        groups.setdefault((one["variant"], *values), []).append(one)
    several = any(len(some) > 1 for some in groups.values())
    rows = []
    for some in groups.values():
        known = {test["metric"]: test for test in some[0]["tests"]}
        rows.append(
            [
                *([some[0]["variant"] or "-"] if variants else []),
                *(_values(key, some) for key in keys),
                *([str(len(some))] if several else []),
                *(interval(known[name]["value"]) if name in known else "-" for name in names),
            ]
        )
    tests = {test["metric"]: test for test in points[0]["tests"]}
    if any("base" in test for test in tests.values()):
        blank = [""] * (variants + len(keys) + several)
        bases = (tests[name].get("base") for name in names)
        rows.append(["base", *blank[1:], *("-" if one is None else interval(one) for one in bases)])
    titles = [*(["variant"] if variants else []), *keys, *(["points"] if several else [])]
    return [*titles, *(with_unit(name, unit_of(name)) for name in names)], rows


def _values(key: str, points: Sequence[Mapping[str, Any]]) -> str:
    """Return the values of a key at some points: all of them, or the least and the greatest."""
    texts = dict.fromkeys(one["values"][key] for one in points if key in one["values"])
    found = [(value.number, text) for text in texts for value in axis(key, [text]).values]
    all_shown = [shown(key, text, DIGITS) for _, text in found]
    numbers = [(number, text) for number, text in found if number is not None]
    if len(numbers) < len(found) or len(found) < 2:
        return ", ".join(all_shown) or "-"
    ends = (min(numbers)[1], max(numbers)[1])
    return " to ".join(dict.fromkeys(shown(key, text, DIGITS) for text in ends))


def remarks(tests: Sequence[Mapping[str, Any]], base: str | None) -> list[str]:
    """Explain the intervals, differences and p of a table, and list the seeds without a pair."""
    lines = ["± half of the 95 % interval of the mean over the seeds (Student's t)."]
    against = [test for test in tests if "base" in test]
    if not against:
        return lines
    pairs = sorted({test["difference"]["n"] for test in against})
    lines.append(f"base: {base}.")
    lines.append(
        f"Differences seed by seed; p: paired t-test over {series([str(n) for n in pairs])} "
        f"{'pair' if pairs == [1] else 'pairs'} of seeds."
    )
    left: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for test in against:
        reasons = tuple((one["seed"], one["why"]) for one in test["left_out"])
        if reasons:
            left.setdefault(reasons, []).append(test["metric"])
    for some, metrics in left.items():
        seeds = "; ".join(f"{seed} ({why})" for seed, why in some)
        of = "" if len(metrics) == len(against) else f" of {series(metrics)}"
        lines.append(f"Seeds not in the tests{of}: {seeds}.")
    return lines


def _of(line: Mapping[str, Any]) -> list[str]:
    of = [line["variant"]] if line["variant"] else []
    return of + [f"{key} {shown(key, value)}" for key, value in line["others"].items()]


def _line_words(answer: Mapping[str, Any], line: Mapping[str, Any]) -> list[str]:
    key, of = answer["key"], _of(line)
    begin = f"{', '.join(of)}: " if of else ""
    condition = answer["text"].partition(" where ")[2]
    outcome = line["outcome"]
    legal = []
    for one in line["refused"]:
        ends = dict.fromkeys(shown(key, one[end]) for end in ("from", "to"))
        legal.append(
            f"{key} {' to '.join(ends)} was left out, as the scenario refuses it: {one['reason']}"
        )
    if outcome == UNKNOWN:
        return [f"{begin}no value was tried yet", *legal]
    range_ = " to ".join(shown(key, end) for end in answer["range"])
    if outcome == REFUSED:
        return [f"{begin}no {key} from {range_} is legal: {line['refused'][0]['reason']}"]
    if outcome in (FOUND, EVERYWHERE):
        lines = _found_words(answer, line, begin, condition)
        return [lines[0], *legal, *lines[1:]]
    first = line["probes"][0]
    at = f"{shown(key, first['text'])}, where the search begins"
    held = ", ".join(
        shown(key, one["text"]) for one in line["probes"] if one["hold"] == one["seeds"]
    )
    lines = [*legal, _tried(key, line)]
    if outcome == FAILED:
        head = f"no answer, as the run at {at}, failed: {first['error']}"
    elif outcome == VALUELESS:
        head = f"no answer, as `{condition}` has no value at {at}: {first['why']}"
    elif outcome == ELSEWHERE:
        head = (
            f"no {key} from {range_}: `{condition}` does not hold at {at} "
            f"({first['hold']} of {first['seeds']} seeds)"
        )
        other = "smallest" if answer["largest"] else "largest"
        lines.append(f"it holds at {held}: is the {other} meant?")
    else:
        head = f"no {key} from {range_}: `{condition}` holds at none of the tried values"
        if any(one["unknown"] for one in line["probes"]):
            why = dict.fromkeys(one["why"] for one in line["probes"] if one["unknown"])
            lines.append(f"without a value: {'; '.join(map(str, why))}")
        errors = [one for one in line["probes"] if one["error"] is not None]
        if errors:
            at = shown(key, errors[0]["text"])
            lines.append(f"a run fails at {at}: {errors[0]['error']}")
    if outcome in (FAILED, VALUELESS) and held:
        lines.append(f"`{condition}` holds at {held}: begin the range there")
    return [begin + head, *lines]


def _tried(key: str, line: Mapping[str, Any]) -> str:
    probes = line["probes"]
    return f"{many(len(probes), 'value')} tried: {', '.join(_probe(key, one) for one in probes)}"


def _probe(key: str, one: Mapping[str, Any]) -> str:
    failed = "" if one["error"] is None else " (a run failed)"
    unknown = f" ({one['unknown']} without a value)" if one["unknown"] else ""
    return f"{shown(key, one['text'])} {one['hold']}/{one['seeds']}{failed}{unknown}"


def _found_words(
    answer: Mapping[str, Any], line: Mapping[str, Any], begin: str, condition: str
) -> list[str]:
    key, seeds = answer["key"], len(answer["seeds"])
    which = "largest" if answer["largest"] else "smallest"
    over = many(seeds, "seed")
    first = f"{begin}{which} {key}: {shown(key, line['answer'])}, with all of {over}"
    if line["outcome"] == EVERYWHERE:
        first += (
            f"; that is the end of the {'legal values' if line['refused'] else 'range'}: "
            f"`{condition}` held at all tried values"
        )
    else:
        failing = next(one for one in line["probes"] if one["text"] == line["fails"])
        at, fails = shown(key, line["fails"]), failing["seeds"] - failing["hold"]
        fails -= failing["unknown"]
        if fails:
            first += f"; at {at} `{condition}` fails with {fails} of {failing['seeds']}"
        else:
            first += f"; it may lie beyond: `{condition}` has no value at {at}: {failing['why']}"
        if failing["error"] is not None:
            first += f", since a run fails: {failing['error']}"
    lines = [first, _tried(key, line)]
    if line["against"]:
        again = ", ".join(shown(key, value) for value in line["against"])
        lines.append(
            f"NOT MONOTONE: `{condition}` holds again at {again}; the answer "
            "is the end of the first stretch, and others may lie between the tried values"
        )
    else:
        lines.append(
            "the condition is monotone at these values; values between them were not tried"
        )
    lines += [
        f"{_relative(one)} between these values: the condition may hold because of that"
        for one in line.get("unlike", ())
    ]
    if seeds > 1:
        share = 0.05 ** (1 / seeds)
        lines.append(
            f"the condition holds with {seeds} of {seeds} seeds, so with at least {share:.0%} of "
            "all seeds (95 % confidence, one-sided)"
        )
    return lines


def _point_words(answer: Mapping[str, Any]) -> list[str]:
    condition = answer["text"].partition(" where ")[2]
    within = (
        f", {answer['allowed']} of which meet `{condition}` with all seeds" if condition else ""
    )
    looked = f"{answer['designs']} sets of values were tried{within}"
    failed = []
    if answer["failed"]:
        failed.append(f"a run failed at {answer['failed']} of them, first: {answer['error']}")
    failed += [
        f"at {one['designs']} of them {one['metric']} has no value: it {one['why']}"
        for one in answer["valueless"]
    ]
    if (some := answer["survivors"]) is not None:
        failed.append(
            f"{series(some['metrics'])}: of complete flows only; {some['least']:.0f} to "
            f"{some['most']:.0f} flows of a run are not complete, and `where unfinished == 0` "
            "excludes points with such runs"
        )
    differ = answer.get("unlike", ())
    if differ:
        which = "no point is best" if answer["kind"] == "best" else "no front"
        return [
            *(
                f"{which}: {_relative(one)} between the points, and the ranking depends on that"
                for one in differ
            ),
            looked,
            *failed,
            *hints(answer["text"], differ),
        ]
    if not answer["points"]:
        return [f"no point: {looked}", *failed]
    if answer["kind"] == "front":
        unbeaten = f"no other beats {len(answer['points'])} of them in both metrics"
        return [looked, *failed, unbeaten, *_rounded(answer["points"])]
    one = answer["points"][0]
    values = [f"{key} = {shown(key, value, DIGITS)}" for key, value in one["values"].items()]
    name = answer["text"].split()[0]
    test = next((test for test in one["tests"] if test["metric"] == name), None)
    if test is None:
        return [looked, *failed]
    best = f"best: {', '.join([*([one['variant']] if one['variant'] else []), *values])}: "
    return [
        best + f"{name} {interval(test['value'])} {unit_of(name)}".rstrip(),
        looked,
        *failed,
        *_rounded([one]),
        *_alike(answer),
        "the interval ignores that this is the best of many: new seeds may show a worse value",
    ]


def _relative(one: Mapping[str, Any]) -> str:
    return f"{one['metric']} is relative to {one['of']}, which differs ({ends(one)})"


def ends(one: Mapping[str, Any]) -> str:
    """Return the least and the greatest reference, with the unit."""
    low, high = (digits(one[end], 4) for end in ("least", "most"))
    return f"{low} to {high} {one['unit']}"


def hints(goal: str, unlike: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a goal that ranks points whose references differ; empty without one."""
    begin, where, condition = goal.partition(" where ")
    for one in unlike:
        if one["instead"] is None:
            return []
        begin = " ".join(
            f"{one['instead']}{part[len(one['metric']) :]}"
            if part.rstrip(",") == one["metric"]
            else part
            for part in begin.split(" ")
        )
    names = series(list(dict.fromkeys(one["instead"] for one in unlike)))
    verb = "has" if len({one["instead"] for one in unlike}) == 1 else "have"
    return [f'{names} {verb} no reference: --goal "{begin}{where}{condition}"']


def _alike(answer: Mapping[str, Any]) -> list[str]:
    """Return how many other points do not differ clearly from the best one."""
    others = answer["tested"]
    if not others:
        return []
    if answer["alike"] == 0:
        which = f"all {others} others differ"
    elif answer["alike"] == others:
        which = f"none of the {others} others differs clearly"
    else:
        which = f"{answer['alike']} of {others} others do not differ clearly"
    return [f"{which} from it (paired t-tests over the seeds, p < 0.05)"]


def _rounded(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Report that values are rounded, if some are."""
    for one in points:
        for key, value in one["values"].items():
            if shown(key, value, DIGITS) != shown(key, value, 28):
                return [f"values to {DIGITS} digits; the exact ones are in the data (`--json`)"]
    return []


def interval(spread: Mapping[str, Any]) -> str:
    """Format a mean and half of its interval."""
    if spread["ci_low"] is None:
        return figure(spread["mean"])
    half = (spread["ci_high"] - spread["ci_low"]) / 2
    if half <= 0:
        return f"{figure(spread['mean'])} always"
    # Three digits of the interval suffice, and the mean gets as many decimal places.
    places = max(0, 2 - math.floor(math.log10(half)))
    return f"{spread['mean']:.{places}f} ± {half:.{places}f}"
