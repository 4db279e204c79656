"""The command `backwater`.

Exit codes: 0 done; 1 a run failed, or a study's required number or claim does not agree; 2 bad
input; 3 a run is incomplete (flows or rounds did not complete, and the scenario sets no earlier
end); 130 stopped by Ctrl-C, 143 by SIGTERM: results up to the stop are kept. Data goes to stdout,
messages and progress to stderr. No input of a user ends in a traceback; BACKWATER_DEBUG=1 shows it.
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
from backwater.cli.arguments import error_text
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
    """Run one command and return its exit code."""
    with Path(os.devnull).open("w") as nowhere, warnings.catch_warnings():
        # A stream that was closed before the start is None.
        output, messages = Unheard(sys.stdout or nowhere), Unheard(sys.stderr or nowhere)
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
            warnings.simplefilter("always", OtherBuildWarning)
            warnings.showwarning = _warned  # type: ignore[assignment]
            check_width()
            with heard(message), as_command():
                code = _command(arguments)
            # An error can be reported here, but not while the interpreter shuts down.
            output.flush()
            if output.lost is None or isinstance(output.lost, BrokenPipeError):
                return code
            message(
                f"error: standard output: cannot be written: {output.lost.strerror or output.lost}",
                "hint: free space where the output goes",
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
        message(error_text(error, given))
        return BAD_INPUT
    except (_core.RunError, ResultError) as error:
        message(labelled(str(error)))
        return FAILED
    except OSError as error:
        return _system(error)
    except UnicodeEncodeError as error:
        # The command line has octets that are not text.
        message(f"error: {error.object}: is not UTF-8 text", "hint: give it another name")
        return BAD_INPUT
    except MemoryError:
        return _memory()
    except ImportError as error:
        # The loader reports in these words that it got no memory.
        if "failed to map segment" in str(error) or "annot allocate memory" in str(error):
            return _memory()
        _unexpected(error)
        return FAILED
    except BaseException as error:
        # A panic of Rust code is not an `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        _unexpected(error)
        return FAILED
    return code if isinstance(code, int) else DONE


# Errors of the system that the user's names cause, with hints.
_NAMES = {
    errno.ENAMETOOLONG: "a name may have 255 octets, and a path 4095",
    errno.ELOOP: "its symbolic links form a loop",
    errno.ENOENT: "check the spelling",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EISDIR: "name a file in it",
    errno.EINVAL: "name a regular file",
    errno.EACCES: "check the permissions",
    errno.EPERM: "check the permissions",
}
# Errors that limits of the machine cause.
_LIMITS = {
    errno.ENOSPC: "free space, and repeat the command",
    errno.EDQUOT: "free space, and repeat the command",
    errno.EFBIG: "check the limit of `ulimit -f`",
    errno.EROFS: "name a directory that can be written to",
    errno.EMFILE: "check the limit of `ulimit -n`",
    errno.EAGAIN: "check the limit of `ulimit -u`",
}


def _system(error: OSError) -> int:
    """Report what the system refused; an error that the user cannot cause is a bug."""
    if error.errno == errno.ENOMEM:
        return _memory()
    hint = _NAMES.get(error.errno or 0) or _LIMITS.get(error.errno or 0)
    if hint is None or (error.filename is None and error.errno in _NAMES):
        _unexpected(error)
        return FAILED
    if os.environ.get("BACKWATER_DEBUG"):
        traceback.print_exc()
    name = "" if error.filename is None else f"{_shown(error.filename)}: "
    message(f"error: {name}{error.strerror}", f"hint: {hint}")
    return BAD_INPUT if error.errno in _NAMES else FAILED


# Longer names are shortened.
_LONG = 80


def _shown(name: object) -> str:
    text = os.fsdecode(name) if isinstance(name, bytes) else str(name)
    return text if len(text) <= _LONG else f"{text[: _LONG // 2]}…{text[-_LONG // 4 :]}"


def _memory() -> int:
    message("error: out of memory", "hint: give --out, so that results do not stay in memory")
    return FAILED


def _warned(what: Warning | str, *_where: object, **_more: object) -> None:
    """Show a warning of Python as a warning of the command."""
    message(f"warning: {what}")


def _usage(error: TyperException) -> int:
    context = getattr(error, "ctx", None)
    # The prefix of typer's validator tells a user nothing.
    text = error.format_message().replace("Value error, ", "")
    if context is None:
        message(f"error: {text}")
    elif type(error).__name__ == "NoArgsIsHelpError":
        # typer has shown the help.
        pass
    else:
        text = _unfit(error) or text
        about = f"see `{context.command_path} --help`"
        wrong = getattr(error, "option_name", None)
        if wrong is not None:
            text = f"No such option: {wrong}"
            near = _meant(wrong, context.command.params)
            if near is None or near.startswith("its"):
                near = _of_import(wrong, context.command.name) or near
            about = f"{near}; {about}" if near else about
        message(f"error: {text}", f"hint: {about}")
    return BAD_INPUT if error.exit_code == BAD_INPUT else FAILED


# What is wrong with the value of an option, by pydantic's names of errors.
UNFIT = {"int_parsing": "is not a whole number", "greater_than_equal": "is less than {ge}"}


def _unfit(error: TyperException) -> str | None:
    """Return what is wrong with the number of an option; None if something else is wrong."""
    found: list[dict[str, Any]] = getattr(error.__cause__ or error.__context__, "errors", list)()
    words = UNFIT.get(found[0]["type"]) if found else None
    if words is None:
        return None
    option = getattr(error, "param").opts[0]  # noqa: B009 - typer's errors have no public type
    return f"{option} {found[0]['input']}: {words.format(**found[0].get('ctx', {}))}"


# Names of options in other programs, with their names here.
SYNONYMS = {"--format": "--to", "--output": "--out"}
# More options than these are left to the help.
FEW = 15


def _of_import(wrong: str, command: str | None) -> str | None:
    """Return a hint if a command that takes files of other tools lacks an option of `import`."""
    if command not in {"run", "check", "compare"}:
        return None
    own: Any = built(("import",))
    if not any(wrong in one.opts for one in own.commands["import"].params):
        return None
    return f"`backwater import FILE {wrong} …` has it, and writes a scenario for `{command}`"


def _meant(wrong: str, parameters: Sequence[Any]) -> str | None:
    """Return the options that may have been meant; typer's guess takes `--force` for `--format`."""
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
        "hint: please report this with the command, the scenario file and the versions "
        f"({versions}); BACKWATER_DEBUG=1 shows where it happened",
    )
