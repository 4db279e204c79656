"""`backwater pcap` shows captures of any origin, also damaged ones."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import pytest
from test_wireshark_script import moved

import backwater
from backwater import _core
from kit.command import Command
from kit.scenarios import flow, star


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    file = tmp_path / "sample.pcapng"
    _core.write_capture(str(file), [octets for _, octets in _core.sample_frames()])
    return file


def test_a_table_of_messages(command: Command, sample: Path) -> None:
    said = command("pcap", "show", str(sample))
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    # All except data, ACKs and foreign frames.
    assert len(lines) == 1 + 17 + 1
    assert lines[0].split() == ["frame", "time", "us", "interface", "kind", "from", "to", "says"]
    assert lines[1].split() == [
        *("1", "1.000000", "frames", "out", "pause"),
        *("02:01:00:00:50:03", "01:80:c2:00:00:01", "4660", "quanta"),
    ]
    assert "class 0 resume, class 3 2344 quanta" in lines[2]
    assert any("isolate; 10.0.0.5:49443 > 10.0.0.10:4791" in line for line in lines)
    assert lines[-1].endswith("1 bcn, 1 lldp, 1 uet")


def test_kinds_and_most(command: Command, sample: Path) -> None:
    said = command("pcap", "show", str(sample), "--kind", "data,ack", "--most", "2")
    lines = said.out.splitlines()
    assert "queue pair 0x0a0b0c, PSN 16702650, 65 B" in lines[1]
    assert lines[3] == "The first 2 of 12; --most 0 prints all."
    everything = command("pcap", "show", str(sample), "--kind", "all").out.splitlines()
    assert len(everything) == 1 + 29 + 1


def test_kinds_are_those_of_captures(command: Command, sample: Path) -> None:
    """`control` means the same as for making a capture, and combines with other kinds."""
    said = command("pcap", "show", str(sample), "--kind", "control")
    assert len(said.out.splitlines()) == 1 + 17 + 1
    said = command("pcap", "show", str(sample), "--kind", "control,ack")
    assert len(said.out.splitlines()) == 1 + 22 + 1


def test_other_numbers(command: Command, tmp_path: Path) -> None:
    """Captures may use other numbers for messages that have none in a registry."""
    frames = [octets for _, octets in _core.sample_frames()]
    usual, other = str(tmp_path / "usual.pcapng"), str(tmp_path / "other.pcapng")
    _core.write_capture(usual, frames)
    _core.write_capture(other, [moved(octets) for octets in frames])
    kinds = ("--kind", "sfcm,cim,bcn", "--json", "-")
    numbers = ("--sfcm-port", "7001", "--cim-port", "0x1b5a", "--bcn-ethertype", "0x88b8")
    expected = json.loads(command("pcap", "show", usual, *kinds).out)
    found = json.loads(command("pcap", "show", other, *kinds, *numbers).out)
    assert [frame["fields"] for frame in found["frames"]] == [
        frame["fields"] for frame in expected["frames"]
    ]
    assert found["kinds"] == expected["kinds"]
    # Layer 2 CIMs and the CNM form have registered EtherTypes.
    unseen = json.loads(command("pcap", "show", other, *kinds).out)
    assert [frame["kind"] for frame in unseen["frames"]] == ["cim"]


def test_json_has_every_field(command: Command, sample: Path) -> None:
    said = command("pcap", "show", str(sample), "--json", "-", "--kind", "sfcm", "--most", "1")
    found = json.loads(said.out)
    assert found["kinds"]["cim"] == 3
    assert found["problems"] == []
    first, second = found["frames"]
    assert first["fields"] == {
        "stops": "class",
        "by_proxy": False,
        "dscp": 26,
        "ecn": 2,
        "priority": 3,
        "pause_ns": 100_001,
        "depth_64_bytes": 3125,
        "cpid": "02:01:00:00:50:00:09:65",
        "flow": "10.0.0.5:49443 > 10.0.0.10:4791",
        "encapsulated_bytes": 48,
    }
    assert (second["ip_source"], second["fields"]["by_proxy"]) == ("fd00::5", True)
    assert first["time_ps"] == 17_000_000


def foreign(frames: list[tuple[bytes, int]]) -> bytes:
    """Write a pcap file as other programs do: microseconds since 1970, big endian."""
    head = struct.pack(">IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = [
        struct.pack(">IIII", 1_700_000_000, 10 * number, len(octets), length) + octets
        for number, (octets, length) in enumerate(frames)
    ]
    return head + b"".join(records)


UEC = f"""{star(3, link_delay="1 us")}
[packet]
payload = "4086 B"
header = "64 B"
[ack]
size = "64 B"
class = 7
[switch]
buffer_per = "queue"
buffer = "20 KB"
[transport]
recovery = "rud"
{flow([1, 2], 0, "100 KB")}
[nscc]
network_rtt = "4674240 ps"
"""


def test_what_was_cut_says_so(command: Command) -> None:
    text = UEC + '[trim]\nsize = "64 B"\nclass = 7\n'
    Path("cut.toml").write_text(text, encoding="utf-8")
    command("run", "cut.toml", "--capture", "all", "-o", "cut.pcapng", code=0)
    shown = command("pcap", "show", "cut.pcapng", "--kind", "data", "--most", "0").out
    # The star's one switch is the last hop. A packet has 4086 B, the last one of 100 KB 1936 B.
    lines = shown.splitlines()[1:-1]
    ends = {line.rpartition(", ")[2] for line in lines if "again" not in line}
    assert ends == {"4086 B", "1936 B", "trimmed at the last hop"}


def test_an_answer_to_a_probe_is_shown(command: Command) -> None:
    text = UEC + 'sleek = true\n[[fault]]\nkind = "drop-nth"\nfrom = "h1"\nto = "s0"\n'
    text += 'frame = "data"\nnth = 25\n'
    Path("probe.toml").write_text(text, encoding="utf-8")
    command("run", "probe.toml", "--capture", "all", "-o", "probe.pcapng", code=0)
    said = command("pcap", "show", "probe.pcapng", "--kind", "ack", "--most", "0", code=0)
    assert ", probe 1, all to " in said.out


def test_foreign_files_with_cut_and_broken_frames(command: Command, tmp_path: Path) -> None:
    frames = [octets for _, octets in _core.sample_frames()]
    cut = [(octets[:at], len(octets)) for octets in frames for at in (0, 5, 13, 14, 20, 40)]
    whole = [(octets, len(octets)) for octets in frames]
    strange = [(bytes(60), 60), (b"\xff" * 60, 60), (b"\x02" * 12 + b"\x81\x00" * 24, 60)]
    file = tmp_path / "foreign.pcap"
    file.write_bytes(foreign(cut + strange + whole))
    said = command("pcap", "show", str(file), "--json", "all.json", "--kind", "all", code=0)
    found = json.loads(Path("all.json").read_text(encoding="utf-8"))
    # A frame shorter than an Ethernet header is reported; all others are shown.
    assert len(found["problems"]) == 3 * len(frames)
    assert len(found["frames"]) == 3 * len(frames) + len(strange) + len(frames)
    kinds = [frame["kind"] for frame in found["frames"][-len(frames) :]]
    assert kinds[:3] == ["pause", "pfc", "data"]
    assert "broken" not in kinds
    assert found["kinds"]["broken"] > 20
    assert found["frames"][0]["time_ps"] > 1_700_000_000 * 10**12
    assert "Times since 1700000000" in said.out
    assert "warning:" in said.err
    assert "octets, but it takes at least 14" in said.err


def test_a_file_that_ends_early(command: Command, sample: Path) -> None:
    octets = sample.read_bytes()
    for end in range(0, len(octets), 7):
        sample.write_bytes(octets[:end])
        said = command("pcap", "show", str(sample))
        assert "Traceback" not in said.err
        # Without its header of 52 octets, the file is not a capture.
        assert said.code == (0 if end >= 52 else 2)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a pcapng or pcap file (it is empty)"),
        (b"neither one nor the other, but long", "not a pcapng or pcap file (unknown first oc"),
        (gzip.compress(b"x" * 100), "not a pcapng or pcap file"),
    ],
    ids=["empty", "text", "gzip"],
)
def test_what_is_no_capture(command: Command, tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    said = command("pcap", "show", str(file), code=2)
    assert said.err.startswith(f"error: {file}: {reason}")
    assert "hint: captures are pcapng or pcap files" in said.err


def test_errors(command: Command, sample: Path) -> None:
    said = command("pcap", "show", "none.pcapng")
    assert (said.code, said.err.splitlines()[0]) == (
        2,
        "error: none.pcapng: cannot be read: No such file or directory",
    )
    said = command("pcap", "show", str(sample), "--kind", "pcf", code=2)
    assert said.err.startswith(
        "error: --kind pcf: is not a kind of frame\nhint: kinds: data, ack, pause"
    )
    assert said.err.endswith("other, broken; control (all but data and ack); all\n")
    for option, number, least in (
        ("--sfcm-port", "65536", "1"),
        ("--cim-port", "0", "1"),
        ("--cim-port", "high", "1"),
        ("--bcn-ethertype", "0x5ff", "1536"),
    ):
        said = command("pcap", "show", str(sample), option, number, code=2)
        error, hint = said.err.splitlines()
        assert error == f"error: {option} {number}: not a valid number"
        assert hint.startswith(f"hint: {least} to 65535, or 0x")
    said = command("pcap", "show", str(sample.parent), code=2)
    assert "is a directory" in said.err


def test_the_sample_and_the_script(command: Command) -> None:
    said = command("pcap", "sample", "s.pcapng", code=0)
    assert len(said.out.splitlines()) == len(_core.sample_frames())
    assert "CIM, layer 3 over IPv6" in said.out
    shown = command("pcap", "show", "s.pcapng")
    assert "1 pause, 1 pfc" in shown.out
    said = command("pcap", "dissector")
    path = Path(said.out.strip())
    assert path == Path(backwater.__file__).parent / "wireshark" / "backwater.lua"
    assert path.is_file()
    assert f"tshark -X lua_script:{path}" in said.err
    assert ".local/lib/wireshark/plugins" in said.err
