"""`backwater advise … --prove`: compares an advised value with simulations of the scenario.

It bisects a range around the value, as `backwater sweep --goal` does, with all seeds at each value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from backwater import _core
from backwater.cli.arguments import Out, Selection, overrides, read
from backwater.errors import InputError
from backwater.sweep.values import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from backwater.scenario import Scenario

T = TypeVar("T")

STEPS = 64
"""Steps of the range in which a value is sought."""
# If room above a value is sought, the range has this many advised headrooms.
_TIMES = 4
# A value that shows whether the key has an effect.
PROBE = "100 KB"
# A value that fits in any memory.
LEAST = "1 B"
SEEDS = "5"


@dataclass(frozen=True)
class Proof:
    """The search around an advised value."""

    key: str
    """The key whose largest value is sought at which the condition holds."""
    condition: str
    rows: Sequence[str]
    """Rows of the advice with the value, or the room above it: the first existing one counts."""
    above: str | None = None
    """The key of the memory that must have this room above the value."""
    below: str | None = None
    """The fact of a scenario that bounds all values from above."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """Options that a simulation uses, with the keys that they set."""
    free: Sequence[str] = ()
    """Options that change nothing in a simulation."""
    ineffective: str | None = None
    """The hint for a scenario that does not read the key."""

    @property
    def option(self) -> str:
        """The name of the option for this key, if the mechanism has one."""
        return self.key.rpartition(".")[2]


def _proof(form: dict[str, Any]) -> Proof:
    return Proof(
        form["key"],
        form["condition"],
        form["rows"],
        above=form["from"],
        below=form["below"],
        sets=dict(form["sets"]),
        free=form["free"],
        ineffective=form["ineffective"],
    )


PROOFS = {name: _proof(form["proof"]) for name, form in _core.advice_forms() if form["proof"]}
"""The proofs of the mechanisms that have one."""


@dataclass(frozen=True)
class Proving:
    """Whether an advice is compared with simulations, and with which."""

    prove: Annotated[
        bool, typer.Option("--prove", help="Compare the advice with simulations of the scenario.")
    ] = False
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N|A..B", help="Seeds of --prove; 5 by default."),
    ] = None
    out: Out = None

    def check(self) -> None:
        """Refuse the other options without `--prove`."""
        for option, value in (("--seeds", self.seeds), ("--out", self.out)):
            if value is not None and not self.prove:
                raise InputError(f"{option}: nothing is simulated", "--prove simulates")


def answer_of(
    mechanism: str,
    file: str,
    selection: Selection,
    ask: Callable[[Scenario], T],
    instead: str = LEAST,
) -> tuple[T, bool]:
    """Return the answer of `ask` for a scenario, which may lack the advised value.

    Also return whether the scenario has this value; if not, it gets `instead`. Raises
    `ScenarioError`.
    """

    def answer(more: Sequence[str]) -> T:
        return ask(read(file, replace(selection, settings=[*(selection.settings or ()), *more])))

    try:
        return answer(()), True
    except _core.ScenarioError as error:
        proof = PROOFS.get(mechanism)
        if proof is None or error.key != proof.key or error.value is not None:
            raise
        return answer([f"{proof.key}={instead}"]), False


def prove(
    mechanism: str,
    options: Mapping[str, Any],
    advice: Mapping[str, Any],
    facts: Mapping[str, Any] | None,
    file: str | None,
    selection: Selection,
    proving: Proving,
) -> dict[str, Any]:
    """Simulate around an advised value, and return the findings. Raises `InputError`."""
    from backwater.cli.sweep import carry_out_here
    from backwater.cli.sweep_plan import PlanOptions, sweeping

    proof = PROOFS[mechanism]
    if file is None or facts is None:
        raise InputError("--prove: nothing to simulate", "name a scenario with --scenario FILE")
    if file == "-":
        raise InputError("--prove: stdin can be read only once", "write the scenario to a file")
    taken = _taken(proof, options)
    settings = [*(selection.settings or ()), *taken]
    rows = {row["name"]: f"{row['value']} {row['unit']}".rstrip() for row in advice["rows"]}
    largest = rows.get(f"largest {proof.option}", "")
    instead = largest if largest[:1].isdigit() else LEAST
    (case, values), _ = answer_of(
        mechanism,
        file,
        replace(selection, settings=settings),
        lambda case: (case, case.values()),
        instead,
    )
    own = {one["key"]: one["value"] for one in values}
    if not any(key.startswith(f"{mechanism}.") for key in own):
        raise InputError(
            f"--prove: `{mechanism}` is off in {file}", f"--with {mechanism} switches it on"
        )
    if proof.key in dict(overrides(selection.settings)):
        raise InputError(
            f"--prove and --set {proof.key} exclude each other",
            f"leave --set {proof.key} out: --prove varies it",
        )
    _check_effect(proof, case)
    row = next((name for name in proof.rows if name in rows), "")
    advised, low, high = _range(proof, rows.get(row, ""), own, facts)
    # A range that begins with one step has as many values as steps.
    many_values = STEPS + (proof.above is not None)
    goal = f"largest {proof.key} in {low} B..{high} B in {many_values} where {proof.condition}"
    options_ = PlanOptions(
        variants=None if selection.variant is None else [selection.variant],
        seeds=proving.seeds or SEEDS,
        mechanisms=selection.mechanisms,
        # A promise of losslessness would end each run that shows where it breaks.
        settings=[*settings, "lossless=false"],
        goal=goal,
    )
    search = sweeping(file, options_, proving.out)
    carry_out_here(search)
    if search.answer is None:
        raise InputError("--prove: was stopped", "the same command with its --out resumes it")
    [line] = search.answer["lines"]
    directory = search.directory
    # Room above a threshold matters only if a port was paused.
    tested = _paused(directory) if proof.above else _acted(mechanism, proof, directory, advised)
    legal = _legal(mechanism, proof, options, advice, facts, advised)
    findings = _findings(proof, advised, own, line, str(directory), tested=tested, legal=legal)
    findings["advice"] = rows.get(row)
    findings["words"] = _sentences(proof, row, findings, feasible=advice["feasible"])
    return findings


def _taken(proof: Proof, options: Mapping[str, Any]) -> list[str]:
    """Return the settings that carry options into a simulation. Raises `InputError`."""
    settings = []
    for option, value in options.items():
        if value is None or option in proof.free:
            continue
        if option not in proof.sets:
            flag = f"--{option.replace('_', '-')}"
            if option == proof.option:
                raise InputError(
                    f"--prove and {flag} exclude each other",
                    f"leave {flag} out: --prove varies {proof.key}",
                )
            raise InputError(
                f"--prove and {flag} exclude each other: the scenario is simulated as it is",
                f"leave {flag} out; --set changes the scenario",
            )
        settings.append(f"{proof.sets[option]}={value}")
    return settings


def _check_effect(proof: Proof, case: Scenario) -> None:
    """Refuse a scenario in which no value of the key changes anything."""
    try:
        warnings = case.set(proof.key, PROBE).check()
    except _core.ScenarioError:
        # Perhaps only this value is refused; the search reports which values are.
        return
    for one in warnings:
        if one["key"] == proof.key and one["reason"].startswith("without effect"):
            raise InputError(
                f"--prove: {proof.key} is {one['reason']}",
                proof.ineffective or "--prove varies this key: simulate a scenario that reads it",
            )


def _paused(directory: Path) -> bool:
    """Whether a port was paused in any of the runs."""
    from backwater.sweep.dataset import open_sweep

    return any(open_sweep(directory).points["pauses"].to_pylist())


def _acted(mechanism: str, proof: Proof, directory: Path, advised: int | None) -> bool:
    """Whether the mechanism did anything at the largest value up to the advised one."""
    from backwater.sweep.dataset import open_sweep

    rows = [row for row in open_sweep(directory).points.to_pylist() if row["status"] == "done"]
    values = {row[proof.key] for row in rows}
    if not values or advised is None:
        return True
    near = max((value for value in values if value <= advised), default=min(values))
    # The beginning of a run's warning that a mechanism did nothing.
    idle = f"`{mechanism}` never "
    return any(
        not any(str(warning).startswith(idle) for warning in row["warnings"] or ())
        for row in rows
        if row[proof.key] == near
    )


def _range(
    proof: Proof, row: str, own: Mapping[str, str], facts: Mapping[str, Any]
) -> tuple[int | None, int, int]:
    """Return the advised value, or None, and the first and last value of the range, in B."""
    from backwater.numbers.units import size_bytes

    value = size_bytes(row, "advice") if row[:1].isdigit() else None
    if proof.above is not None:
        if own.get("switch.buffer_per") != "ingress":
            raise InputError(
                f"--prove: {proof.above} is not of each ingress (switch.buffer_per = "
                f'"{own.get("switch.buffer_per")}")',
                'the room above a threshold is known with --set switch.buffer_per="ingress"',
            )
        memory = size_bytes(own[proof.above], proof.above)
        need = value or 0
        least = own.get(f"{proof.key.partition('.')[0]}.xon", "absent")
        low = max(memory - _TIMES * need, 0 if least == "absent" else size_bytes(least, "xon"))
        return memory - need, min(low, max(0, memory - need)), memory
    if proof.below and facts.get(proof.below) is None:
        raise InputError(
            f"--prove: {proof.key} has no end in this scenario: nothing pauses or drops above it",
            "switch.buffer_per and switch.buffer give it one, or a mechanism that pauses earlier",
        )
    high = (
        size_bytes(str(facts[proof.below]), str(proof.below)) if proof.below else 4 * (value or 1)
    )
    # The advice may be far too large, so the range begins with small values.
    return value, max(1, high // STEPS), high - 1


def _legal(
    mechanism: str,
    proof: Proof,
    options: Mapping[str, Any],
    advice: Mapping[str, Any],
    facts: Mapping[str, Any],
    advised: int | None,
) -> bool:
    """Whether the advice calls the simulated settings legal at the advised value of the key."""
    if advised is None or proof.option not in options:
        return advised is not None and bool(advice["feasible"])
    # The options may have another value of this key.
    asked = {**options, proof.option: f"{advised} B"}
    return bool(_core.advise(mechanism, asked, dict(facts), "")["feasible"])


def _holds(advised: int, probes: Sequence[Mapping[str, Any]]) -> bool | None:
    """Whether the condition holds at the advised value; None if the probes do not show it."""
    below = [one for one in probes if one["value"] <= advised][-1:]
    above = [one for one in probes if one["value"] >= advised][:1]
    near = below + above
    held = {one["hold"] == one["seeds"] for one in near}
    return held.pop() if len(held) == 1 and not any(one["error"] for one in near) else None


def _findings(
    proof: Proof,
    advised: int | None,
    own: Mapping[str, str],
    line: Mapping[str, Any],
    directory: str,
    *,
    tested: bool,
    legal: bool,
) -> dict[str, Any]:
    from backwater.numbers.units import size_bytes

    probes = line["probes"]
    found = next((one for one in probes if one["text"] == line["answer"]), None)
    here = None if found is None else found["value"]
    findings = {
        "key": proof.key,
        "condition": proof.condition,
        "advised_bytes": advised,
        "simulated_bytes": here,
        "simulated_with": {
            key: own[key] for key in proof.sets.values() if own.get(key, "absent") != "absent"
        },
        "fails_at": line["fails"],
        "seeds": probes[0]["seeds"] if probes else 0,
        "monotone": not line["against"],
        "outcome": line["outcome"],
        "looked_at": [probes[end]["text"] for end in (0, -1)] if probes else [],
        "error": probes[0]["error"] if probes else line["refused"][0]["reason"],
        "tested": tested,
        "legal": legal,
        "holds": _holds(advised, probes) if advised is not None and tested and legal else None,
        "directory": directory,
    }
    if proof.above is not None and advised is not None:
        memory = size_bytes(own[proof.above], proof.above)
        findings["advised_room_bytes"] = memory - advised
        findings["simulated_room_bytes"] = None if here is None else memory - here
    return findings


def _sentences(proof: Proof, row: str, findings: Mapping[str, Any], *, feasible: bool) -> list[str]:
    """Return the findings as sentences. `row` is the name of the row with the advice."""
    key, size = findings["key"], findings.get("simulated_room_bytes", findings["simulated_bytes"])
    what = f"largest {key}"
    if "advised_room_bytes" in findings:
        what = f"least {row} ({proof.above} - {key})"
    seeds = f"{findings['seeds']} seeds" if findings["seeds"] > 1 else "1 seed"
    found = "no probed value" if findings["monotone"] else "no value below the first that fails"
    if size is not None:
        found = f"{size / 1000:g} KB"
    sought = ""
    if findings["looked_at"]:
        first, last = (shown(key, end) for end in findings["looked_at"])
        sought = f", sought with {key} from {first} to {last}"
    lines = [
        f"advice: {findings['advice'] or 'none'}; in this scenario the {what} at which "
        f"`{findings['condition']}` holds: {found}, over {seeds}{sought}"
    ]
    if findings["fails_at"] is not None and size is not None:
        lines.append(f"with {key} at {shown(key, findings['fails_at'])} it does not")
    elif size is not None:
        lines.append("that is the end of the range: no probed value fails")
    if size is None and findings["error"] is not None:
        lines.append(f"at the first probed value: {findings['error']}")
    if not findings["monotone"]:
        lines.append("NOT MONOTONE: it holds again at probed values beyond that")
    if findings["simulated_with"]:
        values = (f"{name} {value}" for name, value in findings["simulated_with"].items())
        lines.append(f"simulated with {' and '.join(values)}")
    return [*lines, *_verdict(findings, feasible=feasible)]


def _verdict(findings: Mapping[str, Any], *, feasible: bool) -> list[str]:
    """Return the verdict of the proof on the advice, as sentences."""
    if not findings["tested"]:
        if "advised_room_bytes" in findings:
            return ["no port was paused in any of these runs: they do not test the advice"]
        name = findings["key"].partition(".")[0]
        return [f"{name} did nothing at the advised value: these runs do not test the advice"]
    if not findings["legal"]:
        return ["the simulated setting is not legal by the advice: these runs test no legal one"]
    lines = []
    if not feasible:
        advised = shown(findings["key"], findings["advised_bytes"])
        lines.append(
            f"by the advice that is legal with {findings['key']} at {advised}, and not at the "
            "value of the scenario or the option"
        )
    verdicts = {
        True: "the advice holds in this scenario",
        False: "the advice does not hold in this scenario",
        None: "the advised value lies between two probed values that differ, or a run failed: "
        "the proof does not show whether the advice holds",
    }
    return [*lines, verdicts[findings["holds"]]]
