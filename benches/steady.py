"""Measures how much of a run could be skipped: payload of flows with rates steady within 1 %.

A simulator that skips steady states must find sets of flows that share links, and whose rates do
not change. A rate is the payload that a flow sends in a window. A stay lasts while the rate is
within 1 % of its first value, or within one packet, the resolution of a window. `alone` takes each
flow by itself: no skipping can save more. `together` takes all flows that share a host's link with
each other, directly or through others; it leaves out links between switches, which would join more
of them. A skip would have to simulate the first window of a stay, which does not count.

    python benches/steady.py          # prints a row for each scenario and window
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import backwater

STUDIES = Path(__file__).parent.parent / "studies"
WITHIN = 0.01
PAYLOAD = 4000
STAYS = (2, 4, 8)
"""Least lengths of a stay, in windows."""

# The part of 256 GPUs of the study sfc-aidc-2025-prefill, as in its study.toml; one round.
PART: dict[str, str | int] = {
    "topology.leaves": 16,
    "job.prefill.instances": 8,
    "job.prefill.rounds": 1,
    "job.prefill.step.experts.size": "3.675 MB",
    "switch.buffer": "500 KB",
    "pfc.xoff": "475 KB",
    "pfc.xon": "300 KB",
}
PART_BY: dict[str, dict[str, str]] = {
    "pfc": {},
    "pfc-sfc-class": {
        "sfc.threshold": "250 KB",
        "sfc.pause": "4.5 us",
        "sfc.min_interval": "4.5 us",
    },
    "pfc-dcqcn": {"ecn.kmin": "250 KB", "ecn.kmax": "250 KB"},
}


class Stays:
    """The payload of stays that have ended, by their length."""

    def __init__(self) -> None:
        self.open: dict[frozenset[int], tuple[dict[int, float], int, float]] = {}
        self.ended: list[tuple[int, float]] = []

    def look(self, sets: list[dict[int, float]], packet: float) -> None:
        """Add a window: the flows of each set, with their rates."""
        now = {}
        for rates in sets:
            first, length, payload = self.open.pop(frozenset(rates), (rates, 0, 0.0))
            margin = {flow: max(WITHIN * rate, packet) for flow, rate in first.items()}
            if any(abs(rate - first[flow]) > margin[flow] for flow, rate in rates.items()):
                self.ended.append((length, payload))
                first, length, payload = rates, 0, 0.0
            more = sum(rates.values()) if length else 0.0
            now[frozenset(rates)] = (first, length + 1, payload + more)
        self.end()
        self.open = now

    def end(self) -> None:
        """End all open stays."""
        self.ended.extend((length, payload) for _, length, payload in self.open.values())
        self.open = {}

    def share(self, least: int, total: float) -> float:
        """Return the payload of stays of at least `least` windows, in per cent of `total`."""
        return 100 * sum(payload for length, payload in self.ended if length >= least) / total


def measure(scenario: backwater.Scenario, window_us: int) -> tuple[int, Stays, Stays, float]:
    """Run a scenario; return its flows, stays of flows alone and together, and the sum of rates."""
    run = scenario.set("output.interval", f"{window_us} us").set("output.flows", True).run()
    series = pl.from_arrow(run.series)
    ends = pl.from_arrow(run.flows)
    assert isinstance(series, pl.DataFrame)
    assert isinstance(ends, pl.DataFrame)
    hosts = {host: i for i, host in enumerate(sorted({*ends["src"], *ends["dst"]}))}
    rows = ends.select("flow_id", "src", "dst").iter_rows()
    links = {flow: (hosts[src], hosts[dst] + len(hosts)) for flow, src, dst in rows}
    packet = PAYLOAD * 8 / (window_us * 1e-6)
    alone, together, total = Stays(), Stays(), 0.0
    sending = (pl.col("quantity") == "flow_rate_bps") & (pl.col("value") > 0)
    for window in series.filter(sending).sort("time_ps").partition_by("time_ps"):
        rates = dict(zip(window["flow"].to_list(), map(float, window["value"]), strict=True))
        total += sum(rates.values())
        alone.look([{flow: rate} for flow, rate in rates.items()], packet)
        ports = np.array([links[flow] for flow in rates])
        graph = coo_matrix((np.ones(len(ports)), ports.T), shape=(2 * len(hosts), 2 * len(hosts)))
        _, label = connected_components(graph, directed=False)
        sets: dict[int, dict[int, float]] = {}
        for (flow, rate), (src, _) in zip(rates.items(), ports, strict=True):
            sets.setdefault(label[src], {})[flow] = rate
        together.look(list(sets.values()), packet)
    alone.end()
    together.end()
    return len(links), alone, together, total


def print_row(name: str, scenario: backwater.Scenario, window_us: int) -> None:
    """Print the row of a scenario and a window."""
    flows, alone, together, total = measure(scenario, window_us)
    cells = [name, str(flows), f"{window_us} us"]
    for stays in (alone, together):
        cells.append(" / ".join(f"{stays.share(least, total):.1f}" for least in STAYS))
    print("|", " | ".join(cells), "|", flush=True)


def main() -> None:
    """Print a row for each scenario and window."""
    lengths = " / ".join(map(str, STAYS))
    print(f"| scenario | flows | window | alone, % in {lengths} windows or more | together |")
    print("|---|---|---|---|---|")
    incast = backwater.load(STUDIES / "sfc-aidc-2025/scenario.toml")
    longer = incast.set("flow.incast.size", "20 MB").set("flow.victim.size", "50 MB")
    for window in (5, 20):
        print_row("incast of 3 and a victim, PFC, 11 MB", incast, window)
        print_row("the same, 110 MB", longer, window)
    for variant, changes in PART_BY.items():
        prefill = backwater.load(STUDIES / "sfc-aidc-2025-prefill/scenario.toml").variant(variant)
        for key, value in PART.items():
            prefill = prefill.set(key, value)
        for key, text in changes.items():
            prefill = prefill.set(key, text)
        for window in (20, 50):
            print_row(f"prefill, 256 GPUs, {variant}", prefill, window)


if __name__ == "__main__":
    main()
