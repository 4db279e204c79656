"""A sweep as a TOML file says it, in a table `[sweep]`; the options of the command say the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from backwater.errors import InputError
from backwater.files import parted, text_of

Varied = str | int | float | bool | list[str | int | float | bool]


class Definition(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What `[sweep]` may say."""

    scenario: str
    """FILE or FILE@VARIANT; its name is relative to the file with the table."""
    vary: dict[str, Varied] = {}
    variants: list[str] = []
    seeds: int | str | None = None
    """`10` for as many from the scenario's own on, or `1..10`."""
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
    """Read the table `[sweep]` of a file; None if it has none. Raises `InputError`."""
    try:
        content = tomllib.loads(text_of(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        # What is wrong with a scenario, the core says better.
        return None
    if "sweep" not in content:
        return None
    others = sorted(content.keys() - {"sweep"})
    if others:
        raise InputError(
            f"{path}: has [sweep] and `{others[0]}` beside it",
            "a sweep has a file of its own, which names its scenario: scenario = 'case.toml'",
        )
    try:
        found = msgspec.convert(content["sweep"], Definition)
    except msgspec.ValidationError as error:
        known = ", ".join(msgspec.structs.asdict(Definition(scenario="")))
        known = known.replace("mechanisms", "with")
        raise InputError(f"{path}: [sweep]: {error}", f"it may say: {known}") from None
    scenario, variant = parted(str(path.parent / found.scenario))
    if variant is not None and found.variants:
        raise InputError(
            f"{path}: [sweep]: scenario = {found.scenario!r} and variants: both name variants",
            "variants may be several: leave out that of the scenario",
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
