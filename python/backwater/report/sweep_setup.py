"""The assumptions of a sweep: its network, and the values that all points share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import backwater
from backwater.report import draw
from backwater.report.assumptions import ABSENT, FLOWS, OUTPUT, PHONE
from backwater.report.layout import lay_out
from backwater.report.page import Picture, Section, Table, header
from backwater.wording import many

if TYPE_CHECKING:
    from backwater.plot.sweep import SweepPlots
    from backwater.sweep.dataset import Sweep


@dataclass(frozen=True)
class Probe:
    """The scenario of a sweep's first point, with its sketch."""

    variant: str
    settings: list[str]
    """Keys that the point sets."""
    case: backwater.Scenario
    sketch: dict[str, Any]
    given: frozenset[str] | None
    """Keys that were set; None if unknown, as in sweeps of an earlier version."""

    @staticmethod
    def of(sweep: Sweep) -> Probe | None:
        """Return the first scenario; None if it cannot be read, as without its table of flows."""
        for variant, probe in (sweep.manifest.get("probes") or {}).items():
            try:
                case = backwater.parse(probe["scenario"], "<the sweep's scenario>")
                sketch = case.complete().sketch(case.seed, FLOWS)
            except (backwater.ScenarioError, backwater.InputError):
                return None
            given = None if "given" not in probe else frozenset(probe["given"])
            return Probe(variant, [key for key, _ in probe["settings"]], case, sketch, given)
        return None

    def drawn(self, text: float = 1.0) -> str:
        """Draw the topology with its flows; `text` enlarges names."""
        groups = list(dict.fromkeys(flow[0] for flow in self.sketch["flows"]))
        return draw.topology(lay_out(self.sketch), self.sketch, groups, text)


def assumptions(sweep: Sweep, plots: SweepPlots) -> Section | None:
    """Return the section with the network, and the values that all points share."""
    probe = Probe.of(sweep)
    if probe is None:
        return None
    caption = "Tiers of the network, and the scenario's flows on them."
    picture = Picture("topology", probe.drawn(), caption, probe.drawn(PHONE))
    return Section("assumptions", "Assumptions", [picture, same_everywhere(probe, plots)])


def same_everywhere(probe: Probe, plots: SweepPlots) -> Table:
    """Return the table of parameters that are set and not varied."""
    rows = [
        [one["key"], one["value"]]
        for one in probe.case.values()
        if one["key"] not in plots.keys
        and not one["key"].startswith(OUTPUT)
        and one["value"] != ABSENT
        and (probe.given is None or one["key"] in probe.given)
    ]
    of = f" (variant {probe.variant})" if probe.variant else ""
    columns = header(["parameter"], ["value"])
    title = f"{many(len(rows), 'parameter')} that are the same at every point{of}"
    note = "" if probe.given is None else "Parameters that were not set have their defaults."
    return Table(columns, rows, title, note, folded=True)
