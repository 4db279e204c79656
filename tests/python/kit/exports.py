"""Shared parts of the tests of exports: small scenarios, and runs with rows of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

import backwater
from backwater.results import Run
from backwater.stored import columns

# 1000 B of payload are 1048 B on a link, which take 83.84 ns.
STAR: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 4, "rate": "100 Gb/s", "link_delay": "500 ns"},
    "packet": {"payload": "1000 B", "header": "48 B", "gap": "0 B"},
    "ack": {"size": "100 B"},
    "switch": {"buffer_per": "none", "latency": "0 s"},
}
TWO_TIERS: dict[str, Any] = STAR | {
    "topology": {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 2,
        "hosts_per_leaf": 2,
        "rate": "100 Gb/s",
        "fabric_rate": "40 Gb/s",
        "link_delay": "500 ns",
        "fabric_delay": "1500 ns",
    }
}


def flow(label: str, source: Any, target: int | str, size: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - TOML
    return {"label": label, "from": source, "to": target, "size": size, **more}


def build(base: dict[str, Any], *flows: dict[str, Any], **more: Any) -> backwater.Scenario:  # noqa: ANN401 - TOML
    return backwater.build(base | {"flow": list(flows)} | more)


def chain(*steps: tuple[int, int], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - TOML
    """Return a job in which each transfer waits for the one before, from rank to rank."""
    step = [
        {"label": f"s{n}", "kind": "point-to-point", "size": "2 KB", "pairs": [list(pair)]}
        for n, pair in enumerate(steps)
    ]
    return STAR | {"job": [{"label": "j", "ranks": 4, "step": step, **more}]}


def exported(run: Run | Path, to: str, place: Path, **options: Any) -> str:  # noqa: ANN401 - as asked
    file = place / f"{to}.txt"
    backwater.export(run, to, file, force=True, **options)
    return file.read_text(encoding="utf-8")


def run_of(tables: dict[str, list[dict[str, Any]]], like: Run) -> Run:
    """Return a run with the scenario of another one, and with these rows."""

    def read(table: str) -> pa.Table:
        return pa.Table.from_pylist(tables.get(table, []), schema=columns()[table])

    return Run(like.manifest, None, read)
