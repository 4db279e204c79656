"""The report of a comparison: winners by metric, completion times, and fabrics side by side."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.comparison import NOT_TOLD, OTHERS, UNLIKE, judged
from backwater.errors import InputError
from backwater.findings import headlines, over_runs
from backwater.numbers.rows import scan
from backwater.numbers.run import groups
from backwater.plot import data
from backwater.plot import seeds as charts
from backwater.plot.theme import clock
from backwater.plot.together import together
from backwater.report.assumptions import ABSENT, OUTPUT, Assumptions
from backwater.report.film import shoot
from backwater.report.observe import interval, observed
from backwater.report.overtime import SAMPLED, drawn, film_figure, film_part, not_drawn
from backwater.report.page import Code, Column, Page, Section, Table, header
from backwater.report.run import changes, made_by, sentences, warned
from backwater.samples import too_few
from backwater.wording import difference, digits, given_up_ports, many, percent, series, with_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from backwater.reading import Comparison
    from backwater.report.observe import Observed
    from backwater.results import Run
    from backwater.running import Progress

GROUPS = 6
"""Most groups of flows whose completion times are drawn."""
PORTS = 4
"""Most ports whose queues are drawn."""
TOLD = 3
"""Most metrics of each winner that the first sentence names."""
DIFFERENT = 40
"""Most parameters that differ in the open table."""


def compare_page(
    comparison: Comparison,
    rerun: bool | None = None,
    progress: Callable[[int], Progress | None] | None = None,
    seen: Mapping[str, Observed] | None = None,
) -> Page:
    """Report the results of `backwater compare`; `rerun` is that of `backwater.report.of`.

    `seen` is the result of `look`, for callers that have it already.
    """
    manifest = comparison.manifest
    labels = labels_of(list(comparison.runs))
    runs = labelled_runs(comparison)
    failed = [
        f"{labels[entry['scenario']]}: {line}"
        for entry in manifest["scenarios"]
        for line in headlines(entry.get("warnings") or [])
    ]
    if comparison.manifest["status"] != "done":
        failed.insert(0, f"The comparison is {manifest['status']}: runs are missing")
    seeds = manifest.get("seeds") or []
    least = float(manifest.get("least") or 0)
    said = [
        f"{labels[entry['scenario']]}: {given_up_ports(ports)}."
        for entry in manifest["scenarios"]
        if (ports := entry.get("given_up"))
    ]
    sections = [_results(comparison.rows, labels, runs, least, [*said, *_warned(runs)])]
    if runs:
        sections += _over_time(runs, look(runs, rerun, progress) if seen is None else seen)
        sections.append(_assumptions(runs))
    sections.append(_again(comparison))
    versions = manifest["versions"]
    return Page(
        title=" against ".join(labels.values()),
        kicker=f"Backwater: comparison of {len(labels)} scenarios over {len(seeds)} seeds",
        failed=sentences(failed),
        lead=_lead(comparison.rows, labels, len(seeds)),
        sections=sections,
        footer=f"Made by {made_by(versions)}. Results: {shlex.quote(str(comparison.directory))}.",
        version=str(versions["backwater"]),
    )


def labelled_runs(comparison: Comparison) -> dict[str, list[Run]]:
    """Return the runs of each scenario that has any, by its short name."""
    labels = labels_of(list(comparison.runs))
    return {labels[name]: mine for name, mine in comparison.runs.items() if mine}


def groups_of(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """Return the groups of flows of compared runs, each once."""
    return list(dict.fromkeys(label for mine in runs.values() for label in groups(mine[0])))


def labels_of(names: Sequence[str]) -> dict[str, str]:
    """Return the file name of each scenario, or its whole name if file names are not unique."""
    short = [name.rsplit("/", 1)[-1].replace(".toml", "") for name in names]
    return dict(zip(names, short if len(set(short)) == len(names) else names, strict=True))


def _lead(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str], seeds: int) -> list[str]:
    """Return sentences on which scenario is better in which metrics."""
    if (few := too_few(seeds)) is not None:
        return [few]
    won: dict[str, list[str]] = {}
    for row in rows:
        winners = [labels[name] for name in row["winners"]]
        if 0 < len(winners) < _with_values(row):
            who = " or ".join(winners) if row["verdict"] == NOT_TOLD else series(winners)
            verb = "is" if len(winners) == 1 or row["verdict"] == NOT_TOLD else "are"
            won.setdefault(f"{who} {verb}", []).append(f"{row['metric']}{_ahead(row)}")
    against = "the next" if len(labels) > 2 else "the other"
    said = []
    for who, metrics in won.items():
        more = len(metrics) - TOLD
        some = [*metrics[:TOLD], *([f"{more} more"] if more > 0 else [])]
        of = f", against {against}" if any(told.endswith(")") for told in metrics[:TOLD]) else ""
        said.append(f"{who} better in {series(some)}{of}.")
    return said or ["No scenario is better in any metric by as much as matters."]


def _with_values(row: Mapping[str, Any]) -> int:
    return sum(one["mean"] is not None for one in row["scenarios"])


def _ahead(row: Mapping[str, Any]) -> str:
    """Return the lead of the winner over the next, as text; empty if several may be the best."""
    if row["verdict"] == NOT_TOLD:
        return ""
    sign = -1 if row["better"] == "more" else 1
    means = {one["scenario"]: one["mean"] for one in row["scenarios"] if one["mean"] is not None}
    best = min((means[name] for name in row["winners"]), key=lambda mean: sign * mean)
    beaten = [mean for name, mean in means.items() if name not in row["winners"]]
    following = min(beaten, key=lambda mean: sign * mean)
    share = best / following - 1 if following else 0.0
    return f" ({percent(share)})" if abs(share) >= 0.0005 else ""


def _results(
    rows: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str],
    runs: Mapping[str, Sequence[Run]],
    least: float,
    warnings: Sequence[str],
) -> Section:
    of_groups = groups_of(runs)
    wanted: list[tuple[str, Callable[[], Any], str]] = []
    shares, base = _shares(rows, labels)
    if shares:
        shown = [name for name in labels.values() if any(s["scenario"] == name for s in shares)]
        said = "Differences of the others, in percent of the first scenario's mean."
        if from_zero := [row["metric"] for row in rows if _from_zero(row)]:
            said += f" Not drawn: {series(from_zero)}, with a mean of 0 there. The table has them."
        every = list(labels.values())
        chart = lambda: charts.differences(shares, shown, base, every)  # noqa: E731
        wanted.append(("differences", chart, said))
    for n, group in enumerate(of_groups[:GROUPS]):
        lines = {
            name: ([run for run in mine if run.status == "done"], group)
            for name, mine in runs.items()
        }
        wanted.append(
            (
                f"completion-{n + 1}",
                lambda lines=lines, group=group: charts.completion(  # type: ignore[misc]
                    lines, f"Completion times of {group}"
                ),
                f"Share of all flows of {group} complete within a time, over the seeds.",
            )
        )
    left = [f"Only the first {GROUPS} of {len(of_groups)} groups are drawn."]
    text = [*(left if len(of_groups) > GROUPS else []), *warnings]
    return Section(
        "results", "Results", [*drawn(wanted, "", []), _table(rows, labels, least)], text
    )


def _warned(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """Return warnings of checks and remarks on runs, each once, with the scenarios that have it."""
    found: dict[str, list[str]] = {}
    for name, mine in runs.items():
        over = over_runs([(run.seed, run.warnings) for run in mine])
        done = [run for run in mine if run.status == "done"]
        for line in warned(mine[0].warnings, over, done):
            found.setdefault(line, []).append(name)
    return [line if len(of) == len(runs) else f"{series(of)}: {line}" for line, of in found.items()]


def _from_zero(row: Mapping[str, Any]) -> bool:
    """Return True if a metric is 0 in the base and not in all others."""
    means = {one["scenario"]: one["mean"] for one in row["scenarios"]}
    return means.get(row["against"]) == 0 and any(means.values())


def _shares(
    rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str]
) -> tuple[list[dict[str, Any]], str]:
    """Return differences with intervals as shares of the base's mean, and the name of the base."""
    found, base = [], ""
    for row in rows:
        of = next((s for s in row["scenarios"] if s["scenario"] == row["against"]), None)
        if of is None or not of["mean"] or row["verdict"] in (UNLIKE, OTHERS):
            continue
        base = labels[row["against"]]
        for one in row["scenarios"]:
            more = one["difference"]
            if more is None or more["ci_low"] is None:
                continue
            low, high = sorted((more["ci_low"] / of["mean"], more["ci_high"] / of["mean"]))
            if not (low or high):
                continue
            # No metric can be negative.
            low = max(low, -1.0)
            name, share = labels[one["scenario"]], more["mean"] / of["mean"]
            found.append(
                {"metric": row["metric"], "scenario": name, "share": share}
                | {"low": low, "high": high}
            )
    return found, base


def _table(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str], least: float) -> Table:
    first, *others = labels.values()
    columns = [*header(["metric"], [*labels.values(), "samples"]), Column("better")]
    told = []
    zero: list[str] = []
    for row in rows:
        of = {labels[one["scenario"]]: one for one in row["scenarios"]}
        if all(one["mean"] in (None, 0) for one in of.values()):
            zero += [row["metric"]] if any(one["mean"] == 0 for one in of.values()) else []
            continue
        winners = [labels[one] for one in row["winners"]]
        told.append(
            [
                with_unit(row["metric"], row["unit"]),
                digits(of[first]["mean"], 6),
                *(_beside(of[name]) for name in others),
                _samples(of.values()),
                judged(row["verdict"], winners, _with_values(row)),
            ]
        )
    note = (
        f"Means over the seeds; in brackets the difference against {first}, taken seed by seed, "
        "± half of its 95 % interval (Student's t). Samples: complete flows or parts of jobs, of "
        "the seed with fewest. The difference of a better one is clear of zero, and at least "
        f"{100 * least:g} %; scenarios are equal if the whole interval lies within that."
    )
    if any(row["verdict"] == UNLIKE for row in rows):
        note += (
            f" {UNLIKE.capitalize()}: bounds, times of flows alone, or the time over which queues "
            "were sampled differ between scenarios, and which one is better depends on that."
        )
    if any(row["verdict"] == OTHERS for row in rows):
        note += (
            f" {OTHERS.capitalize()}: times are of complete flows, and these are not the same in "
            "all scenarios. A scenario that completes only its fast flows is no faster."
        )
    note += f" All 0: {', '.join(zero)}." if zero else ""
    return Table(columns, told, "Every metric", note)


def _samples(scenarios: Iterable[Mapping[str, Any]]) -> str:
    """Return the number of flows or parts of jobs of each value, with that of all if it is less."""
    told = [
        str(one["flows"]) if one["of_flows"] is None else f"{one['flows']} of {one['of_flows']}"
        for one in scenarios
        if one["flows"] is not None
    ]
    return ", ".join(told if len(set(told)) > 1 else told[:1]) or "-"


def _beside(one: Mapping[str, Any]) -> str:
    """Return a mean with its difference from the first scenario."""
    mean = digits(one["mean"], 6)
    return mean if one["difference"] is None else f"{mean} ({_difference(one['difference'])})"


def _difference(of: Mapping[str, Any]) -> str:
    return difference(of["mean"], None if of["ci_high"] is None else of["ci_high"] - of["mean"])


def look(
    runs: Mapping[str, Sequence[Run]],
    rerun: bool | None = None,
    progress: Callable[[int], Progress | None] | None = None,
) -> dict[str, Observed]:
    """Return the first seed of each scenario, with samples at the same times."""
    first = {name: mine[0] for name, mine in runs.items()}
    longest = max(first.values(), key=lambda run: data.window_of(run, None)[1])
    every = interval(longest)
    return {name: observed(run, rerun, progress, every) for name, run in first.items()}


def _over_time(runs: Mapping[str, Sequence[Run]], seen: Mapping[str, Observed]) -> list[Section]:
    """Show the first seed of each scenario over the same time."""
    first = {name: mine[0] for name, mine in runs.items()}
    seed = next(iter(first.values())).seed
    said = [f"{name}: {one.note}" for name, one in seen.items() if one.note]
    shown = [(name, one.run) for name, one in seen.items()]
    missing: list[str] = []
    of = f"Seed {seed} of each. "
    # The same ports of all runs, so that their queues can be compared.
    lines = {"queue": _deepest([run for _, run in shown])}
    figures = drawn(
        [
            (
                kind,
                lambda kind=kind: together(kind, shown, *lines.get(kind, ())),  # type: ignore[misc]
                caption,
            )
            for kind, caption in SAMPLED
        ],
        of,
        missing,
    )
    parts: list[Any] = list(figures)
    setups = [Assumptions(run) for run in first.values()]
    sketches = [(one.sketch["nodes"], one.sketch["links"]) for one in setups]
    try:
        if any(one != sketches[0] for one in sketches):
            raise InputError("the scenarios have different networks")
        film = shoot(setups[0].layout, shown)
    except InputError as error:
        missing.append(f"film ({error.reason})")
    else:
        unit, _ = clock(film.end_ps)
        timed = [replace(one, clock_ps=unit) for one in figures]
        still = film_figure("fabric-stills", film, setups[0].named)
        part = film_part("film", film, [run for _, run in shown], setups[0].named, of, timed)
        parts = [part, replace(still, caption=of + still.caption)]
    said += not_drawn(missing)
    return [Section("over-time", "The fabric over time", parts, said)] if parts or said else []


def _deepest(runs: Sequence[Run]) -> list[str]:
    """Return the links of the ports with the deepest queues in any run; none if ports differ."""
    found = []
    for run in runs:
        ports = scan(run, "ports")
        if ports is None:
            return []
        depth = ports.select("node", "port", "max_egress_bytes").collect()
        found.append(depth.join(data.port_names(run), on=["node", "port"]))
    most = pl.concat(found).group_by("link").agg(pl.col("max_egress_bytes").max())
    if any(set(one["link"]) != set(found[0]["link"]) for one in found):
        return []
    ordered = most.sort("max_egress_bytes", "link", descending=[True, False])
    return [str(link) for link in ordered.head(PORTS)["link"]]


def _assumptions(runs: Mapping[str, Sequence[Run]]) -> Section:
    """Return the section with the network, and the parameters that differ between scenarios."""
    values: dict[str, dict[str, str]] = {}
    given: set[str] = set()
    for name, mine in runs.items():
        for entry in mine[0].manifest["origins"]:
            if not entry["key"].startswith(OUTPUT):
                values.setdefault(entry["key"], {})[name] = entry["value"]
                if entry["origin"] != "default":
                    given.add(entry["key"])
    names = list(runs)
    other = [
        [key, *(of.get(name, ABSENT) for name in names)]
        for key, of in values.items()
        if len({of.get(name, ABSENT) for name in names}) > 1
    ]
    columns = header(["parameter", *names])
    told = _without_defaults(other, given)
    left = f"{DIFFERENT} of {len(told)} are shown." if len(told) > DIFFERENT else ""
    tables = [Table(columns, told[:DIFFERENT], "What differs", left)]
    if len(told) < len(other):
        tables.append(
            Table(columns, other, f"All {len(other)} parameters that differ", folded=True)
        )
    assumptions = Assumptions(next(iter(runs.values()))[0])
    own = assumptions.parameters()
    own = [replace(one, title=f"{one.title}, of {names[0]}") for one in own]
    return Section("assumptions", "Assumptions", [*tables, assumptions.topology(), *own])


def _without_defaults(rows: Sequence[list[str]], given: set[str]) -> list[list[str]]:
    """Merge the defaults of a table of parameters that some scenarios lack into one row."""
    told: list[list[str]] = []
    defaults: dict[tuple[str, ...], int] = {}
    for key, *cells in rows:
        if key in given or ABSENT not in cells:
            told.append([key, *cells])
            continue
        of = (key.partition(".")[0], *(cell if cell == ABSENT else "" for cell in cells))
        defaults[of] = defaults.get(of, 0) + 1
    for (table, *cells), count in defaults.items():
        told.append([f"{table}, {many(count, 'default')}", *(cell or "default" for cell in cells)])
    return told


def _again(comparison: Comparison) -> Section:
    seeds = comparison.manifest.get("seeds") or []
    # The names of scenarios include their own settings.
    words = ["backwater", "compare", *comparison.runs, *changes(comparison.manifest)]
    if seeds:
        words += ["--seeds", f"{seeds[0]}..{seeds[-1]}"]
    place = shlex.quote(str(comparison.directory))
    text = f"{shlex.join(words)} --out {place}\nbackwater report {place}"
    return Section("again", "Run it again", [Code(text)])
