"""Draws the README's first picture: one moment of a fabric under PFC and with SFC.

    python docs/pressure.py docs

It writes pressure.svg, with both side by side, pressure-narrow.svg for phones, and both for dark screens.
The scenario is scenarios/incast-victim.toml. The moment is the same in both: the first at which most ports are paused under PFC.
"""

import math
import sys
import tempfile
from pathlib import Path

import backwater
from backwater.plot.shades import DARK, LIGHT, themed
from backwater.report import draw
from backwater.report import key as signs_key
from backwater.report.film import Film, shoot
from backwater.report.layout import WIDTH, lay_out

ROOT = Path(__file__).parent.parent
PAD, HEAD, TEXT = 56.0, 168.0, 1.9
PAPER = "#ffffff"


def film_of(
    scenario: backwater.Scenario, folder: Path
) -> tuple[Film, set[int], list[backwater.Run]]:
    runs: list[tuple[str, backwater.Run]] = []
    for label, changed in (
        ("PFC", scenario),
        ("PFC + Source Flow Control", scenario.variant("sfc")),
    ):
        for key, value in (
            ("output.interval", "1 us"),
            ("output.queues", "true"),
            ("output.links", "true"),
            ("output.pauses", "true"),
        ):
            changed = changed.set(key, value)
        runs.append((label, changed.run(out=folder / str(len(runs)))))
    sketch = scenario.complete().sketch(1, 1000)
    layout = lay_out(sketch)
    named = {layout.of[node] for _, way, *_ in sketch["flows"] for node in (way[0], way[-1])}
    return shoot(layout, runs), named, [run for _, run in runs]


def victim_us(run: backwater.Run) -> float:
    rows = run.flows.to_pylist()
    return next(row["fct_last_ack_ps"] for row in rows if row["group"] == "victim") / 1e6


def picture(film: Film, named: set[int], runs: list[backwater.Run], *, narrow: bool) -> str:
    """Draw both side by side, or one below the other with larger words."""
    paused = [track.held or [0] * film.frames for track in film.tracks]
    frame = paused[0].index(max(paused[0]))
    parts = [f'<rect width="100%" height="100%" rx="14" fill="{PAPER}"/>']
    high = HEAD + film.layout.height + 48
    for number, (track, run) in enumerate(zip(film.tracks, runs, strict=True)):
        said = f"{paused[number][frame]} ports paused; the victim, h5 to h1, takes {victim_us(run):.0f} us"
        x, y = (0.0, number * high) if narrow else (number * (WIDTH + 2 * PAD), 0.0)
        parts.append(
            f'<g transform="translate({x + PAD:.0f} {y + 24:.0f})">'
            + draw.words(0, 44, f"{track.label}, after {film.time_ps(frame) / 1e6:.0f} us", 50)
            + draw.words(0, 96, said, 40 if narrow else 36)
            + f'<g transform="translate(0 {HEAD - 24:.0f})">'
            + draw.fabric(film.layout, film.state(track, frame), named, text=TEXT)
            + "</g></g>"
        )
    bottom = high * (2 if narrow else 1)
    width = (1 if narrow else 2) * (WIDTH + 2 * PAD)
    drawn, below = legend(film.deepest, bottom, width - 2 * PAD, narrow=narrow)
    parts.append(drawn)
    label = "A fabric of four leaves at one moment, under PFC and with Source Flow Control: links by use, what waits for them, and paused ports"
    return draw.svg(width, below, parts, label)


def legend(deepest: int, top: float, room: float, *, narrow: bool) -> tuple[str, float]:
    """Draw what the signs mean, on a phone one below the other; and say how far down that reaches."""
    if not narrow:
        size = min(2.7, room / sum(map(signs_key.room, signs_key.signs(deepest))))
        place = f'<g transform="translate({PAD} {top:.0f}) scale({size:.3f})">'
        return f"{place}{signs_key.key(deepest, (), math.inf)[0]}</g>", top + 44 * size
    signs = signs_key.signs(deepest)
    size = min(2.4, *(room / (one.width + 8 + 8.4 * len(one.text)) for one in signs))
    rows = [
        f'<g transform="translate({PAD} {top + 36 * size * n:.0f}) scale({size:.3f})">{one.drawn}'
        + draw.words(one.width + 8, 25, one.text, 16)
        + "</g>"
        for n, one in enumerate(signs)
    ]
    return "".join(rows), top + 36 * size * len(rows) + 24


def write(folder: Path) -> None:
    scenario = backwater.load(ROOT / "scenarios" / "incast-victim.toml")
    with tempfile.TemporaryDirectory() as runs:
        film, named, done = film_of(scenario, Path(runs))
        for narrow, size in ((False, ""), (True, "-narrow")):
            drawn = picture(film, named, done, narrow=narrow)
            for theme, name in ((LIGHT, ""), (DARK, "-dark")):
                text = themed(drawn, theme) + "\n"
                (folder / f"pressure{size}{name}.svg").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
