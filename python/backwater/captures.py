"""Reading captures, pcapng and pcap: frames and their decoded fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.errors import InputError
from backwater.files import regular

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

# Most frames of a capture are of these kinds: they are counted, and shown only on request.
PLAIN = ("data", "ack", "other")
SUFFIXES = (".pcapng", ".pcap")


def is_capture(path: Path) -> bool:
    """Return whether a path is that of a file with the name of a capture."""
    return path.suffix.lower() in SUFFIXES and path.is_file()


def read(
    file: str,
    take: Callable[[dict[str, Any]], None],
    numbers: Mapping[str, int | None] | None = None,
) -> None:
    """Read a capture; `take` gets each frame and each problem, as `backwater pcap show` writes it.

    `numbers` are `sfcm_port`, `cim_port` and `bcn_ethertype`; None: the usual ones. Raises
    `InputError` if the file cannot be opened or is no capture.
    """
    try:
        # If the file cannot be opened, this raises the system's own error.
        regular(file).open("rb").close()
        _core.read_capture(file, take, **(numbers or {}))
    except ValueError as error:
        raise InputError(
            f"{file}: {error}", "captures are pcapng or pcap files, not compressed"
        ) from None
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read: {error.strerror or error}", "name a capture"
        ) from None
