"""Runs of a study repeated with samples, for its figures over time.

Samples change nothing in a run: the repetition has the fingerprint of the table's run, or it is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater._core import RunError
from backwater.errors import InputError, ResultError
from backwater.experiments.execute import find_done, run_jobs
from backwater.notices import say
from backwater.stopping import interruptible
from backwater.study.execute import changed
from backwater.study.key import TABLE, Key
from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from backwater.results import Run
    from backwater.running import Job, Progress
    from backwater.study.outcome import Outcome

SAMPLES = ("queues", "links", "pauses", "flows")


@dataclass(frozen=True)
class Observation:
    """A point of a study's table to run with samples, with the first of its seeds."""

    id: str
    label: str
    """Its name in figures."""
    case: str
    mechanism: str
    interval: str
    """Time between two samples."""
    samples: tuple[str, ...] = SAMPLES
    nodes: tuple[str, ...] = ()
    """Nodes to sample; none: all."""

    @staticmethod
    def of(entry: Mapping[str, Any]) -> Observation:
        """Read an entry `[[observe]]` of a study's figures."""
        return Observation(
            id=entry["id"],
            label=entry.get("label", entry["mechanism"]),
            case=entry["case"],
            mechanism=entry["mechanism"],
            interval=entry["interval"],
            samples=tuple(entry.get("samples", SAMPLES)),
            nodes=tuple(entry.get("nodes", ())),
        )

    @property
    def key(self) -> Key:
        """Its point in the table."""
        return Key(self.case, self.mechanism, TABLE)


def observe(
    outcome: Outcome,
    wanted: Sequence[Observation],
    progress: Callable[[int], Progress | None] | None = None,
) -> dict[str, Run]:
    """Return a sampled run of each observation; missing ones run first.

    They lie below `observed` of the study's directory. Raises `ResultError` for a run that fails,
    or that differs from the run in the table.
    """
    jobs = [_job(outcome, one) for one in wanted]
    there = find_done(jobs, force=True)
    missing = there.count(None)
    if missing:
        again = f"repeating {many(missing, 'run')} with samples, for the figures over time"
        say(again if outcome.directory is None else f"{outcome.directory}: {again}")
    with interruptible() as stop:
        listener = progress(missing) if progress is not None and missing else None
        done = run_jobs(jobs, listener, stop, lambda run: run, there=there)
        if stop.is_set():
            raise stop.interrupted()
    found: dict[str, Run] = {}
    for one, result in zip(wanted, done, strict=True):
        if result is None or isinstance(result, RunError):
            raise ResultError(f"the sampled run {one.id} failed: {result}")
        _same(outcome, one, result)
        found[one.id] = result
    return found


def _job(outcome: Outcome, one: Observation) -> Job:
    scenario = changed(outcome.study, one.key, outcome.changes).set("output.interval", one.interval)
    for name in SAMPLES:
        scenario = scenario.set(f"output.{name}", name in one.samples)
    scenario = scenario.set("output.backlogs", False).set("output.nodes", list(one.nodes))
    seeds = outcome.seeds.get(one.key)
    if not seeds:
        raise InputError(f"case {one.case} under {one.mechanism} was not run, so it is not drawn")
    directory = outcome.directory
    out = None if directory is None else directory / "observed" / one.id
    return scenario.job(seeds[0], out)


def _same(outcome: Outcome, one: Observation, run: Run) -> None:
    """Check that a sampled run equals the run behind the table's number."""
    for own in outcome.runs(one.key):
        if own.seed == run.seed and own.fingerprint != run.fingerprint:
            raise ResultError(
                f"{own.directory}: the run drawn over time differs from the one in the table",
                "another version made the table: reproduce it again, with --force",
            )
