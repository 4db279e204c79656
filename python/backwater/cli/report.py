"""`backwater report`: one page of a run, of repeated runs, a comparison, a sweep, or a study.

The libraries that draw are imported only when a page is drawn, so that help is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater.cli.figures import Figures
from backwater.cli.output import message, write
from backwater.cli.targets import Kind, writable
from backwater.errors import InputError, ResultError
from backwater.wording import meant

if TYPE_CHECKING:
    from backwater.report.page import Page


# Extensions that the name of a page may have; devices and pipes have none.
_PAGES = (".html", ".htm", "")


def report(
    target: Annotated[
        str,
        typer.Argument(help="A result directory, or a study's name.", metavar="DIR|STUDY"),
    ],
    *,
    output: Annotated[
        str, typer.Option("--output", "--out", "-o", metavar="FILE", help="The page; - is stdout.")
    ] = "report.html",
    folder: Annotated[
        str | None,
        typer.Option("--figures", metavar="DIR", help="Write each figure as SVG, PNG and PDF too."),
    ] = None,
    rerun: Annotated[
        bool | None,
        typer.Option(
            "--rerun/--no-rerun",
            help="Repeat a run that took no samples with samples, for figures over time; by "
            "default only if it took at most ten minutes.",
        ),
    ] = None,
    figures: Figures,
) -> int:
    """Write one page that needs no network: results, figures, assumptions, commands to repeat it.

    DIR is a directory that `run --out`, `run --seeds --out`, `compare --out`, `sweep --out` or
    `reproduce --out` wrote. A STUDY is reproduced first, in results/STUDY, where earlier runs are
    reused. A run that took no samples is repeated with samples, in DIR/observed, and has the same
    fingerprint.
    --width, --font and --theme apply to figures in files, not to those on the page. Text is
    sized for the width: it is readable in a column of 8.5cm.
    """
    from backwater import report, study
    from backwater.cli.progress import listening, reporting
    from backwater.manifest import judging
    from backwater.results import manifest_at, present

    results = Path(target)
    if not present(results) and target not in study.names():
        raise _unusable(results, study.names())
    if present(results):
        manifest_at(results)
    writable(output, Kind.REPORT)
    if output != "-" and Path(output).suffix.lower() not in _PAGES:
        raise InputError(
            f"-o {output}: a report is HTML, and the name has another extension",
            "a name that ends with .html, or - for stdout; `backwater deck` writes .pptx and .pdf, "
            "--figures and --figure write .svg, .png and .pdf",
        )
    drawing = figures.drawing(folder=folder is not None)
    if folder is not None and Path(folder).is_file():
        raise InputError(f"--figures {folder}: is a file, not a directory", "name another")
    with reporting() as display:
        listener = listening(display)
        if not results.exists() and not present(results):
            results = Path("results") / target
            study.reproduce(target, out=results, progress=listener)
        with judging(results):
            page = report.of(results, listener, rerun=rerun)
            html = page.html()
    message(*page.failed)
    place = None if folder is None else _folder(Path(folder), page)
    write(output, html)
    if place is not None:
        assert drawing is not None
        for one in page.figures:
            one.save(place, drawing.sheet)
        message(f"{len(page.figures)} figures as SVG, PNG and PDF: {place}")
    if drawing is not None:
        drawing.draw(page)
    if output != "-":
        message(f"report: {output}")
    return 0


def _folder(place: Path, page: Page) -> Path:
    """Make the directory for figures, and check that they may be written there."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{place}: cannot be made: {error.strerror or error}") from None
    for figure in page.figures:
        for path in figure.paths(place):
            writable(str(path), Kind[path.suffix[1:].upper()])
    return place


def _unusable(path: Path, studies: list[str]) -> ResultError:
    """Return the error for a name that is neither a directory nor a study, with a hint."""
    from backwater.results import check_no_results

    check_no_results(path)
    hint = meant(str(path), studies, "the studies are", most=3)
    return ResultError(
        f"{path}: neither a directory nor a study",
        f"{hint}; a directory is one that `backwater run --out` or `reproduce --out` wrote",
    )
