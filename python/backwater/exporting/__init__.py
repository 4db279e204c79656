"""Exports of results as files for other tools: one module per format, and its line in `FORMATS`.

A module of a format has `write(run, place, options)`, which returns a sentence for each thing that
the format cannot express, and

    TAKES   names of the options that it accepts
    FILES   names of the files that it writes into a directory; empty: it writes one file
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.exporting.place import Place
from backwater.findings import undone
from backwater.wording import meant

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from backwater.results import Run

FORMATS = {
    "fct": "completion times, as the ns-3 code of HPCC and ConWeave writes them",
    "pfc": "pauses and resumes, as the ns-3 code of HPCC writes them",
    "qlen": "histograms of queue lengths, as the ns-3 code of HPCC writes them",
    "ns3": "topology and flows, as the ns-3 code of HPCC and ConWeave reads them",
    "cm": "connection matrix of htsim",
    "goal": "a job's messages and computations as GOAL (LogGOPSim, ATLAHS)",
    "perfetto": "a trace of jobs, flows, pauses and samples for ui.perfetto.dev",
    "csv": "all tables as CSV, a job's messages, the volume on each link",
}


@dataclass(frozen=True)
class Options:
    """Options of all formats; each format accepts some of them (`TAKES`)."""

    ids: str = "ip"
    """`ip`: addresses of hosts, and port numbers as in HPCC; `node`: numbers as in ConWeave."""
    incast: Sequence[str] = ()
    """Groups of flows that get, with `ids = "ip"`, the port that means incast in HPCC's scripts."""
    standalone: str = "ns3"
    """Completion time in an idle network: by the formula of the ns-3 code, or exact (`ideal`)."""
    offset: str = "2 s"
    """The exported time that corresponds to time 0 of the run."""
    every: str = "100 ms"
    """The time between two blocks of histograms."""
    start_unit: str = "ps"
    """The unit of start times: `ps` or `us`."""
    job: str | None = None
    """The label of the job; by default the only one."""
    instance: int = 0
    """The instance of the job."""


CHOICES = {"ids": ("ip", "node"), "standalone": ("ns3", "ideal"), "start_unit": ("ps", "us")}


def export(
    result: Run | str | os.PathLike[str],
    to: str,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    **options: Any,  # noqa: ANN401 - as `Options` has them
) -> list[str]:
    """Write a run's results in a format of `FORMATS`, and return what that could not express.

    The sentences begin with what is missing from an incomplete run.

    `result` is a run, or the directory of one (of a series: `DIR/seed-N`). `path` is a file, or a
    directory for `ns3` and `csv`; `-` is stdout. A file that exists is an error without `force`.
    `options` are those of `Options`. Raises `InputError` for options that the format does not
    accept, and for runs that have not recorded what it needs. Raises `ResultError` for results that
    cannot be read and files that cannot be written.
    """
    writer = _writer(to)
    chosen = _options(to, writer, options)
    run = _opened(result)
    place = Place(path, writer.FILES, force=force)
    notes: list[str] = writer.write(run, place, chosen)
    return [*undone(run.manifest), *notes]


def _writer(to: str) -> Any:  # noqa: ANN401 - a module
    if to not in FORMATS:
        raise InputError(
            f"--to {to}: no format of an export", meant(to, list(FORMATS), "the formats are")
        )
    return import_module(f"backwater.exporting.{to}")


def _options(to: str, writer: Any, given: dict[str, Any]) -> Options:  # noqa: ANN401 - a module
    known = {field.name for field in fields(Options)}
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if name not in known:
            raise InputError(
                f"{flag}: no option of an export", meant(name, sorted(known), "the options are")
            )
        if name not in writer.TAKES:
            takes = ", ".join("--" + one.replace("_", "-") for one in writer.TAKES)
            raise InputError(f"{flag}: --to {to} has no use for it", f"it takes {takes or 'none'}")
        if value not in CHOICES.get(name, (value,)):
            raise InputError(f"{flag} {value}: no such choice", f"{' or '.join(CHOICES[name])}")
    return Options(**given)


def _opened(result: Run | str | os.PathLike[str]) -> Run:
    from backwater.reading import open_run
    from backwater.results import Run

    if isinstance(result, Run):
        return result
    return open_run(Path(result), Run)
