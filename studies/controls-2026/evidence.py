"""Write EVIDENCE.md: the waits of flows, and the experiments behind each explanation.

    python studies/controls-2026/evidence.py > studies/controls-2026/EVIDENCE.md

The first part is the critical path of the victim and of the incast's last flow (`backwater why`).
The second part changes one value at a time. The study uses none of these values.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

import backwater
from backwater.numbers.repeats import Spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater import Run

HERE = Path(__file__).resolve().parent
SEEDS = range(1, 11)
PS_PER_US = 1e6

AWAY = {"flow.victim.from": "h65", "flow.victim.via": '["spine7"]'}
"""The victim shares the receiver's leaf with the incast, but no link."""
FIFO = {"switch.architecture": "input-queued"}

Experiment = tuple[str, str, tuple[str, ...], dict[str, str]]
EXPERIMENTS: tuple[Experiment, ...] = (
    (
        "Lanes that let go what waited as fast as the uplink takes it",
        "sfc-isolation",
        ("1", "2", "3"),
        {"sfc.isolation_rate": "200 Gb/s"},
    ),
    (
        "Marks for what a port has found itself, not for all that is isolated",
        "ci",
        ("1", "2", "3"),
        {"ci.ce_marking": "local"},
    ),
    ("A mark when a flow is found, and no more", "ci", ("1", "2", "3"), {"ci.ce_marking": "found"}),
    (
        "TIMELY's least rate 10 Gb/s instead of 200 Mb/s",
        "timely",
        ("1", "2", "3"),
        {"timely.min_rate": "10 Gb/s"},
    ),
    ("XON just below XOFF", "pfc", ("1", "2", "3"), {"pfc.xon": "372 KB"}),
    *(
        (
            "The victim elsewhere, so that no sender of the incast passes two queues",
            one,
            ("2",),
            AWAY,
        )
        for one in ("pfc", "sfc", "dcqcn", "hpcc", "dctcp", "swift", "bbr", "nscc", "rccc")
    ),
    (
        "Congestion points at all ports, not only those to hosts",
        "sfc",
        ("permutation",),
        {"sfc.points": "all"},
    ),
    ("HPCC with eta 0.99", "hpcc", ("permutation",), {"hpcc.eta": "0.99"}),
    *(("Input FIFOs", one, ("permutation",), FIFO) for one in ("pfc", "dctcp", "swift")),
    *(
        ("Input FIFOs", one, ("permutation",), {**FIFO, "trim.victim": "arriving"})
        for one in ("nscc", "rccc")
    ),
)


def study() -> dict[str, Any]:
    """Read study.toml."""
    return tomllib.loads((HERE / "study.toml").read_text(encoding="utf-8"))


def settings(case: str) -> dict[str, str]:
    """Return the changes of a case."""
    [found] = [one for one in study()["case"] if one["id"] == case]
    changes: dict[str, str] = found.get("set", {})
    return changes


def run(scheme: str, case: str, seed: int, changes: dict[str, str], *waits: str) -> Run:
    """Run a scheme in a case; `waits` are the groups whose waits it records."""
    name = "permutation" if case == "permutation" else "scenario"
    scenario = backwater.load(HERE / f"{name}.toml").variant(scheme)
    for key, value in {**settings(case), **changes, "seed": str(seed)}.items():
        scenario = scenario.set(key, value)
    return (scenario.set("output.waits", list(waits)) if waits else scenario).run()


def waits_of(outcome: Run, flow: int) -> str:
    """Return the three longest waits of a flow, in us, as text."""
    waits = pl.DataFrame(outcome.waits).filter(pl.col("flow_id") == flow)
    behind = pl.when(pl.col("cause") == "behind").then(
        pl.lit("behind ") + pl.col("behind_group").fill_null("others")
    )
    named = behind.otherwise(pl.col("cause")) + pl.format(
        " ({} to {})", pl.col("node"), pl.col("peer")
    )
    most = (
        waits.group_by(named.alias("what"))
        .agg(pl.col("wait_ps").sum() / PS_PER_US)
        .filter(pl.col("wait_ps") >= 1)
        .sort("wait_ps", descending=True)
        .head(3)
    )
    return ", ".join(f"{what} {time:.0f}" for what, time in most.iter_rows()) or "nothing"


def paths() -> Iterator[str]:
    """Yield lines on the waits of victim and last flow under each scheme, seed 1."""
    schemes = tomllib.loads((HERE / "parameters.toml").read_text(encoding="utf-8"))["scheme"]
    for case in ("1", "2", "3"):
        yield f"Case {case}, seed 1, us\n"
        yield "| scheme | victim | waited for | last of the incast | waited for |"
        yield "|---|---|---|---|---|"
        for scheme in (one["name"] for one in schemes if one.get("main", True)):
            outcome = run(scheme, case, 1, {}, "victim", "incast")
            flows = pl.DataFrame(outcome.flows).sort("fct_last_byte_ps")
            cells = []
            for group in ("victim", "incast"):
                last = flows.filter(pl.col("group") == group).row(-1, named=True)
                time = last["fct_last_byte_ps"] / PS_PER_US
                cells += [f"{time:.0f} (h{last['src']})", waits_of(outcome, last["flow_id"])]
            yield f"| {scheme} | {' | '.join(cells)} |"
        yield ""


def mean(values: list[float]) -> str:
    """Return a mean with half of its 95 % interval, as text."""
    spread = Spread.of(values)
    assert spread.ci_low is not None
    assert spread.ci_high is not None
    half = (spread.ci_high - spread.ci_low) / 2
    return f"{spread.mean:.0f}" + (f" ± {half:.0f}" if half >= 0.5 else "")


def row(scheme: str, case: str, changes: dict[str, str]) -> list[str]:
    """Return victim, mean and last flow, drops, and timeouts over the seeds."""
    victims, means, lasts, drops, timeouts = ([] for _ in range(5))
    for seed in SEEDS:
        outcome = run(scheme, case, seed, changes)
        flows = pl.DataFrame(outcome.flows)
        others = flows.filter(pl.col("group") != "victim")["fct_last_ack_ps"]
        times = [time / PS_PER_US for time in others.to_list()]
        victims += (
            flows.filter(pl.col("group") == "victim")["fct_last_ack_ps"] / PS_PER_US
        ).to_list()
        means.append(fmean(times))
        lasts.append(max(times))
        drops.append(float(pl.DataFrame(outcome.ports)["drop_frames"].sum()))
        timeouts.append(float(flows["timeouts"].sum()))
    return [mean(one) if one else "-" for one in (victims, means, lasts, drops, timeouts)]


def experiments() -> Iterator[str]:
    """Yield a row for each experiment, and for the study's own values."""
    yield "| experiment | scheme | case | victim | flows, mean | flows, last | drops | timeouts |"
    yield "|---|---|---|---|---|---|---|---|"
    own: set[tuple[str, str]] = set()
    for what, scheme, cases, changes in EXPERIMENTS:
        for case in cases:
            if (scheme, case) not in own:
                own.add((scheme, case))
                yield f"| the study's | {scheme} | {case} | {' | '.join(row(scheme, case, {}))} |"
            yield f"| {what} | {scheme} | {case} | {' | '.join(row(scheme, case, changes))} |"


def page() -> str:
    """Return the page."""
    lines = [
        "# Why: waits on critical paths, and experiments",
        "",
        "Written by evidence.py. `why` explains the causes (docs/compare-and-why.md).",
        "",
        "## What the victim and the incast's last flow waited for",
        "",
        *paths(),
        "## Experiments",
        "",
        "One value changed; seeds 1 to 10, us, with half of the 95 % interval. `flows` are the "
        "incast's, or those of the permutation.",
        "",
        *experiments(),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(page())
