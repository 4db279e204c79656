"""Plans and does the runs of `backwater compare`, and computes its rows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.cli.labels import check_labels
from backwater.cli.output import message
from backwater.cli.progress import Reporter, reporting
from backwater.comparison import Row, row
from backwater.directory import locked, standing
from backwater.errors import InputError, unwritable
from backwater.experiments.execute import run_jobs, taken_up
from backwater.experiments.pilot import Estimate, Pilot, slices
from backwater.findings import failures, over_runs
from backwater.manifest import COMPARISON, FORMATS, NAMES, write_manifest
from backwater.numbers.metrics import Tables, usual
from backwater.numbers.run import groups, job_labels, job_steps, watchdogs
from backwater.programs import in_python, why_not
from backwater.results import Run
from backwater.running import Job
from backwater.stopping import Stop, interruptible
from backwater.wording import (
    many,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from backwater.cli.subjects import Subject
    from backwater.experiments.hands import Workers
    from backwater.numbers.metrics import Metric, Part

FAILED, INCOMPLETE = 1, 3

INTERVAL = "95 %, Student's t of the differences seed by seed, not corrected for their number"

# Results of each scenario that the manifest of a comparison keeps.
_KEPT = ("complete", "failed", "incomplete", "given_up", "warnings")

# The longest readable part of a folder's name.
LONGEST_NAME = 60

# Wall time of the pilot of each scenario, in s.
PILOT_SECONDS = 0.5


@dataclass(frozen=True)
class Plan:
    """The runs that a comparison needs: one for each scenario and seed."""

    cases: list[Subject]
    seeds: list[int]
    folders: list[Path]
    jobs: list[list[Job]]
    done: list[list[Run | None]]
    base: Path
    given: dict[str, Any]
    """What was set and switched on for all scenarios: `set` and `with`."""

    @staticmethod
    def of(
        cases: list[Subject], seeds: list[int], base: Path, given: dict[str, Any], *, force: bool
    ) -> Plan:
        """Plan the runs, and find those that exist in `base` or in the compared directories."""
        _may_hold(base)
        folders, jobs, done = [], [], []
        for case in cases:
            prepared = case.scenario.prepare()
            folder = base / _key(case.name, prepared.identity)
            mine = [Job.repeated(prepared, seed, folder) for seed in seeds]
            found = taken_up(mine, force=force)
            lent = {run.seed: run for run in case.runs if _is_of(run, mine[0])}
            folders.append(folder)
            jobs.append(mine)
            done.append([run or lent.get(job.seed) for job, run in zip(mine, found, strict=True)])
            _check_lent(
                case, seeds, [job.seed for job, run in zip(mine, done[-1], strict=True) if not run]
            )
        return Plan(cases, seeds, folders, jobs, done, base, given)

    @property
    def missing(self) -> list[tuple[int, Job]]:
        """The runs to be done, each with the number of the first scenario that needs it."""
        needed: dict[Path | None, tuple[int, Job]] = {}
        for number, (jobs, done) in enumerate(zip(self.jobs, self.done, strict=True)):
            for job, run in zip(jobs, done, strict=True):
                if run is None:
                    needed.setdefault(job.out, (number, job))
        return list(needed.values())

    def words(self, *, elsewhere: bool) -> list[str]:
        """Describe what is to be run, with an estimate from pilots.

        `elsewhere` is True for a cluster, whose number of workers is not known.
        """
        missing = self.missing
        total = len(self.cases) * len(self.seeds)
        first, last = self.seeds[0], self.seeds[-1]
        named = f"{first}" if first == last else f"{first}..{last}"
        lines = [
            f"plan: {len(self.cases)} scenarios, {len(self.seeds)} "
            f"{'seed' if len(self.seeds) == 1 else 'seeds'} ({named}): {total} runs; "
            f"{sum(run is not None for mine in self.done for run in mine)} are done already, "
            f"{len(missing)} to do"
        ]
        left = Counter(number for number, _ in missing)
        for number, case in enumerate(self.cases):
            lines.append(f"  {case.label}: {left[number]} to do, {self.folders[number]}")
        lines += [f"  {said}" for case in self.cases for said in case.skipped]
        if missing:
            estimate = _estimate([(self.jobs[number][0], left[number]) for number in left])
            workers = None if elsewhere else min(os.cpu_count() or 1, len(missing))
            lines.append(f"  {estimate.words('run', workers)}")
        return lines

    def carry_out(
        self,
        wanted: Sequence[Metric],
        least: float,
        workers: Workers | None,
        *,
        allow: bool,
        json_progress: bool,
    ) -> tuple[int, list[Row] | None, dict[str, Any] | None]:
        """Do the missing runs, and compare; returns exit code, rows and JSON.

        A command that was stopped has no rows. `least` is the smallest difference that matters, as
        a share. With `allow` the values of incomplete runs count as well.
        """
        with locked(self.base):
            _may_hold(self.base)
            self._keep("running", {})
            missing = self.missing
            measure = partial(_measure, wanted=wanted, allow=allow)
            with interruptible() as stop, reporting(json=json_progress) as display:
                progress = Reporter(max(1, len(missing)), display)
                outcomes = run_jobs([job for _, job in missing], progress, stop, measure, workers)
            found, errors = self._found(outcomes, measure)
            message(*errors)
            if any(
                one is None or (isinstance(one, _Measured) and not one.done) for one in outcomes
            ):
                total = len(self.cases) * len(self.seeds)
                complete = sum(one.done for mine in found for one in mine)
                message(
                    f"{stop}; {complete} of {total} runs are complete in {self.base}",
                    "hint: the same command resumes it",
                )
                self._keep("interrupted", {})
                return stop.exit_code, None, None
            rows, document = self._compared(found, wanted, least, errors)
            self._keep("failed" if errors else "done", document)
        short = not allow and any(failures(one.warnings) for mine in found for one in mine)
        return (FAILED if errors else INCOMPLETE if short else 0), rows, document

    def _keep(self, status: str, document: dict[str, Any]) -> None:
        """Write the manifest of this comparison: its runs and their results."""
        scenarios: list[dict[str, Any]] = [
            {"scenario": case.label, "directory": folder.name}
            for case, folder in zip(self.cases, self.folders, strict=True)
        ]
        for entry, said in zip(scenarios, document.get("scenarios", ()), strict=False):
            entry.update({name: said[name] for name in _KEPT})
        manifest: dict[str, Any] = {
            "format": FORMATS[COMPARISON],
            "kind": COMPARISON,
            "status": status,
            "versions": _core.version(),
            **self.given,
            "seeds": self.seeds,
            **{
                name: document[name]
                for name in ("interval", "least", "rows", "errors")
                if name in document
            },
            "scenarios": scenarios,
        }
        try:
            write_manifest(self.base, manifest)
        except OSError as error:
            raise unwritable(self.base, error) from None

    def _found(
        self,
        outcomes: Sequence[_Measured | _core.RunError | None],
        measure: Callable[[Run], _Measured],
    ) -> tuple[list[list[_Measured]], list[str]]:
        """Return the measured runs of each scenario, new and earlier ones, and the errors."""
        errors, fresh = [], {}
        for (number, job), outcome in zip(self.missing, outcomes, strict=True):
            if isinstance(outcome, _core.RunError):
                errors.append(f"error: {self.cases[number].label}, seed {job.seed}: {outcome}")
                fresh[job.out] = measure(outcome.run)
            elif outcome is not None and outcome.done:
                fresh[job.out] = outcome
        found = [
            [
                fresh[job.out] if run is None else measure(run)
                for job, run in zip(jobs, done, strict=True)
                if run is not None or job.out in fresh
            ]
            for jobs, done in zip(self.jobs, self.done, strict=True)
        ]
        return found, errors

    def _compared(
        self,
        found: list[list[_Measured]],
        wanted: Sequence[Metric],
        least: float,
        errors: list[str],
    ) -> tuple[list[Row], dict[str, Any]]:
        """Compare the scenarios; returns the rows, and everything as JSON."""
        rows = _rows(found, wanted, least)
        if not wanted:
            # Without --metric, percentiles of too few flows are left out.
            rows = [one for one in rows if None in one.reasons]
        labels = [case.label for case in self.cases]
        scenarios = [
            {
                "scenario": case.label,
                **_changes(case),
                "directory": str(folder),
                "complete": sum(one.done and not failures(one.warnings) for one in mine),
                "failed": sum(not one.done for one in mine),
                "incomplete": sum(one.done and bool(failures(one.warnings)) for one in mine),
                "given_up": list(dict.fromkeys(port for one in mine for port in one.given_up)),
                "warnings": over_runs([(one.seed, one.warnings) for one in mine]),
            }
            for case, folder, mine in zip(self.cases, self.folders, found, strict=True)
        ]
        return rows, {
            "scenarios": scenarios,
            "seeds": self.seeds,
            "interval": INTERVAL,
            "least": least,
            "rows": [one.told(labels) for one in rows],
            "errors": errors,
        }

    def check_groups(self, wanted: Sequence[Metric]) -> None:
        """Refuse groups and jobs that no scenario has, before anything is run."""
        check_labels(wanted, [jobs[0].prepared.resolved for jobs in self.jobs])


def _check_lent(case: Subject, seeds: Sequence[int], missing: Sequence[int]) -> None:
    """Refuse a scenario that cannot be run here, unless its directory has all runs needed."""
    if case.control is None or not missing:
        return
    there = sorted(run.seed for run in case.runs)
    stale = any(seed in missing for seed in there)
    # --seeds names a range: the hint names the first one without a gap.
    last = next(seed for seed in there if seed + 1 not in there) if there else None
    what = f"{many(len(missing), 'run')} (seed {', '.join(map(str, missing))}) "
    raise InputError(
        f"{case.label}: lacks {what}{'of this build' if stale else ''}".rstrip()
        + f", and none can be done here: {why_not(case.control)}",
        f"there: {in_python({}, f'out=DIR, seeds=range({seeds[0]}, {seeds[-1] + 1})')}"
        + ("" if stale or not there else f"; --seeds {there[0]}..{last} takes what is there"),
    )


def _may_hold(base: Path) -> None:
    """Check that a directory is absent, empty, or of comparisons."""
    kind = standing(base)
    if kind not in (None, COMPARISON):
        raise InputError(f"{base}: holds results of a {NAMES[kind]}", "give --out another name")


@dataclass(frozen=True)
class _Measured:
    """The numbers of a run, without its tables."""

    seed: int
    done: bool
    warnings: list[dict[str, Any]]
    values: dict[Metric, float | None]
    flows: dict[Metric, int | None]
    """Complete flows behind each value; None: the value is not of flows."""
    references: dict[Metric, float | None]
    """The reference of each value; None: the reference is unknown."""
    parts: dict[Metric, Part]
    """The complete flows of each value, where some flows are not complete."""
    lacking: dict[Metric, str]
    """Why the scenario has no such value."""
    given_up: list[str]
    """Ports at which watchdogs gave up queues."""


def _measure(run: Run, wanted: Sequence[Metric], *, allow: bool) -> _Measured:
    # A copy, which frees its tables at the end of this function.
    run = Run(run.manifest, run.directory, run.read, run.within)
    metrics = wanted or usual(groups(run), job_steps(run), job_labels(run))
    tables = Tables(run)
    # In an incomplete run only the fast flows may be complete: their times mislead.
    counts = run.complete or (allow and run.status == "done")
    values = {
        metric: metric.of(tables) if counts or metric.quantity.of_failed else None
        for metric in metrics
    }
    flows = {metric: metric.count(tables) if counts else None for metric in metrics}
    references = {
        metric: metric.reference(tables)
        for metric, value in values.items()
        if value is not None and metric.held_against is not None
    }
    parts = {
        metric: part
        for metric, value in values.items()
        if value is not None and (part := metric.part(tables)) is not None
    }
    done = run.status == "done"
    ports = [f"{one['node']} -> {one['peer']}" for one in watchdogs(run)]
    lacking = {metric: why for metric in metrics if (why := metric.lacking(run)) is not None}
    return _Measured(run.seed, done, run.warnings, values, flows, references, parts, lacking, ports)


def _rows(found: list[list[_Measured]], asked: Sequence[Metric], least: float) -> list[Row]:
    metrics = list(dict.fromkeys(metric for mine in found for one in mine for metric in one.values))
    # Metrics of groups first, in their order; then the totals of runs.
    metrics.sort(key=lambda metric: metric.statistic is None)
    rows = []
    for metric in metrics:
        values = [
            {one.seed: value for one in mine if (value := one.values.get(metric)) is not None}
            for mine in found
        ]
        flows = [
            min((n for one in mine if (n := one.flows.get(metric)) is not None), default=None)
            for mine in found
        ]
        if metric in asked or not metric.quantity.where_some or any(map(_some, values)):
            references = [
                {one.seed: of for one in mine if (of := one.references.get(metric)) is not None}
                for mine in found
            ]
            parts = [
                {one.seed: one.parts[metric] for one in mine if metric in one.parts}
                for mine in found
            ]
            lacking = [
                next((one.lacking[metric] for one in mine if metric in one.lacking), None)
                for mine in found
            ]
            rows.append(row(metric, values, flows, least, references, parts, lacking))
    return rows


def _some(values: Mapping[int, float]) -> bool:
    """Return True if a value differs from 0."""
    return any(values.values())


def _changes(case: Subject) -> dict[str, Any]:
    """Return the changes of a scenario against its file."""
    facts = case.scenario.facts
    return {name: facts.get(name) for name in ("file", "variant", "with", "set", "skipped")}


def _key(name: str, identity: str) -> str:
    """Return a folder's name with a hash of the scenario and the version that runs it."""
    content = repr((identity, sorted(_core.version().items())))
    short = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:LONGEST_NAME].strip("-")
    return f"{short or 'scenario'}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _is_of(run: Run, job: Job) -> bool:
    """Return True if a run is complete, and of the same scenario and version as a job."""
    facts = job.manifest
    return run.status == "done" and all(
        run.manifest.get(name) == facts[name] for name in ("scenario", "inputs", "versions")
    )


def _estimate(jobs: Sequence[tuple[Job, int]]) -> Estimate:
    """Estimate runs by a pilot of each scenario; `jobs` has one of each, with their count."""

    def run(job: Job, over: Callable[[], bool]) -> None:
        with contextlib.suppress(_core.RunError):
            for simulation in slices(job.prepared.scenario, job.seed, over):
                simulation.batches()

    runs = sum(count for _, count in jobs)
    took = [Pilot.of(partial(run, job), PILOT_SECONDS, Stop()).seconds for job, _ in jobs]
    known = [one * count for one, (_, count) in zip(took, jobs, strict=True) if one is not None]
    return Estimate(runs, sum(known) / runs if len(known) == len(jobs) else None)
