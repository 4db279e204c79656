"""Frames of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import _core

if TYPE_CHECKING:
    from pathlib import Path

Frame = dict[str, Any]


def read(file: Path) -> list[Frame]:
    """The frames of a capture, as the codec reads them."""
    items: list[Frame] = []
    _core.read_capture(str(file), items.append)
    assert all("kind" in item for item in items), items
    return items
