"""The numbers of a run's report: completion times by group, jobs, rounds, totals of ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.naming import host_names, with_hosts
from backwater.numbers.of_mechanisms import WATCHDOG
from backwater.numbers.registry import CUT, GROUP, QUANTITIES, RUN
from backwater.numbers.rows import rows
from backwater.numbers.statistics import spread
from backwater.numbers.units import BPS_PER_GBPS, PS_PER_US

if TYPE_CHECKING:
    from backwater.results import Run


def group_times(run: Run) -> list[dict[str, Any]]:
    """Return, for each group of flows, counts and the completion times of its complete flows in us.

    Times run from a flow's start to the last byte at the receiver (`fct_last_byte`), and to the
    last acknowledgement at the sender (`fct_last_ack`). `slowdown` is a ratio.
    """
    counted = [one for one in QUANTITIES.values() if one.of == GROUP and one.report]
    flows = rows(run, "flows")
    found = []
    # Flows are numbered in the order of the scenario; rows are in the order of completion.
    for (group,) in flows.distinct("group", by="flow_id"):
        members = flows.only(group=group)
        complete = members.only(state="complete")
        found.append(
            {
                "group": str(group),
                **{one.report: one.number(members, run) for one in counted if one.number},
                "fct_last_byte_us": spread(complete.ordered("fct_last_byte_ps"), PS_PER_US),
                "fct_last_ack_us": spread(complete.ordered("fct_last_ack_ps"), PS_PER_US),
                "slowdown": spread(complete.ordered("slowdown")),
            }
        )
    return found


def groups(run: Run) -> list[str]:
    """Return the labels of the groups of flows, in the order of the scenario."""
    flows = rows(run, "flows")
    return [str(group) for (group,) in flows.distinct("group", by="flow_id")]


def waiting(run: Run) -> list[dict[str, Any]]:
    """Return, for each group with unfinished flows, the first of them and what it waited for."""
    names = ("src", "dst", "waits_for")
    flows = rows(run, "flows")
    unfinished = flows.only(state="unfinished")
    found = []
    for (group,) in unfinished.distinct("group", by="flow_id"):
        first = unfinished.only(group=group)
        about = {"group": group, "flow_id": first.first("flow_id", by="flow_id")}
        found.append(about | {name: first.first(name, by="flow_id") for name in names})
    named: list[dict[str, Any]] = with_hosts(found, host_names(run.scenario))
    return named


def job_times(run: Run) -> list[dict[str, Any]]:
    """Return, for each step of each job, how long its collectives took, in us, and their bound.

    Times and bandwidths (Gb/s) cover complete collectives only. `bound_us` is the time that the
    busiest host needs with all of its links. A collective belongs to one group of ranks and one
    round.
    """
    collectives = rows(run, "collectives")
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
    """Return, for each job, how many of its instances are complete and how long those took, in us.

    The time is from `job.start` to the end of the last transfer or computation.
    """
    jobs = rows(run, "jobs")
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
    """Return the labels of the jobs."""
    return [str(job) for (job,) in rows(run, "jobs").distinct("job")]


def job_steps(run: Run) -> list[tuple[str, str]]:
    """Return the steps with collectives, each as its job and its label."""
    found = rows(run, "collectives")
    return [(str(job), str(step)) for job, step in found.distinct("job", "step", by="start_ps")]


def round_times(run: Run) -> list[dict[str, Any]]:
    """Return, for each round of each job, when its first step began and its last ended, in us.

    `instances` is the spread of the round's duration over the job's instances. Rounds that some
    instance has not completed are left out.
    """
    rounds = rows(run, "rounds")
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
    """Return sums over all ports, how many ports received a pause, and packets trimmed."""
    tables = {name: rows(run, name) for name in ("ports", "counters")}
    if not len(tables["ports"]):
        return {}
    counted = [one for one in QUANTITIES.values() if one.of == RUN and one.report]
    numbers = ((one, one.number(tables[one.table], run)) for one in counted if one.number)
    return {one.report: int(number or 0) for one, number in numbers}


def watchdogs(run: Run) -> list[dict[str, Any]]:
    """Return the ports at which watchdogs gave up queues, by the time of the first.

    Each has the classes, how often it happened, and the frames flushed there.
    """
    fired = rows(run, "control").only(kind=WATCHDOG)
    if not len(fired):
        return []
    ports = rows(run, "ports")
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


def cut_by_port(run: Run) -> dict[tuple[str, int], int]:
    """Return how many packets bound for each port were trimmed, for ports with any."""
    counters = rows(run, "counters")
    found: dict[tuple[str, int], int] = {}
    for name in CUT:
        of = counters.only(counter=name)
        for node, port, _, value in of.distinct("node", "port", "mechanism", "value"):
            found[node, port] = found.get((node, port), 0) + value
    return found
