"""Modules of one study, such as its claims, named as the study with underscores."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def module(package: str, study: str) -> ModuleType | None:
    """Return the module of a study in a package; None if the package has none for it."""
    name = f"{package}.{study.replace('-', '_')}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
