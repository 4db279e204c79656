"""One sentence for each figure, made from the numbers that the figure shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.numbers.rows import scan
from backwater.numbers.run import group_times, port_totals
from backwater.numbers.statistics import statistic
from backwater.numbers.units import PS_PER_US
from backwater.plot.jobs import collective_times
from backwater.plot.points import StudyPoints
from backwater.plot.timeline import timelines
from backwater.study.texts import verdict_text
from backwater.wording import many, percent, series, short, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from backwater.plot.timeline import Timeline
    from backwater.report.film import Film
    from backwater.results import Run
    from backwater.study import Outcome

NEAR = 0.05
"""Relative deviation from a published number up to which it counts as met."""


LONG = 150
"""Characters of a claim's numbers that a sentence has in full."""


class StudySentences(StudyPoints):
    """Makes the sentences of a study's figures."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self._of = outcome

    def sentence(
        self,
        entry: Mapping[str, Any],
        chart: Any,  # noqa: ANN401 - some Altair chart
        runs: Sequence[tuple[str, Run]],
    ) -> str:
        """Describe the figure of an entry of figures.toml; empty if its kind has no sentence."""
        kind = entry["kind"]
        if "claim" in entry:
            return self._claim(entry["claim"])
        if runs:
            return over_time(kind, chart, runs)
        if kind == "improvement":
            return self._improvement(entry)
        if kind == "pauses":
            return self._pauses(entry)
        measures = self.measures(entry)
        mechanisms = entry.get("mechanisms")
        if "beside" in entry:
            rows, _ = self._setups(entry["beside"], measures, entry.get("cases"), mechanisms)
            return _ends(rows, "setup")
        cases = list(entry["at"]) if "at" in entry else entry.get("cases")
        if cases is None and "case" in entry:
            cases = [entry["case"]]
        return _against(self._rows(measures, cases, mechanisms))

    def _claim(self, claim: str) -> str:
        """Return the verdict on a claim with its main numbers; empty if it was not judged."""
        rows = [row for row in self._of.rows if row.is_claim and row.quantity == claim]
        if not rows or not rows[0].note:
            return ""
        text = next(one.text for one in self._study.claims if one.id == claim)
        detail = rows[0].note.removeprefix(f"{text}: ")
        if len(detail) > LONG:
            # What follows the colon is a list of cases.
            detail = detail.partition(": ")[0]
        return f"{verdict_text(rows[0]).capitalize()}: {text}: {detail}."

    def measures(self, entry: Mapping[str, Any]) -> list[str]:
        """Return the names of a figure's measures."""
        if "measures" in entry or "measure" in entry:
            return list(entry.get("measures") or [entry["measure"]])
        every = self._study.measures
        if "beside" in entry:
            return list(next(b.shows for b in self._study.beside if b.id == entry["beside"]))
        if entry["kind"] == "completion":
            return [m.name for m in every if m.unit in ("ns", "us", "ms", "s")]
        return [m.name for m in every]

    def _improvement(self, entry: Mapping[str, Any]) -> str:
        base = entry.get("base") or self._mechanisms[0]
        found: dict[str, list[float]] = {}
        mechanisms = [m for m in entry.get("mechanisms") or self._mechanisms if m != base]
        for mechanism in mechanisms[:1]:
            rows = self._rows(entry.get("measures"), entry.get("cases"), [mechanism, base])
            if rows.is_empty():
                continue
            both = rows.pivot(on="mechanism", index=["case", "what"], values="value")
            if not {mechanism, base} <= set(both.columns):
                continue
            for row in both.to_dicts():
                if row[base] and row[mechanism] is not None and "us)" in row["what"]:
                    found.setdefault(row["what"], []).append(1 - row[mechanism] / row[base])
        if not found:
            return ""
        parts = [
            _changed(what.removesuffix(" (us)"), shares) for what, shares in list(found.items())[:2]
        ]
        cases = max(map(len, found.values()))
        over = f", over {cases} cases" if cases > 1 else ""
        return f"Against {base} {mechanisms[0]} {series(parts)}{over}."

    def _pauses(self, entry: Mapping[str, Any]) -> str:
        from backwater.study.key import TABLE, Key

        parts = []
        case = (entry.get("cases") or [one.id for one in self._study.cases])[0]
        for mechanism in entry.get("mechanisms") or self._mechanisms:
            totals = [port_totals(run) for run in self._of.runs(Key(case, mechanism, TABLE))]
            if totals:
                mean = sum(one["pauses_received"] for one in totals) / len(totals)
                parts.append(f"{short(mean)} under {mechanism}")
        return f"Pauses obeyed in case {case}: {series(parts)}." if parts else ""


def _changed(what: str, shares: Sequence[float]) -> str:
    """State the change of a time; `shares` are the saved parts of it, case by case."""
    if max(shares) <= 0 and min(shares) < 0:
        return f"lengthens {what} by {_range([-share for share in shares])}"
    if min(shares) >= 0:
        return f"shortens {what} by {_range(shares)}"
    return f"shortens {what} by {_range(shares)} (below 0: lengthens)"


def _range(shares: Sequence[float]) -> str:
    low, high = (f"{100 * end:.0f}" for end in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _against(rows: pl.DataFrame) -> str:
    """Compare measured with published numbers; without those, name the least and the greatest."""
    if rows.is_empty():
        return ""
    known = rows.filter(pl.col("published").is_not_null() & (pl.col("published") != 0))
    if known.is_empty():
        return _ends(rows, "mechanism")
    off = known.with_columns(off=pl.col("value") / pl.col("published") - 1)
    near = off.filter(pl.col("off").abs() <= NEAR).height
    worst = off.sort(pl.col("off").abs(), descending=True).row(0, named=True)
    return (
        f"{near} of {off.height} published numbers are met to within {100 * NEAR:.0f} %; "
        f"furthest off is {worst['what']} of case {worst['case']} under {worst['mechanism']}: "
        f"{short(worst['value'])}, published {short(worst['published'])} ({percent(worst['off'])})."
    )


def _ends(rows: pl.DataFrame, by: str) -> str:
    if rows.is_empty():
        return ""
    what = rows["what"][0]
    part = rows.filter(pl.col("what") == what).sort("value")
    low, high = part.row(0, named=True), part.row(-1, named=True)
    several = part["case"].n_unique() > 1

    def at(row: dict[str, Any]) -> str:
        return f"{short(row['value'])} with {row[by]}" + (
            f" in case {row['case']}" if several else ""
        )

    if low["value"] == high["value"]:
        return f"{what} is {short(low['value'])} everywhere."
    return f"{what} is least at {at(low)}, and greatest at {at(high)}."


def over_time(kind: str, chart: Any, runs: Sequence[tuple[str, Run]] = ()) -> str:  # noqa: ANN401 - some Altair chart
    """Describe a chart over time, of one run or of several."""
    if kind in DRAWN:
        parts = [(label, DRAWN[kind](rows, unit)) for label, rows, unit in _series(chart)]
    else:
        parts = [(label, RUN[kind](run)) for label, run in runs] if kind in RUN else []
    parts = [(label, text) for label, text in parts if text]
    if len(parts) == 1 and len(runs) < 2:
        text = parts[0][1]
        return f"{text[0].upper()}{text[1:]}."
    return f"{'; '.join(f'{label}: {text}' for label, text in parts)}." if parts else ""


def _series(chart: Any) -> list[tuple[str, pl.DataFrame, str]]:  # noqa: ANN401 - as above
    """Return title, rows and unit of time of each panel of a chart over time."""
    found = []
    for cell in getattr(chart, "vconcat", [chart]):
        first = cell.layer[0] if hasattr(cell, "layer") else cell
        # For a single panel, altair keeps the rows in the whole chart.
        having = (one.data for one in (first, cell, chart))
        rows = next(data for data in having if isinstance(data, pl.DataFrame))
        unit = first.encoding.x["title"].partition("(")[2].rstrip(")")
        text = cell.title.text
        found.append((text if isinstance(text, str) else " ".join(text), rows, unit))
    return found


def deepest(rows: pl.DataFrame, unit: str) -> str:
    """Name the deepest queue, and when it was that deep."""
    top = rows.sort("high", "time", descending=[True, False]).row(0, named=True)
    if not top["high"]:
        return "nothing waits for a port"
    return (
        f"at most {top['high']:,.0f} KB wait for {top['link']}, after about "
        f"{short(top['time'])} {unit}"
    )


def got(rows: pl.DataFrame, _unit: str) -> str:
    """State the peak rate of each group, or of each link."""
    peaks = rows.group_by("link", maintain_order=True).agg(pl.col("value").max())
    parts = [f"{short(value)} Gb/s ({link})" for link, value in peaks.head(4).iter_rows()]
    return f"at most {series(parts)}"


def held(rows: pl.DataFrame, unit: str) -> str:
    """Name the port that was paused longest in all."""
    spans = rows.group_by("link").agg(pl.len(), whole=(pl.col("end") - pl.col("begin")).sum())
    top = spans.sort("whole", "link", descending=[True, False]).row(0, named=True)
    times = "once" if top["len"] == 1 else f"{top['len']:,} times"
    return f"{top['link']} is paused longest: {times}, {short(top['whole'])} {unit} in all"


DRAWN = {"queue": deepest, "throughput": got, "sent": got, "paused": held}
"""Describes the rows of a chart over time, by kind of chart."""


def took(run: Run) -> str:
    """State how long the collectives of each step took."""
    times = collective_times(run)
    order = times.sort("start")["step"].unique(maintain_order=True).to_list()
    parts = []
    for step in order[:3]:
        mine = times.filter(pl.col("step") == step)["time"].sort().to_list()
        if len(mine) == 1:
            parts.append(f"the collective of {step} takes {short(mine[0])} us")
        elif mine[0] == mine[-1]:
            parts.append(
                f"each of the {len(mine):,} collectives of {step} takes {short(mine[0])} us"
            )
        else:
            parts.append(
                f"of {len(mine):,} collectives of {step} half take at most "
                f"{short(statistic(mine, 'median'))} us, the longest {short(mine[-1])} us"
            )
    return "; ".join(parts)


def ended(timeline: Timeline) -> str:
    """State the parts of a job's critical path, and when it begins and ends."""
    if not timeline.legs:
        return ""
    begin, end = timeline.legs[0].start_ps, timeline.legs[-1].end_ps
    return (
        f"The critical path of {timeline.job} has {many(len(timeline.legs), 'part')}, from "
        f"{short(begin / PS_PER_US)} to {short(end / PS_PER_US)} us."
    )


def slowed(run: Run) -> str:
    """State the median slowdown of each group's flows against an idle network."""
    parts = [
        f"{one['group']} {short(one['slowdown']['p50'])} times"
        for one in group_times(run)[:4]
        if one["slowdown"]
    ]
    return f"median over an idle network: {series(parts)}" if parts else ""


def completed(run: Run) -> str:
    """State how many flows were complete, and the median and maximum of their times."""
    parts = []
    for one in group_times(run)[:3]:
        times = one["fct_last_ack_us"] or one["fct_last_byte_us"]
        text = f"{one['complete']:,} of {one['flows']:,} flows of {one['group']} are complete"
        if times is not None:
            middle = (
                "" if one["complete"] < 2 else f"half of them within {short(times['p50'])} us, "
            )
            text += f", {middle}the last after {short(times['max'])} us"
        parts.append(text)
    return "; ".join(parts)


def paused(run: Run) -> str:
    """State how many ports were paused, and for how long in all."""
    totals = port_totals(run)
    if not totals or not totals["ports_paused"]:
        return "no port is paused"
    ports = many(totals["ports_paused"], "port")
    verb = "is" if totals["ports_paused"] == 1 else "are"
    return f"{ports} {verb} paused, for {time_text(totals['paused_ps'])} in all"


def messages(run: Run) -> str:
    """State how many control messages of each kind were sent."""
    frame = scan(run, "control")
    if frame is None:
        return ""
    counts = frame.group_by("kind").len().sort("len", "kind", descending=[True, False]).collect()
    parts = [f"{row['len']:,} {row['kind']}" for row in counts.head(4).to_dicts()]
    return f"messages sent: {series(parts)}" if parts else ""


RUN: dict[str, Callable[[Run], str]] = {
    "completion": completed,
    "slowdown": slowed,
    "pauses": paused,
    "control": messages,
    "collectives": took,
}
"""Describes the figures of a whole run, by kind of figure."""


def run(name: str, chart: Any, of: Run) -> str:  # noqa: ANN401 - some Altair chart
    """Describe a figure of a run."""
    if (number := name.removeprefix("timeline-")) != name:
        return ended(timelines(of)[int(number) - 1])
    return over_time(name, chart, [("", of)])


def film(of: Film) -> str:
    """State the most bytes that waited in the fabric, and the most ports paused in one step."""
    parts = []
    for track in of.tracks:
        text = f"{max(track.backlog) / 1e6:.3g} MB under {track.label}"
        if track.held is not None:
            most = max(track.held)
            text += f" ({many(most, 'port')} paused in one step)"
        parts.append(text)
    return f"Most bytes in queues at once: {series(parts)}."
