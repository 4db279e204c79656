"""One chart of several runs over the same time, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from backwater.errors import InputError
from backwater.plot import data
from backwater.plot.run import RunPlots
from backwater.plot.theme import title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from altair.typing import ChartType

    from backwater.results import Run


def together(
    kind: str,
    observed: Sequence[tuple[str, Run]],
    *lines: str,
    **of: Any,  # noqa: ANN401 - as the chart of a run
) -> ChartType:
    """Draw the chart `kind` of runs (`queue`, `throughput`, ...) over the same time.

    `observed` are runs with their labels; `lines` and other arguments go to the chart. A note names
    runs with nothing to draw. Raises `InputError` if no run has anything to draw.
    """
    windows = [data.window_of(run, of.get("window")) for _, run in observed]
    whole_time = (min(a for a, _ in windows), max(b for _, b in windows)) if windows else None
    cells = []
    empty: list[InputError] = []
    notes = []
    for label, run in observed:
        try:
            chart: Any = getattr(RunPlots(run, whole_time), kind)(*lines, **of)
        except InputError as error:
            empty.append(error)
            notes.append(f"{label}: {error.reason}")
            continue
        below, heading = chart.title.subtitle, chart.title.text
        cell = chart.properties(title=title(label, *below))
        cells.append(cell if kind == "paused" else cell.properties(height=170))
    if empty and not cells:
        raise empty[0]
    if not cells:
        raise InputError("nothing to draw: none of these points was run")
    # Runs share scales, so that heights and lengths can be compared.
    whole = alt.vconcat(*cells, title=title(heading, *notes))
    # One call, since a second one would replace the first.
    scales: dict[str, Any] = {"x": "shared"} if kind == "paused" else {"x": "shared", "y": "shared"}
    drawn: ChartType = whole.resolve_scale(**scales)
    return drawn
