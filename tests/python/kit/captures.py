"""Frames of a capture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backwater import _core

Frame = dict[str, Any]


def read(file: Path) -> list[Frame]:
    """Return the frames of a capture, as the codec reads them."""
    items: list[Frame] = []
    _core.read_capture(str(file), items.append)
    assert all("kind" in item for item in items), items
    return items
