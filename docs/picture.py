"""Draws docs/picture.svg, the picture of the README: published and measured slowdown of the victim.

    python docs/picture.py results/demo/table.json docs/picture.svg

The slowdown is the completion time over the analytic lower bound of an undisturbed flow.
"""

import json
import sys
from pathlib import Path

ROW, LEFT, RIGHT, TOP = 22, 190, 30, 64
WIDTH, SCALE_MAX = 860, 4.0
# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOUR = {"pfc": "#D55E00", "pfc+sfc": "#0072B2", "pfc+dcqcn": "#009E73"}
NAME = {"pfc": "PFC", "pfc+sfc": "PFC + SFC", "pfc+dcqcn": "PFC + DCQCN (simulator's profile)"}


def x(slowdown: float) -> float:
    return LEFT + (min(slowdown, SCALE_MAX) - 1) / (SCALE_MAX - 1) * (WIDTH - LEFT - RIGHT)


def text(at_x: float, at_y: float, words: str, anchor: str = "start", size: int = 13) -> str:
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def draw(rows: list[dict]) -> str:
    wanted = [
        r
        for r in rows
        if r["quantity"] == "victim_fct" and not r["against"] and r["case"] in {"1", "2", "3", "6"}
    ]
    parts, y = [], TOP
    for case in ("1", "2", "6", "3"):
        incast = {"1": "3 x 2 MB", "2": "3 x 20 MB", "6": "3 x 200 MB", "3": "6 x 2 MB"}[case]
        parts.append(text(12, y + ROW, f"case {case}: incast {incast}"))
        for row in (r for r in wanted if r["case"] == case):
            if row["mechanism"] not in COLOUR:
                continue
            y += ROW
            colour, middle = COLOUR[row["mechanism"]], y - 5
            published, measured = (
                x(row[k] / row["lower_bound"]) for k in ("published", "measured")
            )
            parts.append(
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{middle}" y2="{middle}" stroke="#eee"/>'
            )
            parts.append(f'<circle cx="{measured:.1f}" cy="{middle}" r="5.5" fill="{colour}"/>')
            parts.append(
                f'<circle cx="{published:.1f}" cy="{middle}" r="8" fill="none" stroke="#222" stroke-width="1.6"/>'
            )
            if row["measured"] / row["lower_bound"] > SCALE_MAX:
                parts.append(text(WIDTH - RIGHT + 8, middle + 4, "&#8594;", size=14))
        y += ROW // 2
    bottom = y + 10
    for tick in (1, 1.5, 2, 2.5, 3, 3.5, 4):
        parts.append(
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{bottom}" stroke="#ccc"/>'
        )
        parts.append(text(x(tick), bottom + 18, f"{tick:g}", "middle"))
    parts.append(
        text(
            (LEFT + WIDTH - RIGHT) / 2,
            bottom + 40,
            "completion time of the victim / its lower bound",
            "middle",
        )
    )
    at = 12.0
    for mechanism, colour in COLOUR.items():
        parts.append(f'<circle cx="{at + 6}" cy="36" r="5.5" fill="{colour}"/>')
        parts.append(text(at + 18, 40, NAME[mechanism]))
        at += 40 + 7.4 * len(NAME[mechanism])
    parts.append(
        f'<circle cx="{at + 8}" cy="36" r="8" fill="none" stroke="#222" stroke-width="1.6"/>'
    )
    parts.append(text(at + 24, 40, "published"))
    parts.append(
        text(
            12,
            16,
            "A victim beside an incast, 128 hosts at 200 Gb/s: published (IEEE 802.1, 2025) and reproduced",
            size=14,
        )
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 52}" font-family="sans-serif" fill="#222">'
    ground = f'<rect width="{WIDTH}" height="{bottom + 52}" fill="#fff"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


if __name__ == "__main__":
    table = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(draw(table), encoding="utf-8")
