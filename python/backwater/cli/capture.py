"""The options of `backwater run` that have frames captured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.arguments import option_of
from backwater.cli.options import given
from backwater.errors import InputError
from backwater.wording import size

PANEL = "Capture"
OPTIONS = {
    "capture.ports": "--capture",
    **{f"capture.{name}": f"--capture-{name}" for name in ("kind", "class", "snap", "limit")},
}
"""What the command calls the parts of a capture."""


@dataclass(frozen=True)
class Capturing:
    """The frames that a run captures."""

    ports: Annotated[
        str | None,
        typer.Option(
            "--capture",
            metavar="PORTS",
            rich_help_panel=PANEL,
            help="Capture what passes these ports, with commas between: all, a tier (leaf), a node "
            "(leaf0), node/port (leaf0/3), or node:peer (leaf0:spine1).",
        ),
    ] = None
    capture_file: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--capture-file",
            metavar="FILE",
            rich_help_panel=PANEL,
            help="The pcapng file; an earlier capture of Backwater's is replaced.",
        ),
    ] = None
    kinds: Annotated[
        str | None,
        typer.Option(
            "--capture-kind",
            metavar="KIND,...",
            rich_help_panel=PANEL,
            help="Only these kinds of frames: data, ack, control (all but these two), or of these "
            "pause, pfc, cnm, cim, sfcm, bcn, cnp, uet, other.",
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            "--capture-class",
            metavar="N,...",
            rich_help_panel=PANEL,
            help="Only frames of these classes, 0 to 7, and pauses of them.",
        ),
    ] = None
    snap: Annotated[
        str | None,
        typer.Option(
            "--capture-snap",
            metavar="SIZE",
            rich_help_panel=PANEL,
            help='Keep that much of each frame, such as "128 B".',
        ),
    ] = None
    limit: Annotated[
        str | None,
        typer.Option(
            "--capture-limit",
            metavar="SIZE",
            rich_help_panel=PANEL,
            help='End the file before it is longer than this, such as "1 GB".',
        ),
    ] = None

    def capture(self) -> _core.Capture | None:
        """Return the capture that the options describe; None without options."""
        if self.ports is None or self.capture_file is None:
            if options := list(given(self)):
                missing = "--capture PORTS" if self.ports is None else "-o FILE"
                raise InputError(
                    f"{options[0]} needs {missing}", "for example --capture leaf0 -o leaf0.pcapng"
                )
            return None
        if self.capture_file == "-":
            raise InputError(
                "-o -: stdout is the report's",
                "name a file; Wireshark reads it already while it grows",
            )
        with option_of(OPTIONS):
            return _core.Capture(
                self.capture_file,
                self.ports,
                kinds=parts(self.kinds),
                classes=[_number(part) for part in parts(self.classes)],
                snap=self.snap,
                limit=self.limit,
            )


def parts(text: str | None) -> list[str]:
    """The parts between commas."""
    return [] if text is None else [part.strip() for part in text.split(",")]


def _number(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--capture-class {text}: not a whole number", "classes are 0 to 7")
    return int(text.lstrip("0")[:4] or "0")


def told(capture: _core.Capture | None, outcome: object) -> list[str]:
    """What is said of a capture after the run, of which `outcome` is the report, or an error."""
    if capture is None:
        return []
    said = f"capture: {capture.path}"
    if not isinstance(outcome, dict):
        return [said]
    found = outcome["summary"]["capture"]
    ports = "1 port" if found["ports"] == 1 else f"{found['ports']} ports"
    said += f", {found['frames']} frames of {ports}, {size(found['bytes'], '.1f')}"
    if found["left_out"]:
        said += f"; the bound left out {found['left_out']} more"
    return [said]
