"""The runs of EXPLORATION.md: one change at a time to what the study's models have.

    python studies/nccl-2026/experiments.py missed      # sizes outside the band: ten minutes
    python studies/nccl-2026/experiments.py table       # NCCL's table alone: five minutes
    python studies/nccl-2026/experiments.py algorithms  # the all-reduce of B200: three minutes
    python studies/nccl-2026/experiments.py hashes      # 24 seeds of Tolly's hash: 15 minutes
    python studies/nccl-2026/experiments.py fabric      # hashed trees of twenty racks: ten minutes

None of these is the study's model: each was chosen with the published numbers in view.
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING

import fit

import backwater
from backwater.study.definition import load
from backwater.study.measures import Observed, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from backwater.scenario import Scenario

STEP = "job.nccl.step.collective."
HOSTS = "host model"
VARIANTS = {HOSTS: "host", "planned paths": "planned", "ecmp": None}

STUDY = load("nccl-2026")
CASES = {case.id: case for case in STUDY.cases}
ROWS = {row.case: row for row in fit.published()}

Changes = dict[str, str]


def scenario_of(name: str, mechanism: str, changes: Mapping[str, str]) -> Scenario:
    """Return the scenario of a case under a mechanism, with further changes."""
    case = CASES[name]
    found = backwater.load(case.scenario)
    variant = VARIANTS[mechanism]
    if variant is not None:
        found = found.variant(variant)
    for key, value in (dict(case.changes(mechanism)) | dict(changes)).items():
        found = found.set(key, value)
    return found


def time_us(scenario: Scenario, seed: int = 1) -> float:
    """Return the time of the scenario's job, in us."""
    found = read(Observed(scenario.run(seed=seed)), "job_completion", {"job": "nccl"}).value
    assert found is not None
    return found


def missed() -> list[str]:
    """Return the counted sizes of the two stars whose host model lies outside the band."""
    record = json.loads((fit.HERE / "record.json").read_text(encoding="utf-8"))
    return [
        row["case"]
        for row in record["rows"]
        if row["case"] in ROWS
        and row["mechanism"] == HOSTS
        and not row["apart"]
        and row["verdict"] == "differs"
    ]


def between(row: fit.Published) -> int:
    """Return the steps of the ring between servers."""
    return row.steps - inside(row)


def inside(row: fit.Published) -> int:
    """Return the steps of the ring inside servers."""
    return round(row.inside_us / fit.NVLINK_US)


def start_us(row: fit.Published) -> float:
    """Return the fitted start of a testbed, in us."""
    kinds = next(kinds for kinds in fit.BEDS.values() if row.kind in kinds)
    return fit.frozen(ROWS.values(), kinds)[1]


def ring_gbps(row: fit.Published) -> float:
    """Return the rate of a channel that NCCL's search finds: 45 GB/s with 8 H100, else 48."""
    return 45.0 if (row.kind, row.gpus) == ("gather", 8) else 48.0


def flagged_us(row: fit.Published) -> float:
    """Return NCCL's latency of a step between servers with LL128; of a tree with one GPU each."""
    return 8.5 if row.gpus == 1 else 4.0


def protocol(row: fit.Published) -> str:
    """Return the protocol of a ring with the least estimate: `ncclTopoGetAlgoTime`, 5067397c."""
    rate = ring_gbps(row) * 1e3
    plateau = 1.4 if row.kind == "b200" else 1.0
    simple = plateau * (8.4 + inside(row) * 3.4 + between(row) * 14.0) + row.sent / rate
    flags = 14.0 + inside(row) * 1.9 + between(row) * flagged_us(row) + row.sent / (0.92 * rate)
    return "ll128" if flags < simple else "simple"


def wire(_: fit.Published) -> Changes | None:
    """Memory feeds an interface as fast as the wire takes it."""
    return {"nic.feed_rate": "400 Gb/s"}


def rate_of_nccl(row: fit.Published) -> Changes | None:
    """Memory feeds an interface at the rate of NCCL's channel."""
    return {"nic.feed_rate": f"{8 * ring_gbps(row):g} Gb/s"} if row.steps else None


def start_of_nccl(row: fit.Published) -> Changes | None:
    """NCCL's own start of 8.4 us in place of the fitted one; an all-to-all has none."""
    return {STEP + "latency": f"{row.inside_us + (8.4 if row.steps else 0):g} us"}


def no_between(row: fit.Published) -> Changes | None:
    """No latency of steps between servers."""
    return {STEP + "message_latency": "0 us"} if row.steps else None


def no_inside(row: fit.Published) -> Changes | None:
    """No latency of steps inside servers."""
    return {STEP + "latency": f"{start_us(row):g} us"} if row.inside_us else None


def by_protocol(row: fit.Published, start: float | None = None) -> Changes | None:
    """LL128 with its latencies and flags where NCCL chooses it; None where it does not."""
    if not row.steps or protocol(row) == "simple":
        return None
    begin = start_us(row) if start is None else start
    return {
        STEP + "protocol": "ll128",
        STEP + "latency": f"{begin + inside(row) * 1.9:g} us",
        STEP + "message_latency": f"{flagged_us(row):g} us",
    }


def table_alone(row: fit.Published) -> Changes | None:
    """NCCL's latencies with its choice of protocol, at the rate of the wire: nothing fitted."""
    if not row.steps:
        return None
    return (wire(row) or {}) | (by_protocol(row, 14.0) or start_of_nccl(row) or {})


def two_rings(row: fit.Published) -> Changes | None:
    """Two rings an interface, as NCCL has."""
    return {STEP + "channels": str(2 * row.gpus)} if row.steps else None


def issue(_: fit.Published) -> Changes | None:
    """3 us of an interface for each message: NCCL's `getNetOverhead` for Simple, Intel or ARM."""
    return {"nic.issue": "3 us"}


def slow_interface(_: fit.Published) -> Changes | None:
    """One interface sends at 250 Gb/s, as much less as the second cluster's slowest pair of 8."""
    fault = 'kind = "rate-change", at = "0 s", from = "h0", to = "s0", rate = "250 Gb/s"'
    return {"fault": f"[{{ {fault} }}]"}


CHANGES: dict[str, Callable[[fit.Published], Changes | None]] = {
    "host model": lambda _: {},
    "wire rate": wire,
    "NCCL's rate": rate_of_nccl,
    "NCCL's start": start_of_nccl,
    "none between": no_between,
    "none inside": no_inside,
    "NCCL's protocol": by_protocol,
    "NCCL's table alone": table_alone,
    "two rings": two_rings,
    "3 us a message": issue,
    "slow interface": slow_interface,
}


def off(name: str, changes: Mapping[str, str]) -> float:
    """Return the deviation of the time of a case from the published one, in %."""
    return 100 * (time_us(scenario_of(name, HOSTS, changes)) / ROWS[name].time_us - 1)


def print_missed() -> None:
    """Print a row for each size outside the band, with a column for each change."""
    print(f"| size | published, us | {' | '.join(CHANGES)} |")
    print("|---" * (2 + len(CHANGES)) + "|")
    for name in missed():
        each = (change(ROWS[name]) for change in CHANGES.values())
        cells = ["" if changes is None else f"{off(name, changes):+.1f}" for changes in each]
        print(f"| {name} | {ROWS[name].time_us:.1f} | {' | '.join(cells)} |", flush=True)


def print_table() -> None:
    """Print the counted sizes with NCCL's table alone, and all-to-alls with constants of theirs."""
    known = [row for row in ROWS.values() if row.kind == "a2a" and row.fitted]
    rate, start = fit.constants(known)
    print(f"all-to-all, fitted alone: {rate:g} GB/s, {start:g} us")
    own = {"nic.feed_rate": f"{8 * rate:.1f} Gb/s", STEP + "latency": f"{start:g} us"}
    for row in ROWS.values():
        if fit.every_second(row):
            continue
        changes = table_alone(row)
        words = "all-to-all" if changes is None else protocol(row)
        found = off(row.case, own if changes is None else changes)
        shown = 100 * (1 / (1 + found / 100) - 1) if row.kind == "b200" else found
        print(f"{row.case}: {words}, {shown:+.1f} %", flush=True)


def tree_of(size: int, racks: int, channels: int, changes: Mapping[str, str]) -> Scenario:
    """Return a double tree of gb200-tree.toml for a buffer of `size` bytes."""
    found = backwater.load(fit.HERE / "gb200-tree.toml").variant("host")
    part = -(-size // (2 * channels))
    # NCCL's chunk of 512 KiB, or an eighth of the part, as its smaller buffers have it.
    chunks = math.ceil(part / min(512 * 1024, max(65536, part // 8)))
    common = {"size": f"{part} B", "chunks": str(chunks)}
    sets = {
        f"job.nccl.step.{s}.{k}": v for s in ("collective", "mirror") for k, v in common.items()
    }
    sets |= {"topology.hosts": str(racks), "job.nccl.ranks": str(racks)}
    sets["job.nccl.step.mirror.ranks"] = str(list(range(racks))[::-1])
    for key, value in (sets | dict(changes)).items():
        found = found.set(key, value)
    return found


def print_algorithms() -> None:
    """Print the all-reduce of B200 as ring, double tree and hierarchy, with the same constants."""
    rate, start = fit.frozen(ROWS.values(), ("b200",))
    feed = {"nic.feed_rate": f"{8 * rate:.1f} Gb/s"}
    # 14 steps of 4.0 us inside: seven up the chain of a server, and seven down.
    steps = ("collective", "mirror")
    latency = {f"job.nccl.step.{step}.latency": f"{start + 56:g} us" for step in steps}
    print("| size | ring | tree | hierarchy |\n|---|---|---|---|")
    for row in ROWS.values():
        if row.kind != "b200" or row.case not in CASES:
            continue
        case = dict(CASES[row.case].changes(HOSTS))
        packet = {k: v for k, v in case.items() if k.startswith("packet")}
        packet = packet or {
            "packet.payload": "4096 B",
            "packet.header": "62 B",
            "packet.gap": "20 B",
        }
        ring = scenario_of(row.case, HOSTS, {})
        tree = tree_of(int(row.size), 4, 8, feed | latency | packet)
        hierarchy = backwater.load(CASES[row.case].scenario).variant("host")
        case |= {STEP + "latency": f"{start:g} us", STEP + "algorithm": "hierarchical"}
        for key, value in case.items():
            if key != STEP + "channels":
                hierarchy = hierarchy.set(key, value)
        cells = (f"{100 * (time_us(s) / row.time_us - 1):+.1f}" for s in (ring, tree, hierarchy))
        print(f"| {row.case} | {' | '.join(cells)} |", flush=True)


def print_hashes(seeds: range = range(1, 25)) -> None:
    """Print the gain of planned paths over ECMP at 16 GiB for each seed, in %."""
    name = "tolly-16GiB"
    planned = time_us(scenario_of(name, "planned paths", {}))
    setups = {
        "reading": {},
        "4 queue pairs": {"job.nccl.queue_pairs": "4"},
        "8 queue pairs": {"job.nccl.queue_pairs": "8"},
        "32 uplinks": {"topology.links_per_pair": "16"},
        "64 uplinks": {"topology.links_per_pair": "32"},
    }
    for words, changes in setups.items():
        scenario = scenario_of(name, "ecmp", changes)
        gains = sorted(100 * (time_us(scenario, seed) / planned - 1) for seed in seeds)
        print(f"{words}: {', '.join(f'{gain:.1f}' for gain in gains)}", flush=True)


def print_fabric() -> None:
    """Print times of trees of twenty racks over leaves and spines with a hash for each flow."""
    text = (fit.HERE / "gb200-tree.toml").read_text(encoding="utf-8")
    racks, channels = 20, 15
    ranks = list(range(racks * channels))
    for words, spines, links in (("15 uplinks", 5, 3), ("72 uplinks", 18, 4)):
        changed = {
            'kind = "star"\nhosts = 20': 'kind = "leaf-spine"\n'
            f"leaves = {racks}\nspines = {spines}\n"
            f"links_per_pair = {links}\nhosts_per_leaf = {channels}",
            "ranks = 20\n": f"ranks = {len(ranks)}\nqueue_pairs = 1\nkeep_queue_pairs = true\n",
            f"ranks = {list(range(racks))[::-1]}": f"ranks = {ranks[::-1]}",
            'algorithm = "tree"': 'algorithm = "tree"\n'
            f"group_size = {racks}\ngroup_stride = {channels}",
            "[ack]\nenabled = false": '[ack]\nevery = 32\npath = "reverse"\n\n'
            '[transport]\nrecovery = "go-back-n"\ntimeout = "10 s"',
        }
        hashed = text
        for old, new in changed.items():
            assert old in hashed, old
            hashed = hashed.replace(old, new)
        for size in ("512MiB", "2GiB"):
            case = dict(CASES[f"gb200-1440-{size}"].set)
            alone = backwater.parse(hashed)
            for key, value in case.items():
                alone = alone.set(key, value)
            hosts = dict(CASES[f"gb200-1440-{size}"].set_for[HOSTS])
            model = backwater.parse(hashed).variant("host")
            for key, value in (case | hosts).items():
                model = model.set(key, value)
            for name, scenario in (("network alone", alone), (HOSTS, model)):
                times = ", ".join(f"{time_us(scenario, seed):.0f}" for seed in (1, 2, 3))
                print(f"{words}, {size}, {name}: {times} us", flush=True)


PARTS = {
    "missed": print_missed,
    "table": print_table,
    "algorithms": print_algorithms,
    "hashes": print_hashes,
    "fabric": print_fabric,
}


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
