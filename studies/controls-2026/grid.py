"""Write GRID.md: every measure of every scheme, with its 95 % interval, from a reproduction.

backwater reproduce controls-2026 --out results/controls
python studies/controls-2026/grid.py results/controls > studies/controls-2026/GRID.md
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from backwater.study import load, open_study
from backwater.study.key import TABLE, Key

if TYPE_CHECKING:
    from backwater.study import Outcome
    from backwater.study.definition import Beside, Measure
    from backwater.study.execute import Sample


def cell(sample: Sample, measure: Measure) -> str:
    """Return a mean and half of its 95 % interval; for a constant count, only the count."""
    mean, interval = sample.statistic("mean"), sample.interval()
    if mean is None:
        return sample.problem or "-"
    half = 0.0 if interval is None else (interval[1] - interval[0]) / 2
    if measure.unit == "":
        return f"{mean:.3f}" + (f" ± {half:.3f}" if half >= 0.0005 else "")
    if half == 0:
        return f"{mean:.6g}"
    digits = 2 if half < 0.1 else 1 if half < 10 else 0
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def by_scheme(outcome: Outcome, beside: Beside) -> list[str]:
    """Return a block without setups: one table for each case, one row for each scheme."""
    measures = [outcome.study.measure(name) for name in beside.shows]
    heads = [m.label + (f", {m.unit}" if m.unit and not m.counts else "") for m in measures]
    lines = [f"## {beside.title}", ""]
    for case in beside.cases:
        keys = {scheme: Key(case, scheme, TABLE) for scheme in beside.mechanisms}
        found = {s: outcome.points[key] for s, key in keys.items() if key in outcome.points}
        if not found:
            continue
        lines += [f"Case {case}: {outcome.study.case(case).text}", ""]
        lines += [f"| scheme | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
        for scheme, point in found.items():
            cells = (cell(point[measure.name], measure) for measure in measures)
            lines.append(f"| {scheme} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def by_setup(outcome: Outcome, beside: Beside) -> list[str]:
    """Return a block of setups: one table for each case and measure, one row for each scheme."""
    labels = {TABLE: beside.own, **{setup.id: setup.label for setup in beside.setups}}
    lines = [f"## {beside.title}", ""]
    lines += [f"- {one.label}: {one.text}" for one in beside.setups] + [""]
    refused: dict[str, list[str]] = {}
    for case in beside.cases:
        for measure in (outcome.study.measure(name) for name in beside.shows):
            table = []
            for scheme in beside.mechanisms:
                cells = []
                for setup in labels:
                    point = outcome.points.get(Key(case, scheme, setup))
                    sample = None if point is None else point[measure.name]
                    problem = "" if sample is None else sample.problem or ""
                    if problem.startswith("not valid"):
                        where = f"{scheme}, {labels[setup]}"
                        refused.setdefault(problem, []).append(where)
                    cells.append("-" if sample is None or problem else cell(sample, measure))
                table.append((scheme, cells))
            if all(one == "-" for _, cells in table for one in cells):
                continue
            unit = f", {measure.unit}" if measure.unit and not measure.counts else ""
            lines += [f"Case {case}: {measure.label}{unit}", ""]
            lines += [f"| scheme | {' | '.join(labels.values())} |", f"|---|{'---|' * len(labels)}"]
            lines += [f"| {scheme} | {' | '.join(cells)} |" for scheme, cells in table]
            lines.append("")
    for problem, places in refused.items():
        lines.append(f"- {'; '.join(dict.fromkeys(places))}: {problem}")
    return [*lines, ""]


def page(outcome: Outcome) -> str:
    """Return the page."""
    numbers = sorted({len(seeds) for seeds in outcome.seeds.values() if seeds})
    seeds = " or ".join(map(str, numbers))
    lines = [
        "# Every scheme in every scene",
        "",
        f"Means over {seeds} seeds, with half of the 95 % interval (Student's t). "
        "Written by grid.py; the schemes are in parameters.toml.",
        "",
    ]
    plain = load(outcome.study.id)
    full = outcome.study.size != plain.size
    known = {beside.id for beside in plain.beside} if full else set()
    for beside in (one for one in outcome.study.beside if one.id not in known):
        lines += (by_setup if beside.setups else by_scheme)(outcome, beside)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(open_study(sys.argv[1])))
