"""Describes in words how two sweeps differ."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def in_order(axes: Sequence[Mapping[str, Any]]) -> list[tuple[str, str | None]]:
    """Return keys and their units, sorted."""
    return sorted((one["key"], one["unit"]) for one in axes)


def named(axes: Sequence[Mapping[str, Any]]) -> str:
    """List keys, with the unit or kind of their values, for people."""
    kinds = (
        f"{one['key']} ({'texts' if one['unit'] is None else one['unit'] or 'numbers'})"
        for one in axes
    )
    return ", ".join(kinds) or "nothing"


def difference(before: str, now: str) -> str:
    """Return the first value, in the order of keys, in which two scenarios differ."""
    old, new = (dict(_flat(tomllib.loads(text))) for text in (before, now))
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) != new.get(key):
            return f"{key} is {new.get(key, 'absent')}, and was {old.get(key, 'absent')}"
    return "its values differ"


def _flat(part: object, above: str = "") -> Iterator[tuple[str, object]]:
    entries: Any = part.items() if isinstance(part, dict) else enumerate(part)  # type: ignore[arg-type]
    for key, value in entries:
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, dict) or (
            isinstance(value, list) and value and isinstance(value[0], dict)
        ):
            yield from _flat(value, name)
        else:
            yield name, value
