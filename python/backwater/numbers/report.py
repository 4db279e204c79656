"""The report of a run: numbers of groups, jobs and ports, totals and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.numbers.run import (
    completion_times,
    group_times,
    job_times,
    port_totals,
    round_times,
    waiting,
    watchdogs,
)

if TYPE_CHECKING:
    from backwater.results import Run


def report(run: Run) -> dict[str, Any]:
    """Return what `run --json` writes of a run. Times are in us, or in ps if the name ends so."""
    return {
        "title": run.manifest["title"],
        "file": run.manifest.get("file"),
        "variant": run.manifest.get("variant"),
        "with": run.manifest.get("with", []),
        "set": run.manifest.get("set", {}),
        "skipped": run.manifest.get("skipped", []),
        "changed": run.manifest.get("changed", []),
        "seed": run.seed,
        "status": run.status,
        "fingerprint": run.fingerprint,
        "directory": str(run.directory),
        "groups": group_times(run),
        "waiting": waiting(run),
        "jct": completion_times(run),
        "jobs": job_times(run),
        "rounds": round_times(run),
        "ports": port_totals(run),
        "watchdogs": watchdogs(run),
        "summary": run.summary,
        "warnings": run.warnings,
    }
