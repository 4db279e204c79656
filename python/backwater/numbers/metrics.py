"""Metrics of a run by name, such as `p99_fct:victim`, and their values.

All metrics are in `backwater.numbers.registry`.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from backwater.errors import InputError
from backwater.numbers.registry import (
    CLASS,
    COLLECTIVE,
    FLOW,
    GROUP,
    JOB,
    KIND,
    QUANTITIES,
    QUEUE,
    ROUND,
    RUN,
    Quantity,
)
from backwater.numbers.rows import Rows, rows
from backwater.numbers.statistics import statistic
from backwater.numbers.units import PS_PER_US
from backwater.samples import needed, share_of, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.numbers.statistics import Ordered
    from backwater.results import Run

STATISTICS = "mean, median, min, max, and percentiles such as p99 or p99.9"
_FORM = re.compile(r"(?:(mean|median|min|max|p\d+(?:\.\d+)?)_)?(\w+)(?::(.+))?")
_CLASSES = [str(number) for number in range(8)]


class Tables:
    """The tables of a run for several of its metrics; rows that these share are looked up once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._rows: dict[tuple[object, ...], Rows] = {}
        self._values: dict[tuple[str, str | None], Ordered] = {}
        self._labels: list[tuple[str, str]] | None = None

    @staticmethod
    def of(run: Run | Tables) -> Tables:
        """Wrap a run; tables are returned as they are."""
        return run if isinstance(run, Tables) else Tables(run)

    def rows(self, table: str) -> Rows:
        """Return the rows of a table."""
        return self._once((table,), lambda: rows(self.run, table))

    def only(self, table: str, column: str, value: object) -> Rows:
        """Return the rows of a table that have a value in a column."""
        return self._once((table, column, value), lambda: self.rows(table).only(**{column: value}))

    def complete(self, group: str | None) -> Rows:
        """Return the complete flows of a group; None: of all groups."""
        flows = self.rows("flows") if group is None else self.only("flows", "group", group)
        return self._once(("complete", group), lambda: flows.only(state="complete"))

    def step(self, label: str) -> Rows:
        """Return the collectives of a job, or of a step written as `JOB/STEP`."""
        if self._labels is None:
            self._labels = self.rows("collectives").distinct("job", "step")
        for job, step in self._labels:
            if label == f"{job}/{step}":
                of_job = self.only("collectives", "job", job)
                return self._once(("step", job, step), partial(of_job.only, step=step))
        return self.only("collectives", "job", label)

    def _once(self, key: tuple[object, ...], make: Callable[[], Rows]) -> Rows:
        if key not in self._rows:
            self._rows[key] = make()
        return self._rows[key]

    def values(self, quantity: Quantity, group: str | None, members: Rows) -> Ordered:
        """Return the values of a metric in ascending order."""
        key = (quantity.name, group)
        if key not in self._values:
            assert quantity.values is not None
            self._values[key] = quantity.values(members)
        return self._values[key]


@dataclass(frozen=True)
class Part:
    """The flows that a time covers, if others of their group are not complete."""

    complete: int
    flows: int
    """All flows of the group, complete or not."""
    which: str
    """A hash of the ids of the complete flows."""


@dataclass(frozen=True)
class Metric:
    """One number of a run: a statistic of a group's flows, or a total of the run."""

    name: str
    quantity: Quantity
    statistic: str | None
    group: str | None
    """Its group, job, step, class or kind; None: all of them, or the run."""

    @property
    def unit(self) -> str:
        """Its unit; empty for a ratio."""
        return self.quantity.unit

    def of(self, run: Run | Tables) -> float | None:
        """Return its value in a run, or None, for example if too few flows are complete."""
        tables = Tables.of(run)
        if self.lacking(tables.run) is not None:
            return None
        quantity = self.quantity
        if self._whole:
            number = quantity.whole if self.group is None else None
            number = number or quantity.number
            assert number is not None
            found = number(self._members(tables), tables.run)
            return None if found is None else found / quantity.per
        values = self._samples(tables)
        if values is None or self.why_not(len(values)) is not None:
            return None
        if quantity.reduced is not None:
            return float(quantity.reduced(values))
        assert self.statistic is not None
        return float(statistic(values, self.statistic)) / quantity.per

    def lacking(self, run: Run) -> str | None:
        """Return why the scenario of a run excludes the metric; None: it does not."""
        return None if self.quantity.lacking is None else self.quantity.lacking(run.scenario)

    @property
    def _whole(self) -> bool:
        """Whether it is one number, computed without samples."""
        greatest = self.quantity.sampled is None or self.statistic == "max"
        return self.quantity.number is not None and greatest

    @property
    def needs_samples(self) -> bool:
        """Whether it is computed from samples of queues."""
        return self.quantity.sampled is not None and not self._whole

    def count(self, run: Run | Tables) -> int | None:
        """Return how many flows, parts of jobs or samples it covers; None: it is one number."""
        values = self._samples(Tables.of(run))
        return None if values is None else len(values)

    def part(self, run: Run | Tables) -> Part | None:
        """Return the flows that its value covers; None: all of the group, or no flows."""
        if not self.quantity.of_flows:
            return None
        tables = Tables.of(run)
        complete = tables.complete(self.group)
        every = self._every(tables)
        if len(complete) == len(every):
            return None
        numbers = array("q", sorted(int(one) for one in complete.ordered("flow_id")))
        which = hashlib.sha256(numbers.tobytes()).hexdigest()
        return Part(len(complete), len(every), which)

    @property
    def held_against(self) -> tuple[str, str] | None:
        """The name and unit of the reference of its values (`Reference`); None: they have none."""
        of = self.quantity.reference
        exact = self.quantity.sampled is not None and self._whole
        return None if exact or of is None else (of.what, of.unit)

    def reference(self, run: Run | Tables, *, begun: bool = False) -> float | None:
        """Return the reference of its values in a run; None: they have none.

        `begun`: take a run in progress as if all of its flows, or parts of jobs, were complete.
        """
        tables = Tables.of(run)
        if self.needs_samples:
            from backwater.numbers.queues import flows_end_ps

            # The same waiting bytes have a lower mean over a longer time.
            return flows_end_ps(tables.run) / PS_PER_US
        of = self.quantity.reference
        if of is None or of.of is None:
            return None
        if begun:
            return of.of(self._every(tables))
        members = self._members(tables)
        for name in self.quantity.needs:
            members = members.known(name)
        return of.of(members)

    def absolute(self, value: float, reference: float) -> float | None:
        """Return the absolute number that a value and its reference make; None: they make none.

        A mean over time, multiplied by that time, is a sum. A percentile has no equivalent.
        """
        of = self.quantity.reference
        if of is None or of.absolute is None or (self.needs_samples and self.statistic != "mean"):
            return None
        return of.absolute(value, reference)

    @property
    def instead(self) -> str | None:
        """The metric that compares runs whose references differ; None: this one does."""
        of = self.quantity.reference
        if of is None or self.held_against is None:
            return None
        # A maximum does not depend on samples.
        statistic = "max" if self.quantity.sampled is not None else self.statistic
        return f"{statistic}_{of.instead}" + (f":{self.group}" if self.group is not None else "")

    def why_not(self, count: int) -> str | None:
        """Return why `count` samples are too few for the metric; None: they are enough."""
        if self._whole:
            return None
        if self.quantity.reduced is not None:
            return None if count else "not all of its flows are complete"
        return None if self.statistic is None else why_not(self.statistic, count, self._what)

    def takes(self) -> str:
        """Return what it needs to have a value, such as `takes 100 complete flows`."""
        if self.quantity.reduced is not None:
            return "needs all of its flows to be complete"
        of = self._what
        if self.quantity.lacking is not None:
            return "needs a scenario in which it can occur"
        if self.quantity.of_jobs:
            of = "parts of jobs, all complete"
        least = 1 if (share := share_of(self.statistic or "")) is None else needed(share)
        return f"takes {least} {of}" if least > 1 else f"takes {of}"

    @property
    def about(self) -> str:
        """Its description: meaning, statistic, and group, job, step, class or kind."""
        of = f"of {self.group}" if self.group is not None else ""
        return "; ".join(filter(None, (self.quantity.text, f"{self.statistic or ''} {of}".strip())))

    @property
    def _what(self) -> str:
        """The name of its samples."""
        if self.quantity.sampled is not None:
            return "samples of queues"
        return "complete parts of jobs" if self.quantity.of_jobs else "complete flows"

    def _samples(self, tables: Tables) -> Ordered | None:
        """Return its values in ascending order; None if it is one number.

        If any part of a job is not complete, the result is empty, since the rest would mislead. The
        same holds for flows whose values `reduced` combines.
        """
        quantity = self.quantity
        if self.needs_samples:
            assert quantity.sampled is not None
            assert self.statistic is not None
            return quantity.sampled(tables.run, self.statistic)
        if quantity.values is None:
            return None
        members = self._members(tables)
        if not quantity.of_flows:
            for name in quantity.needs:
                if len(members.known(name)) < len(members):
                    return []
        return tables.values(quantity, self.group, members)

    def _every(self, tables: Tables) -> Rows:
        """Return the rows of its subject, complete or not."""
        of, table, group = self.quantity.of, self.quantity.table, self.group
        if of == QUEUE:
            return tables.rows("ports")
        if group is None:
            return tables.rows(table)
        if of == COLLECTIVE:
            return tables.step(group)
        column = {FLOW: "group", GROUP: "group", CLASS: "class", KIND: "kind"}.get(of, "job")
        return tables.only(table, column, int(group) if of == CLASS else group)

    def _members(self, tables: Tables) -> Rows:
        """Return the rows from which it is computed; for flows, the complete ones."""
        return tables.complete(self.group) if self.quantity.of_flows else self._every(tables)


def metric(text: str) -> Metric:
    """Read a metric, such as `STATISTIC_QUANTITY[:GROUP]` of flows, `fairness[:GROUP]` or `drops`.

    Raises `InputError`, which lists all metrics if no metric has this name.
    """
    match = _FORM.fullmatch(text.strip())
    found = QUANTITIES.get(match[2]) if match else None
    if match is None or found is None:
        raise InputError(f"--metric {text}: there is no such metric", listed())
    statistic, name, group = match.groups()
    if statistic and not found.has_statistics:
        of = {GROUP: " of a group's flows", RUN: " of a run"}.get(found.of, "")
        raise InputError(f"--metric {text}: {name} is one number{of}", _written(found))
    if group and found.of == QUEUE:
        raise InputError(
            f"--metric {text}: {name} is of one port only, that of the deepest queue",
            f"write {statistic or 'max'}_{name} alone",
        )
    if group and found.of == RUN:
        raise InputError(f"--metric {text}: {name} is one number of a run", _written(found))
    if group and found.of == CLASS and group not in _CLASSES:
        raise InputError(f"--metric {text}: {group} is no class", "classes are 0 to 7")
    if statistic is None and found.has_statistics:
        raise InputError(
            f"--metric {text}: {name} needs a statistic",
            f"for example p99_{name}; statistics are {STATISTICS}",
        )
    if statistic is not None and statistic.startswith("p") and float(statistic[1:]) > 100:
        raise InputError(
            f"--metric {text}: a percentile is from p0 to p100", f"as in p99_{name} or p99.9_{name}"
        )
    return Metric(text.strip(), found, statistic, group)


def _written(quantity: Quantity) -> str:
    if quantity.of == RUN:
        return f"write {quantity.name} alone"
    of = quantity.written.partition("[")[2].rstrip("]")
    return f"write {quantity.name}, or {quantity.name}{of}"


def unit_of(name: str) -> str:
    """Return the unit of a metric by its name; empty for a ratio, or if there is no such metric."""
    match = _FORM.fullmatch(name)
    found = QUANTITIES.get(match[2]) if match else None
    return "" if found is None else found.unit


def listed() -> str:
    """List all metrics in one sentence."""
    names = {
        of: ", ".join(one.name for one in QUANTITIES.values() if one.of in of)
        for of in ((FLOW,), (GROUP,), (JOB, ROUND, COLLECTIVE), (QUEUE,), (CLASS,), (KIND,), (RUN,))
    }
    flows, groups, jobs, sampled, classes, kinds, runs = names.values()
    return (
        f"of flows STATISTIC_QUANTITY[:GROUP], as in p99_fct:victim, with {flows} "
        f"({STATISTICS}); QUANTITY[:GROUP] with {groups}; "
        "of jobs STATISTIC_QUANTITY[:JOB or :JOB/STEP], as in max_cct:train/sum, "
        f"with {jobs}; STATISTIC_QUANTITY, as in max_queue, with {sampled}; "
        f"QUANTITY[:CLASS] with {classes}; QUANTITY[:KIND] with {kinds}; of the run {runs}"
    )


def usual(
    groups: Sequence[str], steps: Sequence[tuple[str, str]] = (), jobs: Sequence[str] = ()
) -> list[Metric]:
    """Return the metrics that a comparison shows by default.

    `steps` are the steps with collectives, each as its job and its label; `jobs` are all jobs.
    """
    named = {f"{job}/{step}" for job, step in steps}
    groups = [group for group in groups if group not in named]
    names = [f"{statistic}_fct:{group}" for group in groups for statistic in ("mean", "p99", "max")]
    rounds = {job for job, _ in steps}
    for job in jobs:
        names += [f"mean_jct:{job}", f"max_jct:{job}"]
        if job in rounds:
            names += [f"mean_round_time:{job}", f"max_round_time:{job}"]
    for job, step in steps:
        quantities = ("mean_cct", "max_cct", "mean_algbw", "mean_busbw")
        bounds = ("mean_bound", "mean_above_bound", "mean_over_bound")
        names += [f"{quantity}:{job}/{step}" for quantity in (*quantities, *bounds)]
    totals = (
        *(["unfinished_jobs"] if jobs else []),
        "pauses",
        "pause_time",
        "drops",
        "marked_frames",
        "cnps",
        "fault_losses",
        "flushed",
        "trimmed",
        "retransmitted",
        "unfinished",
    )
    return [metric(name) for name in (*names, *totals)]
