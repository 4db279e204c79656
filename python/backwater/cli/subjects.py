"""Reads the subjects of `compare` and `why`: a scenario, perhaps with changes, or results.

    FILE[@VARIANT][+MECHANISM...][,KEY=VALUE...]

No character of it is special to a shell: `mine.toml@sfc+ecn,sfc.threshold=150KB,ecn.kmin=100KB`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backwater._core import ScenarioError
from backwater.cli.arguments import AS_IT_IS, Selection, changed, check_used, overrides, read
from backwater.errors import InputError
from backwater.manifest import RUN, SEEDS, judging, say_build
from backwater.programs import stand_in
from backwater.repetitions import load_series
from backwater.results import Run, load_run, manifest_at, present
from backwater.saved import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.scenario import Scenario

GRAMMAR = (
    "FILE, FILE@VARIANT, or a directory that `backwater run --out` wrote, each perhaps followed by "
    "+MECHANISM and ,KEY=VALUE, as in mine.toml@sfc+ecn,sfc.threshold=150KB"
)
VARIANT, MECHANISM, SETTING = "@+,"
Wrong = InputError | ScenarioError
"""The error of a scenario that cannot be run."""
OPENING, CLOSING = "[{", "]}"


@dataclass(frozen=True)
class Subject:
    """A scenario with its settings, and its existing runs."""

    label: str
    """The text on the command line."""
    name: str
    """The label without the directory of the file."""
    scenario: Scenario
    settings: list[tuple[str, str]]
    """The settings for all scenarios, and those of this scenario alone."""
    runs: list[Run]
    """The run of a result directory, or the runs of its seeds."""
    control: str | None = None
    """The control of a result directory that only its program has; then nothing can be run."""

    @property
    def seed(self) -> int:
        """The seed of its run, or the scenario's own."""
        return self.runs[0].seed if self.runs else self.scenario.seed

    @property
    def skipped(self) -> list[str]:
        """Sentences about the settings for all scenarios that change nothing here."""
        return [
            f"{self.label}: skipped --set {one['key']}={one['value']}: {one['reason']}"
            for one in self.scenario.skipped
        ]


def subjects(
    texts: Sequence[str],
    selection: Selection = AS_IT_IS,
    wrong: dict[str, Wrong] | None = None,
) -> list[Subject]:
    """Read the subjects of a command.

    The variant of `selection` applies to files that name none. A setting of a mechanism applies
    where the mechanism is on; if it is on nowhere, that is an error. `wrong` collects the errors of
    single scenarios, which are left out; without it the first error is raised.
    """
    pairs = overrides(selection.settings)
    if selection.variant is not None:
        texts = _of_variant(texts, selection.variant)
    found = []
    for text in texts:
        try:
            found.append(_subject(text, pairs, selection.mechanisms or (), len(texts) == 1))
        except (InputError, ScenarioError) as error:
            if wrong is None:
                raise
            wrong[text] = error
    everywhere = texts[0] if len(texts) == 1 else "each of these scenarios"
    check_used(pairs, [one.scenario for one in found], everywhere)
    return found


def _subject(
    text: str, pairs: Sequence[tuple[str, str]], mechanisms: Sequence[str], alone: bool
) -> Subject:
    place = _place(text)
    rest = text[len(place) :]
    path = Path(place)
    folder = _is_folder(place)
    runs = _runs(path) if folder else []
    if folder and not runs:
        raise InputError(f"{text}: holds no run", f"give {GRAMMAR}")
    for run in runs:
        if run.manifest.get("changed"):
            when = "; ".join(told(run.manifest["changed"]))
            raise InputError(
                f"{text}: values changed during the run ({when}), so no scenario repeats it",
                "give a scenario that has these values from its start",
            )
    control = stand_in(runs[0]) if runs else None
    scenario = _scenario_of(runs[0], path) if runs else read(place)
    if rest.startswith(VARIANT):
        if runs:
            raise InputError(f"{text}: results are of one variant already", f"give {GRAMMAR}")
        variant = _variant(rest[1:], scenario.variants)
        scenario = scenario.variant(variant)
        rest = rest[1 + len(variant) :]
    switched, _, _ = rest.partition(SETTING)
    rest = rest[len(switched) :]
    own = _settings(text, rest)
    if not alone and any(key == "seed" for key, _ in own):
        raise InputError(
            f"{text}: sets the seed of one scenario, and all must run with the same seeds",
            "use --seeds, or --set seed=N, for all",
        )
    names = [name for name in switched.split(MECHANISM) if name]
    if any(VARIANT in name for name in names):
        raise InputError(f"{text}: the variant comes before mechanisms", f"give {GRAMMAR}")
    settings = [*pairs, *own]
    scenario = changed(scenario, settings, [*mechanisms, *names], where_on=True)
    _check_on(text, text[: len(text) - len(rest)], own, scenario)
    # With other settings it is another scenario, which has no runs yet.
    same = not names and not mechanisms and len(scenario.skipped) == len(settings)
    name = path.name.removesuffix(".toml") + text[len(place) :]
    return Subject(text, name, scenario, settings, runs if same else [], control)


def _of_variant(texts: Sequence[str], variant: str) -> list[str]:
    """Add a variant to the files that name none. Raises `InputError` if each names one."""
    found = []
    for text in texts:
        place = _place(text)
        rest = text[len(place) :]
        own = _is_folder(place) or rest.startswith(VARIANT)
        found.append(text if own else f"{place}{VARIANT}{variant}{rest}")
    if found == list(texts):
        named = " and ".join([*texts, f"--variant {variant}"])
        raise InputError(f"{named}: each names a variant", "leave one of them out")
    return found


def folders(texts: Sequence[str]) -> list[Path]:
    """Return the result directories among the subjects of a command."""
    return [Path(place) for place in _places(texts) if _is_folder(place)]


def files(texts: Sequence[str]) -> list[Path]:
    """Return the scenario files among the subjects of a command."""
    return [Path(place) for place in _places(texts) if place != "-" and not _is_folder(place)]


def _is_folder(place: str) -> bool:
    return place != "-" and present(Path(place))


def _places(texts: Sequence[str]) -> list[str]:
    """Return the files and directories of several texts.

    The error of a variant without a file names the file that has it.
    """
    found = []
    for text in texts:
        try:
            found.append(_place(text))
        except InputError as error:
            for file in texts:
                if Path(file).is_file() and text in read(file).variants:
                    hint = f"{text} is a variant: {file}{VARIANT}{text}"
                    raise InputError(error.reason, hint) from None
            raise
    return found


def _place(text: str) -> str:
    """Return the longest existing file or directory that a text begins with."""
    ends = [n for n, letter in enumerate(text) if letter in (VARIANT, MECHANISM, SETTING)]
    for end in (len(text), *reversed(ends)):
        if text[:end] == "-" or (end and _exists(Path(text[:end]))):
            return text[:end]
    raise InputError(f"{text}: there is no such file or directory", f"give {GRAMMAR}")


def _exists(path: Path) -> bool:
    return path.exists() or present(path)


def _variant(text: str, known: Sequence[str]) -> str:
    """Return the variant that a text begins with; its name may contain `+` and `,`."""
    for name in sorted(known, key=len, reverse=True):
        if text.startswith(name) and text[len(name) :][:1] in ("", MECHANISM, SETTING):
            return name
    return text.partition(SETTING)[0].partition(MECHANISM)[0]


def _settings(text: str, rest: str) -> list[tuple[str, str]]:
    """Read `,KEY=VALUE,KEY=VALUE`; a comma within quotes or brackets belongs to a value."""
    parts: list[str] = []
    depth, quote = 0, ""
    for letter in rest:
        if letter == SETTING and depth == 0 and not quote:
            parts.append("")
            continue
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in OPENING) - (letter in CLOSING)
        parts[-1] += letter
    for part in parts:
        key, equals, _ = part.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f"{text}: {part or 'nothing'} after a comma, which is not of the form KEY=VALUE",
                f"give {GRAMMAR}",
            )
    return overrides(parts)


def _check_on(text: str, before: str, own: Sequence[tuple[str, str]], scenario: Scenario) -> None:
    """Refuse a setting of one scenario if its mechanism is off there.

    `before` is the text before the settings.
    """
    for one in scenario.skipped:
        if (one["key"], one["value"]) in own:
            name = one["mechanism"]
            raise InputError(
                f"{text}: {one['key']}: {one['reason']}, and a setting does not switch it on",
                f"+{name} switches it on: {before}+{name}{text[len(before) :]}",
            )


def _scenario_of(run: Run, path: Path) -> Scenario:
    with judging(path):
        return _original(run) or read(str((run.within or run.directory or path) / "scenario.toml"))


def _original(run: Run) -> Scenario | None:
    """Return the scenario from the file of a run, beside its flow tables; None if it changed."""
    facts = run.manifest
    settings = [f"{key}={value}" for key, value in (facts.get("set") or {}).items()]
    try:
        scenario = read(
            str(facts.get("file")),
            Selection(settings, facts.get("with"), facts.get("variant")),
            beside=facts.get("beside", ()),
        )
        same = scenario.prepare().resolved == facts.get("scenario")
    except (ScenarioError, InputError):
        return None
    return scenario if same else None


def _runs(path: Path) -> list[Run]:
    manifest = manifest_at(path, RUN, SEEDS)
    say_build(path, manifest)
    return [load_run(path)] if manifest["kind"] == RUN else load_series(path).runs
