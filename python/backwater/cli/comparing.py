"""Does the runs of `backwater compare`, and prints what came of them."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from backwater import _core
from backwater.cli.output import duration, figure, message, show, table
from backwater.cli.progress import Reporter, fraction, reporting
from backwater.comparison import Difference, Row, row
from backwater.errors import InputError
from backwater.metrics import usual
from backwater.running import SLICE_MS, Job, find_done, interruptible, run_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from backwater.cli.subjects import Subject
    from backwater.metrics import Metric
    from backwater.results import Run

FAILED, INTERRUPTED = 1, 130

# Wall time for which a run is tried, to see how long it will take.
TRIAL_SLICES = 3


@dataclass(frozen=True)
class Plan:
    """The runs that a comparison needs: of each scenario one a seed."""

    cases: list[Subject]
    seeds: list[int]
    jobs: list[list[Job]]
    done: list[list[Run | None]]
    base: Path

    @staticmethod
    def of(cases: list[Subject], seeds: list[int], base: Path, *, force: bool) -> Plan:
        """Find what there is already: in `base`, or in the directories that are compared."""
        jobs, done = [], []
        for case in cases:
            prepared = case.scenario.prepare()
            folder = base / _key(case.label, prepared.resolved)
            mine = [Job(prepared, seed, folder / f"seed-{seed}") for seed in seeds]
            found = find_done(mine, force=force)
            given = {run.seed: run for run in case.runs if _is_of(run, mine[0])}
            jobs.append(mine)
            done.append([run or given.get(job.seed) for job, run in zip(mine, found, strict=True)])
        return Plan(cases, seeds, jobs, done, base)

    @property
    def missing(self) -> list[tuple[int, Job]]:
        """Runs to be done, each with the number of its scenario."""
        return [
            (number, job)
            for number, (jobs, done) in enumerate(zip(self.jobs, self.done, strict=True))
            for job, run in zip(jobs, done, strict=True)
            if run is None
        ]

    def words(self, *, trial: bool) -> list[str]:
        """Say what is to be run; with `trial` also for how long, from a trial of some tenths of a second."""
        missing = self.missing
        total = len(self.cases) * len(self.seeds)
        named = f"{self.seeds[0]}..{self.seeds[-1]}" if len(self.seeds) > 1 else f"{self.seeds[0]}"
        lines = [
            f"plan: {len(self.cases)} scenarios x {len(self.seeds)} seeds ({named}) = {total} runs; "
            f"{total - len(missing)} are done already, {len(missing)} to do"
        ]
        left = Counter(number for number, _ in missing)
        for number, case in enumerate(self.cases):
            lines.append(f"  {case.label}: {left[number]} to do, {self.jobs[number][0].out.parent}")
        if missing and trial:
            cores = os.cpu_count() or 1
            each = {number: _trial(self.jobs[number][0]) for number in left}
            if all(seconds is not None for seconds in each.values()):
                work = sum((each[number] or 0.0) * left[number] for number in left)
                lines.append(
                    f"  about {duration(max(work / min(cores, len(missing)), 1))} on {cores} cores, "
                    "by a short trial of each"
                )
            else:
                lines.append("  how long that takes cannot be told beforehand")
        return lines

    def carry_out(self, wanted: Sequence[Metric]) -> tuple[int, list[Row] | None, dict[str, Any] | None]:
        """Do what is to be done, and compare: exit code, rows, JSON. No rows if it was stopped."""
        missing = self.missing
        with interruptible() as stop, reporting() as display:
            outcomes = run_jobs(
                [job for _, job in missing], Reporter(len(missing), display), stop, lambda run: run
            ) if missing else []
        runs = [list(done) for done in self.done]
        errors = []
        for (number, job), outcome in zip(missing, outcomes, strict=True):
            if isinstance(outcome, _core.RunError):
                errors.append(f"error: {self.cases[number].label}, seed {job.seed}: {outcome}")
            elif outcome is not None and outcome.status == "done":
                runs[number][self.jobs[number].index(job)] = outcome
        message(*errors)
        if stop.is_set():
            complete = sum(run is not None for mine in runs for run in mine)
            total = len(self.cases) * len(self.seeds)
            message(f"stopped; {complete} of {total} runs are complete in {self.base}",
                    "hint: the same command does the others")
            return INTERRUPTED, None, None
        rows = self._rows(runs, wanted)
        labels = [case.label for case in self.cases]
        document = {
            "scenarios": [
                {"scenario": label, "directory": str(jobs[0].out.parent), "complete": sum(r is not None for r in mine)}
                for label, jobs, mine in zip(labels, self.jobs, runs, strict=True)
            ],
            "seeds": self.seeds,
            "interval": "95 %, Student's t of the differences seed by seed, not corrected for their number",
            "rows": [one.told(labels) for one in rows],
            "errors": errors,
        }
        return (FAILED if errors else 0), rows, document

    def _rows(self, runs: list[list[Run | None]], wanted: Sequence[Metric]) -> list[Row]:
        groups = list(dict.fromkeys(group for mine in runs for run in mine if run for group in _groups(run)))
        for metric in wanted:
            if metric.group is not None and groups and metric.group not in groups:
                raise InputError(
                    f"--metric {metric.name}: no group of flows is called {metric.group}",
                    f"there are {', '.join(groups)}",
                )
        metrics = list(wanted) or usual(groups)
        # Run by run, so that the tables of one only are in memory.
        values: list[list[dict[int, float]]] = [[{} for _ in self.cases] for _ in metrics]
        for number, mine in enumerate(runs):
            for run in mine:
                for at, metric in enumerate(metrics):
                    value = None if run is None else metric.of(run)
                    if run is not None and value is not None:
                        values[at][number][run.seed] = value
        return [row(metric, of) for metric, of in zip(metrics, values, strict=True)]


def _groups(run: Run) -> list[str]:
    flows = run.flows
    return list(pc.unique(flows.sort_by("flow_id")["group"]).to_pylist()) if flows.num_rows else []


def _key(label: str, resolved: str) -> str:
    """A folder by content: every value of the scenario, and the version that runs it."""
    content = repr((resolved, sorted(_core.version().items())))
    name = re.sub(r"[^A-Za-z0-9]+", "-", label.rpartition("/")[2].replace(".toml", "")).strip("-")
    return f"{name or 'scenario'}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _is_of(run: Run, job: Job) -> bool:
    """Whether a run is complete and one of this scenario and version."""
    facts = job.manifest
    return run.status == "done" and all(
        run.manifest.get(name) == facts[name] for name in ("scenario", "versions")
    )


def _trial(job: Job) -> float | None:
    """Wall seconds that a run will take, from its beginning; None if its end cannot be foreseen."""
    simulation, began = job.prepared.scenario.start(job.seed), time.monotonic()
    try:
        for _ in range(TRIAL_SLICES):
            status = simulation.advance(SLICE_MS)
            simulation.batches()
            if status.done:
                return time.monotonic() - began
    except _core.RunError:
        return time.monotonic() - began
    part = fraction(status)
    return (time.monotonic() - began) / part if part else None


def show_rows(plan: Plan, rows: Sequence[Row], put: Callable[..., None]) -> None:
    """Print the table: a metric a row, values, differences against the first, who wins."""
    letters = [_letter(number) for number in range(len(plan.cases))]
    for letter, case in zip(letters, plan.cases, strict=True):
        put(f"{letter} = {case.label}: {case.scenario.title}")
    put("")
    view = table()
    view.add_column("metric", overflow="fold")
    view.add_column("unit")
    for letter in letters:
        view.add_column(letter, justify="right")
    for letter in letters[1:]:
        view.add_column(f"{letter} - {letters[0]}\n(95 %)", justify="right", overflow="fold")
    view.add_column("winner")
    for one in rows:
        view.add_row(
            one.metric.name,
            one.metric.unit,
            *(_value(mean) for mean in one.means),
            *(_difference(difference) for difference in one.differences[1:]),
            _winner(one, letters),
        )
    show(view, None, *_remarks(plan, rows))


def _remarks(plan: Plan, rows: Sequence[Row]) -> list[str]:
    n = len(plan.seeds)
    remarks = [
        f"Means over {n} seeds; differences are taken seed by seed, ± half of their 95 % interval "
        "(Student's t).",
        "Tie: the interval covers zero. Less is better, but for throughput. Times are of complete flows.",
    ]
    if n == 1:
        remarks.append("One seed gives no interval, and no winner can be named: --seeds 5 or more.")
    elif n < 5:
        remarks.append(f"{n} seeds give wide intervals: --seeds 5 or more narrows them.")
    if any(0 < count < n for one in rows for count in one.counts):
        remarks.append("Some metrics have fewer values than seeds (--json says how many).")
    return remarks


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"


def _value(value: float | None) -> str:
    return "-" if value is None else figure(float(f"{value:.6g}"))


def _difference(found: Difference | None) -> str:
    if found is None:
        return "-"
    mean = f"{found.mean:+.4g}" if found.mean else "0"
    if found.ci_high is None:
        return mean
    half = found.ci_high - found.mean
    return f"{mean} ±{half:.2g}" if half else mean


def _winner(one: Row, letters: Sequence[str]) -> str:
    if one.verdict == "winner":
        return letters[one.winners[0]]
    if one.verdict == "tie":
        return "tie" if len(one.winners) == len(letters) else f"tie: {', '.join(letters[w] for w in one.winners)}"
    return f"- ({one.verdict})"
