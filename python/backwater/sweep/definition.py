"""A sweep that a TOML file defines in a table `[sweep]`, with the meaning of the options."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from backwater.errors import InputError
from backwater.files import parted, text_of

Varied = str | int | float | bool | list[str | int | float | bool]


class Definition(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The keys of `[sweep]`."""

    scenario: str
    """FILE or FILE@VARIANT, relative to the file with the table."""
    vary: dict[str, Varied] = {}
    variants: list[str] = []
    seeds: int | str | None = None
    """`10`: ten from the scenario's own seed on; or `1..10`."""
    zip: list[list[str]] = []
    where: str | list[str] = []
    sample: str | None = None
    sample_seed: int = 1
    goal: str | None = None
    trials: int | None = None
    base: str | None = None
    metrics: list[str] = []
    keep: list[str] = []
    mechanisms: list[str] = msgspec.field(default_factory=list, name="with")
    set: dict[str, str | int | float | bool] = {}


def definition(path: Path) -> Definition | None:
    """Return the table `[sweep]` of a file; None: it has none. Raises `InputError`."""
    try:
        content = tomllib.loads(text_of(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        # The core reports faults of a scenario better.
        return None
    if "sweep" not in content:
        return None
    others = sorted(content.keys() - {"sweep"})
    if others:
        raise InputError(
            f"{path}: has [sweep] and `{others[0]}` beside it",
            "[sweep] needs a separate file that names the scenario: scenario = 'case.toml'",
        )
    try:
        found = msgspec.convert(content["sweep"], Definition)
    except msgspec.ValidationError as error:
        known = ", ".join(msgspec.structs.asdict(Definition(scenario="")))
        known = known.replace("mechanisms", "with")
        raise InputError(f"{path}: [sweep]: {error}", f"its keys are {known}") from None
    scenario, variant = parted(str(path.parent / found.scenario))
    if variant is not None and found.variants:
        raise InputError(
            f"{path}: [sweep]: scenario = {found.scenario!r} and variants: both name variants",
            "`variants` may list several: leave out that of the scenario",
        )
    if variant is not None:
        name = found.scenario.removesuffix(f"@{variant}")
        found = msgspec.structs.replace(found, scenario=name, variants=[variant])
    if not Path(scenario).is_file():
        raise InputError(
            f"{path}: [sweep]: scenario = {found.scenario!r}: there is no such file",
            f"its name is relative to {path.parent}",
        )
    return found
