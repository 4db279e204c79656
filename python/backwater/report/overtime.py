"""The parts of a page over time: the fabric, and charts that its slider moves as well."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from markupsafe import Markup

from backwater.errors import InputError
from backwater.plot import data
from backwater.plot.theme import clock
from backwater.programs import control_of, in_python
from backwater.report import draw
from backwater.report.film import Film, places, shoot, stills
from backwater.report.jobs import job_timelines
from backwater.report.key import Sign, signs
from backwater.report.layout import WIDTH
from backwater.report.looks import looks, port_edges
from backwater.report.page import Figure, Section, script_json
from backwater.wording import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.report.assumptions import Assumptions
    from backwater.report.observe import Observed
    from backwater.results import Run

STILLS = 3
SAMPLED = (
    ("queue", "What waited for the ports with the deepest queues."),
    (
        "throughput",
        "Payload that the receivers of each group got. Rates are means over steps: bursts at "
        "nearly the pace of the steps appear as a slow wave that does not exist.",
    ),
    ("paused", "When neighbours paused ports; a paused port sends nothing of the paused class."),
)
"""Charts of samples: the method of `run.plot`, and the caption."""


@dataclass(frozen=True)
class FilmPart:
    """A film as a part of the page."""

    id: str
    last: int
    tracks: list[dict[str, Any]]
    signs: list[Sign]
    caption: str
    data: Markup
    looks: Markup
    """JSON of the ports, flows and collectives that a reader can choose, run by run."""
    charts: list[Figure] = field(default_factory=list)
    """Charts over the same time; the film's slider moves a line on them."""
    kind: ClassVar[str] = "film"


def film_part(
    name: str,
    film: Film,
    runs: Sequence[Run],
    named: set[int],
    about: str,
    charts: list[Figure] | None = None,
) -> FilmPart:
    """Return a film as a part of the page; `runs` are those of its tracks."""
    tracks = []
    for track in film.tracks:
        marks = {edge: i for i, edge in enumerate(track.edges)}
        states = film.state(track, 0)
        drawn = draw.fabric(film.layout, states, named, marks, outages=track.outages)
        what = ", ".join(name.replace("\n", ", ") for name, _ in film.layout.rows)
        label = (
            f"The fabric under {track.label}: {what}. The line above reports how much waits and "
            "how many ports are paused; single ports can be chosen by name below."
        )
        picture = draw.svg(WIDTH, film.layout.height + 12, [drawn], label, 'class="fabric"')
        tracks.append({"label": track.label, "svg": Markup(picture)})
    caption = (
        f"{about}A step is {time_text(film.step_ps)}. Utilisation is the mean over a step, a queue "
        "is its deepest sample, and a port is marked if any sample found it paused. The strip "
        "above each fabric shows the sum of all queues over time."
    )
    caption += _unseen(film)
    if film.layout.aggregated:
        caption += " A line between blocks shows its busiest link and its deepest queue."
    packed = script_json(film.packed())
    explained = signs(film.deepest, film.faults)
    of_runs = []
    for track, run in zip(film.tracks, runs, strict=True):
        edges = port_edges(track.edges, places(film.layout, run))
        of_runs.append({"label": track.label, **looks(run, film, edges, len(runs))})
    picked = script_json(of_runs)
    return FilmPart(name, film.frames - 1, tracks, explained, caption, packed, picked, charts or [])


def film_figure(name: str, film: Film, named: set[int], counterpart: str = "") -> Figure:
    """Return the stills of a film, for slides and paper."""
    caption = (
        "The fabric at several moments: links by utilisation, what waits for them, paused ports."
        + _unseen(film)
    )
    return Figure(name, stills(film, named, STILLS), caption, counterpart)


def _unseen(film: Film) -> str:
    """Name the tracks whose pauses were not recorded."""
    blind = [track.label for track in film.tracks if track.held is None]
    return f" Pauses of {', '.join(blind)} were not recorded." if blind else ""


# A chart of a run: the name of the figure, the function that draws it, and the caption.
Wanted = tuple[str, "Callable[[], Any]", str]


def drawn(wanted: list[Wanted], of: str, missing: list[str]) -> list[Figure]:
    """Draw charts; `missing` gets the name and reason of each that cannot be drawn."""
    figures = []
    for name, chart, caption in wanted:
        try:
            figures.append(Figure(name, chart(), of + caption))
        except InputError as error:
            missing.append(f"{name} ({error.reason})")
    return figures


def not_drawn(missing: list[str]) -> list[str]:
    """Return a sentence with the charts that cannot be drawn, if any."""
    return [f"Not drawn: {'; '.join(missing)}."] if missing else []


def completion(run: Run, of: str = "") -> list[Figure]:
    """Draw completion times, for the section of results; nothing for a run without flows."""
    caption = "How many of a group's flows were complete within a time."
    return drawn([("completion", run.plot.completion, caption)], of, [])


def over_time(
    seen: Observed, assumptions: Assumptions, of: str = ""
) -> tuple[list[Section], Figure | None, list[str]]:
    """Return the section over time, the stills of its film, and the names of missing figures.

    `of` begins every caption: it names the run, if that is one of several.
    """
    run, missing = seen.run, list[str]()
    charts = drawn(
        [
            *((kind, getattr(run.plot, kind), caption) for kind, caption in SAMPLED),
            ("control", run.plot.control, "When mechanisms sent their messages."),
        ],
        of,
        missing,
    )
    film = None
    taken = all(data.recorded(run, name) for name in ("sent_bytes", "queue_bytes"))
    if taken and run.ports.num_rows > 0:
        try:
            film = shoot(assumptions.layout, [("this run", run)])
        except InputError as error:
            missing.append(f"film ({error.reason})")
    text = [of + seen.note] if seen.note else []
    if not taken:
        how = f"with {data.EVERYTHING}"
        if control_of(run) is not None:
            how = f"in its program: {in_python(data.SAMPLED, f'out=DIR, seed={run.seed}')}"
        text.append(
            f"To see queues, throughput and the fabric over time, run it {how} "
            "(a shorter interval takes more rows)."
        )
    if film is None:
        parts: list[Any] = list(charts)
        return (
            ([Section("over-time", "Over time", parts, text)] if parts or text else []),
            None,
            missing,
        )
    unit, _ = clock(data.window_of(run, None)[1])
    timed = [replace(chart, clock_ps=unit) for chart in charts]
    # Jobs come first: readers of a job's report look for what delayed it.
    timed = [*job_timelines(run, of)[1], *timed]
    part = film_part("film", film, [run], assumptions.named, of, timed)
    still = film_figure("fabric-stills", film, assumptions.named)
    section = Section("over-time", "The fabric over time", [part], text)
    return [section], replace(still, caption=of + still.caption), missing
