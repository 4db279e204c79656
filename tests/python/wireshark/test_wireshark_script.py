"""The script for Wireshark with frames that are cut off, on other ports, or foreign."""

from __future__ import annotations

import struct
from pathlib import Path

from test_wireshark import BCN, CIM, CNM, FLOW, SFCM, compare, dissect

import backwater
from backwater import _core
from kit.captures import read
from kit.tree import ROOT


def test_messages_about_ipv6(tshark: str, tmp_path: Path) -> None:
    """The encapsulated packet names the flow, also over IPv6."""
    frames = dict(_core.sample_frames())
    about = frames["the same over IPv6"]
    # Place in the frame, place in the packet, and length.
    places = {
        "CNM": (18 + 24, 12, 64),
        "CIM, layer 2": (18 + 18, 12, 48),
        "SFCM, pause": (14 + 28 + 22, 14, 48),
        "BCN": (14 + 16, 0, 64),
    }
    changed = []
    for what, (at, begin, length) in places.items():
        octets = bytearray(frames[what])
        octets[at : at + length] = about[begin : begin + length]
        changed.append(bytes(octets))
    file = tmp_path / "about.pcapng"
    _core.write_capture(str(file), changed)
    assert [frame["fields"]["flow"] for frame in read(file)] == [
        "fd00::5:49443 > fd00::a:4791"
    ] * len(places)
    found = dissect(tshark, file, [*FLOW, "_ws.expert.message"], script=True)
    expected = ["", "", "fd00::5", "fd00::a", "49443", "4791", ""]
    assert [list(one.values()) for one in found] == [expected] * len(places)
    flow = 2
    assert compare(tshark, file) == {
        "cnm": len(CNM) + flow,
        "cim": len(CIM) + flow,
        "sfcm": len(SFCM) + flow,
        "bcn": len(BCN) + flow,
    }


def moved(octets: bytes) -> bytes:
    """Return the frame with another EtherType, or with other UDP ports."""
    numbers = {61185: 7001, 61186: 7002, 0x88B5: 0x88B8}
    changed = bytearray(octets)
    for at in {b"\x08\x00": (34, 36), b"\x86\xdd": (54, 56)}.get(octets[12:14], (12,)):
        (number,) = struct.unpack_from("!H", octets, at)
        struct.pack_into("!H", changed, at, numbers.get(number, number))
    return bytes(changed)


def test_numbers_are_preferences(tshark: str, tmp_path: Path) -> None:
    """Ports of SFCM and CIM and the EtherType of BCN are preferences: no registry assigns them."""
    messages = ("CIM, layer 3", "SFCM", "BCN")
    frames = [octets for what, octets in _core.sample_frames() if what.startswith(messages)]
    assert len(frames) == 5
    usual, other = tmp_path / "usual.pcapng", tmp_path / "other.pcapng"
    _core.write_capture(str(usual), frames)
    _core.write_capture(str(other), [moved(octets) for octets in frames])
    fields = [*CIM, *SFCM, *BCN, *FLOW, "_ws.malformed"]
    numbers = ("-o", "sfcm.port:7001", "-o", "cim.port:7002", "-o", "bcn.ethertype:35000")
    decoded = dissect(tshark, usual, fields, script=True)
    assert all(one["cim.vid"] or one["sfcm.cpid"] or one["bcn.cpid"] for one in decoded)
    nothing = [dict.fromkeys(fields, "")] * len(frames)
    assert dissect(tshark, other, fields, *numbers, script=True) == decoded
    assert dissect(tshark, other, fields, script=True) == nothing
    # A preference replaces the default number.
    assert dissect(tshark, usual, fields, *numbers, script=True) == nothing


# A binding request of STUN, with the transaction of RFC 5769, section 2.1.
STUN = bytes.fromhex("000100002112a442b7e7a701bc34d686fa87dfae")
HTTP = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def test_foreign_traffic_by_the_same_numbers_is_left_alone(tshark: str, tmp_path: Path) -> None:
    """Any protocol may use dynamic ports and the experimental EtherType."""
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether

    ethernet = Ether(dst="02:00:00:00:00:09", src="02:00:00:00:00:04")
    frames = [
        bytes(ethernet / ip() / UDP(sport=50000, dport=port) / payload)
        for ip in (IP, IPv6)
        for port in (61185, 61186)
        for payload in (STUN, HTTP)
    ]
    frames.append(bytes(ethernet)[:12] + b"\x88\xb5" + HTTP)
    file = tmp_path / "foreign.pcapng"
    _core.write_capture(str(file), frames)
    fields = ["_ws.malformed", "_ws.expert.message", "frame.protocols"]
    plain = dissect(tshark, file, fields)
    # The script declines the frame, and its own dissector still reads it.
    assert dissect(tshark, file, fields, script=True) == plain
    assert sum(one["frame.protocols"].endswith(":stun") for one in plain) == 4
    assert [frame["kind"] for frame in read(file)] == ["other"] * len(frames)


def test_data_behind_a_tag_that_the_capture_has_cut_off(tshark: str, tmp_path: Path) -> None:
    scenario = backwater.load(ROOT / "scenarios" / "bcn-bystander.toml")
    file = tmp_path / "run.pcapng"
    scenario.run(capture=backwater.Capture(file, "all", kinds=["data"], snap="128 B", limit="1 MB"))
    fields = ["bcn_rlt.cpid", "_ws.malformed", "_ws.expert.message", "encapsulated_flow.ip.src"]
    tagged = [one for one in dissect(tshark, file, fields, script=True) if one["bcn_rlt.cpid"]]
    assert len(tagged) > 100
    assert not [one for one in tagged if one["_ws.malformed"]]
    assert all(one["_ws.expert.message"] == "The capture has cut the message off" for one in tagged)
    assert all(one["encapsulated_flow.ip.src"] for one in tagged)


def test_cut_messages(tshark: str, tmp_path: Path) -> None:
    """A short frame or capture is marked, and never causes an error of the script."""
    messages = ("CNM", "CIM", "SFCM", "BCN", "LLDP", "data with", "UET")
    frames = [octets for what, octets in _core.sample_frames() if what.startswith(messages)]
    cuts = [(octets, at) for octets in frames for at in range(14, len(octets))]
    file = tmp_path / "cut.pcap"
    records = [
        struct.pack("<IIII", 1, number, at, length) + octets[:at]
        for number, (octets, at) in enumerate(cuts)
        # Once the frame ends there, and once the capture has cut it off.
        for length in (at, len(octets))
    ]
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    file.write_bytes(head + b"".join(records))
    found = dissect(tshark, file, ["_ws.expert.message"], script=True)
    assert len(found) == len(records)
    said = [one["_ws.expert.message"] for one in found]
    assert not [one for one in said if "Lua" in one]
    early, cut = "The message ends too early", "The capture has cut the message off"
    assert not any(cut in one for one in said[0::2])
    for (octets, at), one in zip(cuts, said[1::2], strict=True):
        assert early not in one, (octets.hex(), at)
    assert sum(early in one for one in said) > 200
    assert sum(cut in one for one in said) > 200
