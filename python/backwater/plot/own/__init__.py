"""Charts of single studies, a file a study.

The file is called as the study, with underscores; its `CHARTS` holds functions of the outcome by
the names that the study's figures call.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from altair.typing import ChartType


def charts(study: str) -> Mapping[str, Callable[..., ChartType]]:
    """Give the charts of a study, none if it has no file of them."""
    name = f"{__name__}.{study.replace('-', '_')}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return {}
    found: Mapping[str, Callable[..., ChartType]] = module.CHARTS
    return found
