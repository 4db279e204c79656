"""Does the runs of `backwater run`, one or many, and prints their results."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.cli.capture import told
from backwater.cli.output import message, put, show, write_json
from backwater.cli.progress import Reporter, reporting
from backwater.cli.views import View
from backwater.experiments.execute import run_jobs
from backwater.findings import failures, headlines, hints, remarks
from backwater.manifest import SEEDS, kind_of
from backwater.naming import flow_name
from backwater.numbers.repeats import fold, named, said_same
from backwater.numbers.report import report
from backwater.repetitions import of_whole, summed_up
from backwater.running import used_threads
from backwater.saved import told as told_changes
from backwater.saving import last_save, save_at
from backwater.stopping import interruptible
from backwater.wording import (
    count,
    figure,
    given_up,
    many,
    offered,
    prefixed,
    sent_again,
    sentence,
    simulated,
    three,
    us,
)

if TYPE_CHECKING:
    from pathlib import Path

    from backwater.experiments.hands import Workers
    from backwater.results import Run
    from backwater.resumed import Resumed
    from backwater.running import Job
    from backwater.scenario import Scenario

FAILED, INCOMPLETE = 1, 3
# From this value on a number gets a prefix, and a time a larger unit.
LARGE = 1e7
# Larger units of times and sizes, with their factors.
LARGER = {
    "ps": ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")),
    "us": ((1e6, "s"), (1e3, "ms")),
    "B": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")),
}
SCALED = ("mean", "min", "max", "std", "ci_low", "ci_high")


def once(
    case: Scenario | Resumed,
    job: Job,
    there: Run | None,
    base: Path,
    json: str | None,
    *,
    allow: bool,
    json_progress: bool = False,
    more: bool = False,
) -> int:
    """Do one run unless it is `there` already, and print its report; returns the exit code.

    With `allow` an incomplete run is no failure. With `more` the command has more to do after the
    run: a signal then ends it, even if the run has come to its end.
    """
    with interruptible() as stop, reporting(json=json_progress) as display:
        if there is None:
            [outcome] = run_jobs([job], Reporter(1, display), stop, report)
        else:
            message(f"the run is in {base} already; --force does it anew")
            outcome = report(there)
    if isinstance(outcome, dict):
        if json is not None:
            write_json(json, outcome)
        if json == "-":
            message(*headlines(outcome["warnings"]))
        else:
            _show_one(case, outcome)
        message(*(f"hint: {hint}" for hint in hints(outcome["warnings"])))
    elif outcome is not None:
        message(f"error: {outcome}")
    whole = isinstance(outcome, _core.RunError) or (
        isinstance(outcome, dict) and outcome["status"] == "done"
    )
    if stop.is_set() and (more or not whole):
        if outcome is None:
            message(f"{stop}; nothing had been simulated yet")
        elif whole:
            message(f"{stop}; the run is over: {base}", *told(job.capture, outcome))
        else:
            message(f"{stop}; what was simulated by then is in {base}", *told(job.capture, outcome))
            message(*_goes_on(job, base))
        message(*_threads(job, outcome))
        return stop.exit_code
    message(f"results: {base}", *told(job.capture, outcome), *_threads(job, outcome))
    if isinstance(outcome, dict) and failures(outcome["warnings"]) and not allow:
        return INCOMPLETE
    return FAILED if isinstance(outcome, _core.RunError) else 0


def _threads(job: Job, outcome: object) -> list[str]:
    """Report how many threads a run used, if it might have used more than one."""
    if job.threads == 1 or not isinstance(outcome, dict):
        return []
    return [used_threads(job, outcome["summary"])]


def _goes_on(job: Job, base: Path) -> list[str]:
    """Report from where a stopped run can be resumed, if it was saved."""
    saved = None if job.saving is None else last_save(job, job.saving.path)
    if saved is None:
        return []
    file = shlex.quote(str(saved.path))
    again = f"`backwater run --from {file} --out {shlex.quote(str(base))}`"
    return [f"saved at {simulated(saved.time_ps)}: {file}", f"hint: {again} goes on from there"]


def save_once(job: Job, until: str, path: Path, *, json_progress: bool = False) -> int:
    """Run up to a time, save the run there, and report how to resume it."""
    with interruptible() as stop, reporting(json=json_progress) as display:
        try:
            status = save_at(job, until, path, Reporter(1, display), stop)
        except _core.RunError as error:
            message(f"error: {error}")
            return FAILED
    if status is None:
        message(f"{stop}; the run was not saved")
        return stop.exit_code
    message(
        f"saved at {until}: {path}",
        f"hint: `backwater run --from {shlex.quote(str(path))}` goes on from there",
    )
    return 0


def repeat(
    case: Scenario,
    jobs: list[Job],
    done: list[Run | None],
    base: Path,
    json: str | None,
    again: str,
    workers: Workers | None,
    *,
    allow: bool,
    json_progress: bool = False,
    more: bool = False,
) -> int:
    """Do the missing runs, and print statistics of all; returns the exit code.

    `allow` and `more` mean the same as for `once`.
    """
    missing = done.count(None)
    if missing < len(jobs):
        message(f"{len(jobs) - missing} of {len(jobs)} runs are in {base} already")
    with interruptible() as stop, reporting(json=json_progress) as display:
        outcomes = run_jobs(jobs, Reporter(missing, display), stop, of_whole, workers, done)
    # A signal that comes when all runs are over has stopped nothing.
    cut = stop.is_set() and (more or None in outcomes)
    if cut and kind_of(base) != SEEDS:
        message(f"{stop}; nothing had been simulated yet")
        return stop.exit_code
    reports = [one for one in outcomes if isinstance(one, dict) and one["status"] == "done"]
    errors = [one for one in outcomes if isinstance(one, _core.RunError)]
    status = "interrupted" if None in outcomes else "failed" if errors else "done"
    statistics, found = summed_up(jobs, reports, base, status)
    if json is not None and reports:
        write_json(
            json,
            {"title": case.title, "statistics": statistics, "warnings": found, "runs": reports},
        )
    if json == "-":
        message(*headlines(found))
    elif reports:
        _show_statistics(case, statistics, len(reports), found)
    message(*(f"hint: {hint}" for hint in hints(found)))
    for error in errors:
        message(f"error: {error}")
    if cut:
        message(f"{stop}; {len(reports)} of {len(jobs)} runs are complete in {base}")
        if None in outcomes:
            message(f"hint: `backwater {again} --out {shlex.quote(str(base))}` does the others")
        return stop.exit_code
    message(f"results: {base}")
    if errors:
        return FAILED
    return INCOMPLETE if failures(found) and not allow else 0


def _begin(warnings: list[dict[str, Any]]) -> None:
    """Print first in what a run is incomplete."""
    for line in headlines(warnings):
        put(line, style="bold red")


def _show_one(case: Scenario | Resumed, one: dict[str, Any]) -> None:
    _begin(one["warnings"])
    view = View()
    for column in ("group", "flows", "complete"):
        view.add_column(column, justify="left" if column == "group" else "right")
    times = [
        (each["fct_last_ack_us"] or {}, each["fct_last_byte_us"] or {}) for each in one["groups"]
    ]
    # Leave out a column without any value.
    tails = [ack.get("p99") is not None for ack, _ in times]
    columns = {"mean": "mean", "p50": "median", "p99": "99th perc.", "max": "greatest"}
    if not any(tails):
        del columns["p99"]
    for column in (*columns.values(), "mean to last byte"):
        view.add_column(f"{column}\nus", justify="right")
    for group, (ack, byte) in zip(one["groups"], times, strict=True):
        view.add_row(
            group["group"],
            str(group["flows"]),
            str(group["complete"]),
            *(us(ack.get(name)) for name in columns),
            us(byte.get("mean")),
        )
    show(
        view,
        f"{case.title or 'A scenario without a title'} (seed {one['seed']})",
        "Completion times over the group's complete flows; to the last ACK unless said otherwise.",
        *(["A 99th percentile takes 100 complete flows."] if any(tails) > all(tails) else []),
        *(f"{line}." for line in told_changes(one["changed"])),
        *_outcomes(one),
        *([] if one["jobs"] else [*_completions(one), *_totals(one)]),
    )
    if one["jobs"]:
        _show_jobs(one)


# The number of rounds that are printed; of more, the first ones and the last.
ROUNDS = 8


def _show_jobs(one: dict[str, Any]) -> None:
    """Print how long collectives took, and when rounds ended."""
    view = View()
    for column in ("job/step", "collective", "number"):
        view.add_column(column, justify="right" if column == "number" else "left")
    for column in ("mean\nus", "greatest\nus", "bound\nus", "algorithm\nGb/s", "bus\nGb/s"):
        view.add_column(column, justify="right")
    for step in one["jobs"]:
        took, bound = step["duration_us"] or {}, step["bound_us"] or {}
        algorithm, bus = step["algbw_gbps"] or {}, step["busbw_gbps"] or {}
        done, all_ = step["complete"], step["collectives"]
        view.add_row(
            f"{step['job']}/{step['step']}",
            f"{step['kind']} ({step['algorithm']})",
            str(all_) if done == all_ else f"{done} of {all_}",
            us(took.get("mean")),
            us(took.get("max")),
            us(bound.get("max")),
            figure(_rounded(algorithm.get("mean"))),
            figure(_rounded(bus.get("mean"))),
        )
    rounds = one["rounds"]
    told = rounds if len(rounds) <= ROUNDS else [*rounds[: ROUNDS - 1], rounds[-1]]
    lines = [
        f"{row['job']}: round {row['round']} ended at {us(row['end_us'])} us"
        + (_among(row["instances"]) if row["instances"]["min"] < row["instances"]["max"] else ".")
        for row in told
    ]
    show(
        view,
        "\nCollectives",
        "Times run to the end of the last transfer. The bound is the time that the busiest host",
        "needs with all of its links, links to an NVLink switch included; the greatest is shown.",
        "Bandwidths as nccl-tests defines them, means over collectives.",
        *_completions(one),
        *lines,
        *_totals(one),
    )


def _completions(one: dict[str, Any]) -> list[str]:
    """Describe how long jobs took, if all of their instances are complete."""
    said = []
    for row in one["jct"]:
        if row["complete"] < row["instances"]:
            continue
        took, begun = row["duration_us"], f"{row['job']}: job completion time"
        if row["instances"] == 1:
            said.append(f"{begun} {us(took['max'])} us.")
        else:
            said.append(
                f"{begun} {us(took['mean'])} us (mean), {us(took['max'])} us (greatest) of "
                f"{row['instances']} instances."
            )
    return said


def _among(instances: dict[str, float]) -> str:
    return f"; instances took {us(instances['min'])} to {us(instances['max'])} us."


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _outcomes(one: dict[str, Any]) -> list[str]:
    """Describe slowdowns, retransmissions, incomplete flows, deadlocks and warnings."""
    said = []
    for group in one["groups"]:
        if slowdown := group["slowdown"]:
            tail = slowdown["p99"]
            said.append(
                f"{group['group']}: slowdown {three(slowdown['p50'])} (median)"
                + ("." if tail is None else f", {three(tail)} (99th percentile).")
            )
        if again := group["retransmitted"]:
            after = sent_again(group)
            said.append(
                f"{group['group']}: {again:,} of {group['packets']:,} data packets were "
                "retransmitted" + (f"{after} among others." if after else ".")
            )
        if group["failed"]:
            said.append(
                f"{group['group']}: {many(group['failed'], 'flow')} failed (transport.retries)."
            )
        if group["unfinished"]:
            said.append(
                f"{group['group']}: {group['unfinished']:,} "
                f"{'flow is' if group['unfinished'] == 1 else 'flows are'} not finished; the "
                "column waits_for says why."
            )
    said += [f"{flow_name(first)} waits for {first['waits_for']}." for first in one["waiting"]]
    summary = one["summary"]
    if deadlock := summary.get("deadlock"):
        cycle = " -> ".join([*deadlock["cycle"], deadlock["cycle"][0]])
        said.append(f"Deadlock since {simulated(deadlock['time_ps'])}: {cycle}.")
    said += map(sentence, given_up(one["watchdogs"]))
    said += [f"{found['message']}." for found in remarks(one["warnings"])]
    return said


def _totals(one: dict[str, Any]) -> tuple[str, ...]:
    ports, summary = one["ports"], one["summary"]
    parts = [
        f"simulated {simulated(summary.get('time_ps', 0))}",
        count(summary.get("hops", 0), "packet-hops"),
    ]
    flushed, lost = ports.get("flushed_frames", 0), summary.get("fault_losses", 0)
    cut = ports.get("trimmed", 0)
    frames = [
        many(ports.get("drop_frames", 0), "frame") + " dropped",
        *([f"{cut:,} trimmed"] if cut else []),
        *([f"{lost:,} lost by faults"] if lost else []),
        *([f"{flushed:,} flushed from queues"] if flushed else []),
        f"{ports.get('marked_frames', 0):,} marked",
        f"{many(ports.get('pauses_sent', 0), 'pause')} sent",
        f"ports paused: {ports.get('ports_paused', 0):,}",
    ]
    # Two lines, each within the 80 columns of a terminal.
    return (
        f"{', '.join(parts)}.",
        f"{', '.join(frames)}.",
        *map(offered, summary.get("offered", [])),
        f"fingerprint {one['fingerprint']}",
    )


def _show_statistics(
    case: Scenario, rows: list[dict[str, Any]], runs: int, found: list[dict[str, Any]]
) -> None:
    _begin(found)
    some = any(row["n"] < runs for row in rows)
    view = View()
    view.add_column("of")
    view.add_column("quantity", no_wrap=True)
    view.add_column("unit")
    # Numbers are folded, never cut: a number without its last digit is another one.
    for column in (
        *(["n"] if some else []),
        *("mean", "least", "greatest", "std. dev.", "95 % of the mean"),
    ):
        view.add_column(column, justify="right", overflow="fold")
    folded = fold([_scaled(row) for row in rows], runs)
    for row, same in folded.rows:
        view.add_row(
            *(row["of"], named(row["quantity"]), row["unit"]),
            *([str(row["n"])] if some else []),
            _short(row["mean"]),
            *("" if same else _short(row[name]) for name in ("min", "max", "std")),
            "±0" if same else _interval(row),
        )
    below = ["The last column is half of the 95 % interval of the mean (Student's t)."]
    if any(same for _, same in folded.rows):
        below.append("±0: the same in all runs.")
    if some:
        below.append("n: runs that have the number.")
    if folded.counts:
        below.append(said_same(folded.counts))
    if folded.zeros:
        alike: dict[str, list[str]] = {}
        for quantity, of in folded.zeros.items():
            alike.setdefault(", ".join(of), []).append(quantity)
        said = (f"{', '.join(names)} ({of})" for of, names in alike.items())
        below.append(f"0 in all runs: {'; '.join(said)}.")
    below += [f"{one['message']}." for one in remarks(found)]
    show(view, f"{case.title} ({runs} runs)", "", *below)


def _scaled(row: dict[str, Any]) -> dict[str, Any]:
    """Convert a row of large times or sizes to a larger unit."""
    size = max(abs(row["min"] or 0), abs(row["max"] or 0))
    for factor, unit in LARGER.get(row["unit"], ()):
        if size >= max(LARGE, factor):
            numbers = {name: row[name] / factor for name in SCALED if row[name] is not None}
            quantity = row["quantity"].removesuffix(f"_{row['unit']}")
            return row | numbers | {"unit": unit, "quantity": quantity}
    return row


def _interval(row: dict[str, Any]) -> str:
    return "-" if row["std"] is None else f"±{_three(row['ci_high'] - row['mean'])}"


def _short(value: float | None) -> str:
    """Format a number in at most nine characters."""
    return prefixed(value) if value is not None and abs(value) >= LARGE else figure(value)


def _three(value: float) -> str:
    return _short(float(f"{value:.3g}"))
