"""`backwater run`: simulate a scenario, for one seed or several.

The libraries that write results are imported when something runs, so that help is quick.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater import _core
from backwater.cli.arguments import File, Force, Json, Out, Set, Variant, read, seeds
from backwater.cli.output import (
    count,
    message,
    show,
    simulated,
    table,
    us,
    warn,
    writable,
    write_json,
)
from backwater.errors import InputError

if TYPE_CHECKING:
    from backwater.results import Run
    from backwater.running import Job
    from backwater.scenario import Scenario

FAILED, INTERRUPTED = 1, 130


def run(
    file: File,
    settings: Set = None,
    variant: Variant = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed; by default the scenario's own.")
    ] = None,
    many: Annotated[
        str | None,
        typer.Option(
            "--seeds", metavar="N|A..B", help="Repeat with N seeds, or with the seeds A to B."
        ),
    ] = None,
    out: Out = None,
    json: Json = None,
    force: Force = False,
) -> int:
    """Simulate a scenario and keep its results.

    Results are Parquet tables and a manifest in a directory of the run's own. Ctrl-C stops cleanly
    and keeps what has been simulated. With --json - the JSON is all that goes to stdout.
    """
    from backwater.results import clear, free_name, fresh_directory

    if seed is not None and many is not None:
        raise InputError("--seed and --seeds exclude each other", "give one of them")
    writable(json)
    case = read(file, variant, settings)
    numbers = [case.seed if seed is None else seed] if many is None else seeds(many, case.seed)
    base = free_name(Path("results") / _name(file, variant)) if out is None else Path(out)
    fresh_directory(base, force=force)
    folders = [base] if many is None else [base / f"seed-{number}" for number in numbers]
    jobs = [case.job(number, folder) for number, folder in zip(numbers, folders, strict=True)]
    warn(jobs[0].scenario.check())
    clear(base)
    return _run(case, jobs, base, json, several=many is not None)


def _name(file: str, variant: str | None) -> str:
    stem = "stdin" if file == "-" else Path(file).stem
    return stem if variant is None else f"{stem}-{variant}"


def _run(case: Scenario, jobs: list[Job], base: Path, json: str | None, *, several: bool) -> int:
    from backwater.cli.progress import Reporter, reporting
    from backwater.results import FORMAT, MANIFEST, Run
    from backwater.results import write_json as write_json_file
    from backwater.running import interruptible, run_jobs

    with interruptible() as stop, reporting() as display:
        outcomes = run_jobs(jobs, Reporter(len(jobs), display), stop)
    runs = [outcome for outcome in outcomes if isinstance(outcome, Run)]
    errors = [outcome for outcome in outcomes if isinstance(outcome, _core.RunError)]
    reports = [report(one) for one in runs]
    if several:
        folders = [str(one.directory.name) for one in runs if one.directory is not None]
        base.mkdir(parents=True, exist_ok=True)
        write_json_file(base / MANIFEST, {"format": FORMAT, "kind": "seeds", "runs": folders})
    if json is not None and reports:
        write_json(json, reports if several else reports[0])
    if json != "-" and reports:
        if several:
            _show_seeds(case, reports)
        else:
            _show_one(case, reports[0])
    for error in errors:
        message(f"error: {error}")
    if stop.is_set():
        message(f"stopped; what was simulated by then is in {base}")
        return INTERRUPTED
    message(f"results: {base}")
    return FAILED if errors else 0


def report(run: Run) -> dict[str, Any]:
    """Sum up a run, as `run --json` has it. Times in us, or ps where the name says so."""
    from backwater.stats import group_times, port_totals

    return {
        "title": run.manifest["title"],
        "file": run.manifest.get("file"),
        "variant": run.manifest.get("variant"),
        "set": run.manifest.get("set", {}),
        "seed": run.seed,
        "status": run.status,
        "fingerprint": run.fingerprint,
        "directory": str(run.directory),
        "groups": group_times(run.flows),
        "ports": port_totals(run.ports),
        "summary": run.summary,
        "warnings": run.warnings,
    }


def _show_one(case: Scenario, one: dict[str, Any]) -> None:
    view = table()
    for column in ("group", "flows", "complete"):
        view.add_column(column, justify="left" if column == "group" else "right")
    for column in ("mean", "median", "99th perc.", "greatest", "mean to last byte"):
        view.add_column(f"{column}\nus", justify="right")
    for group in one["groups"]:
        ack, byte = group["fct_last_ack_us"] or {}, group["fct_last_byte_us"] or {}
        view.add_row(
            group["group"],
            str(group["flows"]),
            str(group["complete"]),
            *(us(ack.get(name)) for name in ("mean", "p50", "p99", "max")),
            us(byte.get("mean")),
        )
    show(
        view,
        f"{case.title} (seed {one['seed']})",
        "Completion times over the group's complete flows; to the last ACK unless said otherwise.",
        *_totals(one),
    )


def _totals(one: dict[str, Any]) -> tuple[str, ...]:
    ports, summary = one["ports"], one["summary"]
    parts = [
        f"simulated {simulated(summary.get('time_ps', 0))}",
        count(summary.get("hops", 0), "packet-hops"),
    ]
    frames = [
        f"{ports.get('drop_frames', 0)} frames dropped",
        f"{ports.get('marked_frames', 0)} marked",
        f"{ports.get('pauses_sent', 0)} pauses sent",
        f"ports paused: {ports.get('ports_paused', 0)}",
    ]
    # Two lines: together they are longer than a terminal of 80 columns is wide.
    return (
        f"{', '.join(parts)}.",
        f"{', '.join(frames)}.",
        *map(_offered, summary.get("offered", [])),
        f"fingerprint {one['fingerprint']}",
    )


def _offered(one: dict[str, Any]) -> str:
    bytes_ = "" if one["counts"] == "wire" else " of payload"
    links = "its sources' links" if one["of"] == "sources" else "all hosts' links"
    shares = f"{one['offered']:.2%}{bytes_} of {links} (asked: {one['asked']:.2%})"
    return f"{one['group']} offered {shares}."


def _show_seeds(case: Scenario, reports: list[dict[str, Any]]) -> None:
    view = table()
    view.add_column("group")
    view.add_column("seeds", justify="right")
    for column in ("mean", "std. deviation", "least", "greatest"):
        view.add_column(f"{column}\nus", justify="right")
    for name in [group["group"] for group in reports[0]["groups"]]:
        means = [
            group["fct_last_ack_us"]["mean"]
            for one in reports
            for group in one["groups"]
            if group["group"] == name and group["fct_last_ack_us"]
        ]
        if means:
            spread = statistics.stdev(means) if len(means) > 1 else 0.0
            values = (statistics.fmean(means), spread, min(means), max(means))
            view.add_row(name, str(len(means)), *(us(value) for value in values))
    show(
        view,
        f"{case.title} ({len(reports)} seeds)",
        "Each seed's number is the mean completion time of its group's flows, to the last ACK.",
    )
