"""Critical paths of jobs; sums of waits; the list of a job's messages."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from test_jobs import job

import backwater
from backwater.jobs import collective_costs, critical_path, last_instances
from backwater.report.jobs import jobs_section
from backwater.why import evidence, facts
from backwater.why.words import path_words
from kit.command import Command
from kit.tree import ROOT

US = 1_000_000
PREFILL = ROOT / "scenarios" / "ai-prefill.toml"


def send(label: str, pair: list[int], *after: str, size: str = "100 KB") -> dict[str, Any]:
    step = {"label": label, "kind": "point-to-point", "size": size, "pairs": [pair]}
    return step | {"after": list(after)}


def think(label: str, rank: int, us: int, *after: str) -> dict[str, Any]:
    step = {"label": label, "kind": "compute", "time": f"{us} us", "ranks": rank}
    return step | {"after": list(after)}


DIAMOND = (
    think("load", 0, 7),
    send("a", [0, 1], "load"),
    send("b", [0, 2], "load"),
    think("c", 1, 10, "a"),
    think("d", 2, 50, "b"),
    send("e", [1, 3], "c"),
    send("f", [2, 3], "d", size="10 KB"),
    think("g", 3, 20, "e", "f"),
)


def test_the_critical_path_takes_the_slow_branch_of_a_diamond() -> None:
    run = job(*DIAMOND).run()
    legs = critical_path(run, "j")
    told = [(leg.kind, leg.label or (leg.transfer or {})["step"]) for leg in legs]
    # `d` computes 40 us longer than `c`, and no transfer takes as long as that.
    assert told == [
        ("compute", "load"),
        ("transfer", "b"),
        ("compute", "d"),
        ("transfer", "f"),
        ("compute", "g"),
    ]
    fct = {row["group"]: row["fct_last_byte_ps"] for row in run.flows.to_pylist()}
    times = [7 * US, fct["j/b"], 50 * US, fct["j/f"], 20 * US]
    assert [leg.duration_ps for leg in legs] == times
    assert run.jobs["duration_ps"].to_pylist() == [sum(times)]


def test_what_a_step_waits_for_its_time_is_on_the_path() -> None:
    run = job(send("a", [0, 1]), send("b", [1, 2], "a") | {"start": "300 us"}).run()
    legs = critical_path(run, "j")
    assert [leg.kind for leg in legs] == ["transfer", "held", "transfer"]
    assert legs[1].end_ps == 300 * US
    assert sum(leg.duration_ps for leg in legs) == run.jobs["duration_ps"][0].as_py()


@pytest.mark.parametrize("more", [{}, {"rounds_in_flight": 2}, {"complete_at": "last-ack"}])
def test_a_path_has_no_gap_and_sums_to_the_completion_time(more: dict[str, Any]) -> None:
    """Its computations take the times in the scenario, and its transfers those of their flows."""
    scenario = job(
        {"label": "one", "kind": "compute", "time": "3 us"},
        {"label": "sum", "kind": "all-reduce", "size": "256 KB"},
        {"label": "two", "kind": "compute", "time": "5 us"},
        {"label": "mix", "kind": "all-to-all", "size": "80 KB"},
        rounds=4,
        instances=2,
        **{**more, "ranks": 4},
    )
    run = scenario.run()
    took = {"one": 3 * US, "two": 5 * US}
    fct = {
        row["flow_id"]: row["fct_last_ack_ps" if "complete_at" in more else "fct_last_byte_ps"]
        for row in run.flows.to_pylist()
    }
    for instance, jct in enumerate(run.jobs.sort_by("instance")["duration_ps"].to_pylist()):
        legs = critical_path(run, "j", instance)
        assert legs[0].start_ps == 0
        assert sum(leg.duration_ps for leg in legs) == jct
        for before, after in itertools.pairwise(legs):
            assert before.end_ps == after.start_ps
        for leg in legs:
            if leg.transfer is None:
                assert leg.duration_ps == sum(took[one] for one in str(leg.label).split(" + "))
            else:
                assert leg.duration_ps == fct[leg.transfer["flow_id"]]


def test_a_path_of_a_job_cut_short_ends_with_the_run() -> None:
    run = job(*DIAMOND).set("stop.at", "10 us").run()
    legs = critical_path(run, "j")
    assert (legs[0].label, legs[-1].kind) == ("load", "transfer")
    assert legs[-1].end_ps == 10 * US
    computing = job(*DIAMOND).set("stop.at", "5 us").run()
    assert critical_path(computing, "j") == []
    assert last_instances(computing) == [("j", 0)]
    with pytest.raises(KeyError):
        critical_path(run, "other")


def test_why_tells_where_transfers_on_the_path_waited() -> None:
    # Two senders of the same size: the last has waited for all of the other.
    scenario = job(send("x", [0, 2]), send("y", [1, 2]))
    found = facts(evidence(scenario, scenario.seed, None))
    [path] = found["jobs"]
    [leg] = path["legs"]
    assert leg["duration_ps"] == path["jct_ps"]
    assert leg["ideal_fct_ps"] + leg["waited_ps"] + leg["rest_ps"] == leg["duration_ps"]
    [item] = leg["items"]
    assert (item["cause"], item["peer"]) == ("behind", "h2")
    # 100 KB at 100 Gb/s are 8 us, plus headers.
    assert 7.9 * US < item["wait_ps"] < 9 * US


def test_why_tells_what_software_of_hosts_takes_on_the_path() -> None:
    late = {"latency": "5 us", "message_latency": "2 us"}
    scenario = job(send("x", [0, 2]) | late, send("y", [2, 1], "x") | late)
    found = facts(evidence(scenario, scenario.seed, None))
    [path] = found["jobs"]
    assert [leg["software_ps"] for leg in path["legs"]] == [7 * US, 7 * US]
    assert path["software_ps"] == 14 * US
    # Each transfer is alone: nothing waits, and nothing is left unexplained.
    assert path["jct_ps"] == path["ideal_ps"] + path["software_ps"]
    [told] = [line for line in path_words(path) if "idle network" in line]
    assert told.endswith(" in an idle network and 14.000 us in the hosts' software")


def test_waits_are_summed_by_cause_link_host_and_group_to_the_same_total() -> None:
    scenario = job({"label": "mix", "kind": "all-to-all", "size": "400 KB"})
    found = evidence(scenario, scenario.seed, None)
    told = facts(found)["waits"]
    whole = sum(row["wait_ps"] for row in found.run.waits.to_pylist())
    assert whole > 0
    for by in ("causes", "links", "hosts", "groups"):
        assert sum(row["wait_ps"] for row in told[by]) == whole == told["total_ps"], by
        assert told[by] == sorted(told[by], key=lambda row: -row["wait_ps"])
    assert len(told["hosts"]) == 8


def test_why_says_the_path_in_words(command: Command) -> None:
    said = command("why", str(PREFILL), code=0)
    assert "Its critical path, summed up:" in said.out
    assert "All flows together waited" in said.out
    assert "further item" not in said.out
    for by in ("cause", "link", "sending host", "group"):
        assert f"  by {by}: " in said.out


def test_collectives_have_all_that_their_flows_met() -> None:
    scenario = job({"label": "mix", "kind": "all-to-all", "size": "2 MB"}, rounds=2)
    scenario = scenario.enable("pfc").set("pfc.xoff", "30 KB").enable("ecn")
    scenario = scenario.set("ecn.kmin", "10 KB").set("ecn.kmax", "20 KB")
    scenario = scenario.set("output.waits", ["all"])
    run = scenario.run()
    rows = collective_costs(run)
    assert rows["round"].to_list() == [0, 1]
    flows = run.flows.to_pylist()
    for column in ("marked", "retransmitted"):
        assert rows[column].sum() == sum(flow[column] for flow in flows)
    waits = [row["wait_ps"] for row in run.waits.to_pylist() if row["cause"] == "paused"]
    assert rows["paused_ps"].sum() == sum(waits)
    assert rows["marked"].sum() > 0
    assert sum(waits) > 0
    for row in rows.to_dicts():
        assert row["above_bound_ps"] == row["end_ps"] - row["start_ps"] - row["bound_ps"] > 0
    without = collective_costs(scenario.set("output.waits", []).run())
    assert without["paused_ps"].to_list() == [None, None], "what is not recorded is no nought"
    calm = collective_costs(scenario.set("pfc.xoff", "100 MB").run())
    assert calm["paused_ps"].to_list() == [0, 0]


def test_pauses_of_collectives_that_were_not_recorded_are_unknown() -> None:
    steps = [{"label": label, "kind": "all-to-all", "size": "2 MB"} for label in ("a", "b")]
    scenario = job(*steps).enable("pfc").set("pfc.xoff", "30 KB")
    groups = sorted({row["group"] for row in scenario.run().flows.to_pylist()})
    assert len(groups) == 2
    rows = collective_costs(scenario.set("output.waits", groups[:1]).run()).to_dicts()
    known = {row["step"]: row["paused_ps"] for row in rows}
    assert known["a"] > 0
    assert known["b"] is None


def test_the_list_of_messages_and_of_volumes(command: Command, tmp_path: Path) -> None:
    scenario = job(send("a", [0, 1]), think("t", 1, 10, "a"), send("b", [1, 2], "t", size="20 KB"))
    run = scenario.run(out=tmp_path / "run")
    said = command("jobs", str(tmp_path / "run"), "--json", "jobs.json", code=0)
    assert "h0 port 0 (to " in said.out
    told = json.loads((tmp_path / "jobs.json").read_text(encoding="utf-8"))
    a, b = told["transfers"]
    assert (a["src_rank"], a["dst_rank"], a["bytes"]) == (0, 1, 100_000)
    assert (b["after_flow"], b["after_compute"]) == (a["flow_id"], "t")
    assert f"{a['flow_id']} + t" in said.out
    assert said.out.index("Volume on links") < said.out.index("Messages")
    # Each message crosses two links: out of its sender, and into its receiver.
    volumes = {(row["step"], row["node"]): row["payload_bytes"] for row in told["job_links"]}
    [switch] = {node for _, node in volumes} - {"h0", "h1"}
    assert volumes == {
        ("a", "h0"): 100_000,
        ("a", switch): 100_000,
        ("b", "h1"): 20_000,
        ("b", switch): 20_000,
    }
    assert told["jobs"] == run.jobs.to_pylist()
    few = command("jobs", str(tmp_path / "run"), "--most", "1")
    assert "1 of 2; --all or --most N shows more" in few.out
    assert "--most" not in command("jobs", str(tmp_path / "run"), "--all").out


def test_columns_that_are_the_same_in_all_rows_are_a_line_above(command: Command) -> None:
    assert job({"kind": "all-gather", "size": "8 KB"}).run(out="r").status == "done"
    said = command("jobs", "r")
    messages = said.out.partition("Messages")[2].splitlines()
    assert messages[1].startswith("The same in all rows: job/step ")
    assert "instance 0, round 0" in messages[1]
    assert messages[2].split()[0] == "flow"
    assert "instance" not in messages[2]
    shown = {line.split()[0] for line in messages[3:13]}
    ids = {str(flow) for flow in backwater.open_run("r").transfers["flow_id"].to_pylist()}
    assert shown <= ids, "no number is broken over lines"


def test_a_run_without_jobs_has_no_list(command: Command, small: Path) -> None:
    command("run", str(small), "--out", "plain", code=0)
    said = command("jobs", "plain", code=1)
    assert "the run has no jobs" in said.err


def test_a_report_shows_jobs_rounds_and_collectives() -> None:
    run = job({"label": "mix", "kind": "all-to-all", "size": "400 KB"}, rounds=12).run()
    [section] = jobs_section(run, timeline=False)
    tables = [part for part in section.parts if part.kind == "table"]
    instances, path, rounds, steps, collectives = tables
    jct = int(run.jobs["duration_ps"][0].as_py())
    assert instances.rows[0][3] == "12 of 12"
    begun, took, _ = (cell.replace(",", "") for cell in path.rows[-1])
    assert float(begun) + float(took) == pytest.approx(jct / 1e6, abs=0.011), "the last leg ends it"
    assert float(instances.rows[0][4].replace(",", "")) == round(jct / 1e6, 2)
    took = [float(row[5].replace(",", "")) for row in rounds.rows]
    assert len(took) == 12
    assert took == sorted(took, reverse=True)
    assert steps.rows[0][:2] == ["j/mix", "12 of 12"]
    p99 = steps.columns.index(next(c for c in steps.columns if c.title == "p99 us"))
    assert steps.rows[0][p99] == "-", "12 collectives have no 99th percentile"
    assert len(collectives.rows) == 12
    [figure] = [part for part in section.parts if part.kind == "figure"]
    curve = figure.chart.to_dict()
    assert "12" in str(curve["title"])
    assert jobs_section(job(think("t", 0, 5)).run())[0].parts[0].rows[0][4] == "5"


def test_a_run_without_jobs_has_no_section_of_them(small: Path) -> None:
    assert jobs_section(backwater.load(small).run()) == []
