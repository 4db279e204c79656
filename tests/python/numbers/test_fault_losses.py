"""Numbers of frames lost to faults are reported wherever lost frames are, unless they are 0.

The fault drops two data frames by number, so the count is known without the simulator.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import backwater
from kit.command import Command
from kit.scenarios import flow, star

BASE = f"""{star(3)}
[transport]
recovery = "go-back-n"
{flow(0, 1, "400 KB", "one")}
"""
LOST = "".join(
    f'[[fault]]\nkind = "drop-nth"\nfrom = "h0"\nto = "s0"\nframe = "data"\nnth = {nth}\n'
    for nth in (10, 40)
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "whole.toml").write_text(BASE, encoding="utf-8")
    (tmp_path / "lost.toml").write_text(BASE + LOST, encoding="utf-8")
    return str(tmp_path / "lost.toml"), str(tmp_path / "whole.toml")


@pytest.mark.usefixtures("undrawn")
def test_a_run_and_its_report_name_them(
    command: Command, files: tuple[str, str], tmp_path: Path
) -> None:
    lost, whole = files
    for file, out in ((lost, "a"), (whole, "b")):
        said = command("run", file, "--out", str(tmp_path / out), code=0)
        assert ("0 frames dropped, 2 lost by faults," in said.out) == (file == lost)
        page = tmp_path / f"{out}.html"
        command("report", str(tmp_path / out), "-o", str(page), code=0)
        text = page.read_text(encoding="utf-8")
        assert "dropped for want of memory" in text
        assert ("2 lost by faults; seed" in text) == (file == lost)


def test_a_comparison_has_a_row_only_where_there_are_some(
    command: Command, files: tuple[str, str], tmp_path: Path
) -> None:
    lost, whole = files
    out = ("--seeds", "2", "--out", str(tmp_path / "c"), "--json", "-")
    rows = json.loads(command("compare", lost, whole, *out).out)["rows"]
    [row] = [row for row in rows if row["metric"] == "fault_losses"]
    assert [one["mean"] for one in row["scenarios"]] == [2, 0]
    alike = json.loads(command("compare", whole, f"{whole}+ecn", *out).out)["rows"]
    assert "fault_losses" not in [row["metric"] for row in alike]
    asked = command("compare", whole, f"{whole}+ecn", *out, "--metric", "fault_losses")
    assert [row["metric"] for row in json.loads(asked.out)["rows"]] == ["fault_losses"]


@pytest.mark.parametrize("spines", [1, 2])
def test_what_waits_at_a_port_is_lost_when_its_link_goes_down(spines: int) -> None:
    """Two senders fill the queue of one uplink for 10 us, so half of what they send waits there.

    Without acknowledgements every frame is data: frames that do not arrive are lost to faults. With
    two spines, later frames take the other spine.
    """
    scenario = backwater.build(
        {
            "topology": {
                "kind": "leaf-spine",
                "leaves": 2,
                "spines": spines,
                "hosts_per_leaf": 2,
                "rate": "100 Gb/s",
                "link_delay": "500 ns",
            },
            "ack": {"enabled": False},
            "flow": [{"from": "0..1", "to": "2..3", "size": "200 KB"}],
            "fault": [
                {"kind": "link-down", "at": "10 us", "a": "leaf0", "b": "spine0"},
                {"kind": "link-up", "at": "60 us", "a": "leaf0", "b": "spine0"},
            ],
            "transport": {"recovery": "none", "loss": "expected"},
            "stop": {"at": "1 ms"},
        }
    )
    # With this seed, both flows are hashed onto the link that fails.
    run = scenario.run(seed=1)
    frames = 2 * -(-200_000 // 4096)
    arrived = sum(-(-(count or 0) // 4096) for count in run.flows.column("received").to_pylist())
    assert run.summary["drops"] == 0
    assert run.summary["fault_losses"] == frames - arrived
    # In 10 us an uplink carries at most 125 KB, and as much waits.
    waiting = 100_000 // 4096
    assert run.summary["fault_losses"] >= waiting
    if spines == 2:
        assert arrived > frames / 2, "later frames take another path"
    else:
        assert arrived <= 125_000 // 4096, "later frames have no path"


@pytest.mark.usefixtures("undrawn")
def test_a_report_says_that_a_fault_took_no_frame(command: Command, tmp_path: Path) -> None:
    """The host at the failing link neither sends nor receives."""
    file = tmp_path / "spared.toml"
    fault = '[[fault]]\nkind = "link-down"\nat = "1 us"\na = "h2"\nb = "s0"\n'
    file.write_text(BASE + fault, encoding="utf-8")
    command("run", str(file), "--out", str(tmp_path / "c"), code=0)
    page = tmp_path / "c.html"
    command("report", str(tmp_path / "c"), "-o", str(page), code=0)
    assert "none lost by faults; seed" in page.read_text(encoding="utf-8")
