"""Quantities written as text, which the core reads, and factors between units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater._core import ScenarioError, base_units
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

PS_PER_US = 1e6
PS_PER_MS = 1e9
PS_PER_S = 1e12
BPS_PER_GBPS = 1e9
BITS = 8


def time_ps(text: str, name: str = "time") -> int:
    """Read a time such as `"5 ms"`, in ps. Raises `InputError`, which names it `name`."""
    return _read("time", text, name)


def size_bytes(text: str, name: str = "size") -> int:
    """Read a size such as `"10 KB"`, in bytes. Raises `InputError`, which names it `name`."""
    return _read("size", text, name)


def rate_bps(text: str, name: str = "rate") -> int:
    """Read a rate such as `"10 Gb/s"`, in b/s. Raises `InputError`, which names it `name`."""
    return _read("rate", text, name)


def window_ps(window: Sequence[str]) -> tuple[int, int]:
    """Read a window such as `["5 ms", "80 ms"]`, as begin and end in ps. Raises `InputError`."""
    if len(window) == 2:
        begin, end = (time_ps(edge, "window") for edge in window)
        if begin < end:
            return begin, end
    raise InputError(f"{list(window)} is not a window", 'a window is ["BEGIN", "END"]')


def _read(kind: str, text: str, name: str) -> int:
    try:
        return base_units(kind, text, name)
    except ScenarioError as error:
        raise InputError(f"{name}: {error.reason}", error.hint) from None
