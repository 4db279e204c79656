"""The fabric over time: what each link did in each step, packed for the page, and stills of it.

One byte a direction, step and quantity: utilisation in hundredths of the rate, what waits in
255ths of the deepest queue of all films on the page, whether the port is paused. Where a drawn
direction stands for several ports it shows the busiest link, the deepest queue, and a pause of any.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.errors import InputError
from backwater.numbers.rows import scan
from backwater.numbers.units import BITS, PS_PER_S
from backwater.plot import data
from backwater.plot.theme import SHADES, clock
from backwater.report import draw
from backwater.report.faults import Outage, outages
from backwater.report.key import key
from backwater.report.layout import WIDTH, Layout
from backwater.wording import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.results import Run

FRAMES, FEWEST = 300, 60
"""Steps of a film at most, and at most where more than VALUES would be in it otherwise."""
VALUES = 400_000
"""Steps of all drawn directions together."""
DEEPEST = 255
LARGER = 1.6
"""Names of stills of two runs, against those of one."""


@dataclass
class Track:
    """One run as a film."""

    label: str
    busy: dict[draw.Edge, list[int]]
    """Percent of the rate, by step."""
    waiting: dict[draw.Edge, list[int]]
    """Bytes."""
    paused: dict[draw.Edge, list[int]]
    """0 or 1."""
    held: list[int] | None
    """Ports paused, by step; None where that was not looked at."""
    backlog: list[int]
    """Bytes that wait in all queues, by step."""
    outages: list[Outage] = field(default_factory=list)
    """Links that fail in this run."""

    @property
    def edges(self) -> list[draw.Edge]:
        """Directions on which anything happens."""
        return sorted({*self.busy, *self.waiting, *self.paused})


@dataclass
class Film:
    """Several runs of one network, over the same time."""

    layout: Layout
    begin_ps: int
    step_ps: int
    frames: int
    end_ps: int
    """The time of the last sample: the last step may be shorter than the others."""
    tracks: list[Track]
    deepest: int
    """Bytes of the deepest drawn queue."""
    waits: bool = False
    """Whether it was recorded what flows waited for."""

    def time_ps(self, frame: int) -> int:
        """Give the time at which a step ends."""
        return min(self.begin_ps + (frame + 1) * self.step_ps, self.end_ps)

    @property
    def faults(self) -> set[str]:
        """The signs of what fails in any of the runs."""
        return {one.sign for track in self.tracks for one in track.outages}

    def key(self, width: float) -> tuple[str, float]:
        """What its marks mean, as SVG of a width, and how high that is."""
        return key(self.deepest, self.faults, width)

    def _frame(self, time: int | None) -> int:
        """Give the first step that ends after a time."""
        if time is None:
            return self.frames
        return max(0, (time - self.begin_ps) // self.step_ps)

    def state(self, track: Track, frame: int) -> dict[draw.Edge, draw.State]:
        """Give what every direction is in a step."""
        zero = [0] * self.frames
        return {
            edge: draw.State(
                track.busy.get(edge, zero)[frame] / 100,
                track.waiting.get(edge, zero)[frame] / max(1, self.deepest),
                track.paused.get(edge, zero)[frame] > 0,
            )
            for edge in track.edges
        }

    def packed(self) -> dict[str, Any]:
        """Give what the page's script needs."""
        scale = DEEPEST / max(1, self.deepest)

        def text(values: Sequence[float]) -> str:
            return base64.b64encode(bytes(min(255, round(value)) for value in values)).decode()

        tracks = []
        for track in self.tracks:
            edges = track.edges
            tracks.append(
                {
                    "label": track.label,
                    "busy": [text(track.busy[e]) if e in track.busy else "" for e in edges],
                    "waiting": [
                        text([v * scale for v in track.waiting[e]]) if e in track.waiting else ""
                        for e in edges
                    ],
                    "paused": [text(track.paused[e]) if e in track.paused else "" for e in edges],
                    "held": track.held,
                    "backlog": track.backlog,
                    "faults": [
                        [self._frame(one.begin_ps), self._frame(one.end_ps)]
                        for one in track.outages
                    ],
                }
            )
        unit, name = clock(self.end_ps)
        return {
            "begin_us": self.begin_ps / 1e6,
            "step_us": self.step_ps / 1e6,
            "end_us": self.end_ps / 1e6,
            "frames": self.frames,
            "tracks": tracks,
            "shades": SHADES,
            "clock_ps": unit,
            "clock": name,
            "waits": self.waits,
            "scale": draw.scale_of(self.layout),
        }


def shoot(
    layout: Layout, runs: Sequence[tuple[str, Run]], window: Sequence[str] | None = None
) -> Film:
    """Make a film of runs that sampled queues and links, and pauses where they are to be seen."""
    windows = [data.window_of(run, window) for _, run in runs]
    begin, end = min(a for a, _ in windows), max(b for _, b in windows)
    intervals = {data.sampling_ps(run) for _, run in runs}
    interval = intervals.pop()
    if intervals or interval is None:
        raise InputError("the runs of a film were not sampled at the same interval")
    many = VALUES // max(1, 2 * len(layout.edges) * len(runs))
    grid, together = data.grid(begin, end, interval, min(FRAMES, max(FEWEST, many)))
    if grid.is_empty():
        raise InputError(
            "no sample lies within the time to be filmed: there is one every "
            f"{time_text(interval)}",
            "a shorter output.interval takes more",
        )
    frames = grid["step"].n_unique()
    step = together * interval
    tracks = [_track(layout, name, run, grid, frames, interval) for name, run in runs]
    deepest = max((max(values) for track in tracks for values in track.waiting.values()), default=0)
    first = int(grid["step"][0])
    waits = all(run.scenario.get("output", {}).get("waits") for _, run in runs)
    return Film(
        layout,
        first,
        step,
        frames,
        int(grid["time_ps"][-1]),
        tracks,
        deepest,
        waits,
    )


def _track(
    layout: Layout, label: str, run: Run, grid: pl.DataFrame, frames: int, interval: int
) -> Track:
    of = places(layout, run)
    # The last step may have fewer samples than the others. In Float64: products of whole numbers
    # wrap at 2^32 (a count) or 2^64 (rate times time), and say nothing.
    numbered = grid.select(
        "time_ps",
        frame=pl.col("step").rank("dense").cast(pl.Int64) - 1,
        seconds=pl.len().over("step").cast(pl.Float64) * (interval / PS_PER_S),
    )
    busy = _samples(run, "sent_bytes", numbered, of)
    waiting = _samples(run, "queue_bytes", numbered, of)
    paused = _samples(run, "paused", numbered, of)
    # The mean over a step of what a port sent; of several ports the busiest.
    able = pl.col("rate_bps").first().cast(pl.Float64) * pl.col("seconds").first()
    share = pl.col("value").sum().cast(pl.Float64) * BITS / able
    of_port = ["a", "b", "node", "port", "frame"]
    # A frame counts when it begins to be sent, and `rate_bps` is what the link has at the end.
    used = busy.group_by(of_port).agg(value=(100 * share).round().clip(upper_bound=100))
    queues = waiting.group_by([*of_port, "time_ps"]).agg(pl.col("value").sum())
    held = paused.select("node", "port", "frame").unique()
    whole = queues.group_by("time_ps", "frame").agg(pl.col("value").sum())
    return Track(
        label,
        _by_edge(used, frames),
        _by_edge(queues, frames),
        _by_edge(paused.with_columns(value=pl.lit(1)), frames),
        _line(held.group_by("frame").agg(value=pl.len()), frames)
        if data.recorded(run, "paused")
        else None,
        _line(whole.group_by("frame").agg(pl.col("value").max()), frames),
        outages(run.scenario, layout),
    )


def places(layout: Layout, run: Run) -> pl.DataFrame:
    """Between which blocks each port leads."""
    ports = scan(run, "ports")
    assert ports is not None
    rows = ports.select("node", "port", "peer", "rate_bps").collect()
    of = [
        (layout.of[layout.names[node]], layout.of[layout.names[peer]])
        for node, peer in zip(rows["node"], rows["peer"], strict=True)
    ]
    places = rows.with_columns(
        a=pl.Series([a for a, _ in of], dtype=pl.Int64),
        b=pl.Series([b for _, b in of], dtype=pl.Int64),
    )
    return places.filter(pl.col("a") != pl.col("b"))


def _samples(run: Run, quantity: str, grid: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    # Unlike a chart, a film leaves blank what was not sampled, and says so beside it.
    taken = data.samples(run, quantity).select("time_ps", "node", "port", "value").collect()
    at = grid.with_columns(pl.col("time_ps").cast(taken.schema["time_ps"]))
    return taken.join(at, on="time_ps").join(places, on=["node", "port"])


def _by_edge(values: pl.DataFrame, frames: int) -> dict[draw.Edge, list[int]]:
    """Give the greatest value of each direction in each step; 0 where there is none."""
    found: dict[draw.Edge, list[int]] = {}
    greatest = values.group_by("a", "b", "frame").agg(pl.col("value").max())
    for a, b, frame, value in greatest.select("a", "b", "frame", "value").iter_rows():
        found.setdefault((a, b), [0] * frames)[frame] = int(value)
    return found


def _line(values: pl.DataFrame, frames: int) -> list[int]:
    line = [0] * frames
    for frame, value in values.select("frame", "value").iter_rows():
        line[frame] = int(value)
    return line


def stills(film: Film, named: set[int], count: int = 4) -> str:
    """Draw moments of the film one below the other, a column a run, of the first two runs."""
    tracks = film.tracks[:2]
    # Two columns are half as large on a page: their names are larger, with room at the left.
    text = LARGER if len(tracks) > 1 else 1.0
    width, pad, head = WIDTH, 26.0 * text, 44.0 + 45 * (text - 1)
    cell = film.layout.height + head
    parts = []
    for row, frame in enumerate(_moments(film, count)):
        time = time_text(film.time_ps(frame))
        for column, track in enumerate(tracks):
            x, y = column * (width + 2 * pad) + pad, row * cell
            parts.append(
                f'<g transform="translate({x:.0f} {y:.0f})">'
                + draw.words(0, head - 16, f"{track.label}, {time}", 22)
                + f'<g transform="translate(0 {head:.0f})">'
                + _fabric(film, track, frame, named, text)
                + "</g></g>"
            )
    whole = len(tracks) * (width + 2 * pad)
    bottom = count * cell + 8
    place = f"translate({pad} {bottom:.0f}) scale({text})"
    signs, high = film.key((whole - 2 * pad) / text)
    parts.append(f'<g transform="{place}">{signs}</g>')
    # On a phone it is scrolled rather than shrunk beyond reading.
    wide = 'style="min-width: 1100px"' if len(tracks) > 1 else ""
    return draw.svg(
        whole, bottom + (high + 10) * text, parts, "the fabric at several moments", wide
    )


def _fabric(film: Film, track: Track, frame: int, named: set[int], text: float) -> str:
    states, time = film.state(track, frame), film.time_ps(frame)
    return draw.fabric(film.layout, states, named, text=text, outages=track.outages, time=time)


SLIDE = 1.35
"""Names of a moment on a slide, against those on a page."""
KEY = 1.2
"""The key on a slide, against that on a page."""


def moments(film: Film, named: set[int], most: int = 3) -> list[str]:
    """Draw the moment at which most waits in the first run, a drawing a run, for slides."""
    frame = max(range(film.frames), key=lambda n: film.tracks[0].backlog[n])
    left, top = 46 * (SLIDE - 1), 30.0
    signs, high = film.key((WIDTH + left) / KEY)
    made = []
    for track in film.tracks[:most]:
        time = time_text(film.time_ps(frame))
        bottom = film.layout.height + top + 8
        parts = [
            draw.words(0, 18, f"{track.label}, after {time}", 17),
            f'<g transform="translate({left:.0f} {top:.0f})">'
            + _fabric(film, track, frame, named, SLIDE)
            + "</g>",
            f'<g transform="translate(0 {bottom:.0f}) scale({KEY})">{signs}</g>',
        ]
        made.append(
            draw.svg(
                WIDTH + left, bottom + KEY * high + 8, parts, f"the fabric under {track.label}"
            )
        )
    return made


def _moments(film: Film, count: int) -> list[int]:
    """Choose steps: evenly over the time in which something waits in the first run."""
    busy = [i for i, waiting in enumerate(film.tracks[0].backlog) if waiting]
    last = busy[-1] if busy else film.frames - 1
    return [round(last * (i + 0.6) / count) for i in range(count)]
