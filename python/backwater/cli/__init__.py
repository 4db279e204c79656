"""The command `backwater`.

Exit codes: 0 done; 1 the run failed, or a study's required row or claim is off; 2 bad input;
3 a run is incomplete (flows or rounds are not, though the scenario asked for no such end);
130 stopped by Ctrl-C, 143 by SIGTERM, with what had been simulated kept. Data goes to stdout,
messages and progress to stderr. Nothing a user does ends in a traceback; BACKWATER_DEBUG=1 shows
it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer
from typer import TyperException

from backwater import _core
from backwater.cli.app import app
from backwater.cli.output import forget_useless_width, message
from backwater.errors import InputError, OtherBuildWarning, ResultError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

DONE, FAILED, BAD_INPUT = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    forget_useless_width()
    with (
        warnings.catch_warnings(),
        _Unheard(sys.stdout, "standard output") as out,
        _Unheard(sys.stderr) as err,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always", OtherBuildWarning)
        warnings.showwarning = _warned  # type: ignore[assignment]
        try:
            return _command(arguments)
        except ResultError as error:
            # What was printed before something else went wrong could not be written.
            message(_labelled(str(error)))
            return FAILED


class _Unheard:
    """A stream that nobody has to read to its end: `| head` changes neither work nor code.

    After the reader has gone, what is written goes nowhere. Other errors end the command only where
    the stream has a `name`: messages are no part of the work.
    """

    def __init__(self, stream: TextIO | None, name: str | None = None) -> None:
        # Python has none where the descriptor was closed at its start.
        self._stream = stream or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        self._owned = stream is None
        self._name = name

    def __enter__(self) -> TextIO:
        return cast("TextIO", self)

    def __exit__(self, *_: object) -> None:
        if self._owned:
            self._stream.close()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the stream has it
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._lost(error)
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        """Let what is left, in the stream's buffer too, go nowhere."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._stream.fileno())
        os.close(null)
        if self._name is not None and not isinstance(error, BrokenPipeError):
            raise ResultError(
                f"{self._name}: cannot be written: {error.strerror or error}",
                "make room where it goes to",
            ) from None


@cache
def _built() -> Callable[..., object]:
    """Build the commands once: a process may give many."""
    return typer.main.get_command(app)


def _command(arguments: Sequence[str] | None) -> int:
    try:
        code = _built()(arguments, prog_name="backwater", standalone_mode=False)
        # Here what goes wrong can still be told; at the interpreter's end it cannot.
        sys.stdout.flush()
    except TyperException as error:
        return _usage(error)
    except (_core.ScenarioError, InputError) as error:
        message(_labelled(str(error)))
        return BAD_INPUT
    except (_core.RunError, ResultError) as error:
        message(_labelled(str(error)))
        return FAILED
    except SystemExit:
        raise
    except UnicodeEncodeError as error:
        # As the command line gives octets that are no text.
        message(f"error: {error.object}: is no UTF-8 text", "hint: give it another name")
        return BAD_INPUT
    except MemoryError:
        message("error: out of memory", "hint: give --out, so that results do not stay in memory")
        return FAILED
    except Exception as error:
        _unexpected(error)
        return FAILED
    return code if isinstance(code, int) else DONE


def _warned(what: Warning | str, *_where: object, **_more: object) -> None:
    """Show a warning of Python's as one of the command's."""
    message(f"warning: {what}")


def _labelled(text: str) -> str:
    return text if text.lstrip().startswith("error") else f"error: {text}"


def _usage(error: TyperException) -> int:
    context = getattr(error, "ctx", None)
    # Part of how typer's validator speaks, and of no use to anybody.
    text = error.format_message().replace("Value error, ", "")
    if context is None:
        message(f"error: {text}")
    elif type(error).__name__ == "NoArgsIsHelpError":
        # typer has shown the help already
        pass
    else:
        message(f"error: {text}", f"hint: `{context.command_path} --help` says what it takes")
    return BAD_INPUT if error.exit_code == BAD_INPUT else FAILED


def _unexpected(error: Exception) -> None:
    if os.environ.get("BACKWATER_DEBUG"):
        traceback.print_exc()
    versions = ", ".join(f"{name} {value}" for name, value in _core.version().items())
    message(
        f"error: Backwater is at fault: {type(error).__name__}: {error}",
        "hint: please report this with the command you gave, the scenario file and the versions "
        f"({versions}); BACKWATER_DEBUG=1 shows where it happened",
    )
