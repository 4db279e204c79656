"""Charts of runs and studies, as Altair charts: for notebooks, slides and the report.

    run = backwater.open_run("results/incast")
    run.plot.completion()                   # a chart; `.save("figure.svg")` writes it

    from backwater import study
    study.open_study("results/sfc-aidc-2025").plot.completion()

Axes of charts have units. Groups and mechanisms have the colours of Okabe and Ito, and a shape or
dash as well. Importing this package enables the theme `backwater` for all charts of the session;
`altair.theme.enable("default")` disables it.
"""

from backwater.plot.run import RunPlots
from backwater.plot.study import StudyPlots
from backwater.plot.theme import enable

__all__ = ["RunPlots", "StudyPlots"]

enable()
