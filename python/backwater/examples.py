"""The example scenarios of Backwater: small, commented, and run by its tests."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from backwater.errors import InputError
from backwater.pickling import named_content
from backwater.wording import meant

# Resolved, since it is a link in the source tree.
SCENARIOS = (Path(__file__).resolve().parent / "scenarios").resolve()


@dataclass(frozen=True)
class Shipped:
    """An example scenario."""

    name: str
    title: str
    variants: tuple[str, ...]
    text: str
    tables: dict[str, bytes]
    """The files that it reads, by their names beside it."""


def names() -> list[str]:
    """Return the names of the examples."""
    return sorted(path.stem for path in SCENARIOS.glob("*.toml"))


def shipped(name: str) -> Shipped:
    """Return an example by its name. Raises `InputError` for an unknown name."""
    known = names()
    if name not in known:
        raise InputError(
            f"{name}: no example scenario has this name",
            f"{meant(name, known, 'the examples are')} (`backwater list scenarios`)",
        )
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    return Shipped(
        name,
        content.get("title", ""),
        tuple(content.get("variant", ())),
        text,
        named_content(text, (), SCENARIOS),
    )
