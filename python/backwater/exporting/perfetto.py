"""A trace of jobs, flows, pauses and samples, which ui.perfetto.dev and chrome://tracing open.

    {"displayTimeUnit": "ns", "traceEvents": [
    {"ph": "X", "pid": 1, "tid": 2, "ts": 1.5, "dur": 84.25, "name": "...", "args": {...}},
    ...
    ]}

The format is the JSON object of "Trace Event Format" (Duca, Sinclair; Google, 2016): `ph` is `X`
for a span, `i` for an instant, `C` for a counter and `M` for a name; `ts` and `dur` are in us.
Times are cut to whole ns, which is what Perfetto keeps; the exact ones are arguments of the spans.

Spans of one track nest or lie apart. So spans that overlap are drawn in several lanes of a track.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import polars as pl

from backwater.exporting.lanes import Lanes
from backwater.exporting.network import PS_PER_NS
from backwater.exporting.rows import IN_ORDER, counted, frame, ordered, rows
from backwater.numbers.units import time_ps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ()
FILES = ()

NS_PER_US = 1000
LASTING = ("flow_received_bytes",)
"""Quantities whose last sample holds. Others have no row for a sample of zero."""


def write(run: Run, place: Place, options: Options) -> list[str]:  # noqa: ARG001 - of all formats
    """Write the file."""
    with place.text() as out:
        trace = _Trace(out, int(run.summary.get("time_ps", 0)))
        out.write('{"displayTimeUnit": "ns", "traceEvents": [')
        _jobs(run, trace)
        _flows(run, trace)
        _pauses(run, trace)
        _control(run, trace)
        _samples(run, trace)
        out.write("\n]}\n")
    output = run.scenario.get("output", {})
    return [
        *counted((trace.cut, "spans that the run ended before, drawn until its end")),
        *([] if output.get("pause_causes") else ["pauses: output.pause_causes records them"]),
        *([] if "interval" in output else ["queues and rates: output.interval samples them"]),
    ]


class _Trace:
    """Writes events, and the names of the processes and tracks that they belong to."""

    def __init__(self, out: IO[str], end_ps: int) -> None:
        self._out = out
        self._separator = "\n"
        self._end_ps = end_ps
        self._processes: dict[str, int] = {}
        self._lanes: dict[tuple[int, str], Lanes] = {}
        self._tracks: dict[tuple[int, str, int], int] = {}
        self.cut = 0

    def event(self, ph: str, name: str, pid: int, **more: Any) -> None:  # noqa: ANN401 - as the format has them
        self._out.write(self._separator + json.dumps({"ph": ph, "name": name, "pid": pid, **more}))
        self._separator = ",\n"

    def process(self, name: str) -> int:
        """Return the number of a process, which is a group of tracks."""
        pid = self._processes.get(name)
        if pid is None:
            pid = self._processes[name] = len(self._processes) + 1
            self.event("M", "process_name", pid, args={"name": name})
            self.event("M", "process_sort_index", pid, args={"sort_index": pid})
        return pid

    def track(self, pid: int, name: str, lane: int = 0) -> int:
        """Return the number of a track's lane, unique in the trace."""
        tid = self._tracks.get((pid, name, lane))
        if tid is None:
            tid = self._tracks[pid, name, lane] = len(self._tracks) + 1
            label = name if lane == 0 else f"{name} ({lane + 1})"
            self.event("M", "thread_name", pid, tid=tid, args={"name": label})
        return tid

    def span(
        self, place: tuple[str, str], name: str, row: dict[str, Any], shown: Iterable[str]
    ) -> None:
        """Write a span from `start_ps` to `end_ps` of a row; without an end, to that of the run.

        `place` is its process and its track, `shown` the columns that are its arguments.
        """
        process, track = place
        start_ps, end_ps = row["start_ps"], row["end_ps"]
        if end_ps is None:
            self.cut += 1
        begin = start_ps // PS_PER_NS
        end = max(begin, (self._end_ps if end_ps is None else end_ps) // PS_PER_NS)
        pid = self.process(process)
        lane = self._lanes.setdefault((pid, track), Lanes()).take(begin, end)
        self.event(
            "X",
            name,
            pid,
            tid=self.track(pid, track, lane),
            ts=begin / NS_PER_US,
            dur=(end - begin) / NS_PER_US,
            args={one: row[one] for one in ("start_ps", "end_ps", *shown)},
        )

    def count(self, process: str, name: str, at_ps: int, value: int) -> None:
        """Write the value of a counter from a time on."""
        ts = at_ps // PS_PER_NS / NS_PER_US
        self.event("C", name, self.process(process), ts=ts, args={"value": value})


def _rows(run: Run, table: str, by: Sequence[str]) -> Iterable[dict[str, Any]]:
    return ordered(frame(run, table), by)


JOB = ("ranks", "rounds", "complete_rounds")
ROUND = ("last_flow", "last_compute")
COLLECTIVE = (
    "kind",
    "algorithm",
    "round",
    "communicator",
    "ranks",
    "bytes",
    "algbw_bps",
    "busbw_bps",
    "bound_ps",
)
TRANSFER = (
    "flow_id",
    "step",
    "round",
    "communicator",
    "phase",
    "src",
    "dst",
    "bytes",
    "after_flow",
    "after_compute",
)
FLOW = (
    "flow_id",
    "class",
    "bytes",
    "received",
    "slowdown",
    "marked",
    "retransmitted",
    "timeouts",
    "state",
    "waits_for",
)
PAUSE = ("node", "port", "cause", "asked_ps", "ingress_bytes", "behind_peer")
"""Columns that are arguments of a span, for each kind of span."""


def _jobs(run: Run, trace: _Trace) -> None:
    """Write each instance of a job with its rounds, its collectives, and the transfers of ranks."""
    for row in _rows(run, "jobs", ("start_ps", "job", "instance")):
        trace.span((_job(row), "job"), row["job"], row, JOB)
    for row in _rows(run, "rounds", ("start_ps", "job", "instance", "round")):
        trace.span((_job(row), "rounds"), f"round {row['round']}", row, ROUND)
    for row in _rows(run, "collectives", ("start_ps", "job", "instance", "round", "communicator")):
        trace.span((_job(row), f"step {row['step']}"), row["kind"], row, COLLECTIVE)
    for row in _rows(run, "transfers", IN_ORDER):
        place = _job(row), f"rank {row['src_rank']} sends"
        trace.span(place, f"{row['step']} to {row['dst_rank']}", row, TRANSFER)


def _job(row: dict[str, Any]) -> str:
    return f"job {row['job']}/{row['instance']}"


def _flows(run: Run, trace: _Trace) -> None:
    """Write the flows of each host, except transfers of jobs, until their last bytes arrived."""
    of_jobs = frame(run, "collectives").select("job", "step").unique().collect()
    groups = [f"{job}/{step}" for job, step in of_jobs.rows()]
    own = frame(run, "flows").filter(~pl.col("group").is_in(groups))
    ended = own.with_columns(end_ps=pl.col("start_ps") + pl.col("fct_last_byte_ps"))
    for row in ordered(ended, IN_ORDER):
        place = "flows, by sender", f"h{row['src']}"
        trace.span(place, f"{row['group']} to h{row['dst']}", row, FLOW)


def _pauses(run: Run, trace: _Trace) -> None:
    """Write each pause at the port that was paused."""
    for row in _rows(run, "pauses", ("start_ps", "peer", "peer_port", "class")):
        name = "link" if row["class"] is None else f"class {row['class']}"
        place = "paused ports", f"{row['peer']} port {row['peer_port']}"
        trace.span(place, name, row, PAUSE)


def _control(run: Run, trace: _Trace) -> None:
    """Write each control message at the node that sent it."""
    shown = ("time_ps", "port", "class", "to", "value")
    # The table is in the order of time.
    for node, kind, *values in rows(run, "control", ("node", "kind", *shown)):
        pid = trace.process("control messages, by sender")
        tid = trace.track(pid, node)
        args = dict(zip(shown, values, strict=True))
        ts = args["time_ps"] // PS_PER_NS / NS_PER_US
        trace.event("i", kind, pid, tid=tid, ts=ts, s="t", args=args)


def _samples(run: Run, trace: _Trace) -> None:
    """Write each series of samples as a counter, with the zeros that have no rows."""
    interval = time_ps(run.scenario.get("output", {}).get("interval", "0 s"))
    last: dict[tuple[str, str], int] = {}
    of = ("port", "queue", "flow")
    # The table is in the order of time.
    for at, node, quantity, value, *numbers in rows(
        run, "series", ("time_ps", "node", "quantity", "value", *of)
    ):
        known = [
            f"{one} {number}" for one, number in zip(of, numbers, strict=True) if number is not None
        ]
        key = (f"samples of {node}", " ".join([quantity, *known]))
        if quantity not in LASTING:
            before = last.get(key)
            if before is not None and before + interval < at:
                trace.count(*key, before + interval, 0)
            last[key] = at
        trace.count(*key, at, value)
    for key, at in last.items():
        trace.count(*key, at + interval, 0)
