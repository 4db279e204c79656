"""The assumptions of a run: its topology with flows, and all parameters with their sources."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import backwater
from backwater import _core
from backwater.import_files import CACHE
from backwater.numbers.rows import scan
from backwater.report import draw
from backwater.report.faults import outages
from backwater.report.layout import Layout, lay_out
from backwater.report.page import Picture, Table, header

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from backwater.results import Run

FLOWS = 2000
"""Most flows of each group in the drawing."""

PHONE = 2.2
"""Size of names on a phone, relative to a screen: the drawing is a third as wide there."""
OUTAGES = 6
"""Most faults that a caption lists."""
TABLE_BYTES = 32_000_000
"""Largest size of all flow tables together that is read for the drawing, in bytes."""
TOO_LARGE = "its table is too large to draw"

IMPORTED = "import of "
"""Prefix of the origin of a value that an import set."""

ABSENT = "absent"
"""Value of a parameter that a scenario lacks."""
OUTPUT = ("output.", "title", "description")
"""Prefixes of keys that change nothing of what is simulated."""


def recorded(run: Run) -> str:
    """Return the scenario that is kept beside the results: it has full paths of flow tables."""
    return run.recorded or str(run.manifest["scenario"])


def tables_of(run: Run) -> list[tuple[str, Path]]:
    """Return the tables of a run: the label of the group of flows or job, and the file."""
    values = tomllib.loads(recorded(run))
    kinds = (("flow", "table"), ("job", "operations"))
    return [
        (str(entry["label"]), Path(entry[key]))
        for of, key in kinds
        for entry in values.get(of, [])
        if key in entry
    ]


def given_in_python(run: Run) -> list[str]:
    """Return the groups whose flows came from a table in Python, which is in no file."""
    known = {str(flow["label"]) for flow in run.scenario.get("flow", [])}
    flows = scan(run, "flows")
    if flows is None or run.scenario.get("job"):
        return []
    groups = flows.select(pl.col("group").unique(maintain_order=True)).collect()["group"]
    return [str(group) for group in groups if group not in known]


def shown_origin(origin: str, file: str) -> str:
    """Return the origin of a value without folders, which identify the user.

    An import writes its scenario to a cache: its values have the imported file as origin.
    """
    place, colon, line = origin.rpartition(":")
    path = Path(place)
    if not colon or not line.isdecimal() or not path.is_absolute():
        return origin
    return f"{IMPORTED}{Path(file).name}" if CACHE in path.parts else f"{path.name}:{line}"


class Assumptions:
    """The scenario of a run, for its drawing and its table of parameters."""

    def __init__(self, run: Run) -> None:
        self.manifest = run.manifest
        self.sketch = self._sketch(run)
        self.layout: Layout = lay_out(self.sketch)
        self.outages = outages(run.scenario, self.layout)

    def _sketch(self, run: Run) -> dict[str, Any]:
        tables = tables_of(run)
        missing = [label for label, path in tables if not path.is_file()]
        if not missing and sum(path.stat().st_size for _, path in tables) <= TABLE_BYTES:
            try:
                scenario = backwater.parse(recorded(run), "<the run's scenario>")
                return scenario.complete().sketch(run.seed, FLOWS)
            except (backwater.ScenarioError, backwater.InputError):
                # A table has changed.
                missing = [label for label, _ in tables]
        # The topology remains known, from the table of ports.
        unknown = "not drawn: a table of another group cannot be read"
        reasons = dict.fromkeys((label for label, _ in tables), TOO_LARGE)
        reasons |= dict.fromkeys(missing, "its table is missing or has changed")
        return _from_ports(run) | {"unknown": unknown, "reasons": reasons}

    @property
    def groups(self) -> list[str]:
        """Labels of the groups of flows, in the order of the scenario."""
        named = [
            entry["value"]
            for entry in self.manifest["origins"]
            if re.fullmatch(r"flow\.[^.]+\.label", entry["key"])
        ]
        return list(dict.fromkeys([*named, *(flow[0] for flow in self.sketch["flows"])]))

    @property
    def named(self) -> set[int]:
        """Blocks whose names a drawing of the fabric shows: the ends of flows, if these are few."""
        ends = {self.layout.of[way[i]] for _, way, _, _ in self.sketch["flows"] for i in (0, -1)}
        return ends if len(ends) <= draw.MOST_ARROWS else set()

    def topology(self, text: float = 1.0) -> Picture:
        """Draw tiers and flows; `text` enlarges names."""
        caption = "Tiers of the network, and the scenario's flows on them."
        if not self.sketch["complete"]:
            caption += (
                f" Only the first {FLOWS} flows of each group are drawn; jobs start theirs during "
                "the run."
            )
        if self.layout.aggregated:
            caption += (
                " A node with a number stands for that many nodes; the pointer shows their names."
            )
        for how, hosts in (("Dashed", False), ("Marked", True)):
            every = [one.text for one in self.outages if one.of_host == hosts]
            few = every[:OUTAGES]
            more = len(every) - len(few)
            if few:
                caption += f" {how}: {'; '.join(few)}{f'; and {more} more' if more else ''}."
        drawn, phone = (
            draw.topology(self.layout, self.sketch, self.groups, larger, self.outages)
            for larger in (text, PHONE)
        )
        return Picture("topology", drawn, caption, phone)

    def parameters(self) -> list[Table]:
        """Return two folded tables of all parameters: those that were set, and defaults."""
        rows = [self._row(entry) for entry in self.manifest["origins"] if entry["value"] != ABSENT]
        kept = [row for row in rows if not row[0].startswith(OUTPUT)]
        note = (
            f"Lines are those of {self.manifest['file']}. Source: the document that defines the "
            "parameter or its default."
        )
        titles = ("parameter", "value", "set by", "what it is", "source")
        columns = header(titles)
        given = [row for row in kept if row[2] != "default"]
        defaults = [row for row in kept if row[2] == "default"]
        return [
            Table(columns, given, f"{len(given)} parameters that are set", note, folded=True),
            Table(
                columns, defaults, f"{len(defaults)} parameters left at their defaults", folded=True
            ),
        ]

    def _row(self, entry: Mapping[str, str]) -> list[str]:
        meaning, source = explained(entry["key"])
        # The note below the table names the scenario file.
        file = str(self.manifest["file"])
        origin = shown_origin(entry["origin"].replace(f"{file}:", "line "), file)
        return [entry["key"], entry["value"], origin, meaning, source]


def explained(key: str) -> tuple[str, str]:
    """Return meaning and source of a key, in which groups of flows have their labels."""
    parts = key.split(".")
    tries = [key, ".".join([parts[0], *parts[2:]]), parts[0]]
    for one in tries:
        try:
            about = _core.explain(one)
        except _core.ScenarioError:
            continue
        return str(about.get("meaning") or "").replace("`", ""), str(about.get("source") or "")
    return "", ""


def _from_ports(run: Run) -> dict[str, Any]:
    """Return a sketch with the nodes and links of the table of ports. Raises `ResultError`."""
    if run.ports.num_rows == 0:
        raise backwater.ResultError(
            f"{run.directory}: the run was killed, and its flows came from a file that is missing",
            "put the file where the scenario names it, or run the scenario to its end",
        )
    rows = run.ports.select(["node", "peer", "tier", "rate_bps"]).to_pylist()
    tiers = {row["node"]: row["tier"] for row in rows}
    number = {name: i for i, name in enumerate(tiers)}
    links: Iterable[tuple[int, int, int, int]] = (
        (number[row["node"]], number[row["peer"]], row["rate_bps"], 0)
        for row in rows
        if number[row["node"]] < number[row["peer"]]
    )
    return {
        "nodes": [(name, tier, tier == "host") for name, tier in tiers.items()],
        "links": list(links),
        "flows": [],
        "complete": True,
    }
