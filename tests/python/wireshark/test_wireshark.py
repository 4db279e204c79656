"""Captures read by tshark, without and with the shipped script.

Each value that it finds in a frame is compared with the codec's value of the same octets.
"""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater import _core
from kit.captures import Frame, read
from kit.scenarios import flow, star
from kit.tree import ROOT

SCRIPT = Path(backwater.__file__).parent / "wireshark" / "backwater.lua"


def dissect(
    tshark: str, file: Path, fields: list[str], *options: str, script: bool = False
) -> list[dict[str, str]]:
    """Return the fields of each frame, as tshark reads them; missing ones are empty."""
    command = [tshark, "-r", str(file), "-T", "fields", "-E", "separator=/t", "-E", "aggregator=,"]
    for field in fields:
        command += ["-e", field]
    if script:
        command += ["-X", f"lua_script:{SCRIPT}"]
    command += options
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    # Only this stream reports a script that does not load.
    assert "error" not in done.stderr.lower(), done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return [dict(zip(fields, line, strict=True)) for line in lines]


def number(text: str) -> int:
    return {"True": 1, "False": 0}.get(text) if text in ("True", "False") else int(text, 0)  # type: ignore[return-value]


def swapped(icrc: int) -> int:
    """The ICRC's lowest octet comes first in the frame, and tshark shows that order."""
    return int.from_bytes(icrc.to_bytes(4, "little"), "big")


ROCE = {
    "infiniband.bth.opcode": "opcode",
    "infiniband.bth.se": "solicited",
    "infiniband.bth.m": "migrated",
    "infiniband.bth.padcnt": "padding_bytes",
    "infiniband.bth.p_key": "p_key",
    "infiniband.bth.destqp": "queue_pair",
    "infiniband.bth.a": "ack_request",
    "infiniband.bth.psn": "psn",
}
RETH = {
    "infiniband.reth.va": "address",
    "infiniband.reth.r_key": "key",
    "infiniband.reth.dmalen": "message_bytes",
}
AETH = {"infiniband.aeth.syndrome": "syndrome", "infiniband.aeth.msn": "msn"}
CNM = {
    "cnm.feedback": "feedback",
    "cnm.cpid": "cpid",
    "cnm.q_offset": "q_offset_64_bytes",
    "cnm.q_delta": "q_delta_64_bytes",
    "cnm.priority": "priority",
    "cnm.destination": "flow_destination",
    "cnm.length": "encapsulated_bytes",
}
CIM = {
    "cim.delete": "delete",
    "cim.destination": "flow_destination",
    "cim.source": "flow_source",
    "cim.vid": "vid",
    "cim.length": "encapsulated_bytes",
}
SFCM = {
    "sfcm.by_proxy": "by_proxy",
    "sfcm.dscp": "dscp",
    "sfcm.ecn": "ecn",
    "sfcm.priority": "priority",
    "sfcm.pause_time": "pause_ns",
    "sfcm.depth": "depth_64_bytes",
    "sfcm.cpid": "cpid",
    "sfcm.length": "encapsulated_bytes",
}
SFC_PAUSE = {"sfc_pause.dscp": "dscp", "sfc_pause.duration": "duration_us"}
BCN = {
    "bcn.mild": "mild",
    "bcn.severe": "severe",
    "bcn.cpid": "cpid",
    "bcn.q_off": "q_off_64_bytes",
    "bcn.q_delta": "q_delta_64_bytes",
    "bcn.length": "encapsulated_bytes",
}
CI = {
    "lldp_ci.encapsulated": "ci_encapsulated_bytes",
    "lldp_ci.mac": "ci_mac",
    "lldp_ci.udp_port": "ci_udp_port",
}
UET_REQUEST = {
    "uet_pds.type": "pds_type",
    "uet_pds.next": "next_header",
    "uet_pds.retransmitted": "retransmitted",
    "uet_pds.ack_request": "ack_request",
    "uet_pds.syn": "syn",
    "uet_pds.psn": "psn",
    "uet_pds.source_pdc": "source_pdc",
    "uet_pds.destination_pdc": "destination_pdc",
}
UET_TARGET = {"uet_pds.ccc": "ccc", "uet_pds.credit_target": "credit_target_256_bytes"}
UET_ACK = {
    "uet_pds.type": "pds_type",
    "uet_pds.marked": "marked",
    "uet_pds.retransmitted": "retransmitted",
    "uet_pds.psn": "psn",
    "uet_pds.source_pdc": "source_pdc",
    "uet_pds.destination_pdc": "destination_pdc",
}
UET_SACK = {"uet_pds.cumulative_psn": "cumulative_psn", "uet_pds.out_of_order": "out_of_order"}
UET_NSCC = {
    "uet_pds.service_time": "service_time",
    "uet_pds.window_penalty": "window_penalty_128ths",
    "uet_pds.received": "received_256_bytes",
}
UET_CREDIT = {"uet_pds.credit": "credit_256_bytes"}
UET_NACK = {"uet_pds.nack_code": "nack_code"}
UET_CONTROL = {
    "uet_pds.type": "pds_type",
    "uet_pds.control": "control",
    "uet_pds.psn": "psn",
    "uet_pds.source_pdc": "source_pdc",
    "uet_pds.destination_pdc": "destination_pdc",
    "uet_pds.payload": "payload",
}
UET_MAP = ("uet_pds.sack_offset", "uet_pds.sack_map")
UET = [
    *(UET_REQUEST | UET_TARGET | UET_ACK | UET_SACK | UET_NSCC | UET_CREDIT | UET_NACK),
    *(UET_CONTROL.keys() - UET_REQUEST.keys()),
    *UET_MAP,
]
FLOW = [
    *("encapsulated_flow.ip.src", "encapsulated_flow.ip.dst"),
    *("encapsulated_flow.ipv6.src", "encapsulated_flow.ipv6.dst"),
    *("encapsulated_flow.srcport", "encapsulated_flow.dstport"),
]
HEAD = {
    "vlan.priority": "vlan_priority",
    "vlan.id": "vlan_vid",
    "ip.dsfield.dscp": "ip_dscp",
    "ip.dsfield.ecn": "ip_ecn",
    "udp.srcport": "udp_source",
    "udp.dstport": "udp_destination",
}
PFC_TIMES = [f"macc.cbfc.pause_time.c{i}" for i in range(8)]
CNPV = [f"lldp.ieee.802_1qau.cnpv.prio{i}" for i in range(8)]
READY = [f"lldp.ieee.802_1qau.ready.prio{i}" for i in range(8)]


def same(found: dict[str, str], fields: dict[str, str], frame: Frame) -> int:
    """Compare the fields that tshark and the codec have in common, and return their number."""
    values = frame["fields"]
    for theirs, ours in fields.items():
        value = values[ours]
        where = f"frame {frame['frame']}, {theirs}"
        if isinstance(value, str) and not value.startswith("0x"):
            assert found[theirs] == value, where
        else:
            expected = int(value, 0) if isinstance(value, str) else int(value)
            assert number(found[theirs]) == expected, where
    return len(fields)


def known_to_tshark(found: dict[str, str], frame: Frame) -> int:
    """Compare the fields that tshark decodes by itself, and return their number."""
    fields, kind = frame["fields"], frame["kind"]
    for theirs, ours in HEAD.items():
        # IPv6 has other names.
        if ours in frame and not (ours.startswith("ip_") and ":" in frame["ip_source"]):
            assert number(found[theirs]) == frame[ours], (frame, theirs)
    if kind == "pause":
        assert number(found["macc.opcode"]) == 1
        assert number(found["macc.pause_time"]) == fields["quanta"]
        return 2
    if kind == "pfc":
        quanta = fields["quanta"]
        enabled = sum(1 << i for i, one in enumerate(quanta) if one is not None)
        assert number(found["macc.opcode"]) == 0x0101
        assert number(found["macc.cbfc.enbv"]) == enabled
        times = [number(found[name]) for name in PFC_TIMES]
        # Only times of enabled priorities count.
        assert [t for t, one in zip(times, quanta, strict=True) if one is not None] == [
            one for one in quanta if one is not None
        ]
        return 10
    if kind in ("data", "ack") and "pds_type" not in fields:
        count = same(found, ROCE, frame)
        count += same(found, RETH, frame) if "key" in fields else 0
        count += same(found, AETH, frame) if kind == "ack" else 0
        # An octet without a name: FECN, BECN, six reserved bits.
        marks = int(found["infiniband.reserved"].split(",")[0], 16)
        assert marks >> 6 == 2 * fields["fecn"] + fields["becn"], frame
        # In a frame that a snap length has cut off, tshark takes the last four octets for it.
        if fields["icrc"] is not None:
            assert number(found["infiniband.invariant.crc"]) == swapped(fields["icrc"]), frame
        return count + 2
    if kind == "cnp":
        assert number(found["infiniband.bth.opcode"]) == 0x81
        assert found["infiniband.reserved"].startswith("40"), "BECN"
        assert number(found["infiniband.bth.destqp"]) == fields["queue_pair"]
        assert number(found["infiniband.bth.p_key"]) == fields["p_key"]
        assert number(found["infiniband.bth.psn"]) == 0
        return 5
    if kind == "lldp" and "cn_cnpv" in fields:
        assert [number(found[name]) for name in CNPV] == fields["cn_cnpv"]
        assert [number(found[name]) for name in READY] == fields["cn_ready"]
        return 16
    return 0


def uet(found: dict[str, str], fields: dict[str, Any], frame: Frame) -> int:
    """Compare the fields of a UET header, and return their number."""
    kind = fields["pds_type"]
    tables = [{2: UET_REQUEST, 13: UET_REQUEST, 11: UET_CONTROL}.get(kind, UET_ACK)]
    tables += {13: [UET_TARGET], 8: [UET_SACK], 10: [UET_NACK]}.get(kind, [])
    tables += [UET_NSCC] if "received_256_bytes" in fields else []
    tables += [UET_CREDIT] if "credit_256_bytes" in fields else []
    if kind == 8:
        first = (fields["cumulative_psn"] + number(found["uet_pds.sack_offset"])) % 2**32
        came = number(found["uet_pds.sack_map"])
        assert first == fields["sack_first_psn"], frame
        psns = [(first + bit) % 2**32 for bit in range(64) if came >> bit & 1]
        assert psns == fields["sack_psns"], frame
    return sum(same(found, table, frame) for table in tables) + (2 if kind == 8 else 0)


def known_to_script(found: dict[str, str], frame: Frame) -> int:
    """Compare the fields that the script adds, and return their number."""
    fields, kind = frame["fields"], frame["kind"]
    count = 0
    for theirs, ours in (("cntag.flow", "cn_tag_flow"), ("bcn_rlt.cpid", "rate_limited_cpid")):
        if ours in frame:
            count += 1
            value = frame[ours]
            assert (found[theirs] if isinstance(value, str) else number(found[theirs])) == value
    tables = {"cnm": CNM, "cim": CIM, "sfcm": SFCM, "sfc_pause": SFC_PAUSE, "bcn": BCN}
    if kind in tables:
        count += same(found, tables[kind], frame)
        if fields.get("flow") is not None:
            *addresses, source_port, port = (found[name] for name in FLOW)
            source, destination = addresses[:2] if addresses[0] else addresses[2:]
            ports = (f":{source_port}", f":{port}") if port else ("", "")
            assert f"{source}{ports[0]} > {destination}{ports[1]}" == fields["flow"]
            count += 2
    if "pds_type" in fields:
        count += uet(found, fields, frame)
    if kind == "sfcm":
        stops = {"class": (1, 0), "flow": (0, 1), "open": (0, 0)}[fields["stops"]]
        assert (number(found["sfcm.class_mode"]), number(found["sfcm.flow_mode"])) == stops
        assert number(found["sfcm.type"]) == (fields["pause_ns"] == 0)
    if kind == "lldp" and "ci_mac" in fields:
        count += same(found, CI, frame)
        queues = [number(k) for k in found["lldp_ci.queue_map"].split(",")]
        assert queues == fields["ci_queue_map"]
        assert (found["lldp_ci.ipv4"] or found["lldp_ci.ipv6"] or None) == fields["ci_address"]
    return count


OWN = [
    *("_ws.malformed", "_ws.expert.message", "frame.number", "macc.opcode", "macc.pause_time"),
    *("macc.cbfc.enbv", *PFC_TIMES, *ROCE, *RETH, *AETH, "infiniband.invariant.crc"),
    *("infiniband.reserved", *CNPV, *READY, *HEAD),
]
WITH_SCRIPT = [
    *(*OWN, "cntag.flow", "bcn_rlt.cpid", *CNM, *CIM, *SFCM, *SFC_PAUSE, *BCN, *CI, *FLOW, *UET),
    *("sfcm.class_mode", "sfcm.flow_mode", "sfcm.type", "lldp_ci.queue_map"),
    *("lldp_ci.ipv4", "lldp_ci.ipv6"),
]


def compare(tshark: str, file: Path, *, malformed: bool = False) -> dict[str, int]:
    """Compare a whole capture, and return how many values of each kind of frame agreed.

    Each frame of a kind other than `other` must have some.
    """
    frames = read(file)
    own = dissect(tshark, file, OWN)
    scripted = dissect(tshark, file, WITH_SCRIPT, script=True)
    assert len(frames) == len(own) == len(scripted)
    agreed: dict[str, int] = {}
    for frame, plain, found in zip(frames, own, scripted, strict=True):
        if not malformed:
            assert not plain["_ws.malformed"], frame
            assert not found["_ws.malformed"], frame
            # tshark does not know the opcode of CNPs; any other complaint is a mistake.
            assert not found["_ws.expert.message"], (frame, found["_ws.expert.message"])
        # After tags that tshark does not know, only the script finds anything.
        tagged = "cn_tag_flow" in frame or "rate_limited_cpid" in frame
        count = known_to_tshark(found if tagged else plain, frame) + known_to_script(found, frame)
        assert count > 0 or frame["kind"] == "other", frame
        agreed[frame["kind"]] = agreed.get(frame["kind"], 0) + count
    return agreed


def test_a_frame_of_each_format(tshark: str, tmp_path: Path) -> None:
    file = tmp_path / "sample.pcapng"
    _core.write_capture(str(file), [octets for _, octets in _core.sample_frames()])
    agreed = compare(tshark, file)
    # Values of a frame, times the number of frames, plus values that only some have.
    roce = len(ROCE) + 2
    flow = 2
    assert agreed == {
        "pause": 2,
        "pfc": 10,
        # The two after tags have one more value.
        "data": 5 * roce + len(RETH) + 2 + 2 * len(UET_REQUEST) + len(UET_TARGET),
        # ACK, two ACK_CC with a map of two values, NACK.
        "ack": roce
        + len(AETH)
        + 4 * len(UET_ACK)
        + 2 * (len(UET_SACK) + 2)
        + len(UET_NSCC)
        + len(UET_CREDIT)
        + len(UET_NACK),
        "uet": len(UET_CONTROL) + len(UET_CREDIT),
        # Fast CNP is one of the three.
        "cnp": 3 * 5,
        # One of three encapsulates nothing and has a tag.
        "cnm": 3 * len(CNM) + 2 * flow + 1,
        "cim": 3 * (len(CIM) + flow),
        "sfcm": 2 * len(SFCM) + flow,
        "sfc_pause": len(SFC_PAUSE),
        "bcn": len(BCN) + flow,
        "lldp": 16 + len(CI),
    }


def test_random_values(tshark: str, tmp_path: Path) -> None:
    """Octets after the header are random: if the codec reads a message, all values agree."""
    rng = random.Random(7)
    # After the types, versions and lengths that make the frame's kind. Addresses and IP stay.
    keep = {"pause": 16, "pfc": 17, "cnm": 18, "cim": 18, "sfcm": 43, "bcn": 16, "uet": 44}
    frames = []
    for _ in range(40):
        for what, octets in _core.sample_frames():
            kind = what.split(",")[0].split()[0].lower()
            changed = bytearray(octets)
            if kind in keep and "layer 3" not in what and "IPv6" not in what and "TAG" not in what:
                for at in rng.sample(range(keep[kind], len(changed)), k=4):
                    changed[at] = rng.randrange(256)
            frames.append(bytes(changed))
    file = tmp_path / "random.pcapng"
    _core.write_capture(str(file), frames)
    read_all: list[Frame] = []
    _core.read_capture(str(file), read_all.append)
    whole = [
        octets
        for octets, frame in zip(frames, read_all, strict=True)
        if frame["kind"] not in ("broken", "other")
    ]
    _core.write_capture(str(file), whole)
    agreed = compare(tshark, file, malformed=True)
    assert sum(agreed.values()) > 3000
    # With too many refused, the test would test nothing.
    assert len(whole) > 0.8 * len(frames)


@pytest.mark.parametrize(
    ("variant", "settings", "kinds"),
    [
        ("sfc", {"sfc.threshold": "60 KB"}, {"data", "ack", "sfcm"}),
        ("dcqcn", {}, {"data", "ack", "cnp"}),
        (
            None,
            {"pfc.xoff": "100 KB", "pfc.xon": "80 KB", "pfc.signal": "timed"},
            {"data", "ack", "pfc"},
        ),
    ],
)
def test_captures_of_runs(
    tshark: str,
    small: Path,
    tmp_path: Path,
    variant: str | None,
    settings: dict[str, str],
    kinds: set[str],
) -> None:
    scenario = backwater.load(small)
    scenario = scenario if variant is None else scenario.variant(variant)
    for key, value in settings.items():
        scenario = scenario.set(key, value)
    file = tmp_path / "run.pcapng"
    scenario.run(capture=backwater.Capture(file, "all", limit="3 MB", snap="256 B"))
    agreed = compare(tshark, file)
    assert {kind: agreed.get(kind, 0) > 0 for kind in kinds} == dict.fromkeys(kinds, True)


@pytest.mark.parametrize(
    ("file", "settings", "kind"),
    [
        ("ci-victim.toml", {}, "cim"),
        ("ci-victim.toml", {"ci.cim_type": "cnm"}, "cnm"),
        ("bcn-bystander.toml", {}, "bcn"),
        ("qcn-hot-spot.toml", {}, "cnm"),
    ],
)
def test_messages_of_other_mechanisms(
    tshark: str, tmp_path: Path, file: str, settings: dict[str, str], kind: str
) -> None:
    scenario = backwater.load(ROOT / "scenarios" / file)
    for key, value in settings.items():
        scenario = scenario.set(key, value)
    capture = backwater.Capture(tmp_path / "run.pcapng", "all", kinds=[kind], limit="1 MB")
    scenario.run(capture=capture)
    assert compare(tshark, capture.path)[kind] > 0


CUTS = f"""{star(5)}
[packet]
payload = "1000 B"
header = "64 B"
[ack]
size = "64 B"
class = 6
[switch]
buffer = "20 KB"
buffer_per = "queue"
[transport]
recovery = "rud"
window = "30 KB"
[trim]
{flow("1..4", "h0", "100 KB")}
"""
# Class selector 6 and 3, or 7 at the last hop.
TRIMMED = (51, 55)


@pytest.mark.parametrize("credit", [False, True])
def test_unordered_delivery_with_trimming(tshark: str, tmp_path: Path, credit: bool) -> None:
    """Data, trimmed packets, maps, NACKs and credit: the script reads all without complaints."""
    text = CUTS + ('[rccc]\nnetwork_rtt = "4 us"\n' if credit else "")
    file = tmp_path / "run.pcapng"
    run = backwater.parse(text).run(capture=backwater.Capture(file, "all"))
    agreed = compare(tshark, file)
    kinds = {"data", "ack", "uet"} if credit else {"data", "ack"}
    assert set(agreed) == kinds
    assert all(count > 100 for count in agreed.values())
    found = dissect(
        tshark, file, ["udp.dstport", "uet_pds.type", "ip.dsfield.dscp", "ip.len"], script=True
    )
    assert {one["udp.dstport"] for one in found} == {"4793"}
    assert {one["uet_pds.type"] for one in found} == (
        {"13", "8", "10", "11"} if credit else {"2", "8", "10"}
    )
    cut = [one for one in found if number(one["ip.dsfield.dscp"]) in TRIMMED]
    # IP, UDP, and the header of a request, with its target or without.
    assert {one["ip.len"] for one in cut} == {"44" if credit else "40"}
    trimmed = sum(row["value"] for row in run.counters.to_pylist() if row["counter"] == "trimmed")
    # Each leaves the switch and arrives at the receiver.
    assert len(cut) == 2 * trimmed > 0
