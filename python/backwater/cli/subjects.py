"""What `compare` and `why` speak of: a scenario, perhaps with changes of its own, or results.

    FILE[@VARIANT][+MECHANISM...][,KEY=VALUE...]

No shell takes any of it apart: `mine.toml@sfc+ecn,sfc.threshold=150KB,ecn.kmin=100KB`.
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
    "FILE, FILE@VARIANT, or a directory that `backwater run --out` wrote, each perhaps with "
    "+MECHANISM and ,KEY=VALUE behind it, as in mine.toml@sfc+ecn,sfc.threshold=150KB"
)
VARIANT, MECHANISM, SETTING = "@+,"
Wrong = InputError | ScenarioError
"""Why a scenario cannot be run."""
OPENING, CLOSING = "[{", "]}"


@dataclass(frozen=True)
class Subject:
    """A scenario with its settings, and what there already is of it."""

    label: str
    """As it was asked for."""
    name: str
    """The same without the directory of its file."""
    scenario: Scenario
    settings: list[tuple[str, str]]
    """What is set in it, for all and for it alone."""
    runs: list[Run]
    """Of a result directory: its run, or the runs of its seeds."""
    control: str | None = None
    """Of a result directory: the control that only its program has; then nothing can be run."""

    @property
    def seed(self) -> int:
        """The seed of its run, or the scenario's own."""
        return self.runs[0].seed if self.runs else self.scenario.seed

    @property
    def skipped(self) -> list[str]:
        """Say which settings for all change nothing here, a sentence each."""
        return [
            f"{self.label}: skipped --set {one['key']}={one['value']}: {one['reason']}"
            for one in self.scenario.skipped
        ]


def subjects(
    texts: Sequence[str],
    selection: Selection = AS_IT_IS,
    wrong: dict[str, Wrong] | None = None,
) -> list[Subject]:
    """Read what a command is given.

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
                f"{text}: values were changed under way ({when}): "
                "it is a run of no scenario, so it cannot be repeated or stand for one",
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
            f"{text}: a seed of one scenario: all run with the same, and differ seed by seed",
            "--seeds, or --set seed=N, is for all",
        )
    names = [name for name in switched.split(MECHANISM) if name]
    if any(VARIANT in name for name in names):
        raise InputError(f"{text}: the variant comes before mechanisms", f"give {GRAMMAR}")
    settings = [*pairs, *own]
    scenario = changed(scenario, settings, [*mechanisms, *names], where_on=True)
    _check_on(text, text[: len(text) - len(rest)], own, scenario)
    # With other settings it is another scenario, of which there is nothing yet.
    same = not names and not mechanisms and len(scenario.skipped) == len(settings)
    name = path.name.removesuffix(".toml") + text[len(place) :]
    return Subject(text, name, scenario, settings, runs if same else [], control)


def _of_variant(texts: Sequence[str], variant: str) -> list[str]:
    """Give the files that name no variant this one. Raises `InputError` if each names one."""
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
    """Give the result directories among what a command is given."""
    return [Path(place) for place in _places(texts) if _is_folder(place)]


def files(texts: Sequence[str]) -> list[Path]:
    """Give the scenario files among what a command is given."""
    return [Path(place) for place in _places(texts) if place != "-" and not _is_folder(place)]


def _is_folder(place: str) -> bool:
    return place != "-" and present(Path(place))


def _places(texts: Sequence[str]) -> list[str]:
    """Give the files and directories of several texts; a variant alone is told its file."""
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
    """Give the file or directory that a text begins with: the longest that there is."""
    ends = [n for n, letter in enumerate(text) if letter in (VARIANT, MECHANISM, SETTING)]
    for end in (len(text), *reversed(ends)):
        if text[:end] == "-" or (end and _exists(Path(text[:end]))):
            return text[:end]
    raise InputError(f"{text}: there is no such file or directory", f"give {GRAMMAR}")


def _exists(path: Path) -> bool:
    return path.exists() or present(path)


def _variant(text: str, known: Sequence[str]) -> str:
    """Give the variant that a text begins with; its name may hold what else ends it."""
    for name in sorted(known, key=len, reverse=True):
        if text.startswith(name) and text[len(name) :][:1] in ("", MECHANISM, SETTING):
            return name
    return text.partition(SETTING)[0].partition(MECHANISM)[0]


def _settings(text: str, rest: str) -> list[tuple[str, str]]:
    """Read `,KEY=VALUE,KEY=VALUE`; commas within quotes or brackets are of a value."""
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
    """Refuse a scenario's own setting of a mechanism that is off there.

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
    """The file that a run was made from, where its flow tables lie; None if it has changed."""
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
