"""Results as files that the tools of others read: one module a format, and its line here.

A module of a format has `write(run, place, options)`, which gives what its format could not
express, a sentence each, and

    TAKES   names of the options that it obeys
    FILES   names of the files that it writes into a directory; none: it writes one file
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
    "pfc": "pauses and resumes, as that code writes them",
    "qlen": "histograms of queue lengths, as that code writes them",
    "ns3": "topology and flows, as that code reads them",
    "cm": "connection matrix of htsim",
    "goal": "a job's messages and computations as GOAL (LogGOPSim, ATLAHS)",
    "csv": "all tables as CSV, a job's messages, the volume on each link",
}


@dataclass(frozen=True)
class Options:
    """What formats may be asked for; each obeys some (`TAKES`)."""

    ids: str = "ip"
    """`ip`: hosts as addresses, and ports numbered as HPCC does; `node`: as ConWeave does."""
    incast: Sequence[str] = ()
    """Groups of flows to which `ids = "ip"` gives the port by which HPCC's scripts know incasts."""
    standalone: str = "ns3"
    """Completion time alone: by that code's formula (`ns3`), or Backwater's own (`ideal`)."""
    offset: str = "2 s"
    """What the time 0 of the run is called."""
    every: str = "100 ms"
    """Time between two blocks of histograms."""
    start_unit: str = "ps"
    """Unit of starts: `ps` or `us`."""
    job: str | None = None
    """Label of the job; by default the only one."""
    instance: int = 0
    """Instance of the job."""


CHOICES = {"ids": ("ip", "node"), "standalone": ("ns3", "ideal"), "start_unit": ("ps", "us")}


def export(
    result: Run | str | os.PathLike[str],
    to: str,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    **options: Any,  # noqa: ANN401 - as `Options` has them
) -> list[str]:
    """Write a run's results in a format of `FORMATS`; gives what that could not express.

    A sentence each, after what the run has not done, if anything.

    `result` is a run, or the directory of one (of a series: `DIR/seed-N`). `path` is a file, or a
    directory for `ns3` and `csv`; `-` is stdout. What is there already is an error unless `force`
    is given. `options` are those of `Options`. Raises `InputError` for options that the format does
    not take and for runs that have not recorded what it needs, `ResultError` for results that
    cannot be read and files that cannot be written.
    """
    writer = _writer(to)
    chosen = _options(to, writer, options)
    run = _opened(result)
    place = Place(path, writer.FILES, force=force)
    told: list[str] = writer.write(run, place, chosen)
    return [*undone(run.manifest), *told]


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
            said = ", ".join("--" + one.replace("_", "-") for one in writer.TAKES)
            raise InputError(f"{flag}: --to {to} has no use for it", f"it takes {said or 'none'}")
        if value not in CHOICES.get(name, (value,)):
            raise InputError(f"{flag} {value}: no such choice", f"{' or '.join(CHOICES[name])}")
    return Options(**given)


def _opened(result: Run | str | os.PathLike[str]) -> Run:
    from backwater.reading import open_run
    from backwater.results import Run

    if isinstance(result, Run):
        return result
    return open_run(Path(result), Run)
