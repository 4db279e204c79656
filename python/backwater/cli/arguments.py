"""Arguments that several commands share, and how they are read."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from backwater._core import ScenarioError
from backwater.cli import completing
from backwater.cli.output import message
from backwater.errors import InputError
from backwater.files import parted
from backwater.samples import MOST_SEEDS
from backwater.wording import labelled

if TYPE_CHECKING:
    from backwater import scenario

FORMS = "FILE or FILE@VARIANT; - reads stdin"
"""How a scenario is named."""
ABOUT_FILES = f"A scenario, {FORMS}. Or files of another tool that belong together."
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one value; may be given more than once. It switches no mechanism on.",
        autocompletion=completing.settings,
    ),
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="MECHANISM",
        help="Switch a mechanism on, as `--with sfc`; may be given more than once.",
        autocompletion=completing.mechanisms,
    ),
]


@dataclass(frozen=True)
class Changes:
    """Changes that a command makes in scenarios."""

    settings: Set = None
    mechanisms: With = None


@dataclass(frozen=True)
class Selection(Changes):
    """The variant of a scenario that a command takes, and changes in it."""

    variant: Annotated[
        str | None,
        typer.Option(
            "--variant",
            metavar="NAME",
            help="Apply this variant of the file, as FILE@VARIANT does.",
            autocompletion=completing.variants,
        ),
    ] = None


AS_IT_IS = Selection()
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write the result as JSON; - is stdout."),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="DIR", help="Directory of results; by default one below results/."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing results or files.")]
JsonProgress = Annotated[
    bool, typer.Option("--json-progress", help="Report progress as JSON lines on stderr.")
]
Allow = Annotated[
    bool,
    typer.Option(
        "--allow-unfinished", help="End with code 0, not 3, if runs are incomplete (see above)."
    ),
]

# The largest file that the simulator reads, in octets.
LONGEST = 16 << 20

# Several values as --vary takes them; sets of hosts, as in 0..7, have neither unit nor fraction.
SEVERAL = re.compile(
    r"\s*(\d[\d.]*\s*[A-Za-z%/]+|\d+\.\d+)\s*(\.\.|,)\s*\d|\s*\d+\s*\.\.\s*\d\S*\s+in\s+\d"
)


def error_text(error: Exception, given: Sequence[str] | None = None) -> str:
    """Return an error as the command prints it.

    A setting with several values gets the option that takes several. `given` are the words of the
    command, by default the program's: the text names those of them that make a file bad.
    """
    option, _, setting = str(getattr(error, "file", None) or "").partition(" ")
    key, _, value = setting.partition("=")
    if option != "--set":
        return labelled(_with_options(error, sys.argv[1:] if given is None else given))
    if key == "seed" and re.match(r"\d+ *(\.\.|,)", value):
        hint = "--seeds A..B runs several"
    elif SEVERAL.match(value):
        hint = f'`backwater sweep` takes several: --vary "{setting}"'
    else:
        return labelled(str(error))
    return f"error: --set {setting}: takes one value, not several\nhint: {hint}"


def _with_options(error: Exception, given: Sequence[str]) -> str:
    from backwater.cli.blame import blamed

    text = str(error)
    if (cause := blamed(error, given)) is None:
        return text
    begin, hint, end = text.rpartition("\nhint: ")
    return f"{begin}\n{cause}{hint}{end}" if hint else f"{text}\n{cause}"


@contextmanager
def option_of(names: Mapping[str, str]) -> Iterator[None]:
    """Have an error name the option at fault in place of the core's name of it."""
    try:
        yield
    except ScenarioError as error:
        option = names.get(error.key or "")
        if error.file is not None or option is None:
            raise
        raise InputError(f"{option}: {error.reason}", error.hint) from None


def overrides(settings: Sequence[str] | None) -> list[tuple[str, str]]:
    """Read `--set key=value`."""
    pairs = []
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"--set {setting}: not of the form KEY=VALUE",
                'for example --set "switch.buffer=400 KB"; `backwater explain` lists the keys',
            )
        pairs.append((key.strip(), value.strip()))
    return pairs


def read(
    file: str,
    selection: Selection = AS_IT_IS,
    *,
    beside: Sequence[str] = (),
    where_on: bool = False,
) -> scenario.Scenario:
    """Read a scenario as the command line selects it; `beside` is that of `backwater.load`.

    With `where_on` a setting of a mechanism that is off is skipped. Without it the setting is an
    error once the scenario is used.
    """
    from backwater import scenario

    pairs = overrides(selection.settings)
    file, variant = split_variant(file, selection.variant)
    if file == "-" and not beside:
        case = scenario.parse(_stdin(), "<stdin>")
    else:
        case = scenario.load(file, *beside)
    for note in case.facts.get("notes", ()):
        message(note)
    if variant is not None:
        case = case.variant(variant)
    return changed(case, pairs, selection.mechanisms, where_on=where_on)


def split_variant(file: str, variant: str | None) -> tuple[str, str | None]:
    """Return a file and its variant, which its name or `--variant` names.

    `variant` may name several for commands that take several. Raises `InputError` if both name one.
    """
    path, own = parted(file)
    if own is not None and variant is not None:
        raise InputError(
            f"{file} and --variant {variant}: each names a variant", "leave one of them out"
        )
    return path, variant if own is None else own


def changed(
    case: scenario.Scenario,
    pairs: Iterable[tuple[str, str]],
    mechanisms: Iterable[str] | None = None,
    *,
    where_on: bool = False,
) -> scenario.Scenario:
    """Return a scenario with mechanisms switched on and keys set."""
    pairs = list(pairs)
    for name in mechanisms or ():
        if (name, "false") in pairs:
            raise InputError(
                f"--with {name} and --set {name}=false exclude each other", "leave one of them out"
            )
        case = case.enable(name)
    for key, value in pairs:
        case = case.set(key, value, where_on=where_on)
    return case


def check_used(
    pairs: Sequence[tuple[str, str]], cases: Iterable[scenario.Scenario], everywhere: str
) -> None:
    """Refuse a setting whose mechanism is off in all scenarios; `everywhere` names them."""
    skipped = [{one["key"]: one for one in case.skipped} for case in cases]
    for key, value in pairs:
        if skipped and all(key in mine for mine in skipped):
            name = skipped[0][key]["mechanism"]
            raise InputError(
                f"--set {key}={value}: `{name}` is off in {everywhere}, and a setting does not "
                "switch it on",
                f"--with {name} switches it on",
            )


def _stdin() -> str:
    if sys.stdin is None:
        raise InputError("<stdin>: is closed", "name a scenario file, or pipe one to stdin")
    content = sys.stdin.buffer.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise InputError(
            f"<stdin>: more than {LONGEST >> 20} MiB are too many for a scenario",
            "put flow tables into their own files: flow.table",
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"<stdin>: not text: byte {error.start} is not UTF-8", "a scenario is a TOML text file"
        ) from None


def check_one_seed(seed: int | None, pairs: Iterable[tuple[str, str]]) -> None:
    """Refuse a setting of the seed beside `--seed`: one of the two would be ignored."""
    if seed is not None and any(key == "seed" for key, _ in pairs):
        raise InputError("--seed and --set seed exclude each other", "give one of them")


def seeds(text: str, first: int) -> list[int]:
    """Read `--seeds`: `N` is N seeds from `first` on, `A..B` is A to B inclusive."""
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text.strip())
    if match is None:
        raise InputError(
            f"--seeds {text}: neither a number N nor a range A..B", "--seeds 10, 1..10"
        )
    if match[2] is None:
        low, high = first, first + int(match[1]) - 1
    else:
        low, high = int(match[1]), int(match[2])
    if high < low:
        raise InputError(f"--seeds {text}: is an empty range", "--seeds 10, --seeds 1..10")
    if high - low >= MOST_SEEDS:
        raise InputError(
            f"--seeds {text}: more than {MOST_SEEDS} seeds", "for example --seeds 1..10"
        )
    return list(range(low, high + 1))
