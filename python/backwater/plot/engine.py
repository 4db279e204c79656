"""The chart engine, vl-convert, and the memory that it needs.

If the system denies it memory, the engine ends the program with a trap that nothing can catch. So
under a limit (`ulimit -v`), another process with as much room tries it first.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from backwater.errors import ResultError

# Draws a chart under the limit, less the bytes that the parent uses, plus those of this process.
_TRIAL = """
import resource, sys
from pathlib import Path
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit, hard = resource.getrlimit(resource.RLIMIT_AS)
room = limit - int(sys.argv[1]) + pages * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (room, hard))
import vl_convert
mark = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}
vl_convert.svg_to_png(vl_convert.vegalite_to_svg(mark))
vl_convert.javascript_bundle()
"""


@cache
def engine() -> Any:  # noqa: ANN401 - a module with wrong type hints
    """Return the module `vl_convert`. Raises `ResultError` if it lacks memory."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        _check_memory(limit)
    return import_module("vl_convert")


def _check_memory(limit: int) -> None:
    """Raise `ResultError` if no chart can be drawn within a limit of address space, in B."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        # Not Linux: the limit has no effect.
        return
    used = pages * resource.getpagesize()
    trial = [sys.executable, "-c", _TRIAL, str(used)]
    if subprocess.run(trial, capture_output=True, check=False).returncode:
        raise ResultError(
            "charts cannot be drawn: their engine needs more memory than the limit of "
            f"{limit / 1e9:.1f} GB leaves; {used / 1e9:.1f} GB of it are in use",
            "it always reserves some 70 GB of address space: `ulimit -v unlimited` lifts the "
            "limit, and a control group limits the memory itself",
        )
