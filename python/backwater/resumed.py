"""Continues saved runs, as they were or with other values from then on."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.errors import InputError
from backwater.run_one import run_to_end, save_there
from backwater.running import Job, Prepared, contents, inputs_of
from backwater.saved import SavedRun
from backwater.saving import GoingOn, Saving, saving
from backwater.scenario import Scenario
from backwater.speaking import spoken

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from backwater.results import Run
    from backwater.scenario import Value


def resume(path: str | os.PathLike[str]) -> Resumed:
    """Open a run that `Scenario.save`, or `backwater run --save`, has saved.

    Raises `backwater.InputError` if the file is missing, is damaged, or is of another build.
    """
    return Resumed(SavedRun.open(Path(path)))


@dataclasses.dataclass(frozen=True)
class Resumed:
    """A run that continues a saved one. Immutable: every change returns a new one."""

    saved: SavedRun
    settings: tuple[tuple[str, str], ...] = ()
    """The keys that are changed from then on, with their values."""

    @property
    def title(self) -> str:
        """The title in its scenario."""
        return str(self.saved.header["facts"]["title"])

    @property
    def time_ps(self) -> int:
        """The simulated time up to which it has run, in ps, events at that time included."""
        return self.saved.time_ps

    def set(self, key: str, value: Value) -> Resumed:
        """Return the run with another value of a mechanism's parameter, by its dotted key.

        A value that cannot change during a run raises `backwater.ScenarioError` in `run` or `save`.
        """
        text = value if isinstance(value, str) else json.dumps(value)
        kept = tuple(one for one in self.settings if one[0] != key)
        return dataclasses.replace(self, settings=(*kept, (key, text)))

    def prepare(self) -> Prepared:
        """Check the scenario with all changes, and return it prepared for the run."""
        header = self.saved.header
        text = header["recorded"]
        # Key by key: two tables that have changed places mean other flows.
        before = contents(header["scenario"], header["facts"]["inputs"])
        now = contents(text, inputs_of(text, None))
        other = sorted(key for key in before | now if before.get(key) != now.get(key))
        if other:
            raise InputError(
                f"{self.saved.path}: the file of {other[0]} has changed since the run was saved",
                "put back the tables and matrices with which it was saved",
            )
        core = Scenario(_core.Scenario.from_text(text, str(self.saved.path)), {}).complete()
        for change in self.saved.changed:
            for key, value in change["set"].items():
                core = core.with_set(key, value)
        unchanged = core
        warnings = [*header["facts"]["warnings"]]
        with spoken():
            for key, value in self.settings:
                core = core.with_set(key, value)
            if self.settings:
                # The text has every value, many without effect: only new warnings are of interest.
                known = unchanged.check()
                warnings += [one for one in core.check() if one not in known]
        changed: list[dict[str, Any]] = self.saved.changed
        if self.settings:
            changed.append({"from_ps": self.time_ps, "set": dict(self.settings)})
        facts = {**header["facts"], "warnings": warnings}
        if changed:
            facts["changed"] = changed
        going_on = GoingOn(self.saved, unchanged, [key for key, _ in self.settings])
        return Prepared(core, header["scenario"], text, warnings, facts, going_on=going_on)

    def job(self, out: Path | None, saved: Saving | None = None) -> Job:
        """Check it, and return a job that runs it."""
        return Job(self.prepare(), self.saved.seed, out, saving=saved)

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        progress: Callable[[_core.Status], None] | None = None,
        *,
        force: bool = False,
        save: str | os.PathLike[str] | None = None,
        every: str | None = None,
    ) -> Run:
        """Run to the end and return the results, with those from before it was saved.

        Arguments and errors are as of `Scenario.run`. `run.manifest["changed"]` lists the changes
        and the times, in ps, from which they hold.
        """
        job = self.job(None if out is None else Path(out), saving(save, every))
        return run_to_end(job, progress, force=force)

    def save(self, path: str | os.PathLike[str], until: str) -> None:
        """Run up to and including a time, and save the run again, as `Scenario.save` does."""
        save_there(self.job(None), until, Path(path))
