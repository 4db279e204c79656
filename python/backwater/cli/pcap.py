"""`backwater pcap`: inspect captures, and extend Wireshark so that it decodes them."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import _core
from backwater.captures import PLAIN, read
from backwater.cli.arguments import Json
from backwater.cli.capture import parts
from backwater.cli.output import message, put, write_json
from backwater.cli.targets import Kind, writable
from backwater.errors import InputError, ResultError
from backwater.files import temporary_directory, write_file
from backwater.wording import visible

app = typer.Typer(
    help="Inspect captures (pcapng and pcap), and extend Wireshark so that it decodes them.",
    no_args_is_help=True,
)

# The names that `Message::name` of the crate backwater-wire returns.
KINDS = (
    *("data", "ack", "pause", "pfc", "cnm", "cim", "sfcm", "sfc_pause", "bcn", "lldp", "cnp"),
    *("uet", "other", "broken"),
)
# Groups of kinds; `control` is that of a capture's filter, and broken frames.
GROUPS = {"all": KINDS, "control": tuple(name for name in KINDS if name not in ("data", "ack"))}
ASKED = f"{', '.join(KINDS)}; control (all but data and ack); all"
# From this time on, some 100 days, a capture counts from 1970 and not from the start of a run.
EPOCH_PS = 10**19
# Frames that are printed by default, and problems that are printed.
MOST, MOST_PROBLEMS = 1000, 20


@app.command("show")
def show_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A capture, pcapng or pcap.")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND,...",
            help=f"Only these kinds: {ASKED}. By default all messages.",
        ),
    ] = None,
    most: Annotated[
        int,
        typer.Option("--most", metavar="N", min=0, help="Print at most N frames; 0: all."),
    ] = MOST,
    json: Json = None,
    sfcm_port: Annotated[
        str | None,
        typer.Option("--sfcm-port", metavar="N", help="UDP port of SFCMs; by default 61185."),
    ] = None,
    cim_port: Annotated[
        str | None,
        typer.Option("--cim-port", metavar="N", help="UDP port of layer 3 CIMs; by default 61186."),
    ] = None,
    bcn_ethertype: Annotated[
        str | None,
        typer.Option(
            "--bcn-ethertype", metavar="N", help="EtherType of BCN messages; by default 0x88B5."
        ),
    ] = None,
) -> int:
    """Print the messages of congestion management in a capture as a table.

    A frame or block that is cut off, broken or of another protocol does not keep the rest from
    being read. --json writes every field of all frames of the wanted kinds, and the number of
    frames of every kind.
    """
    wanted = _wanted(kind)
    numbers = {
        "sfcm_port": _number("--sfcm-port", sfcm_port, 1),
        "cim_port": _number("--cim-port", cim_port, 1),
        # A smaller number is a length (IEEE 802.3 clause 3.2.6).
        "bcn_ethertype": _number("--bcn-ethertype", bcn_ethertype, 0x0600),
    }
    _check_capture(file, numbers)
    writable(json, Kind.JSON, file)
    kinds: Counter[str] = Counter()
    frames: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    # JSON has all frames.
    keep = None if json is not None or most == 0 else most

    def take(item: dict[str, Any]) -> None:
        if "kind" not in item:
            problems.append(item)
            return
        kinds[item["kind"]] += 1
        if item["kind"] in wanted and (keep is None or len(frames) < keep):
            frames.append(item)

    read(file, take, numbers)
    if json is not None:
        write_json(
            json, {"file": file, "kinds": dict(kinds), "frames": frames, "problems": problems}
        )
    if json != "-":
        _print(file, frames[: most or None], kinds, wanted)
    for problem in problems[:MOST_PROBLEMS]:
        message(f"warning: {file}: octet {problem['offset']}: {problem['reason']}")
    if len(problems) > MOST_PROBLEMS:
        message(f"warning: {file}: {len(problems) - MOST_PROBLEMS} more; --json has them all")
    return 0


def _wanted(kind: str | None) -> tuple[str, ...]:
    if kind is None:
        return tuple(name for name in KINDS if name not in PLAIN)
    asked = parts(kind)
    for name in asked:
        if name not in (*KINDS, *GROUPS):
            raise InputError(f"--kind {name}: is not a kind of frame", f"kinds: {ASKED}")
    among = {one for name in asked for one in GROUPS.get(name, (name,))}
    return tuple(name for name in KINDS if name in among)


def _number(option: str, text: str | None, least: int) -> int | None:
    """Read a number of 16 bits, decimal or hexadecimal, as EtherTypes are written."""
    if text is None:
        return None
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not least <= number <= 0xFFFF:
        hint = f"{least} to 65535, or 0x{least:04X} to 0xFFFF"
        raise InputError(f"{option} {text}: not a valid number", hint)
    return number


class _Read(Exception):  # noqa: N818 - it ends no command
    """Ends the reading of a capture."""


def _check_capture(file: str, numbers: Mapping[str, int | None]) -> None:
    """Refuse a file whose beginning is not that of a capture."""

    def stop(_item: dict[str, Any]) -> None:
        raise _Read

    with contextlib.suppress(_Read):
        read(file, stop, numbers)


COLUMNS = ("frame", "time us", "interface", "", "kind", "from", "to", "says")
RIGHT = ("frame", "time us")


def _print(
    file: str, frames: list[dict[str, Any]], kinds: Counter[str], wanted: tuple[str, ...]
) -> None:
    start = _start(frames)
    rows = [COLUMNS, *(_row(frame, start) for frame in frames)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # Each frame is one line, however long, which is easier for people and `grep`.
    for row in rows:
        cells = zip(COLUMNS, row, widths, strict=True)
        line = "  ".join(
            cell.rjust(width) if name in RIGHT else cell.ljust(width) for name, cell, width in cells
        )
        sys.stdout.write(visible(line.rstrip()) + "\n")
    shown = sum(kinds[name] for name in wanted)
    counts = ", ".join(f"{count} {name}" for name, count in kinds.most_common())
    remarks = [
        (len(frames) < shown, f"The first {len(frames)} of {shown}; --most 0 prints all."),
        (start > 0, f"Times since {start} ps, that of the first frame shown."),
        (True, f"{file}: {counts or 'no frames'}"),
    ]
    for applies, remark in remarks:
        if applies:
            sys.stdout.write(f"{visible(remark)}\n")


def _start(frames: list[dict[str, Any]]) -> int:
    """Return the time that is printed as 0, in ps: 0 for times of a simulation."""
    first = next((frame["time_ps"] for frame in frames if frame["time_ps"] is not None), 0)
    return int(first) if first >= EPOCH_PS else 0


def _row(frame: dict[str, Any], start: int) -> tuple[str, ...]:
    time = frame["time_ps"]
    return (
        str(frame["frame"]),
        "-" if time is None else f"{(time - start) / 1e6:.6f}",
        frame["interface"],
        frame["direction"],
        frame["kind"],
        frame.get("ip_source", frame["source"]),
        frame.get("ip_destination", frame["destination"]),
        summary(frame["kind"], frame["fields"] | {"ip_dscp": frame.get("ip_dscp", 0)}),
    )


def summary(kind: str, fields: dict[str, Any]) -> str:
    """Return a line with the main fields of a message; the JSON has all of them."""
    text = SUMMARIES[kind](fields) if kind in SUMMARIES else ""
    flow = fields.get("flow")
    return f"{text}; {flow}" if flow else text


def _pfc(fields: dict[str, Any]) -> str:
    of = [(i, quanta) for i, quanta in enumerate(fields["quanta"]) if quanta is not None]
    return ", ".join(f"class {i} {_quanta(quanta)}" for i, quanta in of) or "nothing"


def _quanta(quanta: int) -> str:
    return f"{quanta} quanta" if quanta else "resume"


def _sfcm(fields: dict[str, Any]) -> str:
    what = f"class {fields['priority']}" if fields["stops"] == "class" else fields["stops"]
    time = f"{fields['pause_ns']} ns" if fields["pause_ns"] else "resume"
    return f"{what} {time} by {fields['cpid']}" + (" (proxy)" if fields["by_proxy"] else "")


def _lldp(fields: dict[str, Any]) -> str:
    parts = []
    if "cn_cnpv" in fields:
        for name in ("cnpv", "ready"):
            among = [str(i) for i, bit in enumerate(fields[f"cn_{name}"]) if bit]
            parts.append(f"CN {name} {' '.join(among) or 'none'}")
    if "ci_mac" in fields:
        queues = " ".join(str(queue) for queue in fields["ci_queue_map"])
        parts.append(f"CI queue map {queues}, CIM to {fields['ci_address'] or fields['ci_mac']}")
    return "; ".join(parts)


def _pdcs(fields: dict[str, Any]) -> str:
    return f"PDC {fields['source_pdc']} > {fields['destination_pdc']}"


# By the lower bits of the DSCP of a packet without payload; see docs/captures.md.
CUT = {3: "trimmed", 7: "trimmed at the last hop"}


def _payload(fields: dict[str, Any]) -> str:
    """Return the payload of a packet; that of a trimmed packet is unknown."""
    size = fields["payload_bytes"]
    return (CUT.get(fields["ip_dscp"] & 7) if size == 0 else None) or f"{size} B"


def _data(fields: dict[str, Any]) -> str:
    if "pds_type" not in fields:
        what = f"queue pair 0x{fields['queue_pair']:06x}, PSN {fields['psn']}"
        return f"{what}, {_payload(fields)}"
    target = fields.get("credit_target_256_bytes")
    return (
        f"UET {_pdcs(fields)}, PSN {fields['psn']}, {_payload(fields)}"
        + (", again" if fields["retransmitted"] else "")
        + (f", credit target {target} x 256 B" if target is not None else "")
    )


# Codes of the UET NACKs that a simulation sends (`Nack` of the core's module uet).
NACKS = {1: "trimmed", 2: "trimmed at the last hop", 26: "inferred loss"}


def _ack(fields: dict[str, Any]) -> str:
    if "pds_type" not in fields:
        nak = ", NAK" if fields["syndrome"] >= 0x60 else ""
        return f"queue pair 0x{fields['queue_pair']:06x}, PSN {fields['psn']}{nak}"
    # The ACK of a probe has the probe's number in place of a PSN.
    of = f"PSN {fields['psn']}" if "psn" in fields else f"probe {fields['probe']}"
    text = f"UET {_pdcs(fields)}, {of}"
    if "nack_code" in fields:
        code = fields["nack_code"]
        return f"{text}, NACK: {NACKS.get(code, f'code {code}')}"
    text += f", all to {fields['cumulative_psn']}"
    if fields.get("sack_psns"):
        text += f" and {' '.join(str(psn) for psn in fields['sack_psns'])}"
    if "received_256_bytes" in fields:
        text += f", received {fields['received_256_bytes']} x 256 B"
    return text + (", marked" if fields["marked"] else "")


# Control packets of UET.
CONTROLS = (
    *("no operation", "ACK request", "clear", "clear request", "close", "close request"),
    *("probe", "credit", "credit request", "negotiation"),
)


def _uet(fields: dict[str, Any]) -> str:
    kind = fields["control"]
    text = CONTROLS[kind] if kind < len(CONTROLS) else f"control packet {kind}"
    if "credit_256_bytes" in fields:
        text += f" {fields['credit_256_bytes']} x 256 B"
    return f"{text}, {_pdcs(fields)}"


SUMMARIES: dict[str, Callable[[dict[str, Any]], str]] = {
    "pause": lambda fields: _quanta(fields["quanta"]),
    "pfc": _pfc,
    "cnm": lambda fields: (
        f"feedback {fields['feedback']}, offset {fields['q_offset_64_bytes']} x 64 B, "
        f"delta {fields['q_delta_64_bytes']} x 64 B by {fields['cpid']}"
    ),
    "cim": lambda fields: "no longer isolate" if fields["delete"] else "isolate",
    "sfcm": _sfcm,
    "sfc_pause": lambda fields: f"DSCP {fields['dscp']} for {fields['duration_us']} us",
    "bcn": lambda fields: (
        f"Qoff {fields['q_off_64_bytes']} x 64 B, Qdelta {fields['q_delta_64_bytes']} x 64 B "
        f"by {fields['cpid']}" + (" (severe)" if fields["severe"] else "")
    ),
    "lldp": _lldp,
    "cnp": lambda fields: f"queue pair 0x{fields['queue_pair']:06x}",
    "data": _data,
    "ack": _ack,
    "uet": _uet,
    "broken": lambda fields: str(fields["reason"]),
}


@app.command()
def dissector() -> int:
    """Print the path of a Wireshark script for the formats that Wireshark lacks.

    They are CNM, CN-TAG, CIM, SFCM, SFC pause, BCN, LLDP CI TLV and UET.
    """
    path = Path(__file__).parents[1] / "wireshark" / "backwater.lua"
    sys.stdout.write(f"{path}\n")
    plugins = "~/.local/lib/wireshark/plugins"
    message(
        f"once:     tshark -X lua_script:{path} -r FILE",
        f"          wireshark -X lua_script:{path} FILE",
        f"for good: mkdir -p {plugins} && cp {path} {plugins}/",
        "          (or the folder of personal Lua plugins in Help > About Wireshark > Folders)",
    )
    return 0


@app.command()
def sample(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The pcapng file to write.")],
) -> int:
    """Write a capture with a frame of each format, to test programs that read captures."""
    writable(file, Kind.CAPTURE)
    frames = _core.sample_frames()
    try:
        with temporary_directory("backwater-") as folder:
            written = folder / "sample.pcapng"
            _core.write_capture(str(written), [octets for _, octets in frames])
            write_file(file, written.read_bytes())
    except OSError as error:
        raise ResultError(f"{file}: cannot be written: {error.strerror or error}") from None
    for number, (what, octets) in enumerate(frames, 1):
        put(f"{number:3}  {len(octets):4} B  {what}")
    return 0
