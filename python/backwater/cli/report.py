"""`backwater report`: one page of a run, of repeated runs, or of a study.

The libraries that draw are imported when there is something to draw, so that help is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.output import message, writable, write
from backwater.cli.reproduce import listening
from backwater.errors import ResultError


def report(
    target: Annotated[
        str,
        typer.Argument(help="A result directory, or a study's name.", metavar="DIR|STUDY"),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The page; - is stdout.")
    ] = "report.html",
    figures: Annotated[
        str | None,
        typer.Option("--figures", metavar="DIR", help="Write each figure as SVG, PNG and PDF too."),
    ] = None,
) -> int:
    """Write one page that needs no network: assumptions, results, figures, how to run it again.

    DIR is what `run --out`, `run --seeds --out` or `reproduce --out` wrote; a STUDY is reproduced
    first, in results/STUDY, where what is there already is not run again.
    """
    from backwater import report, study
    from backwater.cli.progress import reporting

    writable(output)
    folder = Path(target)
    with reporting() as display:
        listener = listening(display)
        if not folder.exists() and target in study.names():
            folder = Path("results") / target
            study.reproduce(target, out=folder, progress=listener)
        page = report.of(folder, listener)
        html = page.html()
    write(output, html)
    if figures is not None:
        place = Path(figures)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultError(f"{place}: cannot be made: {error.strerror or error}") from None
        for figure in page.figures:
            figure.save(place)
        message(f"{len(page.figures)} figures as SVG, PNG and PDF: {place}")
    if output != "-":
        message(f"report: {output}")
    return 0
