"""The chart engine, vl-convert, and the memory that it needs.

Where memory is refused to it, it ends the program in a trap, which nothing can catch. So under a
limit (`ulimit -v`) it is tried in another process first, with as much room as there is here.
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

# Draws a chart with so many B less than the limit, beside what the process itself has.
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
def engine() -> Any:  # noqa: ANN401 - a module, whose own types are not those that it takes
    """Give the module `vl_convert`. Raises `ResultError` where there is no memory for it."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        _check_memory(limit)
    return import_module("vl_convert")


def _check_memory(limit: int) -> None:
    """See that a chart can be drawn within a limit of address space, in B."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        # Another system, on which the limit does nothing.
        return
    used = pages * resource.getpagesize()
    trial = [sys.executable, "-c", _TRIAL, str(used)]
    if subprocess.run(trial, capture_output=True, check=False).returncode:
        raise ResultError(
            "charts cannot be drawn: their engine needs more memory than the limit of "
            f"{limit / 1e9:.1f} GB leaves, of which {used / 1e9:.1f} GB are in use",
            "it reserves some 70 GB of addresses, whatever it uses: `ulimit -v unlimited` lifts "
            "the limit, and a control group limits memory itself",
        )
