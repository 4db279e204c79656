"""Charts of single studies, a file a study.

The file is called as the study, with underscores; its `CHARTS` holds functions of the outcome by
the names that the study's figures call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.own import module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from altair.typing import ChartType


def charts(study: str) -> Mapping[str, Callable[..., ChartType]]:
    """Give the charts of a study, none if it has no file of them."""
    own = module(__name__, study)
    found: Mapping[str, Callable[..., ChartType]] = {} if own is None else own.CHARTS
    return found
