"""`backwater deck`: slides of results, as a presentation or as PDF.

The libraries that draw are imported only when slides are drawn, so that help is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backwater.captures import is_capture
from backwater.cli.arguments import Force
from backwater.cli.figures import Theme
from backwater.cli.output import message
from backwater.cli.targets import Kind, writable
from backwater.errors import InputError, ResultError
from backwater.files import write_file
from backwater.wording import meant

_LIBRARIES = {".pptx": "pptx", ".pdf": "pypdf"}


def deck(
    target: Annotated[str, typer.Argument(help="A result directory, or a capture.", metavar="DIR")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "--out", "-o", metavar="FILE", help="A name that ends with .pptx or .pdf."
        ),
    ] = "talk.pptx",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="A study's figure, `table` or `claims`, or a capture's kind of message, in place "
            "of all slides; may be given more than once.",
        ),
    ] = None,
    theme: Theme = None,
    force: Force = False,
) -> int:
    """Make slides of results: set-up, assumptions, tables, figures, differences, commands.

    DIR is a directory that `run --out`, `run --seeds --out`, `compare --out`, `sweep --out` or
    `reproduce --out` wrote, or a capture: then the slides show its messages. Each figure has one
    sentence, formed of the numbers that it shows. Text and tables can be edited. The same results
    give the same file. Needs the extra `deck` (python-pptx, pypdf).
    """
    from backwater.optional_dependencies import needed
    from backwater.plot.shades import LIGHT, THEMES

    path = Path(output)
    kind = path.suffix.lower()
    if kind not in _LIBRARIES:
        raise InputError(
            f"-o {output}: names no format of slides",
            "give a name that ends with .pptx or .pdf",
        )
    chosen = LIGHT if theme is None else theme
    if chosen not in THEMES:
        raise InputError(f"--theme {chosen}: is not a theme", f"one of {', '.join(THEMES)}")
    folder = Path(target)
    _see(folder)
    writable(output, Kind[kind[1:].upper()])
    if path.exists() and path.is_file() and path.stat().st_size and not force:
        raise InputError(f"{path}: exists", "--force replaces it, or name another file")
    needed(_LIBRARIES[kind], "deck")
    from backwater import deck as slides
    from backwater.cli.progress import listening, reporting

    with reporting() as display:
        made = slides.of(folder, chosen, listening(display), only or ())
    message(*made.failed)
    octets = slides.octets(made, kind[1:])
    try:
        write_file(path, octets)
    except OSError as error:
        raise ResultError(f"{path}: cannot be written: {error.strerror or error}") from None
    message(f"{len(made.slides)} slides: {path}")
    return 0


def _see(folder: Path) -> None:
    """Refuse a path that is not a directory of results before libraries are loaded."""
    from backwater import study
    from backwater.results import check_no_results, manifest_at, present

    if is_capture(folder):
        return
    if present(folder) or folder.is_dir():
        manifest_at(folder)
        return
    check_no_results(folder)
    hint = "name a directory that `backwater run --out` or `backwater reproduce --out` wrote"
    if str(folder) in study.names():
        hint = f"reproduce it first: backwater reproduce {folder} --out results/{folder}"
    else:
        near = meant(str(folder), study.names(), "")
        hint = f"{near} {hint}" if near.startswith("did you mean") else hint
    raise ResultError(f"{folder}: has no results", hint)
