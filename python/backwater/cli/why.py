"""`backwater why`: what happened in a run and why, or where two runs diverge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater.cli.arguments import Json, Selection, check_one_seed
from backwater.cli.output import message, warn, write, write_json
from backwater.cli.targets import Kind, writable

if TYPE_CHECKING:
    from backwater.cli.subjects import Subject
    from backwater.results import Run
    from backwater.why import Evidence

RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A result directory, or a scenario: FILE, FILE@VARIANT, FILE+MECHANISM,KEY=VALUE.",
    ),
]
Second = Annotated[
    str | None, typer.Argument(metavar="RUN2", help="Another run, to show where the two diverge.")
]


def why(
    first: RunArgument,
    second: Second = None,
    *,
    selection: Selection,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Seed; by default the run's, or the scenario's own."),
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="GROUP[:N]|ID",
            help="Itemise flow N of a group, the flow of a group that waited longest, or the flow "
            "with a flow_id; by default one flow of every group. May be given more than once.",
        ),
    ] = None,
    json: Json = None,
) -> int:
    """Explain a run: which port paused which and why, and what flows waited for.

    It also shows the first drop, ports out of headroom, unfinished flows and deadlocks. A run whose
    causes were not recorded (output.waits, output.pause_causes) is repeated with them recorded; its
    fingerprint must be the same. For two runs it shows where and when they first differ, and which
    mechanism had acted.
    """
    from backwater.cli.progress import Reporter, reporting
    from backwater.cli.subjects import files, folders, subjects
    from backwater.manifest import judging
    from backwater.programs import why_not
    from backwater.why import diverge, evidence, facts
    from backwater.why.evidence import uncomparable
    from backwater.why.facts import check_wanted
    from backwater.why.parted import divergence_words
    from backwater.why.words import run_words

    names = [first] if second is None else [first, second]
    found: list[Evidence] = []
    lines: list[str] = []
    foreign: list[str] = []
    with judging(*folders(names)):
        asked: list[tuple[Subject, int, Run | None]] = []
        # All errors are reported before a run is repeated, which may take long.
        for one in subjects(names, selection):
            message(*one.skipped)
            check_one_seed(seed, one.settings)
            wanted = one.seed if seed is None else seed
            earlier = next((run for run in one.runs if run.seed == wanted), None)
            if earlier is None:
                warn(one.scenario.check())
            else:
                check_wanted(earlier, flow or ())
            asked.append((one, wanted, earlier))
        writable(json, Kind.JSON, *files(names))
        for one, wanted, earlier in asked:
            if earlier and one.control is None and (ended := uncomparable(earlier)) is not None:
                message(f"{one.label}: {ended}; it is repeated to its end")
            with reporting() as display:
                listener = Reporter(1, display)
                found.append(evidence(one.scenario, wanted, earlier, listener, one.control))
            foreign += [f"{one.label}: {why_not(one.control)}"] if one.control else []
        runs: list[dict[str, Any]] = [
            {"run": name, **facts(one, flow or ())} for name, one in zip(names, found, strict=True)
        ]
        for each in runs:
            lines += [*([f"== {each['run']}"] if second is not None else []), *run_words(each), ""]
    document: dict[str, Any] = {"runs": runs}
    if second is not None and foreign:
        # To find where they diverge, both would have to be repeated side by side.
        document["divergence"] = None
        lines += [f"Where they diverge cannot be found here: {'; '.join(foreign)}.", ""]
    elif second is not None:
        apart = diverge(found[0], found[1])
        document["divergence"] = apart
        lines += [*divergence_words(apart, (first, second)), ""]
    if json is not None:
        write_json(json, document)
    if json != "-":
        write("-", "\n".join(lines[:-1]) + "\n")
    return 0
