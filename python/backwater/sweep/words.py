"""The answer to a goal in words and tables, for people: from what JSON has of it."""

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

# Digits of the values of a best point, which were drawn and have as many as fit.
DIGITS = 4


def words(told: Mapping[str, Any]) -> list[str]:
    """Write an answer for people, without its table."""
    if told["kind"] == "threshold":
        lines = []
        for line in told["lines"]:
            lines += _line_words(told, line)
        return lines or ["the key has no effect in any variant: nothing was sought"]
    return _point_words(told)


def tables(answer: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Give what an answer says of single points: what each is called, and its metrics."""
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
    """Give the points of a front as one table: titles, and a row for all that are the same.

    Points are the same whose metrics all are; the base is the last row.
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
    """Give the values that points have of a key: few words, or from the least to the greatest."""
    texts = dict.fromkeys(one["values"][key] for one in points if key in one["values"])
    found = [(value.number, text) for text in texts for value in axis(key, [text]).values]
    told = [shown(key, text, DIGITS) for _, text in found]
    numbers = [(number, text) for number, text in found if number is not None]
    if len(numbers) < len(found) or len(found) < 2:
        return ", ".join(told) or "-"
    ends = (min(numbers)[1], max(numbers)[1])
    return " to ".join(dict.fromkeys(shown(key, text, DIGITS) for text in ends))


def remarks(tests: Sequence[Mapping[str, Any]], base: str | None) -> list[str]:
    """Say what intervals, differences and p of a table are, and which seeds have no part."""
    told = ["± half of the 95 % interval of the mean over the seeds (Student's t)."]
    against = [test for test in tests if "base" in test]
    if not against:
        return told
    pairs = sorted({test["difference"]["n"] for test in against})
    told.append(f"base: {base}.")
    told.append(
        f"Differences seed by seed; p: paired t-test, of {series([str(n) for n in pairs])} "
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
        told.append(f"Seeds without a part in the tests{of}: {seeds}.")
    return told


def _of(line: Mapping[str, Any]) -> list[str]:
    of = [line["variant"]] if line["variant"] else []
    return of + [f"{key} {shown(key, value)}" for key, value in line["others"].items()]


def _line_words(told: Mapping[str, Any], line: Mapping[str, Any]) -> list[str]:
    key, of = told["key"], _of(line)
    begin = f"{', '.join(of)}: " if of else ""
    condition = told["text"].partition(" where ")[2]
    outcome = line["outcome"]
    legal = []
    for one in line["refused"]:
        ends = dict.fromkeys(shown(key, one[end]) for end in ("from", "to"))
        legal.append(
            f"{key} {' to '.join(ends)} was left out: the scenario refuses it: {one['reason']}"
        )
    if outcome == UNKNOWN:
        return [f"{begin}nothing was looked at yet", *legal]
    range_ = " to ".join(shown(key, end) for end in told["range"])
    if outcome == REFUSED:
        return [f"{begin}no {key} from {range_} is legal: {line['refused'][0]['reason']}"]
    if outcome in (FOUND, EVERYWHERE):
        lines = _found_words(told, line, begin, condition)
        return [lines[0], *legal, *lines[1:]]
    first = line["probes"][0]
    looked = ", ".join(_probe(key, one) for one in line["probes"])
    lines = [*legal, f"{many(len(line['probes']), 'value')} looked at: {looked}"]
    at = shown(key, first["text"])
    held = [shown(key, one["text"]) for one in line["probes"] if one["hold"] == one["seeds"]]
    other = "smallest" if told["largest"] else "largest"
    if outcome == FAILED:
        failed = f"the run at {at} failed: {first['error']}"
        lines.insert(0, f"{begin}no answer, since nothing is known of one end: {failed}")
        if held:
            lines.append(f"`{condition}` holds at {', '.join(held)}: let the range begin there")
    elif outcome == VALUELESS:
        lines.insert(
            0,
            f"{begin}no answer, since `{condition}` has no value at {at}, the end from which it is "
            f"sought: {first['why']}",
        )
        if held:
            lines.append(f"`{condition}` holds at {', '.join(held)}: let the range begin there")
    elif outcome == ELSEWHERE:
        lines.insert(
            0,
            f"{begin}no {key} from {range_}: `{condition}` does not hold at {at}, the end from "
            f"which it is sought ({first['hold']} of {first['seeds']} seeds)",
        )
        lines.append(f"it does at {', '.join(held)}: is the {other} meant?")
    else:
        lines.insert(
            0,
            f"{begin}no {key} from {range_}: `{condition}` holds at none of the values that were "
            "looked at",
        )
        if any(one["unknown"] for one in line["probes"]):
            why = dict.fromkeys(one["why"] for one in line["probes"] if one["unknown"])
            lines.append(f"without a value: {'; '.join(map(str, why))}")
        errors = [one for one in line["probes"] if one["error"] is not None]
        if errors:
            at = shown(key, errors[0]["text"])
            lines.append(f"a run fails at {at}: {errors[0]['error']}")
    return lines


def _probe(key: str, one: Mapping[str, Any]) -> str:
    failed = "" if one["error"] is None else " (a run failed)"
    unknown = f" ({one['unknown']} without a value)" if one["unknown"] else ""
    return f"{shown(key, one['text'])} {one['hold']}/{one['seeds']}{failed}{unknown}"


def _found_words(
    told: Mapping[str, Any], line: Mapping[str, Any], begin: str, condition: str
) -> list[str]:
    key, seeds = told["key"], len(told["seeds"])
    which = "largest" if told["largest"] else "smallest"
    over = many(seeds, "seed")
    first = f"{begin}{which} {key}: {shown(key, line['answer'])}, with all of {over}"
    if line["outcome"] == EVERYWHERE:
        first += (
            f"; that is the end of the {'legal values' if line['refused'] else 'range'}: "
            f"`{condition}` held at all values looked at"
        )
    else:
        failing = next(one for one in line["probes"] if one["text"] == line["fails"])
        at, fails = shown(key, line["fails"]), failing["seeds"] - failing["hold"]
        fails -= failing["unknown"]
        if fails:
            first += f"; at {at} `{condition}` fails with {fails} of {failing['seeds']}"
        else:
            first += f"; it may be beyond: at {at} `{condition}` has no value: {failing['why']}"
        if failing["error"] is not None:
            first += f", since a run fails: {failing['error']}"
    lines = [first]
    lines.append(
        f"{many(len(line['probes']), 'value')} looked at: "
        + ", ".join(_probe(key, one) for one in line["probes"])
    )
    if line["against"]:
        again = ", ".join(shown(key, value) for value in line["against"])
        lines.append(
            f"NOT MONOTONE: `{condition}` holds again at {again}; the answer "
            "is the end of the first stretch, and there may be others between values looked at"
        )
    else:
        lines.append("monotone at these values; between them it was not looked at")
    lines += [
        f"{_held_against(one)} between these values: that the condition holds may be due to that"
        for one in line.get("unlike", ())
    ]
    if seeds > 1:
        share = 0.05 ** (1 / seeds)
        lines.append(
            f"with {seeds} of {seeds} seeds, at least {share:.0%} of all seeds hold (95 % "
            "confidence, one-sided)"
        )
    return lines


def _point_words(told: Mapping[str, Any]) -> list[str]:
    condition = told["text"].partition(" where ")[2]
    within = f", {told['allowed']} of which meet `{condition}` with all seeds" if condition else ""
    looked = f"{told['designs']} sets of values were looked at{within}"
    failed = []
    if told["failed"]:
        failed.append(f"at {told['failed']} of them a run failed, first: {told['error']}")
    failed += [
        f"at {one['designs']} of them {one['metric']} has no value: it {one['why']}"
        for one in told["valueless"]
    ]
    if (some := told["survivors"]) is not None:
        failed.append(
            f"{series(some['metrics'])} of complete flows alone: of a run {some['least']:.0f} to "
            f"{some['most']:.0f} are not complete, and `where unfinished == 0` leaves such out"
        )
    differ = told.get("unlike", ())
    if differ:
        which = "no point is best" if told["kind"] == "best" else "no front"
        return [
            *(
                f"{which}: {_held_against(one)} between the points, and who is better depends on "
                "that"
                for one in differ
            ),
            looked,
            *failed,
            *hints(told["text"], differ),
        ]
    if not told["points"]:
        return [f"no point: {looked}", *failed]
    if told["kind"] == "front":
        beaten = f"{len(told['points'])} of them no other beats in both metrics"
        return [looked, *failed, beaten, *_rounded(told["points"])]
    one = told["points"][0]
    values = [f"{key} = {shown(key, value, DIGITS)}" for key, value in one["values"].items()]
    name = told["text"].split()[0]
    test = next((test for test in one["tests"] if test["metric"] == name), None)
    if test is None:
        return [looked, *failed]
    said = f"best: {', '.join([*([one['variant']] if one['variant'] else []), *values])}: "
    return [
        said + f"{name} {interval(test['value'])} {unit_of(name)}".rstrip(),
        looked,
        *failed,
        *_rounded([one]),
        *_alike(told),
        "the interval does not count that the best of many was chosen: new seeds may find less",
    ]


def _held_against(one: Mapping[str, Any]) -> str:
    return f"{one['metric']} is held against {one['of']}, which differs ({ends(one)})"


def ends(one: Mapping[str, Any]) -> str:
    """Write between what a reference lies, with its unit."""
    low, high = (digits(one[end], 4) for end in ("least", "most"))
    return f"{low} to {high} {one['unit']}"


def hints(goal: str, unlike: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which goal ranks, where one does not as what its metrics are held against differs."""
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
    verb = "is" if len({one["instead"] for one in unlike}) == 1 else "are"
    return [f'{names} {verb} held against nothing: --goal "{begin}{where}{condition}"']


def _alike(told: Mapping[str, Any]) -> list[str]:
    """Say how many others are no worse, as far as the seeds tell."""
    others = told["tested"]
    if not others:
        return []
    if told["alike"] == 0:
        return [f"all {others} others differ from it (paired t-tests over the seeds, p < 0.05)"]
    which = f"none of the {others} others" if told["alike"] == others else "not all others"
    rest = "" if told["alike"] == others else f": {told['alike']} of {others} do not"
    return [f"{which} can be told from it by these seeds (paired t-tests, p < 0.05){rest}"]


def _rounded(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say that values are rounded, where some are."""
    for one in points:
        for key, value in one["values"].items():
            if shown(key, value, DIGITS) != shown(key, value, 28):
                return [f"values to {DIGITS} digits; the exact ones are in the data (`--json`)"]
    return []


def interval(spread: Mapping[str, Any]) -> str:
    """Write a mean and the half of its interval."""
    if spread["ci_low"] is None:
        return figure(spread["mean"])
    half = (spread["ci_high"] - spread["ci_low"]) / 2
    if half <= 0:
        return f"{figure(spread['mean'])} always"
    # Three digits of the interval say enough, and the mean has as many places.
    places = max(0, 2 - math.floor(math.log10(half)))
    return f"{spread['mean']:.{places}f} ± {half:.{places}f}"
