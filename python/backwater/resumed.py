"""Runs that go on from a saved one, as it was or with other values from then on."""

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
    """Open a run that `Scenario.save`, or `run --save`, has saved.

    Raises `backwater.InputError` if there is no such file, or if it is damaged or of another build.
    """
    return Resumed(SavedRun.open(Path(path)))


@dataclasses.dataclass(frozen=True)
class Resumed:
    """A run that goes on from a saved one. Immutable: every change gives a new one."""

    saved: SavedRun
    settings: tuple[tuple[str, str], ...] = ()
    """What is changed from then on: keys and values."""

    @property
    def title(self) -> str:
        """The title that its scenario gives itself."""
        return str(self.saved.header["facts"]["title"])

    @property
    def time_ps(self) -> int:
        """The time up to which it has run, in ps; all events of that time are over."""
        return self.saved.time_ps

    def set(self, key: str, value: Value) -> Resumed:
        """Give a parameter of a mechanism another value from then on, by its dotted key.

        What cannot change in a run that is under way is an error once it is used.
        """
        text = value if isinstance(value, str) else json.dumps(value)
        kept = tuple(one for one in self.settings if one[0] != key)
        return dataclasses.replace(self, settings=(*kept, (key, text)))

    def prepare(self) -> Prepared:
        """Check it."""
        header = self.saved.header
        text = header["recorded"]
        # Key by key: two tables that have changed places are other flows.
        before = contents(header["scenario"], header["facts"]["inputs"])
        now = contents(text, inputs_of(text, None))
        other = sorted(key for key in before | now if before.get(key) != now.get(key))
        if other:
            raise InputError(
                f"{self.saved.path}: the file of {other[0]} is not what it was",
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
                # With every value given, much has no effect: what counts is what a change brings.
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
        """Make a checked job of it."""
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
        """Run to the end and give the results, those before it was saved included.

        As `Scenario.run`. `run.manifest["changed"]` says what was changed, and from when on.
        """
        job = self.job(None if out is None else Path(out), saving(save, every))
        return run_to_end(job, progress, force=force)

    def save(self, path: str | os.PathLike[str], until: str) -> None:
        """Run up to a time, that time included, and save the run again, as `Scenario.save`."""
        save_there(self.job(None), until, Path(path))
