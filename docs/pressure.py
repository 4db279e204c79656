"""Draws docs/pressure.svg, the README's first picture: one moment of a fabric under PFC and with SFC.

    python docs/pressure.py docs/pressure.svg

The scenario is scenarios/incast-victim.toml. The moment is the same in both: the first at which most ports are paused under PFC.
"""

import sys
import tempfile
from pathlib import Path

import backwater
from backwater.report import draw
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


def picture(folder: Path) -> str:
    scenario = backwater.load(ROOT / "scenarios" / "incast-victim.toml")
    film, named, runs = film_of(scenario, folder)
    paused = [track.held or [0] * film.frames for track in film.tracks]
    frame = paused[0].index(max(paused[0]))
    parts = [f'<rect width="100%" height="100%" rx="14" fill="{PAPER}"/>']
    for column, (track, run) in enumerate(zip(film.tracks, runs, strict=True)):
        said = f"{paused[column][frame]} ports paused; the victim, h5 to h1, takes {victim_us(run):.0f} us"
        parts.append(
            f'<g transform="translate({column * (WIDTH + 2 * PAD) + PAD:.0f} 24)">'
            + draw.words(0, 44, f"{track.label}, after {film.time_ps(frame) / 1e6:.0f} us", 50)
            + draw.words(0, 96, said, 36)
            + f'<g transform="translate(0 {HEAD - 24:.0f})">'
            + draw.fabric(film.layout, film.state(track, frame), named, text=TEXT)
            + "</g></g>"
        )
    bottom = HEAD + film.layout.height + 48
    parts.append(
        f'<g transform="translate({PAD} {bottom:.0f}) scale(2.7)">{draw.key(film.deepest)}</g>'
    )
    label = "A fabric of four leaves at one moment, under PFC and with Source Flow Control: links by use, what waits for them, and paused ports"
    return draw.svg(2 * (WIDTH + 2 * PAD), bottom + 120, parts, label)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[1]).write_text(picture(Path(folder)) + "\n", encoding="utf-8")
