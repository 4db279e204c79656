"""Configurations of SONiC switches, made of their vendors' tables of profiles and pools.

`python -m kit.sonic_tables PROFILES.tsv POOLS.tsv`, in `tests/python`, imports one for each switch
of two such files and prints the refusals. The files have the columns of those in
`crates/backwater-import/tests/files/sonic`.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import backwater
from kit.tree import ROOT

SWITCH = ("vendor", "platform", "sku")
"""Columns that name a switch."""
PORTS = 2
"""Ports for each row of a table."""
MEMORY = "64 MB"
"""Packet memory of a switch whose pool has no size."""
LOSSLESS = "ingress_lossless_pool"


@dataclass(frozen=True)
class Configuration:
    """A configuration of one switch."""

    name: str
    sku: str
    rows: list[dict[str, str]]
    """Rows of its table of profiles."""
    pools: dict[str, dict[str, str]]

    @property
    def has_size(self) -> bool:
        """Whether its lossless pool has a size."""
        if LOSSLESS in self.pools:
            return "size" in self.pools[LOSSLESS]
        return any("size" in pool for pool in self.pools.values())

    def database(self) -> dict[str, Any]:
        """Return `config_db.json`: a few ports for each row."""
        ports = {
            f"Ethernet{PORTS * number + port}": row
            for number, row in enumerate(self.rows)
            for port in range(PORTS)
        }
        return {
            "DEVICE_METADATA": {"localhost": {"hwsku": self.sku, "hostname": "switch"}},
            "PORT": {
                name: {"speed": row["speed_mbps"], "admin_status": "up"}
                for name, row in ports.items()
            },
            "CABLE_LENGTH": {"AZURE": {name: row["cable"] for name, row in ports.items()}},
            "BUFFER_POOL": self.pools,
            "PORT_QOS_MAP": {"global": {"pfc_enable": "3,4"}},
        }

    def lookup(self) -> str:
        """Return `pg_profile_lookup.ini`."""
        columns = ("speed_mbps", "cable", "size", "xon", "xoff", "threshold", "xon_offset")
        lines = [" ".join(row[name] for name in columns if row[name]) for row in self.rows]
        header = "# speed cable size xon xoff threshold xon_offset"
        return "\n".join([header, *dict.fromkeys(lines), ""])

    def write(self, folder: Path) -> list[Path]:
        """Write both files to a folder, and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / "config_db.json", folder / "pg_profile_lookup.ini"]
        files[0].write_text(json.dumps(self.database(), indent=1))
        files[1].write_text(self.lookup())
        return files


def _rows(file: Path) -> list[dict[str, str]]:
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t"))


def _pools(rows: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the pools of the first template in which the lossless pool has a size."""
    templates = list(dict.fromkeys(row["template"] for row in rows))
    sized = [row["template"] for row in rows if row["pool"] == LOSSLESS and row["size_b"]]
    template = (sized or templates)[0]
    fields = {"size": "size_b", "xoff": "xoff_b", "type": "type", "mode": "mode"}
    return {
        row["pool"]: {name: row[column] for name, column in fields.items() if row[column]}
        for row in rows
        if row["template"] == template
    }


def configurations(profiles: Path, pools: Path) -> Iterator[Configuration]:
    """Yield a configuration for each switch that has profiles and pools."""
    tables: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in _rows(profiles):
        tables.setdefault(tuple(row[name] for name in SWITCH), []).append(row)
    of_pools: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in _rows(pools):
        of_pools.setdefault(tuple(row[name] for name in SWITCH), []).append(row)
    for key, rows in tables.items():
        if key in of_pools:
            yield Configuration("/".join(key), key[2].split("/")[0], rows, _pools(of_pools[key]))


def fixtures() -> list[Configuration]:
    """Return those of the tables in the tree."""
    folder = ROOT / "crates/backwater-import/tests/files/sonic"
    return list(configurations(folder / "pg-profiles.tsv", folder / "pools.tsv"))


def bring(configuration: Configuration, folder: Path) -> backwater.Imported:
    """Import a configuration into a folder."""
    memory = None if configuration.has_size else MEMORY
    files = configuration.write(folder)
    return backwater.import_(files, folder / "switch.toml", memory=memory, force=True)


def main(profiles: str, pools: str) -> int:
    """Import all, print each refusal, and count."""
    counts: Counter[str] = Counter()
    for configuration in configurations(Path(profiles), Path(pools)):
        counts["all"] += 1
        with TemporaryDirectory() as folder:
            try:
                done = bring(configuration, Path(folder))
            except (backwater.InputError, backwater.ScenarioError) as error:
                print(f"{configuration.name}: {error}")
                continue
        counts["imported"] += 1
        counts["with --memory"] += not configuration.has_size
        counts["with predictions"] += bool(done.predictions)
        counts["predictions"] += len(done.predictions)
    print(dict(counts))
    return counts["all"] - counts["imported"]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
