"""Data of the ports, flows and collectives that a reader of a page can choose.

Each has curves, facts and waits. A page holds only some: the ports with the deepest queues, and the
flows and collectives with the longest delays against an idle network. Sums are computed here; the
page holds one byte for each step of a curve.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.jobs import collective_costs
from backwater.naming import flow_in_group
from backwater.numbers.rows import scan
from backwater.numbers.run import cut_by_port, groups
from backwater.numbers.units import BITS, PS_PER_S
from backwater.plot import data
from backwater.why.waits import COUNTS
from backwater.why.words import CAUSES
from backwater.wording import digits, many, sent_again, size, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.report.draw import Edge
    from backwater.report.film import Film
    from backwater.results import Run

PORTS, FLOWS, COLLECTIVES = 240, 120, 80
"""Most ports, flows and collectives in a page."""
WAITS = 8
"""Most causes of waits that are listed, the longest first; the others are summed up."""
FULL = 255
"""Byte of the greatest value of a curve."""
_NONE = pl.DataFrame(schema={"flow_id": pl.UInt64, "key": pl.UInt32})
"""No flows, of no choice."""
_OF_COLLECTIVE = ("job", "step", "instance", "round", "communicator")


@dataclass(frozen=True)
class _Grid:
    """The steps of a film, and the time between two samples."""

    begin_ps: int
    step_ps: int
    frames: int
    end_ps: int
    interval_ps: int

    def numbered(self, values: pl.LazyFrame) -> pl.LazyFrame:
        """Add the step of each sample as `frame`, and leave out samples in no step."""
        time = pl.col("time_ps").cast(pl.Int64)
        inside = values.filter(time > self.begin_ps, time <= self.end_ps)
        return inside.with_columns(frame=(time - self.begin_ps - self.interval_ps) // self.step_ps)


def looks(run: Run, film: Film, port_of: pl.DataFrame, runs: int = 1) -> dict[str, Any]:
    """Return the data of single ports, flows and collectives over the time of a film.

    `port_of` has the drawn direction of each port: columns node, port, edge. If the page shows
    several `runs`, they share the limits of each kind.
    """
    interval = data.sampling_ps(run)
    assert interval is not None
    grid = _Grid(film.begin_ps, film.step_ps, film.frames, film.end_ps, interval)
    flows, of_flows = _flows(run, film.layout.hosts, FLOWS // runs)
    collectives, of_collectives = _collectives(run, COLLECTIVES // runs)
    shown = _with_rates(run, grid, flows, of_flows)
    every = "all" in (run.scenario.get("output", {}).get("waits") or ())
    for one in shown:
        if one["waits"] or every:
            _own_frames(one)
    return {
        # With few packets in a step, one more is a leap, and may exceed the rate of the link.
        "note": data.coarse(run, film.step_ps),
        "ports": _ports(run, grid, port_of, PORTS // runs),
        "flows": shown,
        "collectives": _with_rates(run, grid, collectives, of_collectives),
    }


def _ports(run: Run, grid: _Grid, port_of: pl.DataFrame, most: int) -> list[dict[str, Any]]:
    table = scan(run, "ports")
    assert table is not None
    facts = ("max_egress_bytes", "paused_ps", "pauses_received", "drop_frames", "tx_bytes")
    all_ports = (
        table.select("node", "port", *facts)
        .collect()
        .join(data.port_names(run), on=["node", "port"])
        .join(port_of, on=["node", "port"], how="left")
        .sort("max_egress_bytes", "paused_ps", "tx_bytes", "link", descending=[True] * 3 + [False])
    )
    # Each drawn line gets its port with the deepest queue before any line gets a second port.
    rank = (
        pl.when(pl.col("edge").is_null())
        .then(1 << 30)
        .otherwise(pl.int_range(pl.len()).over("edge"))
    )
    used = all_ports.filter(pl.col("tx_bytes") > 0).with_columns(rank=rank)
    kept = used.sort("rank", maintain_order=True).head(most).with_row_index("key")
    at = kept.lazy().select("node", "port", "key", "rate_bps")

    def by_step(quantity: str, value: pl.Expr) -> dict[int, list[float]]:
        if not data.recorded(run, quantity):
            return {}
        samples = data.samples(run, quantity)
        if quantity == "queue_bytes":
            # All queues of a port together.
            samples = samples.group_by("time_ps", "node", "port").agg(pl.col("value").sum())
        taken = grid.numbered(samples).join(at, on=["node", "port"])
        return _lines(taken.group_by("key", "frame").agg(value=value), grid.frames)

    depth = by_step("queue_bytes", pl.col("value").max())
    whole = BITS * PS_PER_S / grid.step_ps / 1e9
    sent = by_step("sent_bytes", pl.col("value").sum() * whole)
    held = by_step("paused", pl.lit(1))
    cut = cut_by_port(run)
    waits = _waits(run, ["node", "port"], kept.select("node", "port", "key"), place=False)
    return [
        {
            "name": row["link"],
            "edge": row["edge"],
            "facts": [
                ["link", f"{row['rate_bps'] / 1e9:g} Gb/s"],
                ["sent", size(row["tx_bytes"])],
                ["deepest queue", size(row["max_egress_bytes"])],
                ["paused", f"{time_text(row['paused_ps'])}, {_times(row['pauses_received'])}"],
                ["dropped", many(row["drop_frames"], "frame")],
                *_cut(cut, row),
            ],
            "curves": [
                *_curve("waiting (KB)", depth.get(row["key"]), 1e-3),
                *_curve("sent (Gb/s)", sent.get(row["key"]), 1.0),
                *_curve("paused", held.get(row["key"]), 1.0),
            ],
            "waits": waits.get(row["key"], []),
        }
        for row in kept.to_dicts()
    ]


def _cut(cut: dict[tuple[str, int], int], row: dict[str, Any]) -> list[list[str]]:
    """Return the number of trimmed packets of a port as a fact, if the run trimmed any."""
    number = cut.get((row["node"], row["port"]), 0)
    return [["trimmed", many(number, "packet")]] if cut else []


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _flows(run: Run, hosts: Sequence[str], most: int) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Return the most delayed flows of each group, and a table of flow_id and key, their index."""
    table = scan(run, "flows")
    if table is None:
        return [], _NONE
    took, ideal = (pl.col(name).cast(pl.Int64) for name in ("fct_last_byte_ps", "ideal_fct_ps"))
    late = took - ideal
    names = ("flow_id", "group", "src", "dst", "bytes", "start_ps", "fct_last_byte_ps", *COUNTS)
    columns = table.select(
        *names, "slowdown", "state", late=late.fill_null(1 << 62), ideal=pl.col("ideal_fct_ps")
    )
    order = columns.group_by("group").agg(pl.col("flow_id").min()).collect(engine="streaming")
    groups = order.sort("flow_id")["group"].to_list()[:most]
    each = max(1, most // max(1, len(groups)))
    # Group by group: a sort of all flows would hold all of them in memory.
    of_groups = [
        columns.filter(pl.col("group") == group).top_k(each, by=["late", "flow_id"])
        for group in groups
    ]
    if not of_groups:
        return [], _NONE
    parts = pl.collect_all(of_groups, engine="streaming")
    by = ["late", "flow_id"]
    kept = pl.concat([one.sort(by, descending=[True, False]) for one in parts])
    kept = kept.with_row_index("key")
    shown = []
    for row in kept.to_dicts():
        took = row["fct_last_byte_ps"]
        ends = [hosts[row[end]] for end in ("src", "dst")]
        number = flow_in_group(row["flow_id"])
        shown.append(
            {
                "name": f"{row['group']}: {ends[0]} → {ends[1]}, flow {number}",
                "group": row["group"],
                # A flow that is not complete has no delay.
                "delay_us": None if took is None or row["ideal"] is None else row["late"] / 1e6,
                "begin_us": row["start_ps"] / 1e6,
                "end_us": None if took is None else (row["start_ps"] + took) / 1e6,
                "facts": [
                    ["size", size(row["bytes"])],
                    ["start", time_text(row["start_ps"])],
                    ["last byte after", "-" if took is None else time_text(took)],
                    ["slowdown", digits(row["slowdown"], 3)],
                    ["state", row["state"]],
                    ["retransmitted", _again(row)],
                ],
            }
        )
    return shown, kept.select("flow_id", "key")


def _again(row: dict[str, Any]) -> str:
    again = row["retransmitted"]
    of = f"{again:,} of {many(row['packets'], 'packet')}" if again else "none"
    return f"{of}{sent_again(row)}"


def _collectives(run: Run, most: int) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    costs = collective_costs(run)
    transfers = scan(run, "transfers")
    if not costs.height or transfers is None:
        return [], _NONE
    kept = (
        costs.sort("above_bound_ps", "start_ps", descending=[True, False], nulls_last=False)
        .head(most)
        .with_row_index("key")
    )
    shown = []
    for row in kept.to_dicts():
        took, bound = row["duration_ps"], row["bound_ps"]
        shown.append(
            {
                "name": f"{row['job']}/{row['step']}, instance {row['instance']}, round "
                f"{row['round']}, group {row['communicator']}",
                "begin_us": row["start_ps"] / 1e6,
                "end_us": None if took is None else row["end_ps"] / 1e6,
                "facts": [
                    ["ranks", f"{row['ranks']:,}"],
                    ["transfers", f"{row['transfers']:,}"],
                    ["took", "-" if took is None else time_text(took)],
                    ["bound by host links", "-" if bound is None else time_text(bound)],
                ],
            }
        )
    on = [name for name in _OF_COLLECTIVE if name in kept.columns]
    key = kept.select(*on, "key").lazy()
    of = transfers.select("flow_id", *on).join(key, on=on).select("flow_id", "key")
    return shown, of.collect(engine="streaming")


def _with_rates(
    run: Run, grid: _Grid, shown: list[dict[str, Any]], of: pl.DataFrame
) -> list[dict[str, Any]]:
    """Add to each flow or collective the curve of received payload, and its waits."""
    rates: dict[int, list[float]] = {}
    table = scan(run, "flows")
    if shown and table is not None and data.recorded(run, "flow_received_bytes"):
        lines = table.join(of.lazy().rename({"key": "line"}), on="flow_id")
        got = grid.numbered(data.received(run, lines, grid.interval_ps))
        # A flow that ends between the last sample and the end of the film counts in the last step.
        by = got.group_by(key="line", frame=pl.col("frame").clip(0, grid.frames - 1))
        whole = BITS * PS_PER_S / grid.step_ps / 1e9
        rates = _lines(by.agg(value=pl.col("new").sum() * whole), grid.frames)
    waits = _waits(run, ["flow_id"], of, place=True)
    for key, one in enumerate(shown):
        one["curves"] = _curve("received (Gb/s)", rates.get(key), 1.0)
        one["waits"] = waits.get(key, [])
    return shown


def _waits(
    run: Run, on: Sequence[str], of: pl.DataFrame, *, place: bool
) -> dict[int, list[list[Any]]]:
    """Return the waits of each key: where, why and microseconds, the longest first.

    `of` has the key of each row of waits, by the columns `on`. With `place`, "where" is the port;
    otherwise the rows are those of a port, and "where" is the group that waited.
    """
    table = scan(run, "waits")
    if table is None:
        return {}
    by = ["key", *(["node", "peer"] if place else ["group"]), "cause", "mechanism", "behind_group"]
    if "peer" not in by:
        by.append("peer")
    sums = (
        table.join(of.lazy(), on=list(on))
        .group_by(by)
        .agg(pl.col("wait_ps").sum())
        .collect(engine="streaming")
        .sort(["wait_ps", *by], descending=[True] + [False] * len(by), nulls_last=True)
    )
    unnamed = sums.filter(pl.col("cause") == "behind", pl.col("behind_group").is_null())
    known = groups(run) if unnamed.height else []
    of_group = f" of {known[0]}" if len(known) == 1 else ""
    found: dict[int, list[list[Any]]] = {}
    for row in sums.to_dicts():
        items = found.setdefault(row["key"], [])
        us = row["wait_ps"] / 1e6
        if len(items) < WAITS:
            where = f"{row['node']} → {row['peer']}" if place else str(row["group"])
            items.append([where, _why(row, of_group), us])
        elif len(items) == WAITS:
            items.append(["elsewhere", "further causes", us])
        else:
            items[-1][2] = round(items[-1][2] + us, 6)
    return found


def _own_frames(one: dict[str, Any]) -> None:
    """Add to a flow's waits the rest of its delay: what its own frames took, more or less."""
    waited = round(sum(us for _, _, us in one["waits"]), 6)
    own = 0.0 if one["delay_us"] is None else round(one["delay_us"] - waited, 6)
    if own:
        one["waits"].append(["its own frames", "compared with the idle network", own])


def _why(row: dict[str, Any], of: str) -> str:
    cause = str(row["cause"])
    if cause == "paused":
        return f"paused by {row['peer']}"
    if cause == "behind":
        # If many flows share a path, the record names only the first ones.
        return f"behind {row['behind_group'] or f'several flows{of}'}"
    return CAUSES.get(cause, cause).format(row["mechanism"] or "a mechanism")


def _lines(values: pl.LazyFrame, frames: int) -> dict[int, list[float]]:
    """Return one value for each step and key; 0 without one."""
    found: dict[int, list[float]] = {}
    rows = values.select("key", "frame", "value").collect(engine="streaming")
    for key, frame, value in rows.iter_rows():
        if 0 <= frame < frames:
            found.setdefault(key, [0.0] * frames)[frame] = float(value)
    return found


def _curve(name: str, line: Sequence[float] | None, unit: float) -> list[dict[str, Any]]:
    """Pack a curve: its name, its greatest value, and all values as shares of that."""
    if line is None or not (top := max(line)):
        return []
    octets = bytes(round(FULL * value / top) for value in line)
    packed = base64.b64encode(octets).decode()
    return [{"name": name, "top": float(f"{top * unit:.4g}"), "line": packed}]


def port_edges(edges: Sequence[Edge], places: pl.DataFrame) -> pl.DataFrame:
    """Return the number of each port's drawn direction: columns node, port, edge."""
    number = pl.DataFrame(
        {"a": [a for a, _ in edges], "b": [b for _, b in edges], "edge": range(len(edges))},
        schema={"a": pl.Int64, "b": pl.Int64, "edge": pl.Int64},
    )
    return places.select("node", "port", "a", "b").join(number, on=["a", "b"]).drop("a", "b")
