"""Imports optional libraries; if one is missing, the error names the extra to install."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from backwater.errors import InputError

if TYPE_CHECKING:
    from types import ModuleType


def needed(module: str, extra: str) -> ModuleType:
    """Import an optional library. Raises `InputError` if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(error.name or module, extra) from None


def see(module: str, extra: str) -> None:
    """Raise `InputError` if an optional library is not installed, without importing it."""
    if importlib.util.find_spec(module) is None:
        raise _missing(module, extra)


def _missing(module: str, extra: str) -> InputError:
    return InputError(
        f"the library {module} is not installed",
        f"pip install 'backwater[{extra}]' installs what this needs",
    )
