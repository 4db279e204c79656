"""The study of NCCL on real fabrics: its fit, its cases, and claims that can fail."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

import backwater
from backwater.errors import InputError
from backwater.plot.own import charts
from backwater.study.claims.nccl_2026 import CLAIMS, judged
from backwater.study.definition import load
from backwater.study.key import TABLE, Key
from backwater.study.measures import Observed, read
from kit.tree import ROOT, load_file

if TYPE_CHECKING:
    from backwater.study import Outcome

FOLDER = ROOT / "studies" / "nccl-2026"
FIT = load_file(FOLDER / "fit.py")
RACKS = load_file(FOLDER / "gb200.py")
STUDY: dict[str, Any] = tomllib.loads((FOLDER / "study.toml").read_text(encoding="utf-8"))
CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in STUDY["case"]}
ROWS = {row.case: row for row in FIT.published()}
JOB = "job.nccl.step.collective."


def test_the_hosts_constants_are_those_of_the_fit() -> None:
    scenario = tomllib.loads((FOLDER / "scenario.toml").read_text(encoding="utf-8"))
    rows = list(ROWS.values())
    rate, latency = FIT.frozen(rows, ("a2a", "gather"))
    host = scenario["variant"]["host"]
    assert host["nic"]["feed_rate"] == f"{8 * rate:.1f} Gb/s"
    assert host["job"]["nccl"]["step"]["collective"]["latency"] == f"{latency:.0f} us"
    for row in rows:
        sets = CASES[row.case]["set_for"]
        if row.kind == "b200":
            own, start = FIT.frozen(rows, ("b200",))
            set_to(sets["host model"], own, start, row.inside_us)
        kinds = ("b200",) if row.kind == "b200" else ("a2a", "gather")
        set_to(sets["hosts by GPUs"], *FIT.by_gpus(rows, kinds, row.gpus))
        assert JOB + "message_latency" not in sets["hosts by GPUs"]


def set_to(sets: dict[str, str], rate: float, latency: float, inside: float = 0.0) -> None:
    assert sets["nic.feed_rate"] == f"{8 * rate:.1f} Gb/s"
    assert sets[JOB + "latency"] == f"{latency + inside:g} us"


def test_a_fit_reads_every_second_size_and_nothing_else() -> None:
    rows = list(ROWS.values())
    for row in rows:
        assert row.fitted == (FIT.every_second(row) and row.gpus in (1, 8))
        assert FIT.every_second(row) == (CASES[row.case].get("only") == "full")
    other = [row if FIT.every_second(row) else replace(row, time_us=1.0) for row in rows]
    twice = [replace(row, time_us=2 * row.time_us) for row in rows]
    for kinds in FIT.BEDS.values():
        assert FIT.frozen(other, kinds) == FIT.frozen(rows, kinds) != FIT.frozen(twice, kinds)
        before = FIT.by_gpus(rows, kinds, 8)
        assert FIT.by_gpus(other, kinds, 8) == before != FIT.by_gpus(twice, kinds, 8)


def test_the_fit_finds_constants_that_are_known() -> None:
    rows = [replace(row, time_us=FIT.modelled(row, 40.0, 100.0)) for row in ROWS.values()]
    assert FIT.constants(rows) == (40.0, 100.0)
    rows = [replace(row, time_us=FIT.modelled(row, 45.0, 50.0, table=False)) for row in rows]
    assert FIT.constants(rows, table=False) == (45.0, 50.0)
    rows = [replace(row, time_us=5 + 0.25 * row.size) for row in rows]
    assert FIT.line(rows) == pytest.approx((5, 0.25))


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_case_is_what_its_row_says(row: Any) -> None:  # noqa: ANN401 - a class of fit.py
    sets = CASES[row.case]["set"]
    assert int(sets["job.nccl.ranks"]) == int(sets["topology.hosts"]) == row.ranks
    assert int(sets["job.nccl.ranks_per_server"]) == row.gpus
    size = int(sets[JOB + "size"].removesuffix(" B"))
    if row.kind == "a2a":
        assert size * row.ranks == pytest.approx(row.size, rel=1e-4)
    else:
        assert size == pytest.approx(row.size, rel=1e-4)
        assert int(sets[JOB + "channels"]) == row.gpus
        host = CASES[row.case]["set_for"]["host model"]
        assert host[JOB + "message_latency"] == "14 us"
        if row.kind == "gather" and row.gpus > 1:
            _, latency = FIT.frozen(list(ROWS.values()), ("a2a", "gather"))
            assert host[JOB + "latency"] == f"{latency + row.inside_us:g} us"
    # A train of frames keeps the share of their headers.
    train = [int(sets.get(f"packet.{name}", "0 B").split()[0]) for name in ("payload", "header")]
    assert train[0] * 62 == train[1] * 4096


@pytest.mark.parametrize("row", RACKS.published(), ids=lambda row: row.case)
def test_a_case_of_racks_is_what_nccl_chooses_there(row: Any) -> None:  # noqa: ANN401 - as above
    case = CASES[row.case]
    sets, hosts = case["set"], case["set_for"]["host model"]
    algorithm = RACKS.chosen(row.racks, row.size).split(",")[0]
    scenario = tomllib.loads((FOLDER / f"gb200-{algorithm}.toml").read_text(encoding="utf-8"))
    assert case["scenario"] == f"gb200-{algorithm}.toml"
    steps = scenario["job"][0]["step"]
    assert {step["algorithm"] for step in steps} == {algorithm}
    size = int(sets[JOB + "size"].removesuffix(" B"))
    if algorithm == "tree":
        # A tree and its mirror have half of one channel's part each, in chunks of 512 KiB.
        assert size == pytest.approx(row.size / RACKS.channels(row.racks) / 2, rel=1e-6)
        assert int(sets[JOB + "chunks"]) == -(-size // RACKS.CHUNK)
        assert all(sets[f"job.nccl.step.mirror.{k}"] == sets[JOB + k] for k in ("size", "chunks"))
        feed = RACKS.tree_feed_gbps(row.racks, "5067397c")
        start = RACKS.inside_us(row.racks, "tree")
    else:
        assert size == pytest.approx(
            row.size / (RACKS.channels(2) if row.racks > 1 else 1), rel=1e-6
        )
        feed = RACKS.NVLINK_GBPS / (RACKS.channels(2) if row.racks > 1 else 1)
        start = RACKS.inside_us(row.racks, "ring") if row.racks > 1 else 8.4
        if RACKS.chosen(row.racks, row.size).endswith("ll128"):
            feed, start = 0.92 * feed, 14.0
    assert hosts["nic.feed_rate"] == f"{8 * feed:.1f} Gb/s"
    given = hosts.get(
        JOB + "latency", scenario["variant"]["host"]["job"]["nccl"]["step"]["collective"]["latency"]
    )
    assert given == f"{start:g} us"


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("scatter-")])
def test_a_reduce_scatter_is_its_all_gather_with_nccls_own_table(case: str) -> None:
    gather = CASES[case.replace("scatter", "gather")]
    kind = {JOB + "kind": "reduce-scatter"}
    assert CASES[case]["set"] == gather["set"] | kind
    assert CASES[case]["set_for"].get("host model") == gather["set_for"].get("host model")
    row = ROWS[gather["id"]]
    # NVIDIA/nccl 5067397c, src/graph/tuning.cc: 9 steps between servers, the rest inside.
    inside = 10 * row.gpus - 10
    rate = 45.0 if row.gpus == 8 else 48.0
    between = 8.5 if row.gpus == 1 else 4.0
    flagged = 14.0 + inside * 1.9 + 9 * between + row.sent / (0.92 * rate) / 1e3
    simple = 8.4 + inside * 3.4 + 9 * 14.0 + row.sent / rate / 1e3
    found = CASES[case]["set_for"]["NCCL's table"]
    start = 14.0 + inside * 1.9 if flagged < simple else 8.4 + inside * 3.4
    assert found[JOB + "latency"] == f"{start:g} us"
    assert found["nic.feed_rate"] == f"{8 * rate:.1f} Gb/s"
    assert found.get(JOB + "protocol") == ("ll128" if flagged < simple else None)
    assert found.get(JOB + "message_latency") == (f"{between:g} us" if flagged < simple else None)


def test_nccl_estimates_of_racks_are_those_of_its_formula() -> None:
    # NVIDIA/nccl f44ac759, src/graph/tuning.cc, by hand: 1440 ranks in 20 domains, 2 GiB.
    ring = 1.4 * (8.4 + (2878 - 38) * 3.4 + 38 * 14.0) + 2**31 / (720 * 1440 / 2878) / 1e3
    tree = 8.4 + 2 * (71 * 4.0 + 4 * 14.0) + 2**31 / (0.92 * 720 / 2) / 1e3
    found = RACKS.estimates(20, 2**31)
    assert found == {"ring, simple": pytest.approx(ring), "tree, simple": pytest.approx(tree)}
    assert RACKS.chosen(20, 2**31) == "tree, simple"
    # 15 channels of 24.0 GB/s, of which a tree of more than two domains sends every byte twice.
    assert RACKS.tree_feed_gbps(20, "5067397c") == pytest.approx(24.0)
    assert RACKS.tree_feed_gbps(2, "5067397c") == pytest.approx(42.8 / 2)


def test_the_table_of_nccl_counts_steps_between_and_within_servers() -> None:
    # NVIDIA/nccl 5067397c, src/graph/tuning.cc: 70 steps of 3.4 us and 9 of 14.0 us.
    assert ROWS["gather-g8-32MiB"].messages_us == pytest.approx(70 * 3.4 + 9 * 14)
    assert ROWS["b200-1MiB"].messages_us == pytest.approx(56 * 3.4 + 6 * 14)
    tolly = tomllib.loads((FOLDER / "tolly.toml").read_text(encoding="utf-8"))
    [step] = tolly["job"][0]["step"]
    assert (step["message_latency"], step["latency"]) == ("14 us", f"{112 * 3.4:g} us")


class Given:
    """Numbers by case, mechanism and quantity, one for each seed."""

    def __init__(self, given: dict[tuple[str, str], list[float]]) -> None:
        self.given = given

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        assert (quantity, setup) == ("busbw", "")
        return self.given[case, mechanism]

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        assert (quantity in ("busbw", "time"), setup) == (True, "")
        values = self.given[case, mechanism]
        return sum(values) / len(values)


def tolly(**gains: float) -> Given:
    given = {}
    for size, gain in gains.items():
        case = f"tolly-{size.removeprefix('s')}"
        given[case, "ecmp"] = [100.0, 200.0]
        given[case, "planned paths"] = [100.0 + gain, 200.0 + 2 * gain]
        given[case, "scheduled cells"] = [101.0 + gain, 202.0 + 2 * gain]
    return Given(given)


def test_claims_on_planned_paths_can_fail() -> None:
    published = tolly(s16MiB=1, s512MiB=10.43, s1GiB=11.29, s8GiB=17.32, s16GiB=22.76)
    wrong = tolly(s16MiB=9, s512MiB=40, s1GiB=39, s8GiB=50, s16GiB=60)
    for name in ("gain-grows", "close-when-small", "loss-in-range", "cells-as-planned"):
        assert CLAIMS[name](cast("Any", published)).holds, name
    for name in ("gain-grows", "close-when-small", "loss-in-range"):
        assert not CLAIMS[name](cast("Any", wrong)).holds, name
    apart = tolly(s512MiB=0, s16GiB=0)
    apart.given["tolly-16GiB", "scheduled cells"] = [90.0, 190.0]
    assert not CLAIMS["cells-as-planned"](cast("Any", apart)).holds


def test_the_host_model_has_to_be_nearer_than_the_network_alone() -> None:
    cases = judged()
    assert len(cases) == 48
    assert not any(ROWS[case].fitted for case in cases)

    def given(hosts: float, alone: float) -> Given:
        scaled = {"host model": hosts, "network alone": alone}
        return Given({(c, m): [v * by] for c, (_, v) in cases.items() for m, by in scaled.items()})

    claim = CLAIMS["host-explains"]
    assert claim(cast("Any", given(1.05, 0.8))).holds
    assert not claim(cast("Any", given(0.8, 1.05))).holds


def test_the_figure_has_published_bandwidths_beside_measured_ones() -> None:
    """A published time counts as the bandwidth that it means; panels without runs are left out."""
    known = load("nccl-2026")

    def point(busbw: float, time: float) -> dict[str, Any]:
        return {
            name: SimpleNamespace(statistic=lambda _, __, value=value: value)
            for name, value in (("busbw", busbw), ("time", time))
        }

    points = {
        Key("a2a-g1-32MiB", "host model", TABLE): point(30.0, 1000.0),
        Key("b200-1MiB", "host model", TABLE): point(5.0, 400.0),
    }
    outcome = cast("Outcome", SimpleNamespace(study=known, points=points))
    chart = charts("nccl-2026")["by-size"]
    drawn = chart(outcome, {"a2a-g1": "one", "b200": "two", "gather-g1": "none"}).to_dict()
    told = [
        rows[0]["busbw"]
        for rows in drawn["datasets"].values()
        if [row["mechanism"] for row in rows] == [""]
    ]
    assert sorted(told) == [5.37, pytest.approx(30 * 1000 / 792.60)]
    with pytest.raises(InputError, match="nothing to draw"):
        chart(outcome, {"gather-g1": "none"})


def test_counting_finds_what_no_hash_can_lose() -> None:
    # With as many shares of a link as uplinks and more, the fullest link tends to half its rate.
    assert FIT.hashing(128, 16, 200) == (0.0, 0.0, 0.0)
    # 8 whole links on 2 uplinks: 4 on one at least.
    assert FIT.hashing(1, 2, 200)[1] >= 300


def test_a_bandwidth_may_be_in_bytes() -> None:
    step = {"label": "s", "kind": "all-gather", "size": "400 KB"}
    run = Observed(
        backwater.build(
            {
                "topology": {"kind": "star", "hosts": 4, "rate": "8 Gb/s", "link_delay": "0 ns"},
                "switch": {"buffer_per": "none"},
                "job": [{"label": "j", "ranks": 4, "step": [step]}],
            }
        ).run()
    )
    about = {"job": "j", "step": "s", "which": "busbw"}
    bits, bytes_ = (read(run, kind, about).value for kind in ("bandwidth", "byte_bandwidth"))
    assert bytes_ is not None
    assert bits == pytest.approx(8 * bytes_)
    with pytest.raises(InputError, match="which = 'fast'"):
        read(run, "byte_bandwidth", {**about, "which": "fast"})
