"""Benchmarks of the IETF drafts: planned on a fabric, run, measured, kept and reported."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import backwater
from backwater import bench, report
from backwater.bench.fabric import Fabric
from backwater.bench.measure import Row, read
from backwater.errors import InputError
from kit.command import Command
from kit.sweeping import Cluster

STAR = """
title = "a star"

[topology]
kind = "star"
hosts = 8
rate = "100 Gb/s"
link_delay = "500 ns"

[switch]
buffer_per = "none"
latency = "300 ns"

[packet]
payload = "4096 B"
header = "62 B"
gap = "0 B"

[ack]
enabled = false
"""
PS_PER_B = 80
"""Time of an octet at 100 Gb/s, in ps."""


def star(text: str = STAR) -> backwater.Scenario:
    return backwater.parse(text, "mine.toml")


def by(rows: list[Row], metric: str) -> dict[tuple[object, ...], Row]:
    return {tuple(row.setting.values()): row for row in rows if row.metric == metric}


def test_a_ring_on_an_idle_fabric_takes_its_closed_form() -> None:
    # A ring of 8 has 7 steps for a gather. A step sends 1/8 of S in packets of 4096 B and a last
    # one. Behind the switch, the last packet follows a whole one: it adds its slot.
    outcome = bench.run(star(), ["training-9.3"], seeds=1)
    found = by(outcome.rows, "JCT")
    for megabytes in (1, 8, 32):
        whole, rest = divmod(megabytes * 1_000_000 // 8, 4096)
        assert rest
        slot, last = (4096 + 62) * PS_PER_B, (rest + 62) * PS_PER_B
        step = (whole + 1) * slot + last + 2 * 500_000 + 300_000
        assert found[8, megabytes].values[0] == pytest.approx(7 * step / 1e6, abs=1e-6)
        busbw = by(outcome.rows, "BusBW")[8, megabytes].values[0]
        assert busbw == pytest.approx(megabytes * 1e6 * 8 * 7 / 8 / (7 * step) * 1e3, rel=1e-6)


def test_values_beyond_the_fabric_become_its_largest() -> None:
    outcome = bench.run(star(STAR + '[pfc]\nxoff = "1 MB"\n'), ["training-7.2"], seeds=1)
    [test] = outcome.document["tests"]
    # 7 of 8 hosts can send to the eighth.
    assert test["parameters"][0]["values"] == [2, 4, 7]
    assert outcome.document["capped"] == [
        "training-7.2: senders = 8 to 64 became 7: the fabric has 8 hosts (hosts - 1)"
    ]


def test_the_same_command_repeats_no_run(tmp_path: Path) -> None:
    asked: list[int] = []
    for _ in range(2):
        bench.run(star(), ["training-5.2"], seeds=2, out=tmp_path / "o", progress=asked.append)
    assert asked == [4, 0]
    bench.run(star(), ["training-5.2"], seeds=3, out=tmp_path / "o", progress=asked.append)
    assert asked == [4, 0, 2]


@pytest.mark.usefixtures("undrawn")
def test_a_benchmark_opens_as_it_was_and_becomes_a_page(tmp_path: Path) -> None:
    made = bench.run(star(), ["training-5.2"], seeds=2, out=tmp_path / "o")
    opened = backwater.open_run(tmp_path / "o", bench.Benchmark)
    assert (opened.rows, opened.document) == (made.rows, made.document)
    page = report.of(tmp_path / "o")
    assert [one.id for one in page.figures] == ["training-5.2"]
    assert not page.failed
    html = page.html()
    for text in ("Device under test", "e19e018", "Repeatability", "training-12.1"):
        assert text in html


def test_a_ratio_is_of_the_same_seed() -> None:
    outcome = bench.run(star(), ["training-5.2"], seeds=3)
    mean = by(outcome.rows, "mean")
    ratio = by(outcome.rows, "latency increase factor")
    assert list(ratio) == [("loaded",)]
    for place in range(3):
        idle, loaded = (mean[one,].values[place] for one in ("idle", "loaded"))
        assert idle is not None
        assert loaded is not None
        assert ratio["loaded",].values[place] == loaded / idle > 1


def test_a_fabric_that_fits_no_test_is_refused_with_place_and_hint() -> None:
    with pytest.raises(InputError) as refused:
        bench.run(star(), ["training-8.1"], seeds=1)
    assert str(refused.value) == (
        "mine.toml: test training-8.1: a leaf has no parallel uplinks, "
        "or hosts are not numbered leaf by leaf\n"
        "hint: give it two tiers, as in leaf-spine-64"
    )
    alone = '[topology]\nkind = "star"\nhosts = 1\nrate = "1 Gb/s"\nlink_delay = "1 us"\n'
    with pytest.raises(InputError, match="topology: has 1 hosts"):
        bench.run(star(alone), ["rdma"], seeds=1)


def test_a_test_that_the_fabric_cannot_have_is_listed() -> None:
    outcome = bench.run(star(), ["rdma", "training-7.2"], seeds=1)
    [unfit] = outcome.document["unfit"]
    assert (unfit["test"], unfit["reason"]) == ("training-7.2", "PFC is off in the fabric")


def test_a_time_of_the_flows_that_got_through_is_no_time_of_all() -> None:
    flows = [{"label": "kv", "from": [n], "to": [7], "size": size} for n, size in FLOWS]
    content = tomllib.loads(STAR) | {"flow": flows, "stop": {"at": "100 us"}}
    run = backwater.build(content).run()
    assert [row["state"] for row in run.flows.to_pylist()].count("complete") == 1
    known = read(run, ["max_fct_last_byte:kv", "drops"])
    assert known.values == {"max_fct_last_byte:kv": None, "drops": 0}
    assert known.reasons == {"max_fct_last_byte:kv": "covers only 1 of 2 flows"}
    assert known.cut == {"max_fct_last_byte:kv"}


FLOWS = ((0, "10 KB"), (1, "100 MB"))


def test_a_host_s_rate_is_that_of_all_its_links_and_a_leaf_has_its_own_uplinks() -> None:
    two_planes = (
        '[topology]\nkind = "leaf-spine"\nplanes = 2\nleaves = 4\nspines = 1\nhosts_per_leaf = 4\n'
        'rate = "200 Gb/s"\nlink_delay = "500 ns"\n'
    )
    facts = Fabric.of(star(two_planes), "mine.toml").facts
    assert (facts["gbps"], facts["uplinks"], facts["uplinks_per_leaf"]) == (400, 8, 1)
    within = two_planes + '[topology.nvlink]\ngpus = 4\nrate = "3.6 Tb/s"\ndelay = "100 ns"\n'
    facts = Fabric.of(star(within), "mine.toml").facts
    assert (facts["gbps"], facts["leaves"]) == (400, 8)


def test_the_workload_of_the_file_is_left_out() -> None:
    text = STAR + '[[flow]]\nlabel = "own"\nfrom = 0\nto = 1\nsize = "1 MB"\n'
    fabric = Fabric.of(star(text), "mine.toml")
    assert fabric.left_out == ("flow",)
    assert "flow" not in fabric.tables
    assert (fabric.facts["hosts"], fabric.facts["uplinks"], fabric.facts["gbps"]) == (8, 0, 100)


def test_a_run_that_fails_ends_the_command_with_1(command: Command) -> None:
    lossy = STAR.replace('buffer_per = "none"', 'buffer = "30 KB"')
    Path("mine.toml").write_text(f"lossless = true\n{lossy}", encoding="utf-8")
    said = command("bench", "training-9.3", "--fabric", "mine.toml", "--seeds", "1", "--out", "o")
    assert said.code == 1
    assert "run failed: training-9.3" in said.out


def test_the_list_the_dry_run_and_a_misspelt_name(command: Command) -> None:
    listed = command("bench", "--list", code=0)
    assert "training-10.1" in listed.out
    assert "inference-7.4" in listed.out
    Path("mine.toml").write_text(STAR, encoding="utf-8")
    asked = ("bench", "training-9.3", "--fabric", "mine.toml", "--out", "o")
    said = command(*asked, "--dry-run", "--json", "-", code=0)
    told = json.loads(said.out)
    assert (told["settings"], told["runs"], told["missing"]) == (3, 9, 9)
    assert told["seconds"] > 0
    assert not Path("o").exists()
    wrong = command("bench", "tenant", code=2)
    assert "tenant: no category or test of the suite" in wrong.err
    assert "did you mean tenants?" in wrong.err


def test_the_command_prints_definitions_and_keeps_json(command: Command) -> None:
    Path("mine.toml").write_text(STAR, encoding="utf-8")
    asked = ("bench", "training-5.2", "--fabric", "mine.toml", "--seeds", "2", "--out", "o")
    said = command(*asked, "--json", "o.json", code=0)
    assert "Training 5.2: Latency Characterization" in said.out
    assert "section 5.2" in said.out
    document = json.loads(Path("o.json").read_text(encoding="utf-8"))
    row = next(one for one in document["rows"] if one["metric"] == "P99")
    assert (row["unit"], row["spread"]["n"], len(row["values"])) == ("us", 2, 2)


def test_other_commands_read_a_benchmark(command: Command) -> None:
    bench.run(star(), ["training-5.2"], seeds=2, out="o")
    assert command("status", "o", code=0).out.startswith("AI fabric benchmarks of a star")
    asked = "select setting, count(*) n from points group by 1 order by 1"
    said = command("query", "o", asked, "--json", "-", code=0)
    assert json.loads(said.out) == [
        {"setting": "fabric = idle", "n": 2},
        {"setting": "fabric = loaded", "n": 2},
    ]


def test_another_fabric_is_refused_and_replaced_with_force(command: Command) -> None:
    asked = ("bench", "training-5.2", "--fabric", "mine.toml", "--seeds", "1", "--out", "o")
    Path("mine.toml").write_text(STAR, encoding="utf-8")
    command(*asked, code=0)
    Path("o/notes.txt").write_text("mine", encoding="utf-8")
    Path("mine.toml").write_text(STAR.replace("500 ns", "900 ns"), encoding="utf-8")
    other = command(*asked, code=2)
    assert "holds runs of another scenario" in other.err
    assert "--force to replace" in other.err
    first = json.loads(Path("o/bench.json").read_text(encoding="utf-8"))
    command(*asked, "--force", code=0)
    again = json.loads(Path("o/bench.json").read_text(encoding="utf-8"))
    # A message passes two links: each is longer by 400 ns.
    least = [
        next(one for one in document["rows"] if one["metric"] == "min")["values"][0]
        for document in (first, again)
    ]
    assert least[1] - least[0] == pytest.approx(0.8)
    assert Path("o/notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_killed_benchmark_has_no_page_yet(command: Command) -> None:
    bench.run(star(), ["training-5.2"], seeds=1, out="o")
    manifest = json.loads(Path("o/manifest.json").read_text(encoding="utf-8"))
    left = {key: one for key, one in manifest.items() if key not in ("files", "sha256")}
    Path("o/manifest.json").write_text(json.dumps({**left, "status": "running"}), encoding="utf-8")
    said = command("report", "o", "-o", "o.html", code=1)
    assert "o: the benchmark is in progress, or was killed" in said.err
    assert "repeat the command" in said.err


def test_workers_of_a_cluster_give_the_same_rows(cluster: Cluster, command: Command) -> None:
    Path("mine.toml").write_text(STAR, encoding="utf-8")
    asked = ("bench", "training-5.2", "--fabric", "mine.toml", "--seeds", "2", "--json")
    command(*asked, "there.json", "--scheduler", cluster.address, "--out", "there", code=0)
    command(*asked, "here.json", "--out", "here", code=0)
    there, here = (
        json.loads(Path(f"{name}.json").read_text(encoding="utf-8")) for name in ("there", "here")
    )
    assert there == here
