"""The options of `backwater run` that capture frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from backwater import _core
from backwater.cli.arguments import option_of
from backwater.cli.options import given
from backwater.errors import InputError
from backwater.wording import many, size

PANEL = "Capture"
OPTIONS = {
    "capture.ports": "--capture",
    **{f"capture.{name}": f"--capture-{name}" for name in ("kind", "class", "snap", "limit")},
}
"""The option for each key of a capture in the core's errors."""


@dataclass(frozen=True)
class Capturing:
    """The frames that a run captures."""

    ports: Annotated[
        str | None,
        typer.Option(
            "--capture",
            metavar="PORTS",
            rich_help_panel=PANEL,
            help="Capture the frames at these ports, with commas between: all, a tier (leaf), a "
            "node (leaf0), node/port (leaf0/3), or node:peer (leaf0:spine1).",
        ),
    ] = None
    capture_file: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--capture-file",
            metavar="FILE",
            rich_help_panel=PANEL,
            help="The pcapng file; it replaces an earlier capture by Backwater.",
        ),
    ] = None
    kinds: Annotated[
        str | None,
        typer.Option(
            "--capture-kind",
            metavar="KIND,...",
            rich_help_panel=PANEL,
            help="Only these kinds of frames: data, ack, control (all but these two), or a kind of "
            "control: pause, pfc, cnm, cim, sfcm, sfc_pause, bcn, cnp, uet, other.",
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            "--capture-class",
            metavar="N,...",
            rich_help_panel=PANEL,
            help="Only frames of these classes, 0 to 7, and pauses of these classes.",
        ),
    ] = None
    snap: Annotated[
        str | None,
        typer.Option(
            "--capture-snap",
            metavar="SIZE",
            rich_help_panel=PANEL,
            help='Keep this much of each frame, as in "128 B".',
        ),
    ] = None
    limit: Annotated[
        str | None,
        typer.Option(
            "--capture-limit",
            metavar="SIZE",
            rich_help_panel=PANEL,
            help='End the file before it is longer than this, as in "1 GB".',
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
                "-o -: the report goes to stdout",
                "name a file; Wireshark can read it while it grows",
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
    """Return the parts of a text between commas, none of an absent text."""
    return [] if text is None else [part.strip() for part in text.split(",")]


def _number(text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"--capture-class {text}: not a whole number", "classes are 0 to 7")
    return int(text.lstrip("0")[:4] or "0")


def told(capture: _core.Capture | None, outcome: object) -> list[str]:
    """Return the line about a capture after its run, whose report or error `outcome` is."""
    if capture is None:
        return []
    line = f"capture: {capture.path}"
    if isinstance(outcome, dict):
        found = outcome["summary"]["capture"]
        ports = many(found["ports"], "port")
        line += f", {found['frames']} frames of {ports}, {size(found['bytes'], '.1f')}"
        if found["left_out"]:
            line += f"; the limit left out {found['left_out']} more"
    return [line]
