"""Reads the data of charts."""

from __future__ import annotations

import altair as alt
import polars as pl


def rows(chart: alt.TopLevelMixin, *columns: str) -> pl.DataFrame:
    """Return the first data set of a chart that has some columns."""
    found = [pl.DataFrame(data) for data in chart.to_dict()["datasets"].values()]
    return next(data for data in found if set(columns) <= set(data.columns))
