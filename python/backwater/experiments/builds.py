"""Version and build of the code that does runs: workers must have the same as the command."""

from __future__ import annotations

import hashlib
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


class OtherCodeError(InputError):
    """A worker has another version or build than the command."""


def code() -> dict[str, str]:
    """Return version and build of the core, and a hash of the Python that computes numbers."""
    base = Path(__file__).resolve().parent.parent
    hashing = hashlib.sha256()
    for file in (*sorted((base / "numbers").glob("*.py")), base / "sweep" / "point.py"):
        hashing.update(file.read_bytes())
    return {**_core.version(), "numbers": hashing.hexdigest()[:16]}


def check_code(wanted: Mapping[str, str]) -> None:
    """Refuse work of a command of another version or build. Raises `OtherCodeError`."""
    here = code()
    if here != dict(wanted):
        where = f"{socket.gethostname()} ({sys.executable})"
        raise OtherCodeError(
            f"the worker on {where} has another version or build: {told(here)}, "
            f"and the command {told(wanted)}",
            "install the same version of Backwater there, built from the same sources",
        )


def told(versions: Mapping[str, str]) -> str:
    """Format versions for people."""
    return ", ".join(f"{name} {value}" for name, value in versions.items())
