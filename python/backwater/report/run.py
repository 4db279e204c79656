"""The report of one run."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from backwater._core import CONTROL_TABLE
from backwater.findings import SETTING, remarks, undone
from backwater.numbers.run import group_times, port_totals, watchdogs
from backwater.programs import control_of, in_python, why_not
from backwater.report.assumptions import OUTPUT, Assumptions, given_in_python, recorded, tables_of
from backwater.report.faults import pausing
from backwater.report.jobs import jobs_section
from backwater.report.observe import Observed
from backwater.report.overtime import completion, drawn, not_drawn, over_time
from backwater.report.page import Code, Column, Page, Section, Table, header
from backwater.saved import told
from backwater.wording import digits, given_up, many, offered, places, sentence, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from backwater.results import Run

FAULT = "fault."
"""Prefix of the keys of faults."""
SETTINGS = 5
"""Most variants and settings that the first sentence names; the table of parameters has all."""
_VARIANT = re.compile(r"variant ([^ ]+) \(")


def run_page(run: Run, seen: Observed | None = None) -> Page:
    """Report one run; `seen` has the samples to draw, if not the run itself."""
    assumptions = Assumptions(run)
    pictures = run_sections(seen or Observed(run), run, assumptions)
    return Page(
        title=str(run.manifest.get("title") or "A run"),
        kicker="Backwater: report of a run",
        failed=sentences(undone(run.manifest)),
        lead=_lead(run),
        sections=[
            Section(
                "results",
                "Results",
                [groups_table(run), *completion(run)],
                [*conditions(run), *remarked(run)],
            ),
            *pictures,
            *jobs_section(run, timeline=not with_film(pictures)),
            assumptions_section(assumptions),
            again_section(run),
        ],
        footer=footer(run),
        version=str(run.manifest["versions"]["backwater"]),
    )


def _lead(run: Run) -> list[str]:
    facts = run.summary
    if run.status == "running" or "flows" not in facts:
        return []
    ports = port_totals(run)
    pauses = f"{ports['pauses_sent']:,} pauses sent; " if ports else ""
    lost = facts.get("fault_losses", 0)
    failing = any(one["key"].startswith(FAULT) for one in run.manifest["origins"])
    faults = f"{f'{lost:,}' if lost else 'none'} lost by faults; " if lost or failing else ""
    cut = ports.get("trimmed", 0)
    cuts = f"{cut:,} packets trimmed; " if cut else ""
    thrown = ports.get("flushed_frames", 0)
    flushed = f"{many(thrown, 'frame')} flushed from queues; " if thrown else ""
    said = (
        f"{_scenario(run)}{facts['flows_done']:,} of {facts['flows']:,} flows complete in "
        f"{time_text(facts['time_ps'])} of simulated time; {pauses}{facts['drops']:,} frames "
        f"dropped for want of memory; {cuts}{flushed}{faults}seed {run.seed}."
    )
    return [said]


def _scenario(run: Run) -> str:
    """Name the variants and settings in which the run differs from its scenario file."""
    words = [f"variant {name}" for name in variants(run)]
    with_, set_ = run.manifest.get("with") or (), run.manifest.get("set") or {}
    if control := control_of(run):
        # The program of the control set these: no option of the command can.
        own = f"{CONTROL_TABLE}.parameters."
        words.append(f"control {control}")
        words += [f"{k.removeprefix(own)}={v}" for k, v in set_.items() if k.startswith(own)]
        with_ = [name for name in with_ if name != CONTROL_TABLE]
        set_ = {k: v for k, v in set_.items() if not k.startswith(f"{CONTROL_TABLE}.")}
    words += [f"--with {name}" for name in with_]
    # Keys of output change nothing of what happens.
    words += [f"--set {key}={value}" for key, value in set_.items() if not key.startswith(OUTPUT)]
    more = len(words) - SETTINGS
    if more > 0:
        words = [*words[:SETTINGS], f"and {more} more of these"]
    said = ", ".join(words)
    return f"{said[0].upper()}{said[1:]}: " if words else ""


def variants(run: Run) -> list[str]:
    """Return the variants that set values of a run, each once."""
    found = (_VARIANT.match(str(one["origin"])) for one in run.manifest["origins"])
    return list(dict.fromkeys(one[1] for one in found if one is not None))


def option(name: str, values: Iterable[object] | None) -> list[str]:
    """Return an option of a command with each of its values."""
    return [word for value in values or () for word in (name, str(value))]


def changes(manifest: Mapping[str, Any]) -> list[str]:
    """Return the options `--with` and `--set` that a manifest records."""
    settings = (f"{key}={value}" for key, value in (manifest.get("set") or {}).items())
    return [*option("--with", manifest.get("with")), *option("--set", settings)]


def conditions(run: Run) -> list[str]:
    """Report changes during the run, hosts that pause by a fault, and offered load."""
    return [
        *(f"{line}." for line in told(run.manifest.get("changed", ()))),
        *pausing(run.scenario),
        *map(offered, run.summary.get("offered", ())),
    ]


def remarked(run: Run) -> list[str]:
    """Report what watchdogs gave up, warnings of the check, and remarks on the run."""
    return [
        *sentences(given_up(watchdogs(run))),
        *warned(run.warnings, run.warnings, [run]),
    ]


def warned(
    warnings: list[dict[str, Any]], found: list[dict[str, Any]], runs: Sequence[Run]
) -> list[str]:
    """Return warnings of the check, each beside what these runs showed.

    A warning is that a bound is not kept, beyond which a run may do well or badly.
    """
    before = [
        f"Warning: {sentence(one['message'])} {sentence(one['hint'])}".rstrip()
        for one in warnings
        if one["kind"] == SETTING
    ]
    noticed = sentences([one["message"] for one in remarks(found)])
    if not before:
        return noticed
    totals = [port_totals(run) for run in runs]
    pauses = [one.get("pauses_sent", 0) for one in totals]
    drops = [run.summary.get("drops", 0) for run in runs]
    of = "the run" if len(runs) == 1 else f"the {len(runs)} runs"
    showed = f"What {of} showed: {_range(pauses, 'pause')} sent, {_range(drops, 'frame')} dropped."
    last = " ".join([showed, *noticed])
    return [f"{before[0]} {last}"] if len(before) == 1 else [*before, last]


def _range(values: Sequence[int], what: str) -> str:
    least, most = min(values, default=0), max(values, default=0)
    return many(most, what) if least == most else f"{least:,} to {many(most, what)}"


def sentences(lines: list[str]) -> list[str]:
    """Return each line as a sentence."""
    return [sentence(line) for line in lines]


def assumptions_section(assumptions: Assumptions) -> Section:
    """Return the section with the topology and all parameters."""
    return Section(
        "assumptions", "Assumptions", [assumptions.topology(), *assumptions.parameters()]
    )


def groups_table(run: Run) -> Table:
    """Return the table of completion times by group of flows."""
    columns = [
        *header(["group"], ["flows", "complete", "mean us", "p50 us", "p99 us", "max us"]),
        Column("time to"),
        Column("slowdown, median", number=True),
    ]
    rows = []
    found = group_times(run)
    # Without acknowledgements, times are to the last byte.
    until = "ack" if any(one["fct_last_ack_us"] for one in found) else "byte"
    for one in found:
        took = one[f"fct_last_{until}_us"] or {}
        times = [places(took.get(name), 2) for name in ("mean", "p50", "p99", "max")]
        slowdown = (one["slowdown"] or {}).get("p50")
        rows.append(
            [
                one["group"],
                f"{one['flows']:,}",
                f"{one['complete']:,}",
                *times,
                f"last {'ACK' if until == 'ack' else until}",
                digits(slowdown, 3),
            ]
        )
    note = (
        "Times are of complete flows, from the start of the flow; p99 needs 100 of them. Slowdown "
        "is the time to the last byte over that in an idle network."
    )
    return Table(columns, rows, note=note)


def run_sections(seen: Observed, run: Run, assumptions: Assumptions, of: str = "") -> list[Section]:
    """Return the sections over time and of figures of the whole run, as far as it recorded them."""
    sections, still, missing = over_time(seen, assumptions, of)
    figures = drawn(
        [
            (
                "slowdown",
                run.plot.slowdown,
                "Completion time over that of the same flow in an idle network.",
            ),
            (
                "pauses",
                run.plot.pauses,
                "Time paused and pauses received in the whole run, port by port.",
            ),
        ],
        of,
        missing,
    )
    figures += [] if still is None else [still]
    return [*sections, Section("figures", "Figures", list(figures), not_drawn(missing))]


def with_film(sections: list[Section]) -> bool:
    """Return True if a section has a film."""
    return any(part.kind == "film" for section in sections for part in section.parts)


def again_section(run: Run, seeds: str | None = None) -> Section:
    """Return the commands that repeat a run, or its series, of which `run` is the one shown."""
    which = seeds or f"--seed {run.seed}"
    of = "" if seeds is None else f" with seed {run.seed}"
    how = f"backwater run scenario.toml {which} --out again\nbackwater report again"
    save = "Save the text below as scenario.toml."
    if control := control_of(run):
        how = in_python({}, f'out="again", seed={run.seed}')
        save = f"{sentence(why_not(control))} The text below has the values of its scenario."
    return Section(
        "again",
        "Run it again",
        [
            Code(how),
            Code(recorded(run), "scenario.toml, every value", folded=True),
        ],
        [
            save
            + (f" Fingerprint of the result{of}: {run.fingerprint}." if run.fingerprint else ""),
            *_from_elsewhere(run),
        ],
    )


def _from_elsewhere(run: Run) -> list[str]:
    """Name the flows that are missing from the scenario's text."""
    said = [
        f"The flows of {label} are read from {path}: if the file has moved, name its new place in "
        "the group's `table`."
        for label, path in tables_of(run)
    ]
    said += [
        f"The flows of {group} came from a table in Python, which is in no file: pass it again "
        f'with scenario.flows(table, "{group}").'
        for group in given_in_python(run)
    ]
    return said


def made_by(versions: Mapping[str, str]) -> str:
    """Return the name of the program with its version and build."""
    return f"Backwater {versions['backwater']}, build {versions.get('build', 'unknown')}"


def footer(run: Run) -> str:
    """Return the footer: the program, the date of the run, and the directory of results."""
    versions = made_by(run.manifest["versions"])
    where = "" if run.directory is None else f" Results: {shlex.quote(str(run.directory))}."
    return f"Made by {versions}; run on {run.manifest.get('started', '')[:10]}.{where}"
