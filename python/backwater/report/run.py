"""The report of one run, and of repeated runs of one scenario."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl
from markupsafe import Markup

from backwater.errors import InputError
from backwater.findings import headlines, over_runs, remarks, undone
from backwater.numbers.rows import scan
from backwater.numbers.run import group_times, port_totals
from backwater.plot import data
from backwater.report import draw
from backwater.report.assumptions import OUTPUT, Assumptions, recorded, tables_of
from backwater.report.film import Film, shoot, stills
from backwater.report.jobs import jobs_section
from backwater.report.layout import WIDTH
from backwater.report.page import Code, Column, Figure, Page, Section, Table, script_json
from backwater.saved import told
from backwater.wording import figure as number
from backwater.wording import offered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from backwater.reading import Series
    from backwater.results import Run

STILLS = 3
VARIANT = re.compile(r"variant ([^ ]+) \(")


@dataclass(frozen=True)
class FilmPart:
    """A film as the page shows it."""

    id: str
    last: int
    tracks: list[dict[str, Any]]
    key: Markup
    caption: str
    data: Markup
    kind: ClassVar[str] = "film"


def film_part(name: str, film: Film, named: set[int], about: str) -> FilmPart:
    """Make a film's part of the page."""
    tracks = []
    for track in film.tracks:
        marks = {edge: i for i, edge in enumerate(track.edges)}
        drawn = draw.fabric(film.layout, film.state(track, 0), named, marks)
        picture = draw.svg(
            WIDTH, film.layout.height + 12, [drawn], f"the fabric under {track.label}"
        )
        tracks.append({"label": track.label, "svg": Markup(picture)})
    caption = (
        f"{about}A step is {data.time_text(film.step_ps)}: utilisation is the mean over it, a "
        "queue its deepest sample, a port is marked if any sample found it paused. The strip above "
        "each fabric is all that waits, over time."
    )
    caption += _unseen(film)
    if film.layout.aggregated:
        caption += " A line between blocks shows its busiest link and its deepest queue."
    key = Markup(draw.key(film.deepest))
    return FilmPart(name, film.frames - 1, tracks, key, caption, script_json(film.packed()))


def film_figure(name: str, film: Film, named: set[int], counterpart: str = "") -> Figure:
    """Make the stills of a film, for slides and paper."""
    caption = (
        "The fabric at several moments: links by utilisation, what waits for them, paused ports."
        + _unseen(film)
    )
    return Figure(name, stills(film, named, STILLS), caption, counterpart)


def _unseen(film: Film) -> str:
    """Say of which tracks no pause can be shown."""
    blind = [track.label for track in film.tracks if track.held is None]
    return f" Pauses were not recorded of {', '.join(blind)}." if blind else ""


def run_page(run: Run) -> Page:
    """Report one run."""
    assumptions = Assumptions(run)
    return Page(
        title=str(run.manifest.get("title") or "A run"),
        kicker="Backwater: report of a run",
        failed=_sentences(undone(run.manifest)),
        lead=_lead(run),
        sections=[
            Section(
                "results",
                "Results",
                [groups_table(run)],
                [
                    *(f"{line}." for line in told(run.manifest.get("changed", ()))),
                    *map(offered, run.summary.get("offered", ())),
                    *_noticed(run.warnings),
                    *_warned(run.warnings),
                ],
            ),
            *run_sections(run, assumptions),
            *jobs_section(run),
            assumptions_section(assumptions),
            again_section(run),
        ],
        footer=footer(run),
        version=str(run.manifest["versions"]["backwater"]),
    )


def seeds_page(series: Series) -> Page:
    """Report repeated runs of one scenario: statistics over all, figures of the first."""
    runs = series.runs
    first = next((run for run in runs if run.status == "done"), runs[0])
    assumptions = Assumptions(first)
    seeds = [run.seed for run in runs]
    of = f"Seed {first.seed}, the first of {len(seeds)}. " if len(seeds) > 1 else ""
    partial = [str(run.seed) for run in runs if run.status != "done"]
    partly = (
        f"{len(seeds) - len(partial)} of these {len(seeds)} runs are complete; what is summed up "
        f"is theirs. Not complete: seed {', '.join(partial)}. Seeds that never began are not here."
    )
    found = over_runs([(run.seed, run.warnings) for run in runs if run.status == "done"])
    whole = run_sections(first, assumptions, of)
    return Page(
        title=str(first.manifest.get("title") or "Repeated runs"),
        kicker=f"Backwater: report of {len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}",
        failed=[*_sentences(headlines(found)), *([partly] if partial else [])],
        lead=[],
        sections=[
            Section(
                "results",
                "Results over the seeds",
                [_statistics(series)],
                [*_noticed(found), *_warned(found)],
            ),
            *whole,
            *jobs_section(first, of),
            assumptions_section(assumptions),
            again_section(first, f"--seeds {seeds[0]}..{seeds[-1]}"),
        ],
        footer=footer(first),
        version=str(first.manifest["versions"]["backwater"]),
    )


def _lead(run: Run) -> list[str]:
    facts = run.summary
    if run.status == "running" or "flows" not in facts:
        return []
    ports = port_totals(run)
    pauses = f"{ports['pauses_sent']:,} pauses sent; " if ports else ""
    said = (
        f"{_scenario(run)}{facts['flows_done']:,} of {facts['flows']:,} flows complete in "
        f"{data.time_text(facts['time_ps'])} of simulated time; {pauses}{facts['drops']:,} frames "
        f"dropped for want of memory; seed {run.seed}."
    )
    return [said]


def _scenario(run: Run) -> str:
    """Name the variants and settings by which the run is another than its file's own."""
    origins = (str(one["origin"]) for one in run.manifest["origins"])
    found = (VARIANT.match(origin) for origin in origins)
    variants = dict.fromkeys(one[1] for one in found if one is not None)
    words = [f"variant {name}" for name in variants]
    words += [f"--with {name}" for name in run.manifest.get("with") or ()]
    # What is recorded changes nothing of what happens.
    words += [
        f"--set {key}={value}"
        for key, value in (run.manifest.get("set") or {}).items()
        if not key.startswith(OUTPUT)
    ]
    said = ", ".join(words)
    return f"{said[0].upper()}{said[1:]}: " if words else ""


def _warned(warnings: list[dict[str, Any]]) -> list[str]:
    """Say what the check warned of before the run."""
    return [
        f"Warning: {one['message']}. {one['hint'][:1].upper()}{one['hint'][1:]}."
        for one in warnings
        if one["kind"] == "setting"
    ]


def _sentences(lines: list[str]) -> list[str]:
    return [f"{line[0].upper()}{line[1:]}." for line in lines]


def _noticed(warnings: list[dict[str, Any]]) -> list[str]:
    return [f"{one['message']}." for one in remarks(warnings)]


def assumptions_section(assumptions: Assumptions) -> Section:
    """Show what all of the page rests on."""
    return Section(
        "assumptions", "Assumptions", [assumptions.topology(), *assumptions.parameters()]
    )


def groups_table(run: Run) -> Table:
    """Sum up completion times by group of flows."""
    columns = [
        Column("group"),
        *(
            Column(title, number=True)
            for title in ("flows", "complete", "mean us", "p50 us", "p99 us", "max us")
        ),
        Column("time to"),
        Column("slowdown, median", number=True),
    ]
    rows = []
    found = group_times(run)
    # Without acknowledgements no flow has a last one.
    until = "ack" if any(one["fct_last_ack_us"] for one in found) else "byte"
    for one in found:
        took = one[f"fct_last_{until}_us"] or {}
        times = [
            number(None if (time := took.get(name)) is None else round(time, 2))
            for name in ("mean", "p50", "p99", "max")
        ]
        slowdown = (one["slowdown"] or {}).get("p50")
        rows.append(
            [
                one["group"],
                f"{one['flows']:,}",
                f"{one['complete']:,}",
                *times,
                f"last {'ACK' if until == 'ack' else until}",
                number(None if slowdown is None else float(f"{slowdown:.3g}")),
            ]
        )
    note = (
        "Times are of complete flows, from the start of the flow; p99 takes 100 of them. Slowdown "
        "is the time to the last byte over that in an idle network."
    )
    return Table(columns, rows, note=note)


def _statistics(series: Series) -> Table:
    rows = series.statistics.to_pylist()
    columns = [Column("of"), Column("quantity"), Column("unit"), Column("runs", number=True)]
    columns += [
        Column(c, number=True) for c in ("mean", "95 % interval from", "to", "least", "greatest")
    ]
    names = ("mean", "ci_low", "ci_high", "min", "max")
    shown = [row for row in rows if row["mean"]]
    return Table(
        columns,
        [
            [r["of"], r["quantity"], r["unit"], str(r["n"]), *(number(r[c]) for c in names)]
            for r in shown
        ],
        note="Intervals are of the mean, by Student's t. What is 0 in all runs is left out.",
    )


def run_sections(run: Run, assumptions: Assumptions, of: str = "") -> list[Section]:
    """Give the figures that a run's tables allow, and the film if it took samples.

    `of` begins every caption, such as which of several runs is shown.
    """
    figures: list[Any] = []
    wanted: list[tuple[str, Callable[[], Any], str]] = [
        (
            "completion",
            run.plot.completion,
            "How many of a group's flows were complete within a time.",
        ),
        (
            "slowdown",
            run.plot.slowdown,
            "Completion time over that of the same flow in an idle network.",
        ),
        ("queue", run.plot.queue, "What waited for the ports where most did."),
        (
            "throughput",
            run.plot.throughput,
            "Payload that the receivers of each group got. A rate is the mean over a step: bursts "
            "that come at nearly the pace of the steps show as a slow wave that is not there.",
        ),
        (
            "paused",
            run.plot.paused,
            "When neighbours held ports; a held port sends nothing of the held class.",
        ),
        (
            "pauses",
            run.plot.pauses,
            "Time paused and pauses received in the whole run, port by port.",
        ),
        ("control", run.plot.control, "Messages of the mechanisms, when they were sent."),
    ]
    missing = []
    for name, chart, caption in wanted:
        try:
            figures.append(Figure(name, chart(), of + caption))
        except InputError as error:
            missing.append(f"{name}: {error.reason}")
    sections = []
    taken = all(data.recorded(run, name) for name in ("sent_bytes", "queue_bytes"))
    if taken and run.ports.num_rows > 0:
        try:
            film = shoot(assumptions.layout, [("this run", run)])
        except InputError as error:
            missing.append(f"film: {error.reason}")
        else:
            still = film_figure("fabric-stills", film, assumptions.named)
            figures.append(replace(still, caption=of + still.caption))
            part = film_part("film", film, assumptions.named, of)
            sections.append(Section("over-time", "The fabric over time", [part]))
    text = [f"Not drawn. {'; '.join(missing)}."] if missing else []
    sections.insert(0, Section("figures", "Figures", figures, text))
    if not taken:
        text.append(
            "For queues, throughput and the fabric over time run it with "
            f"{data.EVERYTHING} (shorter intervals, more rows)."
        )
    return sections


def again_section(run: Run, seeds: str | None = None) -> Section:
    """Say how to do the run again, or all of its series: then `run` is the one that is shown."""
    which = seeds or f"--seed {run.seed}"
    of = "" if seeds is None else f" with seed {run.seed}"
    return Section(
        "again",
        "Run it again",
        [
            Code(f"backwater run scenario.toml {which} --out again\nbackwater report again"),
            Code(recorded(run), "scenario.toml, every value", folded=True),
        ],
        [
            "Save the text below as scenario.toml."
            + (f" Fingerprint of the result{of}: {run.fingerprint}." if run.fingerprint else ""),
            *_from_elsewhere(run),
        ],
    )


def _from_elsewhere(run: Run) -> list[str]:
    """Name the flows that the scenario's text alone does not give."""
    said = [
        f"The flows of {label} are read from {path}: where that file is not there, name another "
        "place of it in the group's `table`."
        for label, path in tables_of(run)
    ]
    known = {str(flow["label"]) for flow in run.scenario.get("flow", [])}
    flows = scan(run, "flows")
    if flows is not None and not run.scenario.get("job"):
        groups = flows.select(pl.col("group").unique(maintain_order=True)).collect()["group"]
        said += [
            f"The flows of {group} came from a table in Python, which is in no file: give it again "
            f'with scenario.flows(table, "{group}").'
            for group in groups
            if group not in known
        ]
    return said


def made_by(versions: Mapping[str, str]) -> str:
    """Name the program and its build."""
    return f"Backwater {versions['backwater']}, build {versions.get('build', 'unknown')}"


def footer(run: Run) -> str:
    """Say what made the page."""
    versions = made_by(run.manifest["versions"])
    where = "" if run.directory is None else f" Results: {shlex.quote(str(run.directory))}."
    return f"Made by {versions}; run on {run.manifest.get('started', '')[:10]}.{where}"
