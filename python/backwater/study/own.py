"""What one study alone has, such as its claims: a module called as the study, with underscores."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def module(package: str, study: str) -> ModuleType | None:
    """Give the module of a study in a package of such modules; None if it has none there."""
    name = f"{package}.{study.replace('-', '_')}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
