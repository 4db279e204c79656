"""Charts of runs show the numbers of tables, with units, and report what they cannot show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import backwater
from backwater import _core
from backwater.plot import theme
from backwater.plot.together import together
from backwater.report.page import Figure
from backwater.results import MemorySink, Run
from kit.charts import rows
from kit.scenarios import SAMPLES, sampled
from kit.tree import ROOT, load_file


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An incast of three with PFC, sampled every microsecond, kept on disk."""
    return sampled(backwater.parse(backwater.new_scenario())).run(
        out=tmp_path_factory.mktemp("run")
    )


def titles(spec: object) -> list[str]:
    """Return the titles of all quantitative axes of a chart."""
    found = []
    if isinstance(spec, dict):
        for channel in ("x", "y"):
            about = spec.get("encoding", {}).get(channel, {})
            if about.get("type") == "quantitative" and about.get("title"):
                found.append(about["title"])
        for part in spec.values():
            found += titles(part)
    elif isinstance(spec, list):
        for part in spec:
            found += titles(part)
    return found


def test_a_queue_is_drawn_as_sampled_and_empty_where_there_is_no_sample(run: Run) -> None:
    series = pl.DataFrame(run.series).filter(pl.col("quantity") == "queue_bytes")
    names = pl.DataFrame(run.ports).filter((pl.col("node") == "leaf0") & (pl.col("peer") == "h0"))
    port = names["port"].item()
    here = series.filter((pl.col("node") == "leaf0") & (pl.col("port") == port))
    depth = here.group_by("time_ps").agg(pl.col("value").sum())
    shown = rows(run.plot.queue("leaf0 -> h0"), "link", "value")
    assert set(shown["link"]) == {"leaf0 → h0"}
    assert max(shown["value"].to_list()) == pytest.approx(max(depth["value"].to_list()) / 1e3)
    # Every step until the last flow is complete has a value, 0 included.
    ends = pl.DataFrame(run.flows).select(pl.col("start_ps") + pl.col("fct_last_ack_ps"))
    assert shown.height == max(ends.to_series().to_list()) // 1_000_000
    assert sum(shown["value"].to_list()) == pytest.approx(sum(depth["value"].to_list()) / 1e3)


def test_throughput_adds_up_to_what_was_received(run: Run) -> None:
    shown = rows(run.plot.throughput(), "link", "value").sort("link", "time")
    step_us = shown.filter(pl.col("link") == shown["link"][0])["time"].diff().drop_nulls()
    assert step_us.max() == pytest.approx(step_us.min())
    flows = pl.DataFrame(run.flows).group_by("group").agg(pl.col("received").sum())
    for group, received in flows.iter_rows():
        gbps = sum(shown.filter(pl.col("link") == group)["value"].to_list())
        # The last step may be shorter than others.
        assert gbps * 1e9 * step_us[0] * 1e-6 / 8 == pytest.approx(received, rel=0.02)


def test_no_rate_is_beyond_what_links_carry(run: Run) -> None:
    """A step has at most what links carry in it, plus a whole frame per flow or port."""
    ports, flows = pl.DataFrame(run.ports), pl.DataFrame(run.flows)
    rate = ports["rate_bps"].max() / 1e9  # type: ignore[operator]
    frame = 8 * 4200 / 1e3  # Gb/s times us
    sent = rows(run.plot.sent(most=99), "link", "value").sort("link", "time")
    got = rows(run.plot.throughput(), "link", "value").sort("link", "time")
    for shown, streams in ((sent, 1), (got, flows.height)):
        step = shown["time"].diff().filter(shown["time"].diff() > 0).min()
        receivers = 1 if streams == 1 else flows["dst"].n_unique()
        assert shown["value"].max() <= receivers * rate + streams * frame / step  # type: ignore[operator]


def test_what_was_not_sampled_is_not_drawn() -> None:
    """With samples of other quantities only, a flow's payload is not drawn at its end."""
    scenario = backwater.parse(backwater.new_scenario())
    scenario = sampled(scenario, names=("queues", "links", "pauses"))
    with pytest.raises(backwater.InputError, match="no samples of flow_received_bytes"):
        scenario.run().plot.throughput()
    # Flows are sampled at their senders, and output.nodes names none of them.
    elsewhere = scenario.set("output.flows", True).set("output.nodes", ["leaf0", "h0"]).run()
    with pytest.raises(backwater.InputError):
        elsewhere.plot.throughput()


def test_completion_times_are_those_of_the_table(run: Run) -> None:
    flows = pl.DataFrame(run.flows)
    datasets = run.plot.completion().to_dict()["datasets"].values()
    shown = pl.concat([pl.DataFrame(data).select("group", "time", "share") for data in datasets])
    for group in flows["group"].unique():
        times = flows.filter(pl.col("group") == group)["fct_last_ack_ps"] / 1e6
        drawn = shown.filter((pl.col("group") == group) & (pl.col("share") == 1))
        assert drawn["time"].max() == pytest.approx(times.max())


def test_pauses_are_spans_of_samples_in_a_row(run: Run) -> None:
    spans = rows(run.plot.paused(most=99), "link", "begin", "end")
    whole = (spans["end"] - spans["begin"]).sum()
    held = pl.DataFrame(run.series).filter(pl.col("quantity") == "paused")
    # A span begins an interval before its first sample: as many microseconds as samples.
    assert whole == pytest.approx(held.select("time_ps", "node", "port").n_unique())
    counts = rows(run.plot.pauses(), "link", "pauses")
    received = pl.DataFrame(run.ports)["pauses_received"]
    assert sorted(counts["pauses"]) == sorted(received.filter(received > 0).to_list())


CHARTS = ("queue", "throughput", "sent", "paused", "pauses", "completion", "slowdown", "control")


@pytest.mark.parametrize("name", CHARTS)
def test_every_axis_has_its_unit(run: Run, name: str) -> None:
    found = titles(getattr(run.plot, name)().to_dict())
    assert found
    counts = {"messages", "pauses received", "share of flows"}
    for title in found:
        assert title in counts or title.endswith(("(us)", "(KB)", "(Gb/s)", "(ratio)")), title


@pytest.mark.parametrize("name", ["queue", "throughput", "completion"])
def test_lines_differ_by_more_than_colour(run: Run, name: str) -> None:
    text = getattr(run.plot, name)().to_json()
    assert theme.VERMILLION in text
    assert '"strokeDash": {' in text


@pytest.mark.parametrize("name", ["queue", "throughput", "sent", "paused"])
def test_what_was_not_sampled_is_said_with_the_keys_that_sample_it(name: str, small: Path) -> None:
    plain = backwater.load(small).run()
    with pytest.raises(backwater.InputError, match=r"output\.interval"):
        getattr(plain.plot, name)()


def two_short_flows(interval: str) -> Run:
    """Return a run of two messages of one frame each, 150 us apart, with samples between them."""
    topology = {"kind": "star", "hosts": 3, "rate": "100 Gb/s", "link_delay": "1 us"}
    flow = {"from": "h0", "to": "h1", "size": "64 B"}
    flows = [flow | {"label": "one"}, flow | {"label": "other", "start": "150 us"}]
    output = {"interval": interval} | dict.fromkeys(SAMPLES, True)
    return backwater.build({"topology": topology, "flow": flows, "output": output}).run()


@pytest.mark.parametrize(
    ("name", "interval"),
    [("queue", "100 us"), ("queue", "300 us"), ("throughput", "300 us"), ("sent", "300 us")],
)
def test_samples_that_found_nothing_are_said(name: str, interval: str) -> None:
    run = two_short_flows(interval)
    with pytest.raises(backwater.InputError) as raised:
        getattr(run.plot, name)()
    assert "no samples" in raised.value.reason or f"every {interval}, found" in raised.value.reason
    assert raised.value.hint is not None


def test_pauses_that_were_not_looked_at_are_not_drawn_as_none(run: Run) -> None:
    scenario = backwater.parse(backwater.new_scenario()).set("output.interval", "1 us")
    plain = scenario.set("output.queues", True).run()
    with pytest.raises(backwater.InputError, match=r"output\.pauses=true"):
        plain.plot.paused()
    assert rows(run.plot.paused(), "link", "begin").height > 0


def test_of_runs_together_the_one_without_a_pause_is_named(run: Run) -> None:
    # With unlimited memory, no port pauses another.
    endless = backwater.parse(backwater.new_scenario()).variant("endless")
    for key, value in run.scenario["output"].items():
        endless = endless.set(f"output.{key}", value)
    calm = endless.run()
    for order in ([("calm", calm), ("held", run)], [("held", run), ("calm", calm)]):
        spec = together("paused", order).to_dict()
        assert "calm: no sample found a port paused" in spec["title"]["subtitle"]
        assert [view["title"]["text"] for view in spec["vconcat"]] == ["held"]
    with pytest.raises(backwater.InputError, match="no sample found a port paused"):
        together("paused", [("calm", calm)])


def test_unknown_links_and_groups_are_named(run: Run) -> None:
    with pytest.raises(backwater.InputError, match="no port leads leaf0 → nowhere"):
        run.plot.queue("leaf0 -> nowhere")
    with pytest.raises(backwater.InputError, match="no flow in group 'nobody'"):
        run.plot.completion("nobody")


def test_charts_of_many_flows_hold_few_rows(run: Run) -> None:
    """A chart of a longer run has no more data: it has quantiles and time steps, not flows."""
    many = 60_000
    flows = pl.DataFrame(run.flows)
    more = pl.concat([flows] * (many // flows.height + 1)).head(many)
    spread = pl.int_range(many, dtype=pl.UInt64)
    more = more.with_columns(
        flow_id=spread,
        fct_last_ack_ps=pl.col("fct_last_ack_ps") + spread,
        # These end before the first sample, as only flows of the original run were sampled.
        fct_last_byte_ps=pl.lit(1, pl.UInt64),
        slowdown=1.0 + spread,
    )
    sink = MemorySink(dict(run.manifest))
    for batch in _core.batches(more.cast(flows.schema).to_arrow().cast(run.flows.schema)):
        sink.write("flows", batch)
    for batch in _core.batches(run.series):
        sink.write("series", batch)
    kept = sink.finish("done", run.summary)
    for name in ("completion", "slowdown", "throughput"):
        for data in getattr(kept.plot, name)().to_dict()["datasets"].values():
            assert len(data) < 2500
    curve = rows(kept.plot.completion(), "group", "time", "share")
    for group in more["group"].unique():
        times = more.filter(pl.col("group") == group)["fct_last_ack_ps"] / 1e6
        drawn = curve.filter((pl.col("group") == group) & (pl.col("share") == 0.5))["time"]
        assert drawn[0] == pytest.approx(times.median())


def test_a_run_without_a_complete_flow_has_no_completion_chart(run: Run) -> None:
    open_ = pa.nulls(run.flows.num_rows, pa.uint64())
    table = run.flows
    for name in ("fct_last_ack_ps", "fct_last_byte_ps"):
        table = table.set_column(table.schema.get_field_index(name), name, open_)
    sink = MemorySink(dict(run.manifest))
    for batch in _core.batches(table):
        sink.write("flows", batch)
    kept = sink.finish("interrupted", run.summary)
    with pytest.raises(backwater.InputError, match="no flow of the run is complete"):
        kept.plot.completion()


def one_group(flows: int) -> Run:
    """Return a run with a group of flows that end one after another, and a group of one flow."""
    topology = {"kind": "star", "hosts": 3, "rate": "100 Gb/s", "link_delay": "1 us"}
    many = {"label": "many", "from": "h0", "to": "h1", "size": "4 KB"}
    entries = [many | {"start": f"{i} us"} for i in range(flows)]
    entries.append(many | {"label": "lone", "to": "h2"})
    return backwater.build({"topology": topology, "flow": entries}).run()


@pytest.mark.parametrize(("flows", "marks"), [(2, 1), (9, 1), (10, 2), (99, 2), (100, 3)])
def test_percentiles_are_marked_where_there_are_flows_enough(flows: int, marks: int) -> None:
    """The 90th of 9 flows or the 99th of 99 would be drawn between the two slowest."""
    run = one_group(flows)
    chart = run.plot.completion().to_dict()
    spots = [pl.DataFrame(data) for data in chart["datasets"].values() if "mark" in data[0]]
    [marked] = spots
    assert marked.filter(pl.col("group") == "many").height == marks
    # A single flow has a mark for its time, and no curve.
    [lone] = marked.filter(pl.col("group") == "lone").to_dicts()
    assert lone["share"] == 1
    assert lone["mark"] == "the only flow"
    curve = rows(run.plot.completion(), "group", "time", "share")
    lines = [pl.DataFrame(data) for data in chart["datasets"].values() if "mark" not in data[0]]
    assert curve.height > 0
    assert [set(line["group"]) for line in lines] == [{"many"}]
    [said] = chart["title"]["subtitle"]
    assert f"many {flows}, lone 1" in said
    assert ("99 %" in said) == (marks == 3)
    assert ("90 %" in said) == (marks >= 2)
    slow = rows(run.plot.slowdown(), "group", "percentile", "flows")
    assert slow.filter(pl.col("group") == "many").height == marks
    [one] = slow.filter(pl.col("group") == "lone").to_dicts()
    assert (one["percentile"], one["flows"]) == ("only flow", 1)
    assert f"below 10 KB: many {flows}, lone 1" in json.dumps(run.plot.slowdown().to_dict())


def test_a_run_of_single_flows_has_no_curve() -> None:
    chart = one_group(1).plot.completion().to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["point"]
    assert chart["title"]["subtitle"] == ["complete flows: many 1, lone 1; marks: the only flow"]


@pytest.mark.parametrize("name", ["queue", "throughput", "sent", "paused", "control"])
def test_time_is_drawn_from_the_window_s_begin_to_its_end(run: Run, name: str) -> None:
    spec = getattr(run.plot, name)(window=("10 us", "60 us")).to_json()
    assert re.search(r'"domain": \[\s*10\.0,\s*60\.0\s*\]', spec), spec


def test_control_messages_are_counted_from_the_run_s_start(run: Run) -> None:
    shown = rows(run.plot.control(), "begin", "end", "messages")
    assert shown["messages"].sum() == run.control.num_rows
    first = pl.DataFrame(run.control)["time_ps"].to_list()[0] / 1e6
    # Without its lower end at 0, a bar with two ends in time is only a line at its height.
    assert run.plot.control().to_dict()["encoding"]["y2"] == {"datum": 0}
    [earliest] = shown.sort("begin").head(1).to_dicts()
    assert earliest["begin"] <= first < earliest["end"]


def test_a_band_leaves_the_legend_to_its_line() -> None:
    """A pale patch of the band in the legend would hide the dash of the line."""
    scenario = backwater.parse(backwater.new_scenario()).set("output.interval", "100 ns")
    chart = scenario.set("output.queues", True).run().plot.queue()
    kinds = [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    assert kinds == ["area", "line"]
    drawn = Figure("queue", chart, "").drawing
    symbols = re.findall(r'role-legend-symbol".*?role-legend-label', drawn, re.DOTALL)
    assert len(symbols) >= 3
    assert all("stroke-dasharray" in symbol for symbol in symbols)


@pytest.mark.parametrize("name", ["throughput", "sent"])
def test_a_step_of_few_packets_is_said(name: str) -> None:
    scenario = backwater.parse(backwater.new_scenario())
    said = {}
    for interval in ("200 ns", "20 us"):
        chart = getattr(sampled(scenario, interval).run().plot, name)
        window = ("0 us", "15 us") if interval == "200 ns" else None
        said[interval] = " ".join(chart(window=window).to_dict()["title"]["subtitle"])
    assert "mean over 200 ns" in said["200 ns"]
    assert "packets of" in said["200 ns"]
    assert "packets of" not in said["20 us"]
    assert "shorter bursts are averaged out" in said["20 us"]


def test_the_notebook_runs_and_its_charts_are_of_its_runs() -> None:
    _, defined = load_file(ROOT / "docs" / "notebook.py").app.run()
    assert len(defined["runs"]) >= 2
    for name, run in defined["runs"].items():
        for charts in ("queues", "rates", "times"):
            assert defined[charts][name].to_dict()["datasets"]
        assert run.summary["flows_done"] == run.summary["flows"]
