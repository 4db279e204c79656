"""Turns files of other tools into scenarios: connection matrices, topologies, traces."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from backwater._core import ScenarioError
from backwater.errors import InputError
from backwater.import_files import Imported, Options, bring, check_foreign
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
    asic: str | None = None,
    force: bool = False,
) -> Imported:
    """Turn files of another tool into a scenario file `out`, with tables beside it.

    `files`: a file, or several that belong together, such as a connection matrix and a topology.
    `format`: their kind or family in `backwater list formats`; by default their content decides.
    `start_unit`: the unit of start times in a connection matrix of htsim, `"us"` or `"ps"`.
    `zero_at`: the time in a list of flows of HPCC that becomes 0 s, such as `"2 s"`.
    `command`: the command line of the program that the files were for.
    `fabric`: a scenario file, with the topology, switches and mechanisms for the workload.
    `servers`: how many servers an NCCL topology stands for, 1 to 4096.
    `memory`: the memory of the switch whose configuration is imported, such as `"64 MB"`.
    `response`: the time in which that switch's neighbours obey a pause, such as `"500 ns"`, at most
    1 s; by default the longest that IEEE 802.3 allows.
    `asic`: the chip of that switch, a name of `backwater list silicon` such as `"tomahawk5"`; by
    default that of known hardware.
    `force`: replaces existing files.

    Tables have the scenario's name, with `.flows.csv` or the like in place of its end. Raises
    `backwater.ScenarioError` for a file or a quantity that cannot be read, `backwater.InputError`
    for an option out of range or an existing file without `force`, and `backwater.ResultError` if
    nothing can be written.
    """
    return brought(
        [files] if isinstance(files, str | os.PathLike) else list(files),
        Path(out),
        lambda: None,
        Options(format, start_unit, zero_at, command, fabric, servers, memory, response, asic),
        force=force,
    )


def brought(
    files: Sequence[str | os.PathLike[str]],
    target: Path,
    check_outputs: Callable[[], None],
    options: Options,
    *,
    force: bool,
) -> Imported:
    """Import as `import_` does; `check_outputs`, called once files are read, may refuse outputs."""
    check_foreign(files)

    def check_target() -> None:
        check_outputs()
        if target.exists() and not force:
            raise InputError(
                f"{target}: exists already", "give another name, or --force to replace it"
            )

    def check(written: Path) -> list[dict[str, str]]:
        try:
            return load(written).check()
        except (ScenarioError, InputError) as error:
            # Without the place: that file is removed with the rest.
            key = getattr(error, "key", None)
            reason = f"{key}: {error.reason}" if key else error.reason
            reason = reason.replace(f"{written.parent}{os.sep}", "")
            raise InputError(
                f"the imported scenario cannot run, and was not kept: {reason}", error.hint
            ) from None

    return bring(files, target, options, check=check, check_target=check_target, replace=force)
