"""The command `backwater`.

Exit codes: 0 done; 1 the run failed, or a study's required row or claim is off; 2 bad input;
3 a run is incomplete (flows or rounds are not, though the scenario asked for no such end);
130 stopped by Ctrl-C, 143 by SIGTERM, with what had been simulated kept. Data goes to stdout,
messages and progress to stderr. Nothing a user does ends in a traceback; BACKWATER_DEBUG=1 shows
it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import TyperException

from backwater import _core
from backwater.cli.app import built, named
from backwater.cli.arguments import told
from backwater.cli.output import check_width, message, put
from backwater.cli.streams import Unheard
from backwater.errors import InputError, OtherBuildWarning, ResultError
from backwater.notices import heard
from backwater.speaking import as_command
from backwater.wording import labelled

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, FAILED, BAD_INPUT = 0, 1, 2
# Set by shells that complete a command line.
COMPLETE = "_BACKWATER_COMPLETE"
START = """\
Backwater simulates congestion management in data-centre Ethernet, packet by packet.

  backwater new first.toml        write a commented scenario (list scenarios: others, for --from)
  backwater run first.toml        simulate it
  backwater report results/first  one page: results, figures, the fabric over time

`backwater --help` lists all commands, `backwater explain` the keys of a scenario."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    with Path(os.devnull).open("w") as nowhere, warnings.catch_warnings():
        # A stream that was closed before the start is None.
        output, messages = Unheard(sys.stdout or nowhere), Unheard(sys.stderr or nowhere)
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
            warnings.simplefilter("always", OtherBuildWarning)
            warnings.showwarning = _warned  # type: ignore[assignment]
            check_width()
            with heard(message), as_command():
                code = _command(arguments)
            # Here what goes wrong can still be told; at the interpreter's end it cannot.
            output.flush()
            if output.lost is None or isinstance(output.lost, BrokenPipeError):
                return code
            message(
                f"error: standard output: cannot be written: {output.lost.strerror or output.lost}",
                "hint: make room where it goes to",
            )
            return code or FAILED


def _command(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if not given and not os.environ.get(COMPLETE):
            put(START)
            return BAD_INPUT
        code = built(named(given))(given, prog_name="backwater", standalone_mode=False)
    except TyperException as error:
        return _usage(error)
    except (_core.ScenarioError, InputError) as error:
        message(told(error, given))
        return BAD_INPUT
    except (_core.RunError, ResultError) as error:
        message(labelled(str(error)))
        return FAILED
    except OSError as error:
        return _system(error)
    except UnicodeEncodeError as error:
        # As the command line gives octets that are no text.
        message(f"error: {error.object}: is no UTF-8 text", "hint: give it another name")
        return BAD_INPUT
    except MemoryError:
        return _memory()
    except ImportError as error:
        # The loader's words for memory that it was refused.
        if "failed to map segment" in str(error) or "annot allocate memory" in str(error):
            return _memory()
        _unexpected(error)
        return FAILED
    except BaseException as error:
        # A panic in Rust, of the core or of a library, is no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        _unexpected(error)
        return FAILED
    return code if isinstance(code, int) else DONE


# What the system says of names that somebody has given, and not of what was to be done.
_NAMES = {
    errno.ENAMETOOLONG: "a name has 255 octets at most, and a path 4095",
    errno.ELOOP: "its links lead in a circle",
    errno.ENOENT: "is it spelt as it is?",
    errno.ENOTDIR: "what it leads through is no directory",
    errno.EISDIR: "name a file in it",
    errno.EINVAL: "name a regular file",
    errno.EACCES: "see who may read and write there",
    errno.EPERM: "see who may read and write there",
}
_ROOM = {
    errno.ENOSPC: "make room, and give the command again",
    errno.EDQUOT: "make room, and give the command again",
    errno.EFBIG: "is there a limit, as of `ulimit -f`?",
    errno.EROFS: "give the name of a place that can be written to",
    errno.EMFILE: "is there a limit, as of `ulimit -n`?",
    errno.EAGAIN: "is there a limit, as of `ulimit -u`?",
}


def _system(error: OSError) -> int:
    """Say what the system has refused; of what is no user's doing, that we are at fault."""
    if error.errno == errno.ENOMEM:
        return _memory()
    hint = _NAMES.get(error.errno or 0) or _ROOM.get(error.errno or 0)
    if hint is None or (error.filename is None and error.errno in _NAMES):
        _unexpected(error)
        return FAILED
    if os.environ.get("BACKWATER_DEBUG"):
        traceback.print_exc()
    name = "" if error.filename is None else f"{_shown(error.filename)}: "
    message(f"error: {name}{error.strerror}", f"hint: {hint}")
    return BAD_INPUT if error.errno in _NAMES else FAILED


# More of a name than this says nothing.
_LONG = 80


def _shown(name: object) -> str:
    text = os.fsdecode(name) if isinstance(name, bytes) else str(name)
    return text if len(text) <= _LONG else f"{text[: _LONG // 2]}…{text[-_LONG // 4 :]}"


def _memory() -> int:
    message("error: out of memory", "hint: give --out, so that results do not stay in memory")
    return FAILED


def _warned(what: Warning | str, *_where: object, **_more: object) -> None:
    """Show a warning of Python's as one of the command's."""
    message(f"warning: {what}")


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
        text = _unfit(error) or text
        about = f"`{context.command_path} --help` says what it takes"
        wrong = getattr(error, "option_name", None)
        if wrong is not None:
            text = f"No such option: {wrong}"
            near = _meant(wrong, context.command.params)
            if near is None or near.startswith("its"):
                near = _of_import(wrong, context.command.name) or near
            about = f"{near}; {about}" if near else about
        message(f"error: {text}", f"hint: {about}")
    return BAD_INPUT if error.exit_code == BAD_INPUT else FAILED


# What a value of an option lacks, by the names that pydantic gives to it.
UNFIT = {"int_parsing": "is no whole number", "greater_than_equal": "is less than {ge}"}


def _unfit(error: TyperException) -> str | None:
    """Say of a number of an option what is wrong; None where something else is."""
    found: list[dict[str, Any]] = getattr(error.__cause__ or error.__context__, "errors", list)()
    words = UNFIT.get(found[0]["type"]) if found else None
    if words is None:
        return None
    option = getattr(error, "param").opts[0]  # noqa: B009 - typer's errors have no public type
    return f"{option} {found[0]['input']}: {words.format(**found[0].get('ctx', {}))}"


# What other programs call an option, and what it may be called here.
SYNONYMS = {"--format": "--to", "--output": "--out"}
# More options than these are for the help to show.
FEW = 15


def _of_import(wrong: str, command: str | None) -> str | None:
    """Say that an option is `import`'s: commands that take files of other tools have none of it."""
    if command not in {"run", "check", "compare"}:
        return None
    own: Any = built(("import",))
    if not any(wrong in one.opts for one in own.commands["import"].params):
        return None
    return f"`backwater import FILE {wrong} …` has it, and writes a scenario for `{command}`"


def _meant(wrong: str, parameters: Sequence[Any]) -> str | None:
    """Say which option may have been meant; typer's guess takes `--force` for `--format`."""
    options = [name for one in parameters for name in one.opts if name.startswith("--")]
    near = get_close_matches(wrong, options, cutoff=0.8)
    if SYNONYMS.get(wrong) in options:
        near = [SYNONYMS[wrong]]
    if near:
        return f"perhaps {' or '.join(near)}"
    return f"its options: {', '.join(options)}" if 0 < len(options) <= FEW else None


def _unexpected(error: BaseException) -> None:
    if os.environ.get("BACKWATER_DEBUG"):
        traceback.print_exc()
    versions = ", ".join(f"{name} {value}" for name, value in _core.version().items())
    message(
        f"error: Backwater is at fault: {type(error).__name__}: {error}",
        "hint: please report this with the command you gave, the scenario file and the versions "
        f"({versions}); BACKWATER_DEBUG=1 shows where it happened",
    )
