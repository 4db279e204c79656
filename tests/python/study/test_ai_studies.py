"""The studies of AI back-end traffic: their measures, claims, and every point of theirs built."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

import backwater
from backwater import study
from backwater.study.claims import predicates
from backwater.study.claims.base import NotKnownError, Numbers
from backwater.study.measures import Observed, read
from kit.tree import ROOT

PREFILL, TRAINING = "sfc-aidc-2025-prefill", "sfc-aidc-2025-training"

STAR: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 8, "rate": "100 Gb/s", "link_delay": "500 ns"},
    "packet": {"payload": "4000 B", "header": "0 B", "gap": "0 B"},
    "switch": {"buffer_per": "none"},
}


def observe(**changes: Any) -> Observed:  # noqa: ANN401 - values of a job
    step = {"label": "s", "kind": "all-to-all-v", "fan_out": 2, "size": "400 KB"}
    job = {"label": "j", "ranks": 4, "instances": 2, "rounds": 2, "step": [step]}
    return Observed(backwater.build({**STAR, "job": [job | changes]}).run())


def value(run: Observed, kind: str, **parameters: object) -> float:
    reading = read(run, kind, {"job": "j", **parameters})
    assert reading.problem is None
    assert reading.value is not None
    return reading.value


def test_completions_bounds_and_bandwidths_are_those_of_the_rows() -> None:
    run = observe()
    rows = run.run.collectives.to_pylist()
    ends = [
        max(row["end_ps"] for row in rows if row["instance"] == instance) for instance in (0, 1)
    ]
    assert value(run, "job_completion") == max(ends) / 1e6
    assert value(run, "job_completion", of="mean") == sum(ends) / 2e6
    took = [row["end_ps"] - row["start_ps"] for row in rows if row["round"] == 1]
    assert value(run, "collective_time", step="s", of_round=1) == max(took) / 1e6
    # From the first start to the last end, which belong to different instances.
    later = [row for row in rows if row["round"] == 1]
    whole = max(row["end_ps"] for row in later) - min(row["start_ps"] for row in later)
    assert value(run, "job_completion", of_round=1) == whole / 1e6
    # 400 KB at 100 Gb/s take 32 us; the busiest of an instance's links carries that many of them.
    bounds = [sum(r["bound_ps"] for r in rows if r["instance"] == i) / 1e6 for i in (0, 1)]
    assert value(run, "job_bound", step="s") == max(bounds)
    assert all(bound % 32 == 0 for bound in bounds)
    assert value(run, "job_bound", step="s") < value(run, "job_completion")
    assert 1 < value(run, "over_bound", step="s") < 1.2
    assert value(run, "bandwidth", step="s", which="algbw") < 100
    assert value(run, "bandwidth", step="s", which="busbw", of="max") == pytest.approx(
        max(row["busbw_bps"] for row in rows) / 1e9
    )


def test_what_is_not_there_is_said() -> None:
    run = observe()
    assert read(run, "job_completion", {"job": "k"}).problem == "there is no collective of k"
    step = read(run, "over_bound", {"job": "j", "step": "t"})
    assert step.problem == "there is no collective of j/t"
    scenario = backwater.build(
        {
            **STAR,
            "stop": {"at": "10 us"},
            "job": [
                {
                    "label": "j",
                    "ranks": 4,
                    "step": [{"label": "s", "kind": "all-to-all", "size": "4 MB"}],
                }
            ],
        }
    )
    short = Observed(scenario.run())
    kinds: list[tuple[str, dict[str, object]]] = [
        ("job_completion", {}),
        ("collective_time", {"step": "s"}),
        ("over_bound", {"step": "s"}),
        ("bandwidth", {"step": "s", "which": "busbw"}),
    ]
    for kind, more in kinds:
        assert read(short, kind, {"job": "j", **more}).problem == "1 of 1 collectives not complete"


def test_rounds_that_have_not_begun_are_missed() -> None:
    steps = [
        {"label": "c", "kind": "compute", "time": "100 us"},
        {"label": "s", "kind": "all-gather", "size": "400 KB"},
    ]
    job = {"label": "j", "ranks": 4, "rounds": 5, "step": steps}
    assert value(Observed(backwater.build({**STAR, "job": [job]}).run()), "job_completion") > 400
    # The second round computes when the run is cut short; of the others there is no row.
    cut = Observed(backwater.build({**STAR, "stop": {"at": "180 us"}, "job": [job]}).run())
    assert cut.run.collectives["end_ps"].null_count == 0
    for kind in ("job_completion", "job_bound"):
        problem = read(cut, kind, {"job": "j", **({"step": "s"} if kind == "job_bound" else {})})
        assert problem.problem == "4 of 5 rounds of j have not begun"


def test_communicators_at_work_together_share_a_bound() -> None:
    step = {"label": "s", "kind": "all-gather", "size": "400 KB", "group_size": 2}
    run = observe(instances=1, rounds=1, step=[step])
    bounds: list[Any] = run.run.collectives["bound_ps"].to_pylist()
    assert len(bounds) == 2
    assert value(run, "job_bound", step="s") == max(bounds) / 1e6
    assert value(run, "job_bound", step="s") < value(run, "job_completion")


def test_what_stays_within_a_server_has_no_bound() -> None:
    step = {"label": "s", "kind": "all-gather", "size": "400 KB", "group_size": 2}
    run = observe(instances=1, rounds=1, ranks_per_server=2, step=[step])
    problem = read(run, "over_bound", {"job": "j", "step": "s"}).problem
    assert problem == "the collectives of j/s load no link"


class Made(Numbers):
    """Numbers in which each mechanism takes a given share of PFC's time, by seed."""

    def __init__(self, **ratios: list[float]) -> None:
        made = {"pfc": [1.0] * 5, "sfc": [0.9288] * 5, "flow": [0.9288] * 5, "dcqcn": [1.1] * 5}
        self.ratios = made | ratios

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        if setup or case == "random":
            raise NotKnownError(case, mechanism, quantity, setup)
        short = mechanism.removeprefix("pfc+").removeprefix("sfc, by ")
        return [1000 * ratio for ratio in self.ratios[short]]

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        return fmean(self.samples(case, mechanism, quantity, setup))

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = ""
    ) -> tuple[float, float]:
        raise NotImplementedError("no claim of these studies asks for it")


def test_the_document_s_arithmetic_makes_18_gpus_of_7_per_cent() -> None:
    finding = predicates(PREFILL)["saving"](Made())
    assert finding.holds
    assert finding.value == pytest.approx(0.89)
    assert finding.detail == "0.89 % of 2048 GPUs are 18.2, of 460 TWh 4.09 TWh, 819 M USD"
    # The document prints neither a saving of nothing nor one of 4 %.
    assert not predicates(PREFILL)["saving"](Made(sfc=[1.0] * 5)).holds
    assert not predicates(PREFILL)["saving"](Made(sfc=[0.68] * 5)).holds


@pytest.mark.parametrize("name", [PREFILL, TRAINING])
def test_the_document_s_own_reading_decides(name: str) -> None:
    claims = predicates(name)
    assert claims["sfc-shortens"](Made()).holds
    # A gain of sources that pause the flow does not count for sources that pause the class.
    assert not claims["sfc-shortens"](Made(sfc=[1.002] * 5, flow=[0.8] * 5)).holds
    assert claims["sfc-beats-dcqcn"](Made()).holds
    assert not claims["sfc-beats-dcqcn"](Made(sfc=[1.2] * 5)).holds


@pytest.mark.parametrize("name", [PREFILL, TRAINING])
def test_by_flow_is_judged_over_seeds(name: str) -> None:
    claim = predicates(name)["by-flow"]
    # Gains of 1 to 3 %: 2 +- 2.776 sqrt(.625 / 5) = 1.0 to 3.0; of -2 to 6 %: 2 +- 3.9.
    assert claim(Made(flow=[0.99, 0.985, 0.98, 0.975, 0.97])).holds
    wide = claim(Made(flow=[1.02, 1.0, 0.98, 0.96, 0.94]))
    assert wide.value == pytest.approx(2.0)
    assert not wide.holds


class Cells(Made):
    """Numbers in which SFC takes a share of PFC's time that differs by case."""

    def __init__(self, **cases: list[float]) -> None:
        super().__init__()
        self.cases = cases

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        if mechanism == "pfc+sfc" and case.replace("-", "_") in self.cases:
            return [1000 * ratio for ratio in self.cases[case.replace("-", "_")]]
        return super().samples(case, mechanism, quantity, setup)[:3]


def test_a_sign_hangs_on_a_choice_if_two_cells_have_opposite_signs() -> None:
    claim = predicates(TRAINING)["hangs-computing"]
    assert not claim(Cells()).holds
    # -20 % without computing, 7 % with it: one of four pairs, since by flow nothing changes.
    found = claim(Cells(no_computing=[1.2, 1.21, 1.19]))
    assert (found.holds, found.value, found.seeds) == (True, 1, 3)
    assert found.detail.startswith(
        "1 of 4 pairs have opposite signs; 7.1 % (7.1 to 7.1) in pipeline"
    )
    assert "-20.0 % (-22.5 to -17.5) in no-computing, pfc+sfc" in found.detail
    # The mean alone is below zero: -1 +- 2.5 %.
    assert not claim(Cells(no_computing=[1.0, 1.01, 1.02])).holds
    # The same cells differ in granularity: by flow 7 % shorter, by class 20 % longer.
    assert predicates(TRAINING)["hangs-granularity"](Cells(no_computing=[1.2, 1.21, 1.19])).holds
    assert not predicates(TRAINING)["hangs-points"](
        Cells(no_computing=[1.2] * 3, no_computing_all_queues=[1.2] * 3)
    ).holds


def test_what_transfers_take_is_the_makespan_without_the_computing_on_its_path() -> None:
    steps = [
        {"label": "c", "kind": "compute", "time": "100 us"},
        {"label": "s", "kind": "all-gather", "size": "400 KB"},
    ]
    run = observe(instances=1, rounds=3, step=steps)
    [job] = run.run.jobs.to_pylist()
    assert value(run, "exposed") == (job["end_ps"] - job["start_ps"] - 300_000_000) / 1e6


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", [PREFILL, TRAINING])
def test_every_point_of_the_studies_can_be_built(name: str, full: bool) -> None:
    definition = study.load(name, full=full)
    assert set(predicates(name)) == {claim.id for claim in definition.claims}
    scenario = backwater.load(ROOT / "studies" / name / "scenario.toml")
    for case in definition.cases:
        for mechanism, variant in definition.mechanisms.items():
            changed = scenario.variant(variant)
            for key, text in case.changes(mechanism):
                changed = changed.set(key, text)
            assert not changed.check(), (case.id, mechanism)
