"""Captures read by scapy: each value, also the ICRC, is compared with the codec's."""

from __future__ import annotations

import struct
from pathlib import Path

from backwater import _core
from kit.captures import read

SCAPY = {
    "opcode": "opcode",
    "solicited": "solicited",
    "migreq": "migrated",
    "padcount": "padding_bytes",
    "pkey": "p_key",
    "fecn": "fecn",
    "becn": "becn",
    "dqpn": "queue_pair",
    "ackreq": "ack_request",
    "psn": "psn",
}


def test_scapy_agrees(tmp_path: Path) -> None:
    from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
    from scapy.contrib.roce import BTH, CNPPadding
    from scapy.layers.inet import IP
    from scapy.layers.l2 import Ether

    frames = dict(_core.sample_frames())
    file = tmp_path / "sample.pcapng"
    _core.write_capture(str(file), list(frames.values()))
    codec = dict(zip(frames, read(file), strict=True))
    pause = Ether(frames["PAUSE"])[MACControlPause]
    assert pause.pause_time == 0x1234
    pfc = Ether(frames["PFC"])[MACControlClassBasedFlowControl]
    times = [getattr(pfc, f"c{i}_pause_time") for i in range(8)]
    enabled = [getattr(pfc, f"c{i}_enabled") for i in range(8)]
    assert times == [0, 0, 0, 2344, 0, 0x8001, 0, 0xFFFF]
    assert enabled == [1, 0, 0, 1, 0, 1, 0, 1]
    seen = 0
    for what, octets in frames.items():
        frame = Ether(octets)
        if BTH not in frame:
            continue
        seen += 1
        bth = frame[BTH]
        fields = codec[what]["fields"]
        if CNPPadding in frame:
            # For a CNP, the codec returns only the fields that vary.
            same_in_all = ("solicited", "padding_bytes", "ack_request", "psn", "fecn")
            fields |= {"opcode": 0x81, "migrated": 0, "becn": 1, **dict.fromkeys(same_in_all, 0)}
        assert {ours: getattr(bth, theirs) for theirs, ours in SCAPY.items()} == {
            ours: fields[ours] for ours in SCAPY.values()
        }, what
        assert bth.version == 0, what
        # The ICRC that scapy computes is the one in the frame; it computes none over IPv6.
        assert struct.pack("!I", bth.icrc) == octets[-4:], what
        if IP in frame:
            bth.icrc = None
        assert bytes(frame) == octets, what
    assert seen == 7
