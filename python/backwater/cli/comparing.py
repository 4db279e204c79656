"""Does the runs of `backwater compare`, and prints what came of them."""

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
from backwater.cli.output import message, show
from backwater.cli.progress import Reporter, reporting
from backwater.cli.views import View
from backwater.comparison import OTHERS, UNLIKE, Difference, Row, judged, row
from backwater.directory import locked, standing
from backwater.errors import InputError, ResultError
from backwater.experiments.execute import run_jobs, taken_up
from backwater.experiments.pilot import Estimate, Pilot, slices
from backwater.findings import failures, headlines, over_runs
from backwater.findings import remarks as noticed
from backwater.manifest import COMPARISON, FORMATS, NAMES, write_manifest
from backwater.numbers.metrics import Tables, usual
from backwater.numbers.registry import MORE
from backwater.numbers.run import groups, job_labels, job_steps, watchdogs
from backwater.programs import in_python, why_not
from backwater.results import Run
from backwater.running import Job
from backwater.samples import too_few
from backwater.stopping import Stop, interruptible
from backwater.wording import (
    difference,
    digits,
    given_up_ports,
    many,
    series,
    unit_beside,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from backwater.cli.subjects import Subject
    from backwater.experiments.hands import Workers
    from backwater.numbers.metrics import Metric, Part

FAILED, INCOMPLETE = 1, 3

INTERVAL = "95 %, Student's t of the differences seed by seed, not corrected for their number"

# What a directory says of what came of each scenario.
_KEPT = ("complete", "failed", "incomplete", "given_up", "warnings")

# Of the part of a folder's name that people read.
LONGEST_NAME = 60

# A longer name of a metric has its group in a line of its own.
LONG_METRIC = 20

# Metrics that are known to be so without their names.
RATES = ("throughput", "algbw", "busbw")

# Wall time for which a run of each scenario is tried.
PILOT_SECONDS = 0.25


@dataclass(frozen=True)
class Plan:
    """The runs that a comparison needs: of each scenario one a seed."""

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
        """Find what there is already: in `base`, or in the directories that are compared."""
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
        """Runs to be done, each with the number of the first scenario that needs it."""
        needed: dict[Path | None, tuple[int, Job]] = {}
        for number, (jobs, done) in enumerate(zip(self.jobs, self.done, strict=True)):
            for job, run in zip(jobs, done, strict=True):
                if run is None:
                    needed.setdefault(job.out, (number, job))
        return list(needed.values())

    def words(self, *, elsewhere: bool) -> list[str]:
        """Say what is to be run, and for how long, by a trial of some tenths of a second.

        `elsewhere`: on workers, of which nobody knows how many there will be.
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
        """Do what is to be done, and compare: exit code, rows, JSON. No rows if it was stopped.

        `least`: the difference that matters, as a share. `allow`: the values of incomplete runs
        count, too.
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
                    "hint: the same command does the others",
                )
                self._keep("interrupted", {})
                return stop.exit_code, None, None
            rows, document = self._compared(found, wanted, least, errors)
            self._keep("failed" if errors else "done", document)
        short = not allow and any(failures(one.warnings) for mine in found for one in mine)
        return (FAILED if errors else INCOMPLETE if short else 0), rows, document

    def _keep(self, status: str, document: dict[str, Any]) -> None:
        """Leave what was compared last: which runs they are, and what came of them."""
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
            raise ResultError(
                f"{self.base}: cannot write results: {error.strerror or error}"
            ) from None

    def _found(
        self,
        outcomes: Sequence[_Measured | _core.RunError | None],
        measure: Callable[[Run], _Measured],
    ) -> tuple[list[list[_Measured]], list[str]]:
        """Give what there is of each scenario, what was done now and before; and its errors."""
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
        """Compare what there is of each scenario: rows, and all of it as JSON has it."""
        rows = _rows(found, wanted, least)
        if not wanted:
            # Nobody has asked for a percentile of so few that it would be their greatest.
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
        """Complain about groups and jobs that no scenario has, before anything is run."""
        check_labels(wanted, [jobs[0].prepared.resolved for jobs in self.jobs])


def _check_lent(case: Subject, seeds: Sequence[int], missing: Sequence[int]) -> None:
    """Refuse a scenario that cannot be run here, unless its directory has all runs that count."""
    if case.control is None or not missing:
        return
    there = sorted(run.seed for run in case.runs)
    stale = any(seed in missing for seed in there)
    # A range of them: others than these are not taken.
    last = next(seed for seed in there if seed + 1 not in there) if there else None
    what = f"{many(len(missing), 'run')} (seed {', '.join(map(str, missing))}) "
    raise InputError(
        f"{case.label}: lacks {what}{'of this build' if stale else ''}".rstrip()
        + f", and none can be done here: {why_not(case.control)}",
        f"there: {in_python({}, f'out=DIR, seeds=range({seeds[0]}, {seeds[-1] + 1})')}"
        + ("" if stale or not there else f"; --seeds {there[0]}..{last} takes what is there"),
    )


def _may_hold(base: Path) -> None:
    """See that a directory is absent, empty, or one of comparisons."""
    kind = standing(base)
    if kind not in (None, COMPARISON):
        raise InputError(f"{base}: holds results of a {NAMES[kind]}", "give --out another name")


@dataclass(frozen=True)
class _Measured:
    """What a run came to; its tables are not kept."""

    seed: int
    done: bool
    warnings: list[dict[str, Any]]
    values: dict[Metric, float | None]
    flows: dict[Metric, int | None]
    """Complete flows behind each value; None: it is no number of flows."""
    references: dict[Metric, float | None]
    """What each value is held against; None: nothing."""
    parts: dict[Metric, Part]
    """Of which flows each value is, where not all are complete."""
    lacking: dict[Metric, str]
    """Why its scenario has no such value."""
    given_up: list[str]
    """Ports of which watchdogs gave up queues."""


def _measure(run: Run, wanted: Sequence[Metric], *, allow: bool) -> _Measured:
    # A copy, so that its tables go when they have been read.
    run = Run(run.manifest, run.directory, run.read, run.within)
    metrics = wanted or usual(groups(run), job_steps(run), job_labels(run))
    tables = Tables(run)
    # Times of the flows that were complete are those of survivors.
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
    # Groups first, in the order in which they come; then the totals of runs.
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
    """Whether a scenario's values are not all 0."""
    return any(values.values())


def _changes(case: Subject) -> dict[str, Any]:
    """What was changed over a scenario's file."""
    facts = case.scenario.facts
    return {name: facts.get(name) for name in ("file", "variant", "with", "set", "skipped")}


def _key(name: str, identity: str) -> str:
    """A folder by content: what the scenario is known by, and the version that runs it."""
    content = repr((identity, sorted(_core.version().items())))
    short = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:LONGEST_NAME].strip("-")
    return f"{short or 'scenario'}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _is_of(run: Run, job: Job) -> bool:
    """Whether a run is complete and one of this scenario and version."""
    facts = job.manifest
    return run.status == "done" and all(
        run.manifest.get(name) == facts[name] for name in ("scenario", "inputs", "versions")
    )


def _estimate(jobs: Sequence[tuple[Job, int]]) -> Estimate:
    """Estimate runs by a pilot of each scenario; `jobs`: one of each, and how many there are."""

    def run(job: Job, over: Callable[[], bool]) -> None:
        with contextlib.suppress(_core.RunError):
            for simulation in slices(job.prepared.scenario, job.seed, over):
                simulation.batches()

    runs = sum(count for _, count in jobs)
    took = [Pilot.of(partial(run, job), PILOT_SECONDS, Stop()).seconds for job, _ in jobs]
    known = [one * count for one, (_, count) in zip(took, jobs, strict=True) if one is not None]
    return Estimate(runs, sum(known) / runs if len(known) == len(jobs) else None)


def show_rows(
    plan: Plan,
    rows: Sequence[Row],
    scenarios: Sequence[dict[str, Any]],
    least: float,
    put: Callable[..., None],
    *,
    every: bool,
) -> None:
    """Print the table: a metric a row, values, differences against the first, who wins.

    `scenarios`: what came of each, as JSON has it; `least`: the difference that matters. `every`:
    also rows without any number but 0, which are otherwise named below.
    """
    shown = [one for one in rows if every or any(one.means)]
    for line in beginning(plan, scenarios):
        put(line, style="bold red")
    letters = [_letter(number) for number in range(len(plan.cases))]
    for letter, case in zip(letters, plan.cases, strict=True):
        put(f"{letter} = {case.label}: {case.scenario.title}")
    put("")
    left_out = [one for one in rows if one not in shown]
    remarks = [*_left_out(left_out), *_remarks(plan, shown, scenarios, least, letters)]
    if shown:
        show(table(shown, len(plan.seeds)), None, *remarks, keys=2)
    else:
        put("\n".join(remarks), style="dim")


def table(rows: Sequence[Row], seeds: int) -> View:
    """Lay out rows of a comparison over so many seeds."""
    letters = [_letter(number) for number in range(len(rows[0].means))]
    fewer = any(len(one.seeds) != seeds for one in rows)
    view = View()
    view.add_column("metric")
    view.add_column("unit")
    for letter in letters:
        view.add_column(letter, justify="right")
    for letter in letters[1:]:
        view.add_column(f"{letter} - {letters[0]}\n(95 %)", justify="right")
    if fewer:
        view.add_column("seeds", justify="right")
    view.add_column("samples", justify="right")
    view.add_column("winner")
    for one in rows:
        name = one.metric.name
        view.add_row(
            name if len(name) <= LONG_METRIC else name.replace(":", ":\n  ", 1),
            unit_beside(name, one.metric.unit),
            *(digits(mean, 6) for mean in one.means),
            *(_against(one, number, letters) for number in range(1, len(letters))),
            *([str(len(one.seeds))] if fewer else []),
            _flows(one),
            _winner(one, letters),
        )
    return view


def _left_out(rows: Sequence[Row]) -> list[str]:
    """Name the metrics that have no row."""
    zero = [one.metric.name for one in rows if any(mean is not None for mean in one.means)]
    none = [one.metric.name for one in rows if one.metric.name not in zero]
    return [
        f"{what}: {', '.join(names)}."
        for what, names in (("All 0", zero), ("No value", none))
        if names
    ]


def beginning(plan: Plan, scenarios: Sequence[dict[str, Any]]) -> list[str]:
    """Say of which scenarios runs are incomplete, as the output begins."""
    return [
        f"{case.label}: {line}"
        for case, one in zip(plan.cases, scenarios, strict=True)
        for line in headlines(one["warnings"])
    ]


def _remarks(
    plan: Plan,
    rows: Sequence[Row],
    scenarios: Sequence[dict[str, Any]],
    least: float,
    letters: Sequence[str],
) -> list[str]:
    n = len(plan.seeds)
    over = "Values of one seed" if n == 1 else f"Means over {n} seeds"
    remarks = [
        f"{over}; differences are taken seed by seed, ± half of their 95 % interval (Student's t).",
        "A winner is clear of zero against each other one, and better by at least "
        f"{100 * least:g} % (--least). What lies within that with its whole interval is equal; "
        f"what may differ by more is not told apart (A or B), and more seeds would tell. "
        f"{_better(rows)} Times are of complete flows, collectives, rounds; `samples` is how many, "
        "of the seed with fewest.",
    ]
    if (few := too_few(n)) is not None:
        remarks.append(few)
    missing: dict[str, list[str]] = {}
    for told in rows:
        for letter, reason in zip(letters, told.reasons, strict=True):
            if reason is not None:
                missing.setdefault(f"{told.metric.name}: {reason}", []).append(letter)
    if missing:
        said = (f"{reason} ({', '.join(of)})" for reason, of in missing.items())
        remarks.append(f"No value: {'; '.join(said)}.")
    if any(0 < count < n for one in rows for count in one.counts):
        remarks.append(
            "Some metrics have fewer values than seeds: a row is over the seeds that all scenarios "
            "with values have (--json names them)."
        )
    others: dict[str, list[str]] = {}
    for one in rows:
        if one.verdict == OTHERS:
            others.setdefault(_complete(one, letters), []).append(one.metric.name)
    remarks += [
        f"{', '.join(names)}: no winner, as other flows are complete ({of}), and times are of "
        "those alone."
        for of, names in others.items()
    ]
    remarks += [
        f"{one.metric.name}: no winner, as what it is held against differs "
        f"({_references(one, letters)}), and who is better depends on that."
        for one in rows
        if one.verdict == UNLIKE
    ]
    remarks += [f"{said}." for case in plan.cases for said in case.skipped]
    lost = [
        f"{_letter(number)} {what} {one[what]} of {n}"
        for number, one in enumerate(scenarios)
        for what in ("failed", "incomplete")
        if one[what]
    ]
    if lost:
        remarks.append(
            f"{', '.join(lost)}: of these runs only `unfinished` counts, and the other rows judge "
            "the scenarios that have values."
        )
    for number, scenario in enumerate(scenarios):
        if ports := scenario["given_up"]:
            remarks.append(f"{_letter(number)}: {given_up_ports(ports)}.")
        for found in noticed(scenario["warnings"]):
            remarks.append(f"{_letter(number)}: {found['message']}.")
    return remarks


def _better(rows: Sequence[Row]) -> str:
    """Say in which metrics more is better, and in which neither is."""
    of = {one.metric.quantity.name: one.metric.quantity.better for one in rows}
    more = [name for name, better in of.items() if better == MORE and name not in RATES]
    but = series(["throughputs", "bandwidths", *more])
    neither = [name for name, better in of.items() if better is None]
    said = f" Neither is better in {series(neither)}." if neither else ""
    return f"Less is better, but for {but}.{said}"


def _complete(one: Row, letters: Sequence[str]) -> str:
    """Say how many flows of each scenario are complete, of the seed with fewest."""
    return ", ".join(
        f"{letter} {samples if part is None else part.complete} of "
        f"{samples if part is None else part.flows}"
        for letter, samples, part in zip(letters, one.samples, one.parts, strict=True)
        if samples
    )


def _references(one: Row, letters: Sequence[str]) -> str:
    """Say what the values of each scenario are held against."""
    assert one.metric.held_against is not None
    of, unit = one.metric.held_against
    said = (
        f"{letter} {digits(reference, 6)} {unit}"
        for letter, reference in zip(letters, one.references, strict=True)
        if reference is not None
    )
    return f"{of}: {', '.join(said)}"


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"


def _against(one: Row, number: int, letters: Sequence[str]) -> str:
    """The difference of a scenario; against which, where the first has no values."""
    said = _difference(one.differences[number])
    if not one.base or one.differences[number] is None:
        return said
    return f"{letters[number]} - {letters[one.base]}: {said}"


def _difference(found: Difference | None) -> str:
    if found is None:
        return "-"
    return difference(found.mean, None if found.ci_high is None else found.ci_high - found.mean)


def _winner(one: Row, letters: Sequence[str]) -> str:
    if not one.winners:
        return "-"
    judged_ = sum(mean is not None for mean in one.means)
    return judged(one.verdict, [letters[winner] for winner in one.winners], judged_)


def _flows(one: Row) -> str:
    known = [n for n in one.samples if n is not None]
    if not known:
        return "-"
    least, most = min(known), max(known)
    return str(least) if least == most else f"{least} to {most}"
