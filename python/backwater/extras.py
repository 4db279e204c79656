"""Libraries that a bare wheel does without: who needs one is told what to install."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from backwater.errors import InputError

if TYPE_CHECKING:
    from types import ModuleType


def needed(module: str, extra: str) -> ModuleType:
    """Import a library that a bare wheel does without. Raises `InputError` if it is not there."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"the library {error.name} is not installed",
            f"pip install 'backwater[{extra}]' installs what this needs",
        ) from None
