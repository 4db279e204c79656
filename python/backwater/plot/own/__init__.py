"""Charts of single studies, one file per study.

The file has the name of the study, with underscores. Its `CHARTS` holds functions of the outcome,
by the names that the study's figures use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.own import module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from altair.typing import ChartType


def charts(study: str) -> Mapping[str, Callable[..., ChartType]]:
    """Return the charts of a study, none if it has no file here."""
    own = module(__name__, study)
    found: Mapping[str, Callable[..., ChartType]] = {} if own is None else own.CHARTS
    return found
