"""The journal of a series: `runs.jsonl`, with a line for each part of its tables and each run.

The runs of a series share its tables, which have a column `run`, the seed. The line of a part has

    part          its name, such as flows/part-00000.parquet
    hash          its SHA-256

and the line of a run, which follows those of its parts,

    seed, status, started, ended, summary, findings, error
    tables        for each table with rows of it, [part, first row, rows] in the order of its rows

The series' manifest holds what the runs have in common. A later line of a run replaces an earlier
one. The last entry of a line, `sha256`, is the hash of the line without it, and reveals damage and
edits. A line is added once the parts are on the disk. So a run with a line is complete, and
anything else that a killed series has left belongs to no run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backwater.errors import ResultError
from backwater.files import octets_of, write_text
from backwater.manifest import AGAIN, FORMATS, RUN, STATUSES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

JOURNAL = "runs.jsonl"

_NAME = re.compile(r"seed-(0|[1-9]\d*)")
_PART = re.compile(r"([a-z_]+)/part-(\d{5,})\.parquet")


def name_of(seed: int) -> str:
    """Return the name of a run within its series, such as seed-7, which `open_run` accepts."""
    return f"seed-{seed}"


def seed_of(name: str) -> int | None:
    """Return the seed in the name of a run within a series; None for any other name."""
    found = _NAME.fullmatch(name)
    return None if found is None else int(found[1])


def part_name(table: str, number: int) -> str:
    """Return the name of a part in the directory of its series or run."""
    return f"{table}/part-{number:05}.parquet"


@dataclass
class Journal:
    """The journal of a series."""

    parts: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each part, by name."""
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The last line of each run, by seed."""
    damaged: int | None = None
    """The number of the first damaged line, from 1. A last line without its end does not count: its
    process was killed."""

    @staticmethod
    def read(directory: Path) -> Journal:
        """Return the journal in a directory; a missing one is empty.

        Raises `ResultError` if it cannot be read.
        """
        path = directory / JOURNAL
        try:
            lines = octets_of(path).split(b"\n")
        except FileNotFoundError:
            return Journal()
        except OSError as error:
            raise ResultError(f"{path}: cannot be read: {error.strerror or error}", AGAIN) from None
        journal = Journal()
        for number, text in enumerate(lines[:-1], 1):
            line = _read(text)
            if line is None:
                journal.damaged = journal.damaged or number
            elif "part" in line:
                journal.parts[line["part"]] = line["hash"]
            else:
                journal.runs[line["seed"]] = line
        return journal

    def names(self, line: Mapping[str, Any]) -> list[str]:
        """Return the names of the parts that have rows of a run, by its line."""
        return [
            part_name(table, number)
            for table, slices in line["tables"].items()
            for number, _, _ in slices
        ]

    def without(self, seeds: Collection[int]) -> Journal:
        """Return the journal without some runs, their parts, and all other runs in those parts.

        A run that is repeated was not complete, and has parts of its own; or it is damaged, and so
        are the runs that share its parts.
        """
        left = {seed: self.names(line) for seed, line in self.runs.items()}
        going = set(seeds) & set(left)
        gone: set[str] = set()
        while going:
            gone.update(*(left.pop(seed) for seed in going))
            going = {seed for seed, names in left.items() if not gone.isdisjoint(names)}
        # This drops parts of killed runs, too, since they belong to no run.
        known = {name for names in left.values() for name in names}
        return Journal(
            {name: found for name, found in self.parts.items() if name in known},
            {seed: self.runs[seed] for seed in left},
        )

    def write(self, directory: Path) -> None:
        """Write it as a whole; on return it is on the disk. Raises `OSError`."""
        parts = ({"part": name, "hash": found} for name, found in self.parts.items())
        write_text(directory / JOURNAL, "".join(map(sealed_line, (*parts, *self.runs.values()))))


def append(directory: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Add lines to the journal; on return they are on the disk. Raises `OSError`."""
    with (directory / JOURNAL).open("ab") as file:
        file.write("".join(map(sealed_line, lines)).encode())
        file.flush()
        os.fsync(file.fileno())


def sealed_line(line: Mapping[str, Any]) -> str:
    """Return a line as text, with its hash."""
    text = json.dumps(line)
    return f'{text[:-1]}, "sha256": "{_seal(text)}"}}\n'


def manifest_of(series: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a run, from the manifest of its series and its own line."""
    shared = series["run"]
    own = {name: value for name, value in line.items() if name != "findings"}
    return {
        "format": FORMATS[RUN],
        "kind": RUN,
        **shared,
        **own,
        "warnings": [*shared.get("warnings", []), *line["findings"]],
    }


def _seal(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def unsealed(text: bytes) -> dict[str, Any] | None:
    """Return a line without its hash; None if it was damaged or edited."""
    try:
        line: dict[str, Any] = json.loads(text)
        seal = line.pop("sha256")
        # Earlier versions sorted the keys in the hash of measured values.
        written = (json.dumps(line, sort_keys=in_order) for in_order in (False, True))
        return line if seal in map(_seal, written) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _read(text: bytes) -> dict[str, Any] | None:
    """Return a line of a journal; None if it was damaged or edited."""
    line = unsealed(text)
    try:
        if line is None:
            return None
        if "part" in line:
            return line if _PART.fullmatch(line["part"]) and isinstance(line["hash"], str) else None
        sound = isinstance(line["seed"], int) and line["status"] in STATUSES
        for slices in line["tables"].values():
            for number, first, rows in slices:
                sound = sound and min(number, first, rows) >= 0
        return line if sound and isinstance(line["findings"], list) else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
