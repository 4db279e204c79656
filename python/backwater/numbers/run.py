"""The numbers of a run's report: completion times by group, jobs, rounds, totals of ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.naming import host_names, with_hosts
from backwater.numbers.of_mechanisms import WATCHDOG
from backwater.numbers.rows import rows
from backwater.numbers.statistics import spread
from backwater.numbers.units import BPS_PER_GBPS, PS_PER_US

if TYPE_CHECKING:
    from backwater.results import Run

SUMS = ("bytes", "packets", "received", "retransmitted", "inferred_lost", "timeouts")
"""Columns of the table of flows of which a group has a sum."""
PORTS = (
    *("pauses_sent", "pauses_received", "paused_ps"),
    *("drop_frames", "flushed_frames", "marked_frames"),
)
"""Columns of the table of ports of which a run has a sum."""
CUT = ("trimmed", "returned")
"""Counters of packets that a port trimmed, and sent on or back."""


def group_times(run: Run) -> list[dict[str, Any]]:
    """Give, for each group of flows, how many completed and their completion times in us.

    Times are of complete flows only, from the flow's start to `fct_last_byte` (last byte at the
    receiver) and to `fct_last_ack` (last acknowledgement back at the sender). `slowdown`, a ratio,
    is of complete flows only, too.
    """
    times = ("fct_last_byte_ps", "fct_last_ack_ps", "slowdown")
    flows = rows(run, "flows", "flow_id", "group", "state", *SUMS, *times)
    found = []
    # Flows are numbered in the order of the scenario, rows come in the order of completion.
    for (group,) in flows.distinct("group", by="flow_id"):
        members = flows.only(group=group)
        complete = members.only(state="complete")
        found.append(
            {
                "group": str(group),
                "flows": len(members),
                "complete": len(complete),
                "failed": len(members.only(state="failed")),
                "unfinished": len(members.only(state="unfinished")),
                **{name: members.total(name) for name in SUMS},
                "fct_last_byte_us": spread(complete.ordered("fct_last_byte_ps"), PS_PER_US),
                "fct_last_ack_us": spread(complete.ordered("fct_last_ack_ps"), PS_PER_US),
                "slowdown": spread(complete.ordered("slowdown")),
            }
        )
    return found


def groups(run: Run) -> list[str]:
    """Labels of the groups of flows, in the order of the scenario."""
    flows = rows(run, "flows", "flow_id", "group")
    return [str(group) for (group,) in flows.distinct("group", by="flow_id")]


def waiting(run: Run) -> list[dict[str, Any]]:
    """Give, for each group with unfinished flows, the first of them and what it waited for."""
    names = ("src", "dst", "waits_for")
    flows = rows(run, "flows", "flow_id", "group", "state", *names)
    unfinished = flows.only(state="unfinished")
    found = []
    for (group,) in unfinished.distinct("group", by="flow_id"):
        first = unfinished.only(group=group)
        told = {"group": group, "flow_id": first.first("flow_id", by="flow_id")}
        found.append(told | {name: first.first(name, by="flow_id") for name in names})
    named: list[dict[str, Any]] = with_hosts(found, host_names(run.scenario))
    return named


def job_times(run: Run) -> list[dict[str, Any]]:
    """Give, for each step of each job, how long its collectives took, in us, beside their bound.

    Times and bandwidths (Gb/s) are of complete ones only; `bound_us` is what the busiest host
    needs with all of its links together. A collective is what one group of ranks does in one round.
    """
    of = ("job", "step", "kind", "algorithm", "bytes", "end_ps")
    values = ("duration_ps", "bound_ps", "algbw_bps", "busbw_bps")
    collectives = rows(run, "collectives", *of, *values)
    found = []
    for job, step in collectives.distinct("job", "step"):
        members = collectives.only(job=job, step=step)
        complete = members.known("end_ps")
        found.append(
            {
                "job": job,
                "step": step,
                "kind": members.first("kind"),
                "algorithm": members.first("algorithm"),
                "collectives": len(members),
                "complete": len(complete),
                "bytes": members.total("bytes"),
                "duration_us": spread(complete.ordered("duration_ps"), PS_PER_US),
                "bound_us": spread(complete.ordered("bound_ps"), PS_PER_US),
                "algbw_gbps": spread(complete.ordered("algbw_bps"), BPS_PER_GBPS),
                "busbw_gbps": spread(complete.ordered("busbw_bps"), BPS_PER_GBPS),
            }
        )
    return found


def completion_times(run: Run) -> list[dict[str, Any]]:
    """Give, for each job, how many of its instances are complete, and how long those took, in us.

    From `job.start` to the end of the last transfer or computation.
    """
    jobs = rows(run, "jobs", "job", "end_ps", "duration_ps")
    found = []
    for (job,) in jobs.distinct("job"):
        members = jobs.only(job=job)
        complete = members.known("end_ps")
        found.append(
            {
                "job": str(job),
                "instances": len(members),
                "complete": len(complete),
                "duration_us": spread(complete.ordered("duration_ps"), PS_PER_US),
            }
        )
    return found


def job_labels(run: Run) -> list[str]:
    """Labels of the jobs."""
    return [str(job) for (job,) in rows(run, "jobs", "job").distinct("job")]


def job_steps(run: Run) -> list[tuple[str, str]]:
    """The steps of jobs that have collectives, each as its job and its own label."""
    found = rows(run, "collectives", "job", "step", "start_ps")
    return [(str(job), str(step)) for job, step in found.distinct("job", "step", by="start_ps")]


def round_times(run: Run) -> list[dict[str, Any]]:
    """Give, for each round of each job, when its first step began and its last ended, in us.

    `instances` is the spread of that time over the job's instances. Rounds that an instance has
    begun and not completed are left out.
    """
    rounds = rows(run, "rounds", "job", "round", "start_ps", "end_ps", "duration_ps")
    found = []
    for job, number in rounds.distinct("job", "round", by="round"):
        members = rounds.only(job=job, round=number)
        if len(members.known("end_ps")) == len(members):
            found.append(
                {
                    "job": job,
                    "round": number,
                    "start_us": members.ordered("start_ps")[0] / PS_PER_US,
                    "end_us": members.ordered("end_ps")[-1] / PS_PER_US,
                    "instances": spread(members.ordered("duration_ps"), PS_PER_US),
                }
            )
    return found


def port_totals(run: Run) -> dict[str, int]:
    """Sums over all ports, how many ports received a pause, and packets trimmed."""
    ports = rows(run, "ports", *PORTS)
    if not len(ports):
        return {}
    totals = {name: ports.total(name) for name in PORTS}
    counters = rows(run, "counters", "counter", "value")
    cut = sum(counters.only(counter=name).total("value") for name in CUT)
    return totals | {"ports_paused": len(ports.above("pauses_received", 0)), "trimmed": cut}


def watchdogs(run: Run) -> list[dict[str, Any]]:
    """Give the ports of which watchdogs gave up queues, by when they did so first.

    With classes, how often, and the frames that were flushed there.
    """
    fired = rows(run, "control", "time_ps", "kind", "node", "port", "class").only(kind=WATCHDOG)
    if not len(fired):
        return []
    ports = rows(run, "ports", "node", "port", "peer", "flushed_frames")
    found = []
    for node, port in fired.distinct("node", "port", by="time_ps"):
        mine = fired.only(node=node, port=port)
        [(peer, flushed)] = ports.only(node=node, port=port).distinct("peer", "flushed_frames")
        found.append(
            {
                "node": node,
                "port": port,
                "peer": peer,
                "classes": sorted(number for (number,) in mine.distinct("class")),
                "first_ps": int(mine.ordered("time_ps")[0]),
                "times": len(mine),
                "flushed_frames": flushed,
            }
        )
    return found


def deepest(run: Run) -> int:
    """Give the most bytes that waited at once for any port of a switch, exactly; 0 of none.

    Nothing waits so for the ports of hosts, which have no queue of their own.
    """
    depths = rows(run, "ports", "max_egress_bytes").ordered("max_egress_bytes")
    return int(depths[-1]) if len(depths) else 0


def cut_by_port(run: Run) -> dict[tuple[str, int], int]:
    """How many packets that were to leave by a port were trimmed, where any were."""
    counters = rows(run, "counters", "node", "port", "mechanism", "counter", "value")
    found: dict[tuple[str, int], int] = {}
    for name in CUT:
        of = counters.only(counter=name)
        for node, port, _, value in of.distinct("node", "port", "mechanism", "value"):
            found[node, port] = found.get((node, port), 0) + value
    return found


def count_control(run: Run, kind: str) -> int:
    """How many control messages of one kind a run sent."""
    return len(rows(run, "control", "kind").only(kind=kind))
