"""Data of single ports and flows on a page: they are those of the run's tables."""

from __future__ import annotations

import base64
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater.report import looks as module
from backwater.report.assumptions import Assumptions
from backwater.report.film import Film, places, shoot
from backwater.report.looks import looks, port_edges
from kit.scenarios import SAMPLES, sampled


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> backwater.Run:
    """An incast with a victim, with everything recorded."""
    scenario = sampled(backwater.parse(backwater.new_scenario())).set("output.waits", ["all"])
    return scenario.run(out=tmp_path_factory.mktemp("looks") / "run")


@pytest.fixture(scope="module")
def film(run: backwater.Run) -> Film:
    return shoot(Assumptions(run).layout, [("run", run)])


def told(run: backwater.Run, film: Film) -> dict[str, Any]:
    return looks(run, film, port_edges(film.tracks[0].edges, places(film.layout, run)))


def curve(one: dict[str, Any], name: str) -> list[float]:
    found = next(curve for curve in one["curves"] if curve["name"] == name)
    return [octet / 255 * found["top"] for octet in base64.b64decode(found["line"])]


def test_curves_of_a_port_are_its_samples(run: backwater.Run, film: Film) -> None:
    node, peer = "leaf0", "h0"
    port = next(one for one in told(run, film)["ports"] if one["name"] == f"{node} → {peer}")
    row = next(one for one in run.ports.to_pylist() if (one["node"], one["peer"]) == (node, peer))
    samples: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for one in run.series.to_pylist():
        if one["node"] == node and one["port"] == row["port"]:
            samples[one["quantity"]][one["time_ps"]] += one["value"]
    assert film.step_ps == 10**6
    for frame, (depth, sent) in enumerate(
        zip(curve(port, "waiting (KB)"), curve(port, "sent (Gb/s)"), strict=True)
    ):
        time = film.time_ps(frame)
        # One byte a step: to within half of 1/255 of the greatest value, which has four digits.
        deepest = max(samples["queue_bytes"].values()) / 1e3
        assert depth == pytest.approx(samples["queue_bytes"][time] / 1e3, abs=deepest / 450)
        assert sent == pytest.approx(samples["sent_bytes"][time] * 8e-3, abs=0.5)
    # The port's line in the drawing is that from leaf0 to h0.
    blocks = film.layout.blocks
    assert [blocks[i].name for i in film.tracks[0].edges[port["edge"]]] == [node, peer]
    assert ["link", f"{row['rate_bps'] / 1e9:g} Gb/s"] in port["facts"]


def test_a_step_of_few_packets_is_said(run: backwater.Run, film: Film) -> None:
    """At 200 Gb/s a step of 1 us has 25,000 B, which are 6.1 packets of 4,096 B."""
    assert film.step_ps == 10**6
    assert str(told(run, film)["note"]).startswith("6.1 packets of ")


def test_what_flows_waited_for_is_all_there(
    run: backwater.Run, film: Film, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: dict[tuple[str, int], int] = defaultdict(int)
    groups = dict(zip(*(run.flows[name].to_pylist() for name in ("flow_id", "group")), strict=True))
    for row in run.waits.to_pylist():
        # A flow's name has its number in the group: the identity modulo 2^40.
        waits[groups[row["flow_id"]], row["flow_id"] % 2**40] += row["wait_ps"]
    for most in (module.WAITS, 1):
        monkeypatch.setattr(module, "WAITS", most)
        flows = told(run, film)["flows"]
        assert len(flows) == run.flows.num_rows
        for one in flows:
            number = one["name"].partition(":")[0], int(one["name"].rpartition(" ")[2])
            rows = [row for row in one["waits"] if row[0] != "its own frames"]
            assert len(rows) <= most + 1
            assert sum(us for _, _, us in rows) == pytest.approx(waits[number] / 1e6)
            assert rows[0][2] == max(us for _, _, us in rows[:most])


def test_what_a_flow_waited_for_and_its_own_frames_are_its_delay(tmp_path: Path) -> None:
    """A packet is lost and retransmitted: its first sending is no wait, and not idle time."""
    drop = {"kind": "drop-nth", "from": "h1", "to": "s0", "frame": "data", "nth": 2}
    scenario = backwater.build(
        {
            "topology": {"kind": "star", "hosts": 3, "rate": "100 Gb/s", "link_delay": "500 ns"},
            "transport": {"recovery": "selective-repeat", "window": "4 KiB", "timeout": "50 us"},
            "flow": [{"label": "pair", "from": "1..2", "to": 0, "size": "16 KiB"}],
            "fault": [drop],
            "output": {"interval": "1 us", "waits": ["all"]} | dict.fromkeys(SAMPLES, True),
        }
    )
    run = scenario.run(out=tmp_path / "run")
    flows = told(run, shoot(Assumptions(run).layout, [("run", run)]))["flows"]
    rows = {row["flow_id"]: row for row in run.flows.to_pylist()}
    assert len(flows) == 2
    own = 0.0
    for one in flows:
        row = rows[int(one["name"].rpartition(" ")[2])]
        delay = (row["fct_last_byte_ps"] - row["ideal_fct_ps"]) / 1e6
        assert one["delay_us"] == pytest.approx(delay)
        assert sum(us for _, _, us in one["waits"]) == pytest.approx(delay, abs=1e-6)
        own += sum(us for where, _, us in one["waits"] if where == "its own frames")
    assert own > 0


def test_of_one_group_the_flows_that_are_not_told_apart_are_of_it(tmp_path: Path) -> None:
    """A flow meets 70 others at one port, of which the record names 64."""
    output = {"interval": "1 us", "waits": ["all"], "queues": True, "links": True}
    flow = {"label": "many", "from": "1..70", "to": 0, "size": "40 KB"}
    base = {
        "topology": {"kind": "star", "hosts": 72, "rate": "100 Gb/s", "link_delay": "500 ns"},
        "switch": {"buffer_per": "none"},
        "output": output | {"pauses": True, "flows": True},
    }
    for number, other in enumerate(([], [{"label": "one", "from": 71, "to": 0, "size": "40 KB"}])):
        run = backwater.build(base | {"flow": [flow, *other]}).run(out=tmp_path / f"{number}")
        assert any(row["behind_flow"] is None for row in run.waits.to_pylist())
        found = told(run, shoot(Assumptions(run).layout, [("run", run)]))
        port = next(one for one in found["ports"] if one["name"] == "s0 → h0")
        causes = {why for _, why, _ in port["waits"]}
        assert ("behind several flows of many" in causes) == (not other)
        assert ("behind several flows" in causes) == bool(other)


def test_a_flow_gets_what_it_received(run: backwater.Run, film: Film) -> None:
    sizes = {row["flow_id"]: row["received"] for row in run.flows.to_pylist()}
    for one in told(run, film)["flows"]:
        rates = curve(one, "received (Gb/s)")
        whole = sum(rates) * 1e9 / 8 * film.step_ps / 1e12
        assert whole == pytest.approx(sizes[int(one["name"].rpartition(" ")[2])], rel=0.02)


def test_of_many_the_worst_of_each_group_are_told(
    run: backwater.Run, film: Film, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLOWS", 2)
    monkeypatch.setattr(module, "PORTS", 3)
    few = told(run, film)
    assert [one["group"] for one in few["flows"]] == ["incast", "victim"]
    late = {
        row["flow_id"]: row["fct_last_byte_ps"] - row["ideal_fct_ps"]
        for row in run.flows.to_pylist()
        if row["group"] == "incast"
    }
    assert few["flows"][0]["name"].endswith(f"flow {max(late, key=lambda one: late[one])}")
    deepest = sorted((row["max_egress_bytes"] for row in run.ports.to_pylist()), reverse=True)
    assert len(few["ports"]) == 3
    assert few["ports"][0]["name"] in {
        f"{row['node']} → {row['peer']}"
        for row in run.ports.to_pylist()
        if row["max_egress_bytes"] == deepest[0]
    }


def test_hosts_have_the_names_that_the_scenario_gives_them(tmp_path: Path) -> None:
    kinds = {"storage": "host", "middle": "switch", "compute": "host"}
    link = {"rate": "100 Gb/s", "delay": "1 us"}
    scenario = backwater.build(
        {
            "topology": {
                "kind": "explicit",
                "node": [{"name": name, "kind": kind} for name, kind in kinds.items()],
                "link": [{"a": end, "b": "middle", **link} for end in ("storage", "compute")],
            },
            "flow": [{"label": "read", "from": "storage", "to": "compute", "size": "1 MB"}],
            "output": {"interval": "1 us", "queues": True, "links": True, "flows": True},
        }
    )
    run = scenario.run(out=tmp_path / "run")
    film = shoot(Assumptions(run).layout, [("run", run)])
    [flow] = told(run, film)["flows"]
    assert flow["name"].startswith("read: storage → compute, flow ")


def test_without_records_nothing_is_told(tmp_path: Path) -> None:
    scenario = backwater.parse(backwater.new_scenario())
    run = sampled(scenario, names=("queues", "links")).run(out=tmp_path / "run")
    film = shoot(Assumptions(run).layout, [("run", run)])
    assert film.packed()["waits"] is False
    for one in told(run, film)["flows"]:
        assert one["curves"] == []
        assert one["waits"] == []
