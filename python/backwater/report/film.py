"""The fabric over time: the state of each link in each step, packed for the page, and stills of it.

Each direction has one byte for each step and quantity: utilisation in percent, the queue in 255ths
of the deepest one of the film, and 1 for a paused port. A drawn direction of several ports shows
the busiest link, the deepest queue, and a pause of any port.
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
"""Most steps of a film; no fewer than FEWEST, though VALUES limits them further."""
VALUES = 400_000
"""Most steps of all drawn directions together."""
DEEPEST = 255
LARGER = 1.6
"""Size of names in stills of two runs, relative to those of one."""


@dataclass
class Track:
    """One run as a film."""

    label: str
    busy: dict[draw.Edge, list[int]]
    """Utilisation in percent, by step."""
    waiting: dict[draw.Edge, list[int]]
    """Bytes that wait, by step."""
    paused: dict[draw.Edge, list[int]]
    """1 while paused, by step."""
    held: list[int] | None
    """Number of paused ports, by step; None if pauses were not recorded."""
    backlog: list[int]
    """Bytes that wait in all queues, by step."""
    outages: list[Outage] = field(default_factory=list)
    """Links that fail in this run."""

    @property
    def edges(self) -> list[draw.Edge]:
        """Directions that send, queue or are paused in any step."""
        return sorted({*self.busy, *self.waiting, *self.paused})


@dataclass
class Film:
    """One or several runs of one network, over the same time."""

    layout: Layout
    begin_ps: int
    step_ps: int
    frames: int
    end_ps: int
    """Time of the last sample; the last step may be shorter than the others."""
    tracks: list[Track]
    deepest: int
    """Bytes of the deepest drawn queue."""
    waits: bool = False
    """True if the runs recorded what flows waited for."""

    def time_ps(self, frame: int) -> int:
        """Return the time at which a step ends, in ps."""
        return min(self.begin_ps + (frame + 1) * self.step_ps, self.end_ps)

    @property
    def faults(self) -> set[str]:
        """The signs of the faults of all runs."""
        return {one.sign for track in self.tracks for one in track.outages}

    def key(self, width: float) -> tuple[str, float]:
        """Return the key of its signs as SVG of at most `width`, and its height."""
        return key(self.deepest, self.faults, width)

    def _frame(self, time: int | None) -> int:
        """Return the first step that ends after a time in ps; with None, the number of steps."""
        if time is None:
            return self.frames
        return max(0, (time - self.begin_ps) // self.step_ps)

    def state(self, track: Track, frame: int) -> dict[draw.Edge, draw.State]:
        """Return the state of all directions in a step."""
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
        """Return the data of the film for the page's script."""
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
    """Make a film of labelled runs that sampled queues and links, and pauses if these are shown.

    Raises `InputError` if the runs have no common steps.
    """
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
            f"no sample lies within the time of the film: samples are {time_text(interval)} apart",
            "a shorter output.interval takes more samples",
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
    # The last step may have fewer samples. Products are Float64, since those of integers overflow
    # silently at 2^32 (a count) or 2^64 (rate times time).
    numbered = grid.select(
        "time_ps",
        frame=pl.col("step").rank("dense").cast(pl.Int64) - 1,
        seconds=pl.len().over("step").cast(pl.Float64) * (interval / PS_PER_S),
    )
    busy = _samples(run, "sent_bytes", numbered, of)
    waiting = _samples(run, "queue_bytes", numbered, of)
    paused = _samples(run, "paused", numbered, of)
    # The mean over a step of what a port sent; for several ports, the busiest.
    able = pl.col("rate_bps").first().cast(pl.Float64) * pl.col("seconds").first()
    share = pl.col("value").sum().cast(pl.Float64) * BITS / able
    of_port = ["a", "b", "node", "port", "frame"]
    # Above 100 %: a frame counts when it begins, and `rate_bps` is the rate at the end of the run.
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
    """Return node, port, rate and the blocks `a` and `b` of each port that joins two blocks."""
    ports = scan(run, "ports")
    assert ports is not None
    rows = ports.select("node", "port", "peer", "rate_bps").collect()
    of = {name: layout.of[node] for name, node in layout.names.items()}
    a, b = (
        pl.col(end).cast(pl.String).replace_strict(of, return_dtype=pl.Int64)
        for end in ("node", "peer")
    )
    return rows.with_columns(a=a, b=b).filter(pl.col("a") != pl.col("b"))


def _samples(run: Run, quantity: str, grid: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    # Unlike a chart, a film leaves blank what was not sampled: its caption reports it.
    taken = data.samples(run, quantity).select("time_ps", "node", "port", "value").collect()
    at = grid.with_columns(pl.col("time_ps").cast(taken.schema["time_ps"]))
    return taken.join(at, on="time_ps").join(places, on=["node", "port"])


def _by_edge(values: pl.DataFrame, frames: int) -> dict[draw.Edge, list[int]]:
    """Return the greatest value of each direction in each step; 0 without one."""
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
    """Draw `count` moments of the film in rows, with a column for each of the first two runs."""
    tracks = film.tracks[:2]
    # Two columns are half as large on a page, so their names are larger, with room on the left.
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
    # On a phone it scrolls: smaller names would be illegible.
    wide = 'style="min-width: 1100px"' if len(tracks) > 1 else ""
    return draw.svg(
        whole, bottom + (high + 10) * text, parts, "the fabric at several moments", wide
    )


def _fabric(film: Film, track: Track, frame: int, named: set[int], text: float) -> str:
    states, time = film.state(track, frame), film.time_ps(frame)
    return draw.fabric(film.layout, states, named, text=text, outages=track.outages, time=time)


SLIDE = 1.35
"""Size of names on a slide, relative to a page."""
KEY = 1.2
"""Size of the key on a slide, relative to a page."""


def moments(film: Film, named: set[int], most: int = 3) -> list[str]:
    """Draw the moment when most bytes wait in the first run, for slides: a drawing for each run."""
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
    """Choose steps evenly over the time in which bytes wait in the first run."""
    busy = [i for i, waiting in enumerate(film.tracks[0].backlog) if waiting]
    last = busy[-1] if busy else film.frames - 1
    return [round(last * (i + 0.6) / count) for i in range(count)]
