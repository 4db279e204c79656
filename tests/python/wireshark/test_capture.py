"""Captures of runs: the file agrees with the run's tables."""

from __future__ import annotations

import itertools
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater import _core
from backwater.results import TABLES
from kit.captures import Frame, read
from kit.command import Command, start
from kit.scenarios import flow, star
from kit.tree import ROOT

STUDY = ROOT / "studies" / "sfc-aidc-2025" / "scenario.toml"
# Times of the study: 40 ps a byte at 200 Gb/s, 300 ns in a switch, 150 ns on a link.
PS_PER_BYTE, LATENCY, DELAY = 40, 300_000, 150_000
SFCM_BYTES, PFC_BYTES = 64, 64


def case_1(tmp_path: Path, **settings: str) -> tuple[backwater.Run, list[Frame]]:
    """Case 1 of the study with SFC, all ports captured."""
    scenario = backwater.load(STUDY).variant("pfc-sfc")
    for key, value in settings.items():
        scenario = scenario.set(key.replace("__", "."), value)
    # Enough of each frame for all its fields.
    capture = backwater.Capture(tmp_path / "run.pcapng", "all", snap="160 B")
    run = scenario.run(capture=capture)
    assert run.summary["capture"]["left_out"] == 0
    return run, read(capture.path)


def control(run: backwater.Run, *kinds: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run.control.to_pylist()
    return [row for row in rows if row["kind"] in kinds]


def host_mac(number: int) -> str:
    """Return the MAC address of a host, as in docs/captures.md."""
    return "02:00:" + ":".join(f"{octet:02x}" for octet in number.to_bytes(4, "big"))


def host_ip(number: int) -> str:
    """Return the IP address of a host, as in docs/captures.md."""
    return f"10.0.0.{1 + number}"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="as-published"),
        pytest.param({"pfc__xoff": "120 KB", "pfc__xon": "80 KB"}, id="more-pauses"),
    ],
)
def test_case_1_of_the_study_pauses(tmp_path: Path, settings: dict[str, str]) -> None:
    """Ideal pause signals are PFC frames in the file, at the times of request and effect."""
    run, frames = case_1(tmp_path, **settings)
    rows = control(run, "mac-control")
    given = [frame for frame in frames if frame["kind"] == "pfc" and frame["direction"] == "out"]
    heard = [frame for frame in frames if frame["kind"] == "pfc" and frame["direction"] == "in"]
    assert len(rows) == len(given) == len(heard) > 0
    told = Counter(
        (row["time_ps"], f"{row['node']}/{row['port']}", row["class"], row["value"]) for row in rows
    )

    def said(frame: Frame) -> tuple[int, int]:
        [(number, quanta)] = [
            (i, one) for i, one in enumerate(frame["fields"]["quanta"]) if one is not None
        ]
        return number, quanta

    assert told == Counter((frame["time_ps"], frame["interface"], *said(frame)) for frame in given)
    delayed = Counter((frame["time_ps"] + DELAY, frame["source"], *said(frame)) for frame in given)
    assert delayed == Counter((f["time_ps"], f["source"], *said(f)) for f in heard)


def test_case_1_of_the_study_messages(tmp_path: Path) -> None:
    """Every SFCM of the table leaves its switch once, when the port is free, with its content."""
    run, frames = case_1(tmp_path)
    rows = control(run, "sfc-pause", "sfc-resume")
    flows = {row["dst"] for row in run.flows.to_pylist() if row["group"] == "incast"}
    nodes = {row["node"] for row in rows}
    sent = [
        frame
        for frame in frames
        if frame["kind"] == "sfcm"
        and frame["direction"] == "out"
        and frame["interface"].split("/")[0] in nodes
    ]
    assert len(rows) == len(sent) > 60
    by_source = defaultdict(list)
    for frame in sorted(sent, key=lambda frame: frame["time_ps"]):
        by_source[frame["ip_destination"]].append(frame)
    for row in rows:
        frame = by_source[host_ip(row["to"])].pop(0)
        fields = frame["fields"]
        assert frame["interface"].split("/")[0] == row["node"]
        assert frame["destination"] == host_mac(row["to"])
        assert frame["time_ps"] == due(frames, frame, row["time_ps"] + LATENCY, SFCM_BYTES)
        # The message of the scenario requests a pause of the class for 6 us.
        assert fields["pause_ns"] * 1000 == row["value"] == 6_000_000
        assert (fields["stops"], fields["priority"], fields["dscp"]) == ("class", 3, 24)
        assert fields["flow"].startswith(f"{host_ip(row['to'])}:")
        assert [fields["flow"].split(" > ")[1]] == [f"{host_ip(host)}:4791" for host in flows]
    # Nothing is lost, so each of them reaches its host.
    arrived = Counter(
        f["destination"] for f in frames if f["kind"] == "sfcm" and f["interface"].startswith("h")
    )
    assert arrived == Counter(host_mac(row["to"]) for row in rows)


def due(frames: list[Frame], frame: Frame, ready: int, size: int) -> int:
    """Return when a frame has left that was ready at a time and precedes all data and ACKs.

    It waits for the frame on the wire, and for messages that were ready before it.
    """
    before = [
        other
        for other in frames
        if other["interface"] == frame["interface"]
        and other["direction"] == "out"
        and other["frame"] < frame["frame"]
        and other["kind"] != "pfc"
    ]
    free = max((other["time_ps"] for other in before), default=0)
    begin = max(ready, free)
    # A frame between readiness and start was on the wire already, or is an SFCM.
    for other in before:
        if other["kind"] in ("data", "ack"):
            began = other["time_ps"] - (4064 if other["kind"] == "data" else 64) * PS_PER_BYTE
            assert began <= ready or other["time_ps"] <= ready, (frame, other)
    return begin + size * PS_PER_BYTE


def test_framed_pfc_leaves_when_the_wire_is_free(tmp_path: Path) -> None:
    """Pauses that are frames precede all others; the table has the times of their decisions."""
    run, frames = case_1(tmp_path, pfc__signal="timed", pfc__xoff="120 KB", pfc__xon="80 KB")
    rows = control(run, "mac-control")
    by_port: dict[str, list[Frame]] = defaultdict(list)
    for frame in frames:
        if frame["direction"] == "out":
            by_port[frame["interface"]].append(frame)
    checked = 0
    for row in rows:
        port = by_port[f"{row['node']}/{row['port']}"]
        # The first pause of this class and time that leaves after the decision.
        found = next(
            frame
            for frame in port
            if frame["kind"] == "pfc" and frame["time_ps"] >= row["time_ps"] + 64 * PS_PER_BYTE
        )
        assert found["fields"]["quanta"][row["class"]] == row["value"]
        under_way = [
            other["time_ps"]
            for other in port
            if other["frame"] < found["frame"] and other["time_ps"] > row["time_ps"]
        ]
        # At most the frame that was on the wire is between.
        begin = max([row["time_ps"], *under_way])
        assert found["time_ps"] == begin + PFC_BYTES * PS_PER_BYTE
        assert len(under_way) <= 1
        checked += 1
    assert checked == len(rows) == sum(f["kind"] == "pfc" for fs in by_port.values() for f in fs)
    assert checked > 50


def test_a_capture_changes_nothing(small: Path, tmp_path: Path) -> None:
    scenario = backwater.load(small).variant("sfc")
    plain = scenario.run()
    captured = scenario.run(capture=backwater.Capture(tmp_path / "a.pcapng", "all", snap="64 B"))
    assert plain.fingerprint == captured.fingerprint
    # A captured port has an event for the end of each frame, other ports only if frames wait.
    apart = {"capture", "events"}
    of = [{k: v for k, v in r.summary.items() if k not in apart} for r in (plain, captured)]
    assert of[0] == of[1]
    for table in TABLES:
        assert plain.read(table).equals(captured.read(table)), table


def test_the_file_is_in_order_and_holds_every_frame(small: Path, tmp_path: Path) -> None:
    scenario = backwater.load(small).set("switch.latency_at", "input")
    capture = backwater.Capture(tmp_path / "a.pcapng", "all", snap="60 B")
    run = scenario.run(capture=capture)
    frames = read(capture.path)
    times = [frame["time_ps"] for frame in frames]
    assert times == sorted(times)
    assert [frame["frame"] for frame in frames] == list(range(1, len(frames) + 1))
    # At the end of an idle network no link carries a frame: all that left have arrived.
    left = Counter(f["interface"] for f in frames if f["direction"] == "out")
    sent = {
        f"{row['node']}/{row['port']}": row["tx_frames"]
        for row in run.ports.to_pylist()
        if row["tx_frames"]
    }
    assert left == sent
    assert len(frames) == 2 * sum(sent.values())
    assert run.summary["capture"] == {
        "ports": run.ports.num_rows,
        "frames": len(frames),
        "left_out": 0,
        "bytes": capture.path.stat().st_size,
    }
    # A data packet is never earlier at the next port than links and switches allow.
    assert {frame["captured_bytes"] for frame in frames} == {60}


def test_filters_and_bounds(small: Path, tmp_path: Path) -> None:
    scenario = backwater.load(small).variant("sfc").set("sfc.threshold", "60 KB")

    def taken(name: str, **options: Any) -> list[Frame]:  # noqa: ANN401 - the class's own
        capture = backwater.Capture(tmp_path / name, options.pop("ports", "all"), **options)
        scenario.run(capture=capture)
        return read(capture.path)

    everything = taken("all", snap="200 B")
    kinds = Counter(frame["kind"] for frame in everything)
    assert {"data", "ack", "sfcm"} <= kinds.keys()
    only = taken("sfcm", kinds=["sfcm"])
    assert Counter(frame["kind"] for frame in only) == {"sfcm": kinds["sfcm"]}
    messages = taken("control", kinds=["control"])
    assert {frame["kind"] for frame in messages} == kinds.keys() - {"data", "ack"}
    both = taken("both", kinds=["ack", "sfcm"], snap="160 B")
    assert Counter(f["kind"] for f in both) == {k: kinds[k] for k in ("ack", "sfcm")}
    data = taken("class", classes=[3], snap="64 B")
    assert {frame["ip_dscp"] for frame in data if "ip_dscp" in frame} == {24}
    assert taken("none", classes=[1]) == []
    one = taken("one", ports="leaf0/0", snap="64 B")
    assert {frame["interface"] for frame in one} == {"leaf0/0"}
    towards = taken("towards", ports="leaf0:spine0, h0", snap="64 B")
    assert {frame["interface"] for frame in towards} == {"leaf0/4", "h0/0"}
    bounded = taken("bounded", limit="100 KB", snap="64 B")
    size = (tmp_path / "bounded").stat().st_size
    assert 99_000 < size <= 100_000
    whole = taken("whole", snap="64 B")
    assert bounded == whole[: len(bounded)], "a bounded file is the beginning of the whole one"


def test_the_command_says_what_it_captured(command: Command, small: Path) -> None:
    said = command("run", str(small), "--capture", "h0", "-o", "h0.pcapng", "--out", "r", code=0)
    frames = read(Path("h0.pcapng"))
    size = Path("h0.pcapng").stat().st_size / 1e6
    expected = f"capture: h0.pcapng, {len(frames)} frames of 1 port, {size:.1f} MB"
    assert said.err.splitlines()[-1] == expected
    said = command(
        *("run", str(small), "--capture", "h0", "-o", "h0.pcapng", "--out", "r", "--force"),
        *("--capture-limit", "10 KB", "--capture-snap", "64 B", "--capture-kind", "data,ack"),
        code=0,
    )
    assert "; the limit left out " in said.err.splitlines()[-1]


LONG = f"""{star(4)}
[switch]
buffer_per = "none"
{flow("1..3", "h0", "100 GB")}
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_a_readable_file(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "long.toml").write_text(LONG, encoding="utf-8")
    file = tmp_path / "a.pcapng"
    process = start(
        *("run", "long.toml", "--capture", "s0", "-o", str(file), "--capture-snap", "64 B"),
        *("--out", "r"),
        cwd=tmp_path,
    )
    try:
        give_up = time.monotonic() + 120
        while not (file.exists() and file.stat().st_size > 1_000_000):
            assert time.monotonic() < give_up, "no frame was written"
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(how)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    items: list[Frame] = []
    _core.read_capture(str(file), items.append)
    problems = [item for item in items if "kind" not in item]
    # Blocks are written whole: only a kill during a write leaves part of one, at the end.
    assert len(problems) <= (1 if how == signal.SIGKILL else 0), problems
    assert len(items) > 5000
    if how == signal.SIGINT:
        assert f"capture: {file}, {len(items)} frames of 4 ports" in err


def test_addresses_are_those_of_the_guide(small: Path, tmp_path: Path) -> None:
    capture = backwater.Capture(tmp_path / "a.pcapng", "leaf", kinds=["data"], snap="64 B")
    backwater.load(small).run(capture=capture)
    for frame in read(capture.path):
        number = int(frame["ip_source"].split(".")[-1]) - 1
        assert frame["source"] == host_mac(number)


QUEUES = f"""
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 4
rate = "100 Gb/s"
link_delay = "500 ns"
[switch]
buffer = "2 MB"
buffer_per = "ingress"
[nic]
queues = 2
[pfc]
xoff = "150 KB"
signal = "timed"
{flow(["h0", "h1", "h2", "h4", "h5"], "h7", "1 MB")}
count = 4
"""


def test_hosts_with_queues(tmp_path: Path) -> None:
    """The DSCP shows the queue of a packet, and one PFC frame pauses both queues."""
    capture = backwater.Capture(tmp_path / "a.pcapng", "leaf", kinds=["data", "pfc"], snap="64 B")
    backwater.parse(QUEUES).run(capture=capture)
    frames = read(capture.path)
    assert {frame["ip_dscp"] for frame in frames if frame["kind"] == "data"} <= {24, 32}
    paused = {
        tuple(i for i, quanta in enumerate(frame["fields"]["quanta"]) if quanta is not None)
        for frame in frames
        if frame["kind"] == "pfc" and frame["direction"] == "out"
    }
    # Both priorities towards hosts, and the class towards the other switch.
    assert paused == {(3, 4), (3,)}


def test_bursts_and_gaps_of_a_stream_are_geometric_and_keep_its_load(tmp_path: Path) -> None:
    """B = 10 slots in the mean and a share p = 0.4 of all: a gap ends with q = p / (p + B (1 - p)).

    q = 1/16. A burst may follow another one without a gap, so that runs of packets are B / (1 - q)
    = 10.7 slots long, and what lies between two runs is 1 / q = 16 slots.
    """
    spec: dict[str, Any] = {
        "topology": {"kind": "star", "hosts": 2, "rate": "10 Gb/s", "link_delay": "1 us"},
        "packet": {"payload": "1436 B", "header": "64 B", "gap": "0 B"},
        "ack": {"enabled": False},
        "stop": {"at": "101 ms"},
        "flow": [
            {
                "label": "on-off",
                "from": [0],
                "to": [1],
                "arrivals": "bernoulli",
                "load": "40 %",
                "burst": 10,
                "until": "100 ms",
            }
        ],
    }
    capture = backwater.Capture(tmp_path / "c.pcapng", "h0", kinds=["data"], snap="64 B")
    backwater.build(spec).run(capture=capture)
    sent = [one["time_ps"] for one in read(capture.path)]
    slots = [(b - a) // 1_200_000 for a, b in itertools.pairwise(sent)]
    gaps = [slot - 1 for slot in slots if slot > 1]
    runs = len(sent) / (len(gaps) + 1)
    n = len(gaps)
    assert n > 2500
    # Both are geometric: one deviates by about its mean, and the mean by less than 0.02 of it.
    assert runs == pytest.approx(10 / (1 - 1 / 16), rel=0.08)
    assert sum(gaps) / n == pytest.approx(16, rel=0.08)
    assert len(sent) == pytest.approx(0.4 * 100_000 / 1.2, rel=0.06)
