"""Files of other tools, turned into scenarios: connection matrices, topologies, traces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import ScenarioError
from backwater.errors import InputError
from backwater.import_files import Imported, bring, check_foreign
from backwater.scenario import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def import_(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - what the command calls it
    start_unit: str | None = None,
    zero_at: str | None = None,
    command: str = "",
    fabric: str | os.PathLike[str] | None = None,
    servers: int | None = None,
    memory: str | None = None,
    response: str | None = None,
    force: bool = False,
) -> Imported:
    """Turn files of another tool into a scenario file, with tables beside it.

    The files belong together, such as a connection matrix and a topology. What each of them is
    shows its content; `format` says it otherwise: a kind or a family of `backwater list formats`.
    `start_unit`, `"us"` or `"ps"`, is of start times in a connection matrix of htsim. `zero_at`,
    such as `"2 s"`, is the time in a list of flows of HPCC that becomes 0 s. `command` is the
    command line of the program that the files were for. `fabric` is a scenario file whose topology,
    switches and mechanisms the workload is to run on. `servers` is how many servers of an NCCL
    topology there are. `memory`, such as `"64 MB"`, is that of the switch whose configuration is
    imported, and `response`, such as `"500 ns"`, the time in which its neighbours obey a pause; by
    default the longest that IEEE 802.3 allows. Tables are called after the scenario: `out` without
    its end, `.flows.csv` or the like behind it.

    Raises `backwater.ScenarioError` for a file that cannot be read, `backwater.InputError` where
    `out` is there already and `force` does not say that it is replaced.
    """
    return brought(
        [files] if isinstance(files, str | os.PathLike) else list(files),
        Path(out),
        lambda: None,
        force=force,
        kind=format,
        start_unit=start_unit,
        zero_at=zero_at,
        command=command,
        fabric=fabric,
        servers=servers,
        memory=memory,
        response=response,
    )


def brought(
    files: Sequence[str | os.PathLike[str]],
    target: Path,
    check_outputs: Callable[[], None],
    *,
    force: bool,
    **options: Any,  # noqa: ANN401 - as `bring` has them
) -> Imported:
    """Do so, with `check_outputs` to refuse what cannot be written, once the files are read."""
    check_foreign(files)

    def check_target() -> None:
        check_outputs()
        if target.exists() and not force:
            raise InputError(
                f"{target}: exists already", "give another name, or --force to replace it"
            )

    def see(written: Path) -> list[dict[str, str]]:
        try:
            return load(written).check()
        except (ScenarioError, InputError) as error:
            # Not where: that file is gone with the rest.
            key = getattr(error, "key", None)
            told = f"{key}: {error.reason}" if key else error.reason
            told = told.replace(f"{written.parent}{os.sep}", "")
            raise InputError(
                f"what was imported cannot run, and was not kept: {told}", error.hint
            ) from None

    return bring(files, target, see=see, check_target=check_target, replace=force, **options)
