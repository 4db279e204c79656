"""The study end to end: the command's output and rows, with and without parallel runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import backwater
from backwater import study
from kit.command import Command
from kit.studies import one_seed

COLUMNS = {
    "study",
    "case",
    "mechanism",
    "quantity",
    "unit",
    "published",
    "measured",
    "deviation",
    "band",
    "verdict",
}


def test_every_required_number_and_claim_is_met(published_study: Path) -> None:
    rows = json.loads((published_study / "out.json").read_text(encoding="utf-8"))
    out = (published_study / "out.txt").read_text(encoding="utf-8")
    claims = [r for r in rows if r["is_claim"]]
    reductions = [r for r in rows if r["against"]]
    numbers = [r for r in rows if r not in claims and r not in reductions]
    assert len(numbers) == 44
    assert len(reductions) == 8
    assert len(claims) == 10
    assert all(r.keys() >= COLUMNS for r in rows)
    off = [r for r in rows if r["required"] and r["verdict"] in ("differs", "fails")]
    assert off == []
    assert (published_study / "code.txt").read_text(encoding="utf-8") == "0"
    assert sum(r["verdict"] == "agrees" for r in numbers) >= 42
    # Our own claim, on the incast's last flow.
    assert {r["quantity"] for r in claims if r["verdict"] == "fails"} == {"last-flow"}
    # One seed has no spread.
    assert all(r["prediction"] is None and r["within"] is None for r in rows)
    assert "Too few seeds to know the spread of our own runs." in out
    # PFC alone meets SFC's published incast time in most cases, but no victim's.
    sfc = [r for r in numbers if r["mechanism"] == "pfc+sfc"]
    assert all(r["null"] == "pfc" for r in sfc)
    alike = [(r["case"], r["quantity"]) for r in sfc if r["discriminates"] is False]
    assert alike == [(c, "incast_mean_fct") for c in ("1", "2", "3", "4", "5", "7", "10", "11")]
    assert "agrees too" in out
    assert max(len(line) for line in out.splitlines()) <= 100
    # A measured time below its bound would be an error in the time or in the bound.
    assert all(r["lower_bound"] <= r["measured"] for r in numbers)
    manifest = json.loads((published_study / "o/manifest.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "done"
    run = backwater.open_run((published_study / "o/runs") / manifest["points"][0]["run"])
    assert run.status == "done"
    # Beside the table: with QCN, PFC hardly pauses, and only ECN without PFC loses frames.
    rows = json.loads((published_study / "o/beside.json").read_text(encoding="utf-8"))
    qcn = {(r["case"], r["setup"]): r for r in rows if r["beside"] == "qcn"}
    assert len(qcn) == 3 * 6
    for (case, setup), row in qcn.items():
        assert row["note"] is None, (case, setup)
        assert (row["drops"] > 0) == (setup == "ecn")
        assert row["retransmissions"] >= row["drops"]
        if setup.startswith("pfc-qcn"):
            assert row["ports_paused"] < qcn[case, "table"]["ports_paused"] / 2
            assert row["victim_fct"] < qcn[case, "table"]["victim_fct"]


def test_one_case(command: Command) -> None:
    asked = ("--case", "1", "--seeds", "5", "--json", "-", "--out", "o")
    said = command("reproduce", "sfc-aidc-2025", *asked)
    rows = json.loads(said.out)
    assert {r["case"] for r in rows} == {"1"}
    assert {r["mechanism"] for r in rows} == {"pfc", "pfc+sfc", "pfc+dcqcn"}
    # The bands and the spread are of means over seeds.
    assert {r["seeds"] for r in rows} == {5, None}
    assert all(r["prediction"][0] <= r["measured"] <= r["prediction"][1] for r in rows if r["ci"])


def test_results_do_not_depend_on_parallelism() -> None:
    alone, together = (
        study.reproduce("sfc-aidc-2025", case="1", workers=n, seeds=one_seed) for n in (1, 4)
    )
    assert alone.rows == together.rows
    assert alone.beside == together.beside


@pytest.mark.parametrize("architecture", ["input-queued", "voq", "shared-memory"])
def test_a_study_runs_with_an_override(architecture: str) -> None:
    outcome = study.reproduce(
        "sfc-aidc-2025",
        case="1",
        overrides=[("switch.architecture", architecture)],
        seeds=one_seed,
    )
    assert all(row.measured is not None for row in outcome.rows)


def test_pause_and_bcn_with_few_seeds(command: Command) -> None:
    said = command("reproduce", "bcn-pause-2006", "--seeds", "4", "--json", "o.json", "--out", "o")
    rows = json.loads(Path("o.json").read_text(encoding="utf-8"))
    assert all(r.keys() >= COLUMNS | {"statistic", "seeds", "ci"} for r in rows)
    paused = [r for r in rows if r["mechanism"] == "pause" and r["unit"] == "Mb/s"]
    assert len(paused) == 6
    assert {r["verdict"] for r in paused if r["required"]} == {"agrees"}
    index = [r for r in rows if (r["mechanism"], r["over"]) == ("pause", "mean") and not r["unit"]]
    assert [r["measured"] for r in index] == pytest.approx([0.25] * 4, abs=0.01)
    claims = {r["quantity"]: r["verdict"] for r in rows if r["verdict"] in ("holds", "fails")}
    assert claims.keys() == {"no-loss", "victim", "fairness"}
    assert claims["no-loss"] == claims["victim"] == "holds"
    beside = json.loads(Path("o/beside.json").read_text(encoding="utf-8"))
    assert {r["setup"] for r in beside} >= {"unlimited-sources", "pause-qcn", "pfc-dcqcn"}
    assert max(len(line) for line in said.out.splitlines()) <= 100


@pytest.mark.parametrize(
    ("case", "most"),
    [("single-2400KB", 0), ("single-200us", 1.5 * 185), ("multi-12us", 1.25 * 9164)],
)
def test_bcn_with_delay_drops_as_published(case: str, most: float) -> None:
    # The setups beside the table do not matter here.
    table = replace(study.load("bcn-delay-2007"), beside=())
    rows = study.reproduce(table, case=case, seeds=one_seed).rows
    drops = [row for row in rows if row.quantity == "drops"]
    assert len(drops) == 1
    assert drops[0].measured is not None
    assert (most / 2 if most else 0) <= drops[0].measured <= most
    assert all(row.good for row in rows if row.quantity == "throughput")
