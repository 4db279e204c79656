"""The peak memory of a process, as Linux reports it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.command import run_python

_STATUS = Path("/proc/self/status")
# Not ru_maxrss, which starts from the memory of the parent process.
_REPORT = f"""
import re, sys
from pathlib import Path

status = Path({str(_STATUS)!r}).read_text(encoding="utf-8")
print(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1], file=sys.stderr)
"""

where_linux_tells = pytest.mark.skipif(
    not _STATUS.exists(), reason="the most memory is read from Linux's /proc"
)


def peak(script: str, *words: str, **more: Any) -> int:  # noqa: ANN401 - as for `run_python`
    """Run a script in a process of its own, and return its peak memory, in bytes."""
    done = run_python("-c", script + _REPORT, *words, check=True, **more)
    return int(done.err.split()[-1]) << 10
