"""Numbers of trimmed packets are reported wherever those of lost frames are, unless they are 0.

The expected number is that of retransmitted packets, since every trimmed packet is retransmitted,
and no other. All of them are trimmed at the one port that lacks memory.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest

import backwater
from backwater.numbers.named import named
from backwater.numbers.run import cut_by_port
from backwater.report.assumptions import Assumptions
from backwater.report.film import places, shoot
from backwater.report.looks import looks, port_edges
from backwater.sweep.point import Recipe, run_points
from kit.command import Command
from kit.scenarios import TRIMMED, flow, sampled, star

INCAST = f"""{star(9, link_delay="1 us")}
[switch]
buffer = "178450 B"
buffer_per = "queue"
{TRIMMED}
{{to}}
{flow("1..8", "h0", "1 MB", "incast")}
"""


@pytest.fixture(params=["", 'to = "source"'], ids=["on", "back"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, int]:
    """A scenario, and its number of trimmed packets."""
    path = tmp_path / "incast.toml"
    path.write_text(INCAST.format(to=request.param), encoding="utf-8")
    run = backwater.load(path).run()
    flows = run.flows.to_pylist()
    assert (run.summary["drops"], sum(row["timeouts"] for row in flows)) == (0, 0)
    return str(path), sum(row["retransmitted"] for row in flows)


@pytest.mark.usefixtures("undrawn")
def test_a_run_why_and_a_report_name_them(
    command: Command, file: tuple[str, int], tmp_path: Path
) -> None:
    path, cut = file
    assert cut > 100
    out = str(tmp_path / "r")
    assert f"0 frames dropped, {cut:,} trimmed," in command("run", path, "--out", out).out
    said = command("why", out, "--json", str(tmp_path / "w.json"))
    assert f"for want of memory; {cut:,} packets trimmed instead.\n" in said.out
    assert f"  s0 port 0 (to h0): {cut:,} packets\n" in said.out
    [told] = json.loads((tmp_path / "w.json").read_text())["runs"]
    port = {"node": "s0", "port": 0, "peer": "h0", "packets": cut}
    assert told["cut"] == {"packets": cut, "ports": [port]}
    page = tmp_path / "r.html"
    command("report", out, "-o", str(page), code=0)
    lead = f"dropped for want of memory; {cut:,} packets trimmed; seed"
    assert lead in page.read_text(encoding="utf-8")


def test_without_trimmed_packets_nothing_is_reported(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "lone.toml"
    path.write_text(INCAST.format(to="").replace('"1..8"', '"h1"'), encoding="utf-8")
    out = str(tmp_path / "r")
    assert " trimmed," not in command("run", str(path), "--out", out).out
    assert "packets trimmed" not in command("why", out).out.lower()


def test_the_panel_of_a_port_has_them_beside_dropped_frames(
    file: tuple[str, int], tmp_path: Path
) -> None:
    path, cut = file
    run = sampled(backwater.load(path)).set("output.waits", ["all"]).run(out=tmp_path / "run")
    assert cut_by_port(run) == {("s0", 0): cut}
    film = shoot(Assumptions(run).layout, [("run", run)])
    found = looks(run, film, port_edges(film.tracks[0].edges, places(film.layout, run)))
    ports = {one["name"]: dict(one["facts"]) for one in found["ports"]}
    assert ports["s0 → h0"]["dropped"] == "0 frames"
    assert ports["s0 → h0"]["trimmed"] == f"{cut:,} packets"
    assert ports["h1 → s0"]["trimmed"] == "0 packets"
    # The panel of a flow shows its retransmitted packets.
    rows = {row["flow_id"]: row for row in run.flows.to_pylist()}
    for one in found["flows"]:
        row = rows[int(one["name"].rpartition(" ")[2])]
        again = f"{row['retransmitted']:,} of {row['packets']:,} packets"
        assert dict(one["facts"])["retransmitted"] == (again if row["retransmitted"] else "none")


def test_a_comparison_has_a_row_only_where_there_are_some(
    command: Command, file: tuple[str, int], tmp_path: Path
) -> None:
    path, cut = file
    off = tmp_path / "off.toml"
    text = INCAST.format(to="").replace("[trim]\nclass = 6\n", "")
    off.write_text(text, encoding="utf-8")
    out = ("--seeds", "2", "--out", str(tmp_path / "c"), "--json", "-")
    rows = json.loads(command("compare", path, str(off), *out).out)["rows"]
    [row] = [row for row in rows if row["metric"] == "trimmed"]
    runs = [backwater.load(path).run(seed=seed) for seed in (1, 2)]
    sent_again = [pc.sum(run.flows["retransmitted"]).as_py() for run in runs]
    assert sent_again[0] == cut
    means = [sum(sent_again) / 2, 0]
    assert (row["unit"], [one["mean"] for one in row["scenarios"]]) == ("packets", means)
    alike = json.loads(command("compare", str(off), f"{off}+ecn", *out).out)["rows"]
    assert "trimmed" not in [row["metric"] for row in alike]
    asked = command("compare", path, f"{path}+ecn", *out, "--metric", "trimmed")
    assert [row["metric"] for row in json.loads(asked.out)["rows"]] == ["trimmed"]


def test_points_of_a_sweep_have_them(file: tuple[str, int]) -> None:
    path, cut = file
    case = backwater.load(path)
    found = {one.name: (one.unit, value) for one, value in named(case.run())}
    assert list(found["trimmed"]) == ["packets", cut]
    # A point keeps only the tables from which its numbers are computed.
    recipe = Recipe({"": case}, (), (), False, {})
    tables = run_points(recipe, [("point", "", (), (), 1)])
    assert tables["points"]["trimmed"].to_pylist() == [cut]
