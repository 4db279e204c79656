"""Hosts and flows have the names of their scenario; JSON has the numbers, too."""

from __future__ import annotations

import json
from pathlib import Path

import backwater
from kit.command import Command
from kit.scenarios import flow

# Host 0 is gpu-a, host 1 gpu-b. Within 20 us neither flow gets through.
TWO = """
[topology]
kind = "explicit"
node = [
    { name = "gpu-a", kind = "host" },
    { name = "s", kind = "switch" },
    { name = "gpu-b", kind = "host" },
]
link = [
    { a = "gpu-a", b = "s", rate = "10 Gb/s", delay = "1 us" },
    { a = "s", b = "gpu-b", rate = "10 Gb/s", delay = "1 us" },
]
"""
FLOWS = f"""
{flow("gpu-a", "gpu-b", "100 KB", "first")}
{flow("gpu-a", "gpu-b", "100 KB", "second")}
"""
JOB = f"""
{flow("gpu-b", "gpu-a", "1 KB")}
[[job]]
label = "train"
ranks = 2
[[job.step]]
label = "sum"
kind = "all-reduce"
size = "8 KB"
"""
NAME = "flow 0 of second (gpu-a to gpu-b)"


def test_run_and_why_name_flows_by_their_group_and_hosts_by_their_names(command: Command) -> None:
    Path("two.toml").write_text(TWO + FLOWS + '[stop]\nat = "20 us"\n')
    said = command("run", "two.toml", "--out", "r")
    assert f"{NAME} waits for its turn at gpu-a" in said.out
    for words in (("why", "r"), ("why", "two.toml"), ("why", "r", "two.toml@other")):
        Path("two.toml").write_text(
            TWO + FLOWS + '[stop]\nat = "20 us"\n[variant.other]\npacket.payload = "1 KB"\n'
        )
        told = command(*words, code=0)
        assert f"{NAME}: " in told.out
        assert "by sending host: gpu-a" in told.out
        for wrong in (" h0", "(h0", " h1", str(2**40)):
            assert wrong not in said.out + told.out, words


def test_why_takes_the_number_of_a_flow_in_its_group(command: Command) -> None:
    Path("two.toml").write_text(TWO + FLOWS)
    command("run", "two.toml", "--out", "r", code=0)
    by_name, by_id = (
        command("why", "r", "--flow", flow, "--json", "-") for flow in ("second:0", str(2**40))
    )
    assert by_name.out == by_id.out
    [flow] = json.loads(by_name.out)["runs"][0]["delays"]
    assert (flow["flow_id"], flow["src"], flow["src_host"], flow["dst_host"]) == (
        2**40,
        0,
        "gpu-a",
        "gpu-b",
    )
    wrong = command("why", "r", "--flow", "second:1", code=2)
    assert "GROUP:N" in wrong.err


def test_jobs_and_their_paths_name_them_alike(command: Command) -> None:
    Path("job.toml").write_text(TWO + JOB)
    command("run", "job.toml", "--out", "r", code=0)
    listed, why = command("jobs", "r").out, command("why", "r").out
    assert "gpu-a" in listed
    assert "rank 1 (gpu-b) to 0 (gpu-a), flow 1\n" in why
    for wrong in ("h0", "h1", str(2**40)):
        assert wrong not in listed + why


def test_findings_name_the_group(tmp_path: Path) -> None:
    """A warning names flows that wait for an unreachable host, with their group."""
    down = '[[fault]]\nkind = "link-down"\na = "s"\nb = "gpu-b"\nat = "1 us"\n'
    rules = '[transport]\nrecovery = "go-back-n"\nretries = "unlimited"\n[stop]\nstall = "1 ms"\n'
    text = TWO + FLOWS + down + rules
    try:
        said = str(backwater.parse(text).run(out=tmp_path / "r").warnings)
    except backwater.RunError as error:
        said = str(error)
    assert "flow 0 of first from gpu-a to gpu-b waits for" in said
