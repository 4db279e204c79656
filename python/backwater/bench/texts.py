"""The words of a benchmark's report, for the terminal and for the page alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater._core import items
from backwater.bench.expression import written
from backwater.bench.outcome import RECOMMENDED
from backwater.wording import digits, many, series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.bench.measure import Row
    from backwater.bench.outcome import Benchmark

NONE = "-"
KINDS = {
    "failed": "run failed",
    "incomplete": "run incomplete",
    "missing": "run missing",
}
"""What went wrong with runs, by the kind of an anomaly."""


def identification(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows that identify the device under test, as the training draft, 3.2, has them."""
    fabric = document["fabric"]
    facts, values = fabric["facts"], {one["key"]: one for one in fabric["values"]}
    known = [one["name"] for one in items("mechanisms")]
    on = [name for name in known if any(key.startswith(f"{name}.") for key in values)]
    preset = {
        one["origin"].split()[1]
        for one in values.values()
        if one["origin"].startswith("preset") and one["origin"].endswith(" of switch")
    }

    def value(key: str) -> str:
        return values[key]["value"] if key in values else "absent"

    versions = " ".join(f"{name} {one}" for name, one in document["versions"].items())
    rows = [
        ("fabric", f"{fabric['title']} ({fabric['name']})" if fabric["title"] else fabric["name"]),
        (
            "topology",
            f"{value('topology.kind')}: {many(facts['hosts'], 'host')} at "
            f"{many(facts['leaves'], 'switch')}, {many(facts['uplinks'], 'uplink')}",
        ),
        ("port speed", f"{written(facts['gbps'])} Gb/s"),
        ("switch ASIC", ", ".join(sorted(preset)) or "none named"),
        ("buffer", f"{value('switch.buffer')} per {value('switch.buffer_per')}"),
        ("architecture", value("switch.architecture")),
        ("mechanisms", series(on) if on else "none"),
        ("hosts", f"transport.recovery = {value('transport.recovery')}"),
        ("NOS, optics, firmware", "none: the fabric is simulated"),
        ("traffic generator", f"simulated hosts of {versions}"),
    ]
    if fabric["left_out"]:
        left = series([f"`{one}`" for one in fabric["left_out"]])
        rows.append(("left out of the file", f"{left}: the tests bring their own"))
    return rows


def cell(row: Row) -> str:
    """Return a value for people: mean and half of its 95 % interval over the seeds."""
    spread = row.spread
    if spread is None:
        return NONE
    half = None if spread.ci_high is None else spread.ci_high - spread.mean
    text = digits(spread.mean, 4)
    # Sums of floats differ in the last digits.
    if half and half > 1e-9 * abs(spread.mean):
        text += f" ±{digits(half, 2)}"
    lost = sum(one is None for one in row.values)
    return f"{text} ({len(row.values) - lost} of {len(row.values)})" if lost else text


def columns(test: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the titles of a test's table: of parameters, and of metrics."""
    keys = [_titled(one["name"], one["unit"]) for one in test["parameters"]]
    return keys, [_titled(one["label"], one["unit"]) for one in test["metrics"]]


def _titled(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def table(test: Mapping[str, Any], rows: Sequence[Row]) -> list[list[str]]:
    """Return the rows of a test's table: one a setting, its parameters and then its metrics."""
    found: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        found.setdefault(tuple(row.setting.values()), {})[row.metric] = cell(row)
    labels = [one["label"] for one in test["metrics"]]
    return [
        [*map(written, setting), *(cells.get(label, NONE) for label in labels)]
        for setting, cells in found.items()
    ]


def heading(test: Mapping[str, Any]) -> str:
    """Return the heading of a test: section and title of the draft."""
    return f"{test['draft'].capitalize()} {test['section']}: {test['title']}"


def definitions(test: Mapping[str, Any]) -> list[str]:
    """Return the definitions of a test's metrics, each with its section of the draft."""
    found = []
    for one in test["metrics"]:
        where = f"section {one['section']}" if one["section"] else "not in the draft"
        found.append(f"{one['label']}: {one['definition']} ({where})")
    return found


def parameters(test: Mapping[str, Any]) -> list[str]:
    """Return what a test varies, beside the values of the draft."""
    return [
        f"{one['name']}: {one['text']}; {values(one)} (draft: {one['draft']})"
        for one in test["parameters"]
    ]


def values(parameter: Mapping[str, Any]) -> str:
    """Return the values of a parameter with their unit."""
    return f"{', '.join(map(written, parameter['values']))} {parameter['unit']}".rstrip()


def missing(rows: Sequence[Row]) -> list[str]:
    """Return why metrics have no value, each reason once."""
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.reason is not None:
            key = (row.metric, row.reason)
            found[key] = found.get(key, 0) + 1
    return [
        f"{metric}, {many(count, 'setting')}: {reason}" for (metric, reason), count in found.items()
    ]


def sources(document: Mapping[str, Any]) -> list[str]:
    """Name the drafts, with their revisions."""
    return [
        f"{one['draft'].capitalize()} draft: {one['title']}, {one['name']}, revision "
        f"{one['revision']} of {one['repository']}; reporting: section {one['reporting']}"
        for one in document["drafts"]
    ]


def conditions(outcome: Benchmark) -> str:
    """Return the repetitions, and how values are shown."""
    seeds = outcome.document["seeds"]
    return (
        f"{many(len(seeds), 'repetition')} of each test, with the seeds {seeds[0]} to {seeds[-1]}; "
        "± half of the 95 % interval of the mean (Student's t)"
        if len(seeds) > 1
        else f"One repetition of each test, with the seed {seeds[0]}: there is no spread"
    )


def repeatability(document: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of the statement on repeatability: the training draft, section 13."""
    return [
        [
            one["test"],
            one["metric"],
            str(one["repetitions"]),
            NONE if one["variation"] is None else f"{digits(100 * one['variation'], 2)} %",
            one["at"] or NONE,
            {None: NONE, True: "yes", False: "no"}[one["within"]],
        ]
        for one in document["repeatability"]
    ]


REPEATED = (
    "test",
    "primary metric",
    "repetitions",
    "greatest CV",
    "at",
    f"below {RECOMMENDED:.0%}",
)
"""Titles of the statement on repeatability. CV: coefficient of variation."""


def anomalies(outcome: Benchmark) -> list[str]:
    """Return failed and incomplete runs, values of the draft that the fabric is too small for."""
    document = outcome.document
    said = [f"{KINDS[one['kind']]}: {one['text']}" for one in document["anomalies"]]
    return [*said, *document["capped"]]
