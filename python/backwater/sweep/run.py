"""Carries out a sweep in a directory: keeps the existing points, and runs the missing ones."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.directory import (
    SWEEP_TABLES,
    clear,
    clear_answer,
    locked,
    standing,
)
from backwater.errors import InputError, ResultError, unwritable
from backwater.experiments.builds import code, told
from backwater.files import digest
from backwater.manifest import FORMATS, NAMES, SWEEP, check_file, read_manifest, write_manifest
from backwater.running import inputs_of
from backwater.stopping import StoppedError
from backwater.sweep import seek
from backwater.sweep.drive import Drive, State
from backwater.sweep.pilot import pilot, recipe_of
from backwater.sweep.point import DONE
from backwater.sweep.progress import Told
from backwater.sweep.same import difference, in_order, named
from backwater.sweep.store import POINTS, Store, files, table_of
from backwater.sweep.whole import Whole, unfinished
from backwater.sweep.whole import missing as missing_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from backwater.experiments.hands import Workers
    from backwater.experiments.pilot import Estimate
    from backwater.scenario import Scenario
    from backwater.stopping import Stop
    from backwater.sweep.drive import Watching
    from backwater.sweep.plan import Plan
    from backwater.sweep.seek import Batch, Rows, Seeking

REPLACE = "give --out another name, or --force to run all points again"


@dataclass
class Sweeping:
    """A sweep to be carried out in a directory."""

    plan: Plan
    directory: Path
    facts: dict[str, Any]
    """Its origin: title, file, with, set, and the options of the command."""
    metrics: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    alone: float = 0.0
    """What takes so many seconds at most is run in this process: workers take longer to start."""
    seeking: Callable[[], Seeking] | None = None
    """Makes the search that chooses points from earlier results; None: run the whole plan."""
    most: int | None = None
    """The most points that the search runs."""
    answering: Callable[[Seeking, Sequence[Batch], Rows], dict[str, Any]] | None = None
    """Works out the answer of a search from its batches and rows."""
    answer: dict[str, Any] | None = None
    """The answer, once the search is over."""
    beside: Sequence[Batch] = ()
    """Batches beside those of the plan, such as the base."""
    _earlier: dict[str, Any] = field(default_factory=dict)
    """The probes of the existing points."""
    _unfinished: list[dict[str, Any]] = field(default_factory=list)
    """The requests of earlier searches that did not end."""
    _apart: set[str] = field(default_factory=set)
    """Points that only bases need: figures keep them apart."""

    def known(self) -> dict[str, str]:
        """Return the status of each existing point.

        Raises `InputError` if the directory holds other results, or a different sweep.
        """
        kind = standing(self.directory)
        if kind is None:
            return {}
        if kind != SWEEP:
            raise InputError(f"{self.directory}: holds results of a {NAMES[kind]}", REPLACE)
        try:
            manifest = read_manifest(self.directory, SWEEP)
        except ResultError as error:
            raise InputError(error.reason, REPLACE) from None
        self._check_same(manifest)
        self._unfinished = unfinished(manifest, self.facts["asked"])
        return statuses(self.directory, manifest)

    def _check_same(self, manifest: Mapping[str, Any]) -> None:
        """Refuse to add to a sweep of another scenario, of other keys, or by another build."""
        place = self.directory
        here = code()
        if manifest["code"] != here:
            raise InputError(
                f"{place}: was made by another version or build: {told(manifest['code'])}; this "
                f"is {told(here)}",
                REPLACE,
            )
        axes = [{"key": axis.key, "unit": axis.unit} for axis in self.plan.axes]
        # The order of keys does not matter.
        if in_order(manifest["axes"]) != in_order(axes):
            names = [named(one) for one in (manifest["axes"], axes)]
            raise InputError(
                f"{place}: its sweep varies {names[0]}, and this one {names[1]}", REPLACE
            )
        for what, asked in (("metrics", self.metrics), ("keep", self.keep)):
            new = sorted(set(asked) - set(manifest[what]))
            if new:
                raise InputError(f"{place}: its points were run without {new[0]} ({what})", REPLACE)
        scenarios = dict(self.plan.scenarios)
        for batch in self.beside:
            scenarios |= batch.plan.scenarios
        for probe in manifest["probes"].values():
            if probe["variant"] in scenarios:
                self._check_scenario(scenarios[probe["variant"]], probe)
        self.metrics, self.keep = tuple(manifest["metrics"]), tuple(manifest["keep"])
        self._earlier = manifest["probes"]
        self._apart = set(manifest.get("beside") or ())

    def _check_scenario(self, case: Scenario, probe: Mapping[str, Any]) -> None:
        variant = probe["variant"]
        for key, text in probe["settings"]:
            case = case.set(key, text, where_on=True)
        of = f" of variant {variant}" if variant else ""
        try:
            resolved = case.resolved()
        except _core.ScenarioError as error:
            raise InputError(
                f"{self.directory}: holds points of another scenario{of}: {error.reason}", REPLACE
            ) from None
        if resolved != probe["scenario"]:
            raise InputError(
                f"{self.directory}: holds points of another scenario{of}: "
                f"{difference(probe['scenario'], resolved)}",
                REPLACE,
            )
        if inputs_of(resolved, case.folder) != probe["inputs"]:
            raise InputError(
                f"{self.directory}: holds points of another scenario{of}: files of flows differ",
                REPLACE,
            )

    @cached_property
    def _probes(self) -> dict[str, Any]:
        """Resolved scenarios at some points, by which a later command detects changes.

        One for each variant and set of values that are texts or absent: a mechanism that is off
        at a point has no keys there, and only some points name files of flows.
        """
        found: dict[tuple[str, ...], Any] = {}
        tried: Counter[tuple[str, ...]] = Counter()
        plans = [(self.plan, self.plan.points)]
        plans += [(batch.plan, batch.points) for batch in self.beside]
        for plan, points in plans:
            for point in points:
                # A key without effect is not set; one number represents all numbers of its key.
                texts = sorted(
                    f"{axis.key}={'' if at < 0 else axis.values[at].text}"
                    for axis, at in zip(plan.drawn, point.values, strict=True)
                    if at < 0 or axis.unit is None
                )
                alike = (point.variant, *texts)
                if alike in found:
                    continue
                tried[alike] += 1
                if tried[alike] > _TRIED and tried[alike] % _EACH:
                    continue
                case = plan.at(point)
                try:
                    resolved = case.resolved()
                except _core.ScenarioError:
                    continue
                found[alike] = {
                    "variant": point.variant,
                    "settings": [list(one) for one in plan.settings(point)],
                    "scenario": resolved,
                    "given": [one["key"] for one in case.values() if one["origin"] != "default"],
                    "inputs": inputs_of(resolved, case.folder),
                }
        return {" ".join(alike): probe for alike, probe in found.items()}

    def carry_out(
        self,
        engine: Workers,
        watching: Watching,
        stop: Stop,
        announce: Callable[[Estimate], None],
        *,
        force: bool = False,
    ) -> State:
        """Run what is missing or has failed, and return where the sweep stands at the end.

        `engine` starts workers, unless nothing is missing; `announce` takes the estimate before.
        `force` runs all points anew.
        """
        with locked(self.directory):
            known = {} if force else self.known()
            before = [] if force else missing_of(self.directory)
            points = self.plan.points
            fresh = not known
            if fresh:
                self._earlier, self._apart = {}, set()
                clear(self.directory)
            if force:
                self._unfinished = []
            of_bases = {point.id for batch in self.beside for point in batch.points}
            self._apart |= of_bases - known.keys()
            if self.seeking is None:
                self._apart -= {point.id for point in points}
            whole = Whole(self.directory, known, before)
            # What a search runs is not known before.
            mine = [] if self.seeking is not None else points
            missing = [point for point in mine if known.get(point.id) != DONE]
            again = {point.id for point in missing if point.id in known}
            whole.lose(again)
            whole.take(point.id for point in mine)
            state = State(len(mine), len(mine) - len(missing))
            clear_answer(self.directory)
            if fresh:
                # First of all, as the manifest marks the directory as a sweep.
                self._write("running", points=whole.counts(state)["points"])
            whole.write(point.id for point in missing)
            if not fresh:
                self._write("running", points=whole.counts(state)["points"])
            store = Store(self.directory)
            if again:
                store.drop(again)
            told = Told(self.directory, watching, whole)
            told.close(state)
            try:
                batches: Iterable[Batch]
                batches = [seek.Batch(self.plan, missing, 0)] if missing else []
                seeking = None if self.seeking is None else self.seeking()
                rounds: list[Batch] = []
                if seeking is not None:
                    batches = self._asked(seeking, known, rounds, store, state, told, stop)
                self._run(batches, store, state, told, engine, stop, announce)
                if seeking is not None and self.answering is not None and not stop.is_set():
                    self.answer = self.answering(seeking, rounds, self._rows())
                store.close()
            except BaseException as error:
                with contextlib.suppress(ResultError):
                    reason = str(error) or type(error).__name__
                    counts = whole.counts(state)
                    self._write(
                        "interrupted", points=counts["points"], error=reason.partition("\n")[0]
                    )
                raise
            if state.done + state.failed == state.points:
                whole.write(())
            left = not self.over(state) or whole.missing or self._unfinished
            more = {} if self.answer is None else {"answer": self.answer}
            counts = whole.counts(state)
            self._write(
                "interrupted" if left else DONE,
                parts=self._parts(),
                points=counts["points"],
                **more,
            )
            told.show(state)
            told.close(state)
            return state

    def over(self, state: State) -> bool:
        """Whether the request is complete, so that no signal can stop it any more."""
        if self.seeking is not None:
            return self.answer is not None
        return state.done + state.failed == state.points

    def _run(
        self,
        batches: Iterable[Batch],
        store: Store,
        state: State,
        told: Told,
        engine: Workers,
        stop: Stop,
        announce: Callable[[Estimate], None],
    ) -> None:
        """Run batches of missing points one after the other with the same workers."""
        client: Any = None
        # Seconds that this process may still run points itself; None: nothing was foreseen yet.
        alone: float | None = None
        with contextlib.suppress(StoppedError), contextlib.ExitStack() as stack:
            for batch in batches:
                plan, missing, later = batch.plan, batch.points, batch.later
                recipe = recipe_of(plan, self.metrics, self.keep)
                drive = Drive(plan, recipe, store, state, told, missing, later)
                if alone is None:
                    estimate, done = pilot(plan, recipe, missing, 1, _PILOT_SECONDS, stop)
                    estimate.runs += later
                    announce(estimate)
                    for place, rows in done.items():
                        drive.here(place, rows)
                    drive.commit()
                    alone = _LONGER * self.alone if self.small(estimate) else 0.0
                if client is None and alone > 0:
                    began = time.monotonic()
                    drive.alone(stop, alone)
                    alone -= time.monotonic() - began
                if drive.left and not stop.is_set():
                    client = client or stack.enter_context(engine.connect(stop))
                    drive.run(client, stop, engine.wait)

    def small(self, estimate: Estimate) -> bool:
        """Whether what is foreseen takes less than workers take to start."""
        work = estimate.work()
        return work is not None and work <= self.alone

    def _asked(
        self,
        seeking: Seeking,
        known: Mapping[str, str],
        rounds: list[Batch],
        store: Store,
        state: State,
        told: Told,
        stop: Stop,
    ) -> Iterator[Batch]:
        """Yield the missing points of each batch that a search requests."""
        counted: set[str] = set()
        # The search does not see earlier failures, so it requests these points, and they run again.
        failed = {point for point, status in known.items() if status != DONE}
        while not stop.is_set() and (batch := seeking.ask(self._rows(failed))) is not None:
            rounds.append(batch)
            if not batch.apart:
                self._apart -= {point.id for point in batch.points}
            new = [point for point in batch.points if point.id not in counted]
            counted |= {point.id for point in new}
            missing = [point for point in new if known.get(point.id) != DONE]
            if again := {point.id for point in missing if point.id in known}:
                told.whole.lose(again)
                told.whole.write(())
                store.drop(again)
                failed -= again
            told.whole.take(point.id for point in new)
            state.done += len(new) - len(missing)
            state.points = len(counted) + batch.later
            if missing:
                yield replace(batch, points=missing)

    def _rows(self, without: Container[str] = ()) -> Rows:
        found = table_of(self.directory, POINTS)
        rows = found.to_pylist() if len(found) else []
        return seek.known([row for row in rows if row["point"] not in without])

    def _parts(self) -> dict[str, str]:
        return {
            f"{table}/{file.name}": digest(file)
            for table in SWEEP_TABLES
            for file in files(self.directory, table)
        }

    def _write(self, status: str, **more: Any) -> None:  # noqa: ANN401 - anything that JSON holds
        manifest = {
            "format": FORMATS[SWEEP],
            "kind": SWEEP,
            "status": status,
            "versions": _core.version(),
            "code": code(),
            **self.facts,
            "axes": [{"key": axis.key, "unit": axis.unit} for axis in self.plan.axes],
            "metrics": list(self.metrics),
            "keep": list(self.keep),
            "points": len(self.plan.points),
            "unfinished": self._unfinished,
            "beside": sorted(self._apart),
            "probes": self._probes | self._earlier,
            **more,
        }
        try:
            write_manifest(self.directory, manifest)
        except OSError as error:
            raise unwritable(self.directory, error) from None


_PILOT_SECONDS = 2.0
# The first points of a kind to try for a probe; if all are illegal, then one in so many.
_TRIED, _EACH = 1000, 97
# As many times what was foreseen this process goes on itself, and no longer.
_LONGER = 2.0


def statuses(directory: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the status of each point in a directory. Raises `ResultError`."""
    if manifest.get("parts"):
        for path in files(directory, POINTS):
            check_file(path, manifest["parts"].get(f"{POINTS}/{path.name}", ""))
    table = table_of(directory, POINTS)
    if not len(table):
        return {}
    return {row["point"]: row["status"] for row in table.select(["point", "status"]).to_pylist()}
