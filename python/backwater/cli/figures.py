"""`--figure`, `--width`, `--font` and `--theme`: the options of every command that draws.

They are checked before anything runs. Figures are drawn once there are results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater.cli.options import given
from backwater.cli.output import message
from backwater.cli.targets import Kind, writable
from backwater.errors import InputError
from backwater.wording import meant

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from backwater.plot.sheet import Sheet
    from backwater.report.page import Figure, Page

Theme = Annotated[
    str | None,
    typer.Option(
        "--theme",
        metavar="light|dark|print",
        help="Theme of figures; print: black on white, with dashes, markers and hatching.",
    ),
]
DONE = (0, 1, 3)
"""Exit codes after which there are results to draw."""


@dataclass(frozen=True)
class Drawing:
    """Requested figures: names, or None for the first, with their files, and their looks."""

    files: tuple[tuple[str | None, Path], ...]
    sheet: Sheet

    def draw(self, page: Page) -> None:
        """Write the figures of a page. Raises `InputError` if it has no figure of a name."""
        for name, path in self.files:
            _named(page.figures, name, path).write(path, self.sheet)
            message(f"figure: {path}")

    def draw_of(self, directory: str | os.PathLike[str]) -> None:
        """Write the figures of a directory of results."""
        if not self.files:
            return
        from backwater import report
        from backwater.cli.progress import listening, reporting
        from backwater.manifest import judging

        with reporting() as display, judging(Path(directory)):
            page = report.of(directory, listening(display))
        self.draw(page)


@dataclass(frozen=True)
class Figures:
    """The figures that a command draws, and their looks."""

    figure: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="[NAME=]FILE",
            help="Draw the first figure of the report, or the figure NAME, as FILE (.svg, .pdf or "
            ".png); may be given more than once.",
        ),
    ] = None
    width: Annotated[
        str | None,
        typer.Option(
            "--width", metavar="LENGTH", help="Width of figures, as in 8.5cm, 85mm, 3.3in."
        ),
    ] = None
    font: Annotated[
        str | None, typer.Option("--font", metavar="NAME", help="Typeface of figures, as in Arial.")
    ] = None
    theme: Theme = None

    def drawing(
        self, *inputs: str | os.PathLike[str] | None, folder: bool = False
    ) -> Drawing | None:
        """Read the options, and check that the files may be written; None without a figure.

        `inputs` are files that the command reads. With `folder` figures are drawn in any case.
        Raises `InputError`, and `ResultError` if a file cannot be written.
        """
        if not self.figure and not folder:
            if unused := given(self):
                option, value = next(iter(unused.items()))
                raise InputError(f"{option} {value}: no figure is drawn", "add --figure FILE")
            return None
        pairs = [_pair(text) for text in self.figure or ()]
        for _, path in pairs:
            writable(str(path), Kind[path.suffix[1:].upper()], *inputs)
        from backwater.plot.shades import LIGHT
        from backwater.plot.sheet import Sheet, family, length

        sheet = Sheet(
            width=None if self.width is None else length(self.width),
            font=None if self.font is None else family(self.font),
            theme=LIGHT if self.theme is None else self.theme,
        )
        return Drawing(tuple(pairs), sheet)


def _pair(text: str) -> tuple[str | None, Path]:
    name, equals, file = text.partition("=")
    path = Path(file if equals else text)
    if path.suffix.lower() not in (".svg", ".pdf", ".png"):
        raise InputError(
            f"--figure {text}: {path.name or 'nothing'} names no format",
            "give a name that ends with .svg, .pdf or .png",
        )
    return name if equals else None, path


def _named(figures: Sequence[Figure], name: str | None, path: Path) -> Figure:
    if not figures:
        raise InputError(
            f"--figure {path}: these results have no figure", "none of their flows is complete"
        )
    if name is None:
        return figures[0]
    for one in figures:
        if one.id == name:
            return one
    names = [one.id for one in figures]
    raise InputError(
        f"--figure {name}={path}: these results have no figure {name}",
        meant(name, names, "there is"),
    )
