"""What `compare` and `why` speak of: `scenario.toml`, `scenario.toml@variant`, or results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backwater._core import ScenarioError
from backwater.cli.arguments import overrides, read
from backwater.errors import InputError
from backwater.manifest import RUN, SEEDS, judging, read_manifest, say_build
from backwater.reading import load_series
from backwater.results import Run, load_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.scenario import Scenario

GRAMMAR = "scenario.toml, scenario.toml@VARIANT, or a directory that `backwater run --out` wrote"


@dataclass(frozen=True)
class Subject:
    """A scenario with its settings, and what there already is of it."""

    label: str
    scenario: Scenario
    runs: list[Run]
    """Of a result directory: its run, or the runs of its seeds."""

    @property
    def seed(self) -> int:
        """The seed of its run, or the scenario's own."""
        return self.runs[0].seed if self.runs else self.scenario.seed


def subject(text: str, settings: Sequence[str] | None) -> Subject:
    """Read what a command is given; `settings` are its `--set`."""
    path = Path(text)
    if path.is_dir():
        return _results(text, path, settings)
    file, at, variant = text.rpartition("@")
    if not at or path.is_file():
        file, variant = text, ""
    if file != "-" and not Path(file).exists():
        raise InputError(f"{text}: there is no such file or directory", f"give {GRAMMAR}")
    return Subject(text, read(file, variant or None, settings), [])


def _results(text: str, path: Path, settings: Sequence[str] | None) -> Subject:
    runs = _runs(path)
    if not runs:
        raise InputError(f"{text}: holds no run", f"give {GRAMMAR}")
    with judging(path):
        scenario = _original(runs[0]) or read(str((runs[0].directory or path) / "scenario.toml"))
    for key, value in overrides(settings):
        scenario = scenario.set(key, value)
    # With other settings it is another scenario, of which there is nothing yet.
    return Subject(text, scenario, [] if settings else runs)


def _original(run: Run) -> Scenario | None:
    """The file that a run was made from, where its flow tables lie; None if it has changed."""
    facts = run.manifest
    settings = [f"{key}={value}" for key, value in (facts.get("set") or {}).items()]
    try:
        scenario = read(str(facts.get("file")), facts.get("variant"), settings)
        same = scenario.prepare().resolved == facts.get("scenario")
    except (ScenarioError, InputError):
        return None
    return scenario if same else None


def _runs(path: Path) -> list[Run]:
    manifest = read_manifest(path, RUN, SEEDS)
    say_build(path, manifest)
    return [load_run(path)] if manifest["kind"] == RUN else load_series(path).runs
