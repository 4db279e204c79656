"""Charts of a study, such as `outcome.plot.completion()` and `outcome.plot.improvement()`.

Measured numbers are filled, published ones hollow diamonds; whiskers are 95 % confidence intervals
of a mean over seeds (Student's t). Each mechanism has one colour and shape in all charts.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from backwater.errors import InputError
from backwater.numbers.repeats import Spread
from backwater.numbers.rows import scan
from backwater.plot import curves
from backwater.plot.marks import angle, diamonds, header, tooltips, whiskers
from backwater.plot.own import charts
from backwater.plot.points import StudyPoints, frame_of, point
from backwater.plot.theme import (
    COLOURS,
    FAINT,
    INK,
    LABELS,
    SKY,
    VERMILLION,
    WIDTH,
    apart,
    clock,
    colour,
    dash,
    of,
    shape,
    title,
)
from backwater.plot.together import together
from backwater.study.key import TABLE, Key
from backwater.wording import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from altair.typing import ChartType

    from backwater.results import Run

TIMES = ("ns", "us", "ms", "s")
"""Units of the measures that `completion` draws by default."""

BINS = 40
ROW_HEADER = alt.Header(labelOrient="left")


class StudyPlots(StudyPoints):
    """Charts of a study's measured points beside the published numbers."""

    def completion(self, **of: Any) -> ChartType:  # noqa: ANN401 - what `bars` takes
        """Draw completion times per case and mechanism: `bars` of all measures of time."""
        times = [m.name for m in self._study.measures if m.unit in TIMES]
        if not times and "measures" not in of:
            raise InputError(f"study {self._study.id} measures no completion time")
        return self.bars(**{"measures": times, "heading": "Completion times"} | of)

    def bars(
        self,
        measures: Sequence[str] | None = None,
        cases: Sequence[str] | None = None,
        mechanisms: Sequence[str] | None = None,
        beside: str | None = None,
        heading: str | None = None,
    ) -> ChartType:
        """Draw measures (rows) in cases (columns), one bar per mechanism, with published numbers.

        With `beside`, the bars are the setups of that block, for each of its mechanisms.
        """
        rows, order, name = self._rows(measures, cases, mechanisms), self._mechanisms, "mechanism"
        if beside is not None:
            rows, order = self._setups(beside, measures, cases, mechanisms)
            name = "setup"
        if rows.is_empty():
            raise InputError("nothing to draw: none of these points was run")
        order = [one for one in order if one in set(rows[name].to_list())]
        # Setups of several mechanisms differ by name, mechanisms by colour.
        by = "mechanism" if "mechanism" in rows.columns else name
        shades = [one for one in self._mechanisms if one in set(rows[by].to_list())] or order
        colours = colour(by, shades, self._mechanisms if by == "mechanism" else order).legend(None)
        if by == "setup":
            [mechanism], own = set(rows["of"].to_list()), rows["own"][0]
            colours = colours.scale(
                domain=order, range=apart(order, own, mechanism, self._mechanisms)
            )
        wide = 34 * len(order)
        x = alt.X(
            f"{name}:N",
            sort=order,
            title=None,
            axis=alt.Axis(labelAngle=-35, ticks=False, labelPadding=4),
        )
        base = alt.Chart().encode(x=x)
        top = pl.max_horizontal(
            "value", pl.col("high").fill_null(0), pl.col("published").fill_null(0)
        )
        rows = rows.with_columns(
            text=pl.col("value").map_elements(short, return_dtype=pl.String), top=top
        )
        tips = tooltips(name)
        y = alt.Y("value:Q", title=None)
        chart = alt.layer(
            base.mark_bar(width=22).encode(y=y, color=colours, tooltip=tips),
            *whiskers(base, rows),
            *diamonds(base, rows, tips),
            base.mark_text(dy=-10, fontSize=10.5, color=INK).encode(
                y=alt.Y("top:Q", title=None), text="text:N"
            ),
            data=rows,
        )
        kinds = list(dict.fromkeys(rows["what"].to_list()))
        seen = list(dict.fromkeys(rows["case"].to_list()))
        # With one case, measures are side by side with their names above them in bold.
        names = 7.5 * max(map(len, kinds)) if len(seen) == 1 else 0
        chart = chart.properties(width=max(wide, 60, names), height=150)
        head = title(heading or self._study.column, *self._notes(rows))
        if len(seen) == 1:
            cells: dict[str, Any] = {"column": alt.Column("what:N", title=None, sort=kinds)}
        else:
            cells = {
                "column": alt.Column("case:N", title="case", sort=seen, header=header(seen)),
                "row": alt.Row("what:N", title=None, sort=kinds, header=ROW_HEADER),
            }
        faceted = chart.facet(**cells, title=head, spacing={"row": 18, "column": 14})
        drawn: ChartType = faceted.resolve_scale(y="independent")
        return drawn

    def improvement(
        self,
        base: str | None = None,
        measures: Sequence[str] | None = None,
        cases: Sequence[str] | None = None,
        mechanisms: Sequence[str] | None = None,
    ) -> ChartType:
        """Draw by how many percent each mechanism is faster than `base` (default: the first).

        The value is the mean over seeds of each seed's improvement, so that effects common to a
        seed's runs cancel. Below 0 the mechanism is slower.
        """
        base = base or self._mechanisms[0]
        names = measures or [m.name for m in self._study.measures if m.unit in TIMES]
        rows = []
        for case, mechanism, name in itertools.product(
            cases or [c.id for c in self._study.cases], mechanisms or self._mechanisms, names
        ):
            ours, theirs = (self._sample(case, one, name) for one in (mechanism, base))
            if mechanism == base or ours is None or theirs is None:
                continue
            pairs = zip(ours.values, theirs.values, strict=False)
            published = self._reduction(case, mechanism, name, base)
            row = {"case": case, "mechanism": mechanism, "published": published}
            shares = [1 - a / b for a, b in pairs if b]
            rows.append(row | point(self._study.measure(name).label, shares))
        if not rows:
            raise InputError(f"nothing to draw: no case has both {base} and another mechanism")
        frame = frame_of(rows)
        order = [m for m in self._mechanisms if m in set(frame["mechanism"].to_list())]
        colours = colour("mechanism", order, self._mechanisms)
        seen = list(dict.fromkeys(frame["case"].to_list()))
        less = f"reduction against {base!r} (%)"
        y = alt.Y("value:Q", title=less, axis=alt.Axis(format="+.0%", minExtent=LABELS))
        x = alt.X("case:N", title="case", sort=seen, axis=alt.Axis(labelAngle=angle(seen)))
        common = alt.Chart().encode(x=x, xOffset=alt.XOffset("mechanism:N", sort=order))
        tips = tooltips("mechanism", "+.1%")
        whole = alt.layer(
            alt.Chart().mark_rule(color=FAINT).encode(y=alt.datum(0)),
            common.mark_bar().encode(y=y, color=colours, tooltip=tips),
            *whiskers(common, frame, less),
            *diamonds(common, frame, tips, less),
            data=frame,
        ).properties(width=max(160, 26 * len(order) * len(seen)), height=200)
        kinds = list(dict.fromkeys(frame["what"].to_list()))
        drawn: ChartType = whole.facet(
            row=alt.Row("what:N", title=None, sort=kinds, header=ROW_HEADER),
            title=title(f"Improvement over {base}", *self._notes(frame)),
        ).resolve_scale(y="independent")
        return drawn

    def lines(
        self,
        at: Mapping[str, float] | None = None,
        axis: str = "case",
        measures: Sequence[str] | None = None,
        cases: Sequence[str] | None = None,
        mechanisms: Sequence[str] | None = None,
        heading: str | None = None,
        log: bool = False,
        reference: tuple[str, str] | None = None,
    ) -> ChartType:
        """Draw measures over a parameter, one line per mechanism.

        `at` has the position of each case on the horizontal axis; without it, cases are side by
        side. `axis` is its title, with quantity and unit. `log` draws measures on a logarithmic
        scale, and `reference` is a case and a mechanism to compare with.
        """
        rows = self._rows(measures, list(at) if at else cases, mechanisms)
        if rows.is_empty():
            raise InputError("nothing to draw: none of these points was run")
        order = [one for one in self._mechanisms if one in set(rows["mechanism"].to_list())]
        seen = list(dict.fromkeys(rows["case"].to_list()))
        if at:
            rows = rows.with_columns(
                at=pl.col("case").replace_strict(dict(at), return_dtype=pl.Float64)
            )
            low, high = min(at.values()), max(at.values())
            room = (high - low) / 25
            domain = [max(0.0, low - room) if low >= 0 else low - room, high + room]
            x: Any = alt.X("at:Q", title=axis, scale=alt.Scale(domain=domain, nice=False))
        else:
            x = alt.X("case:N", title=axis, sort=seen, axis=alt.Axis(labelAngle=angle(seen)))
        # A single mechanism is named in the title.
        legend: Any = alt.Undefined if len(order) > 1 else None
        cells = []
        for what in dict.fromkeys(rows["what"].to_list()):
            part = rows.filter(pl.col("what") == what)
            # The scale of lines that differ little need not begin at 0, as that of bars must.
            every = [v for v in (*part["value"], *part["published"]) if v is not None]
            near = min(every) > 0.8 * max(every)
            scale = alt.Scale(zero=True)
            if log or near:
                scale = alt.Scale(type="log") if log else alt.Scale(zero=False, padding=8)
            y = alt.Y("value:Q", title=what, scale=scale, axis=alt.Axis(minExtent=LABELS))
            base = alt.Chart(part.sort("at") if at else part).encode(x=x)
            colours = colour("mechanism", order, self._mechanisms).legend(legend)
            tips = tooltips("mechanism")
            cells.append(
                alt.layer(
                    *self._reference(what, reference),
                    base.mark_line().encode(
                        y=y,
                        color=colours,
                        strokeDash=dash("mechanism", order, self._mechanisms).legend(legend),
                    ),
                    *whiskers(base, part, what),
                    base.mark_point(filled=True, size=80, opacity=1).encode(
                        y=y,
                        color=colours,
                        shape=shape("mechanism", order, self._mechanisms).legend(legend),
                        tooltip=tips,
                    ),
                    *diamonds(base, part, tips, what),
                ).properties(width=WIDTH if at else max(280, 90 * len(seen)), height=190)
            )
        return alt.vconcat(*cells).properties(
            title=title(
                heading or f"Over {axis}",
                *([order[0]] if len(order) == 1 else []),
                *self._notes(rows),
            )
        )

    def distribution(
        self, measure: str, case: str | None = None, mechanisms: Sequence[str] | None = None
    ) -> ChartType:
        """Draw the values of a measure over the seeds, one histogram per mechanism."""
        where = case or self._study.cases[0].id
        about = self._study.measure(measure)
        found = {
            one: sample.values
            for one in mechanisms or self._mechanisms
            if (sample := self._sample(where, one, measure)) is not None
        }
        if not found:
            raise InputError("nothing to draw: none of these points was run")
        published = {one: self._published(where, one, measure) for one in found}
        everything = [*itertools.chain(*found.values())]
        everything += [value for numbers in published.values() for value in numbers.values()]
        low, high = min(everything), max(everything)
        width = (high - low) / BINS or abs(low) / BINS or 1.0
        axis = f"{about.label}, {about.unit}" if about.unit else about.label
        x_scale = alt.Scale(domain=[low - width, high + 2 * width], nice=False)
        cells = []
        for one, values in found.items():
            bins = pl.Series(values, dtype=pl.Float64)
            index = ((bins - low) / width).floor()
            counts = pl.DataFrame({"bin": index}).group_by("bin").len("runs").sort("bin")
            shown = counts.select(
                "runs", begin=low + pl.col("bin") * width, end=low + (pl.col("bin") + 1) * width
            )
            spread = Spread.of(values)
            bars = (
                alt.Chart(shown)
                .mark_bar(color=of(one, COLOURS, self._mechanisms), stroke="white", strokeWidth=0.5)
                .encode(
                    x=alt.X("begin:Q", title=axis, scale=x_scale),
                    x2="end",
                    y=alt.Y("runs:Q", title="runs", axis=alt.Axis(tickMinStep=1)),
                    y2=alt.datum(0),
                    tooltip=["begin", "end", "runs"],
                )
            )
            rule = alt.Chart(pl.DataFrame({"x": [spread.mean]})).mark_rule(color=INK, strokeWidth=2)
            layers: list[Any] = [bars, rule.encode(x="x:Q")]
            numbers = published[one]
            if "mean" in numbers:
                said = pl.DataFrame([{"at": 0, **numbers}])
                spot = alt.Chart(said).encode(y=alt.value(10))
                if {"min", "max"} <= set(numbers):
                    layers.append(
                        spot.mark_rule(color=INK, strokeDash=[4, 3]).encode(x="min:Q", x2="max")
                    )
                layers.append(
                    spot.mark_point(
                        shape="diamond", size=110, color=INK, fill="white", strokeWidth=2, opacity=1
                    ).encode(x="mean:Q")
                )
            interval = (
                ""
                if spread.ci_low is None
                else f" (95 % CI {short(spread.ci_low)} to {short(spread.ci_high)})"
            )
            ends = f"least {short(spread.min)}, greatest {short(spread.max)}"
            below = f"{spread.n} seeds: mean {short(spread.mean)}{interval}, {ends}"
            cells.append(
                alt.layer(*layers).properties(width=WIDTH, height=130, title=title(one, below))
            )
        note = "solid rule: mean over the seeds"
        if any("mean" in numbers for numbers in published.values()):
            note += "; hollow diamond and dashed line: published mean, least to greatest"
        return alt.vconcat(*cells).properties(
            title=title(f"Distribution over seeds: {about.label}", note)
        )

    def over_time(
        self,
        kind: str,
        observed: Sequence[tuple[str, Run]],
        *lines: str,
        **of: Any,  # noqa: ANN401 - as the chart of a run
    ) -> ChartType:
        """Draw the chart `kind` of runs (`queue`, `throughput`, ...) one below the other.

        `observed` are runs with their labels; `lines` and other arguments go to the chart.
        """
        return together(kind, observed, *lines, **of)

    def pauses(
        self, cases: Sequence[str] | None = None, mechanisms: Sequence[str] | None = None
    ) -> ChartType:
        """Draw pauses that hosts and switches obeyed, and how long these lasted in total.

        Numbers are sums over the ports of a run, and means over the seeds.
        """
        rows = []
        for case, mechanism in itertools.product(
            cases or [c.id for c in self._study.cases], mechanisms or self._mechanisms
        ):
            for run in self._outcome.runs(Key(case, mechanism, TABLE)):
                frame = scan(run, "ports")
                if frame is None:
                    continue
                by = (
                    frame.group_by(
                        at=pl.when(pl.col("tier") == "host")
                        .then(pl.lit("hosts"))
                        .otherwise(pl.lit("switches"))
                    )
                    .agg(pl.col("pauses_received", "paused_ps").sum())
                    .collect()
                )
                rows += [{"case": case, "mechanism": mechanism, **row} for row in by.to_dicts()]
        if not rows:
            raise InputError("nothing to draw: none of these points was run")
        seen = list(dict.fromkeys(row["case"] for row in rows))
        order = [m for m in self._mechanisms if m in {row["mechanism"] for row in rows}]
        mean = (
            pl.DataFrame(rows)
            .group_by("case", "mechanism", "at", maintain_order=True)
            .agg(
                pauses=pl.col("pauses_received").mean(),
                time=pl.col("paused_ps").mean(),
                seeds=pl.len(),
            )
        )
        factor, unit = clock(float(mean["time"].max() or 1))  # type: ignore[arg-type]
        mean = mean.with_columns(pl.col("time") / factor)
        halves = []
        for column, axis in (
            ("pauses", "pauses obeyed"),
            ("time", f"time paused, all ports ({unit})"),
        ):
            halves.append(
                alt.Chart(mean)
                .mark_bar()
                .encode(
                    y=alt.Y("mechanism:N", title=None, sort=order),
                    x=alt.X(f"{column}:Q", title=axis),
                    color=alt.Color(
                        "at:N",
                        title="obeyed by",
                        scale=alt.Scale(domain=["hosts", "switches"], range=[SKY, VERMILLION]),
                    ),
                    row=alt.Row("case:N", title="case", sort=seen, header=header(seen)),
                    tooltip=[
                        "case",
                        "mechanism",
                        "at",
                        "seeds",
                        "pauses",
                        alt.Tooltip("time", format=".5"),
                    ],
                )
                .properties(width=WIDTH / 2 - 40, height=alt.Step(20))
            )
        return alt.hconcat(*halves).properties(
            title=title("Pauses: how many and how long", self._seeds(mean["seeds"].to_list()))
        )

    def own(self, name: str, **of: Any) -> ChartType:  # noqa: ANN401 - what that chart takes
        """Draw a chart that only this study has, by its name (`plot.own`)."""
        known = charts(self._study.id)
        if name not in known:
            there = ", ".join(known) or "none"
            raise InputError(
                f"study {self._study.id} has no chart of its own {name!r}", f"there are: {there}"
            )
        return known[name](self._outcome, **of)

    def curves(
        self,
        case: str,
        group: str,
        sizes: Sequence[str] | None = None,
        mechanisms: Sequence[str] | None = None,
        after: str | None = None,
        until: str = "last_ack",
    ) -> ChartType:
        """Draw the share of messages complete within a time, one curve per mechanism.

        It is over all seeds together (`plot.curves`).
        """
        chosen = list(mechanisms or self._mechanisms)
        window = curves.Window(group, sizes, after, until)
        return curves.draw(self._outcome, case, chosen, window)

    def _reference(self, what: str, where: tuple[str, str] | None) -> list[alt.Chart]:
        """Draw the value of a measure at one point as a line across, with a small label."""
        if where is None:
            return []
        case, mechanism = where
        rows = self._rows(None, [case], [mechanism]).filter(pl.col("what") == what)
        rows = rows.filter(pl.col("value") > 0)
        if rows.is_empty():
            return []
        rows = rows.with_columns(text=pl.lit(f"{mechanism}, case {case}"))
        rule = alt.Chart(rows).mark_rule(color=FAINT, strokeDash=[5, 4], strokeWidth=1.5)
        name = alt.Chart(rows).mark_text(align="right", dy=-7, color=FAINT, fontSize=12)
        return [
            rule.encode(y=alt.Y("value:Q", title=what)),
            name.encode(y=alt.Y("value:Q", title=what), x=alt.value("width"), text="text:N"),
        ]
