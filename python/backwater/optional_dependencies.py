"""Libraries that a bare wheel does without: who needs one is told what to install."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from backwater.errors import InputError

if TYPE_CHECKING:
    from types import ModuleType


def needed(module: str, extra: str) -> ModuleType:
    """Import a library that a bare wheel does without. Raises `InputError` if it is not there."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(error.name or module, extra) from None


def see(module: str, extra: str) -> None:
    """See that such a library is there, without the time to import it. Raises `InputError`."""
    if importlib.util.find_spec(module) is None:
        raise _missing(module, extra)


def _missing(module: str, extra: str) -> InputError:
    return InputError(
        f"the library {module} is not installed",
        f"pip install 'backwater[{extra}]' installs what this needs",
    )
