"""Tables of SONiC's vendors: each makes a configuration that imports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import backwater
from kit.sonic_tables import Configuration, bring, fixtures

TABLES = fixtures()


def test_there_are_tables_of_many_vendors() -> None:
    assert len(TABLES) == 26
    assert len({one.name.split("/")[0] for one in TABLES}) == 17


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.sku)
def test_a_table_imports(table: Configuration, tmp_path: Path) -> None:
    """Each row has a verdict on its headroom, with the row's own limits."""
    done = bring(table, tmp_path)
    verdicts = json.loads((tmp_path / "switch.verdicts.json").read_text())
    headroom = [one["facts"] for one in verdicts if one["question"] == "headroom"]
    found = {one["profile"]: one["xoff_bytes"] for one in headroom}
    expected = {
        f"pg_lossless_{row['speed_mbps']}_{row['cable']}_profile": int(row["xoff"])
        for row in table.rows
    }
    assert found == expected
    assert "[pfc]" in done.path.read_text()
    # Scenarios of verdicts and predictions, too, can run.
    for scenario in sorted(tmp_path.glob("switch.*.toml")):
        backwater.load(scenario).check()


def test_the_mode_of_a_pool_may_be_in_its_thresholds(tmp_path: Path) -> None:
    """A threshold beyond all powers of two is a number of octets."""
    (table,) = (one for one in TABLES if one.sku == "Accton-AS7116-54X-R0")
    assert "mode" not in table.pools["ingress_lossless_pool"]
    done = bring(table, tmp_path)
    assert any("has static limits: its mode is not said" in note.text for note in done.notes)
    assert 'threshold = "static"' in done.path.read_text()


def test_the_only_pool_is_the_lossless_one(tmp_path: Path) -> None:
    (table,) = (one for one in TABLES if one.sku == "NH-4010")
    done = bring(table, tmp_path)
    expected = "which is not there: here from ingress_pool, the only pool"
    assert any(expected in note.text for note in done.notes)
