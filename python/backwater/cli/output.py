"""How the command speaks: data on stdout, messages on stderr, numbers with units."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError, ResultError
from backwater.files import write_text
from backwater.wording import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

# Where output is no terminal its width is not known; this is what tables are laid out for.
PLAIN_WIDTH = 100


def console() -> Console:
    """A console for data, on stdout. Texts are shown as they are: `[[flow]]` is no markup."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def put(*parts: RenderableType, style: str | None = None) -> None:
    """Print on stdout; without the blanks that end a table's lines where nobody sees them."""
    screen = console()
    parts = tuple(visible(part) if isinstance(part, str) else part for part in parts)
    if screen.is_terminal:
        screen.print(*parts, style=style)
        return
    with screen.capture() as caught:
        screen.print(*parts, style=style)
    sys.stdout.write("".join(line.rstrip() + "\n" for line in caught.get().splitlines()))


def message(*lines: str) -> None:
    """Say something to the person at the terminal, after what went to stdout before it."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    for line in lines:
        print(visible(line), file=sys.stderr, flush=True)


def warn(warnings: list[dict[str, str]]) -> None:
    """Show what a check had to say."""
    for warning in warnings:
        message(f"warning: {warning['message']}")
        if warning.get("hint"):
            message(f"  hint: {warning['hint']}")


def table() -> Table:
    """An empty table in the house's form."""
    from rich.table import Table
    from rich.text import Text

    class Plain(Table):
        """Takes names from scenarios and files: nothing in them is a command to a terminal."""

        def add_row(self, *cells: Any, **options: Any) -> None:  # noqa: ANN401 - as Table has it
            super().add_row(
                *(Text(visible(c)) if isinstance(c, str) else c for c in cells), **options
            )

    return Plain(box=None, pad_edge=False, header_style="bold")


def show(view: Table, title: str | None = None, *remarks: str) -> None:
    """Print a table with a title above and remarks below it, which may be wider than the table."""
    if title:
        put(title, style="bold")
    put(view)
    for remark in remarks:
        put(remark, style="dim")


def writable(target: str | None) -> None:
    """Complain about an output file that cannot be written before the work is done, not after."""
    if target is None or target == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a file", "give the name of a file in it")
    if not path.absolute().parent.is_dir():
        raise InputError(
            f"{path}: the directory {path.parent} does not exist", "make it, or name another file"
        )
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise InputError(f"{path}: cannot be written: permission denied", "name another file")


def write(target: str, text: str) -> None:
    """Write text to a file, or to stdout for `-`."""
    if target == "-":
        sys.stdout.write(visible(text))
        return
    try:
        write_text(target, text)
    except OSError as error:
        raise ResultError(f"{target}: cannot be written: {error.strerror or error}") from None


def write_json(target: str, value: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Write JSON to a file, or to stdout for `-`."""
    # Only within its strings can JSON have control characters, and there they may be written out.
    write(target, visible(json.dumps(value, indent=2, ensure_ascii=False)) + "\n")
