"""Studies: their files are consistent, verdicts are right, bounds and claims do what they say."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backwater import _core
from backwater.errors import InputError
from backwater.study import definition
from backwater.study.bounds import Model
from backwater.study.claims import PREDICATES
from backwater.study.definition import INCAST, VICTIM
from backwater.study.execute import TABLE, Key, Plan, Point
from backwater.study.verdict import Row, compare, summarise
from conftest import ROOT

STUDY = definition.load("sfc-aidc-2025")
MODEL = STUDY.model


@pytest.mark.parametrize("name", definition.names())
def test_files_are_consistent(name: str) -> None:
    study = definition.load(name)
    cases = {case.id for case in study.cases}
    assert {number.case for number in study.numbers} == cases
    assert {number.mechanism for number in study.numbers} <= study.mechanisms.keys()
    assert set(study.statistics) == {INCAST, VICTIM}
    assert all(claim.id in PREDICATES for claim in study.claims)
    for beside in study.beside:
        assert set(beside.cases) <= cases
        assert set(beside.mechanisms) <= study.mechanisms.keys()
    setups = [setup.id for beside in study.beside for setup in beside.setups]
    assert len(setups) == len(set(setups))
    for case in study.cases:
        assert case.set_for.keys() <= study.mechanisms.keys()


def test_the_whole_table_is_there() -> None:
    assert len(STUDY.numbers) == 44
    assert len(STUDY.claims) == 7
    assert sum(number.tolerance is not None for number in STUDY.numbers) == 3
    assert {(n.case, n.mechanism) for n in STUDY.numbers if not n.required} == {("3", "pfc+dcqcn")}


def test_near_name_is_named() -> None:
    with pytest.raises(InputError, match="did you mean sfc-aidc-2025"):
        definition.load("sfc-adc-2025")


def outcome(change: dict[Key, Point] | None = None) -> list[Row]:
    """Compare the published numbers with themselves, some points changed."""
    points = {}
    for number in STUDY.numbers:
        key = Key(number.case, number.mechanism, TABLE)
        points[key] = Point(
            incast=STUDY.published(number.case, number.mechanism, INCAST),
            incast_sizes=[2_000_000] * 3,
            victim=STUDY.published(number.case, number.mechanism, VICTIM),
            victim_size=5_000_000,
            messages=150 if number.case == "9" else 100,
            paused_ports=0,
            fingerprint="f",
            problem=None,
        )
    case_2 = points[Key("2", "pfc", TABLE)]
    points[Key("2", "pfc", "output-queued")] = replace(case_2, paused_ports=9)
    points[Key("2", "pfc", "voq")] = replace(case_2, paused_ports=3)
    points |= change or {}
    plan = Plan(STUDY, dict.fromkeys(points, 0), [], ())
    return compare(plan, points)


def row(rows: list[Row], case: str, mechanism: str, quantity: str) -> Row:
    return next(r for r in rows if (r.case, r.mechanism, r.quantity) == (case, mechanism, quantity))


def point(key: Key, **change: object) -> dict[Key, Point]:
    """One point of the published table, changed."""
    base = Point(
        incast=STUDY.published(key.case, key.mechanism, INCAST),
        incast_sizes=[2_000_000] * 3,
        victim=STUDY.published(key.case, key.mechanism, VICTIM),
        victim_size=5_000_000,
        messages=100,
        paused_ports=0,
        fingerprint="f",
        problem=None,
    )
    return {key: replace(base, **change)}  # type: ignore[arg-type]


def test_the_document_agrees_with_itself() -> None:
    rows = outcome()
    assert len(rows) == 51
    assert all(r.good for r in rows), [r for r in rows if not r.good]
    summary = summarise(STUDY, rows)
    assert (summary.numbers, summary.agree, summary.near) == (44, 44, 44)
    assert (summary.exact, summary.exact_met) == (3, 3)
    assert (summary.claims, summary.hold, summary.required_off) == (7, 7, 0)


@pytest.mark.parametrize(("factor", "verdict"), [(1.049, "agrees"), (1.051, "differs")])
def test_the_band_decides(factor: float, verdict: str) -> None:
    key = Key("1", "pfc", TABLE)
    published = STUDY.published("1", "pfc", VICTIM)
    assert published is not None
    found = row(outcome(point(key, victim=published * factor)), "1", "pfc", VICTIM)
    assert found.verdict == verdict
    assert found.deviation == pytest.approx(factor - 1)


def test_an_exact_number_must_be_exact() -> None:
    key = Key("1", "pfc+sfc", TABLE)
    near = row(outcome(point(key, victim=288.34)), "1", "pfc+sfc", VICTIM)
    off = row(outcome(point(key, victim=288.35)), "1", "pfc+sfc", VICTIM)
    assert near.verdict == "agrees"
    assert off.verdict == "differs"
    assert off.note == "must be met to 0.2 us"


def test_a_number_that_is_not_required_may_differ() -> None:
    rows = outcome(point(Key("3", "pfc+dcqcn", TABLE), incast=900.0, victim=1100.0))
    assert row(rows, "3", "pfc+dcqcn", INCAST).verdict == "differs"
    assert summarise(STUDY, rows).required_off == 0


def test_a_flow_that_did_not_end_is_no_agreement() -> None:
    problem = "1 of 3 incast flows not complete"
    rows = outcome(point(Key("1", "pfc", TABLE), incast=None, problem=problem))
    found = row(rows, "1", "pfc", INCAST)
    assert (found.verdict, found.measured, found.note) == ("differs", None, problem)
    failed = next(r for r in rows if r.quantity == "dcqcn-short")
    assert failed.verdict == "fails"
    assert problem in (failed.note or "")


def test_claims_wait_for_their_cases() -> None:
    keys = [Key("1", m, TABLE) for m in ("pfc", "pfc+sfc", "pfc+dcqcn")]
    points: dict[Key, Point] = {}
    for key in keys:
        points |= point(key)
    rows = compare(Plan(STUDY, dict.fromkeys(keys, 0), [], ()), points)
    assert {r.quantity for r in rows} == {INCAST, VICTIM, "dcqcn-short"}


CLAIMS_BROKEN = {
    "sfc-helps-victim": point(Key("4", "pfc+sfc", TABLE), victim=600.0),
    "severity": point(Key("3", "pfc+sfc", TABLE), victim=420.0),
    "dcqcn-short": point(Key("1", "pfc+dcqcn", TABLE), incast=230.0),
    "dcqcn-duration": point(Key("6", "pfc+dcqcn", TABLE), victim=38_000.0),
    "over-pause": point(Key("8'", "pfc+sfc", TABLE), incast=2900.0),
    "short-pause-messages": point(Key("9", "pfc+sfc", TABLE), messages=149),
    "architecture-oq": point(Key("2", "pfc", "voq"), paused_ports=9),
}


@pytest.mark.parametrize("claim", PREDICATES)
def test_each_claim_can_fail(claim: str) -> None:
    verdicts = {r.quantity: r.verdict for r in outcome(CLAIMS_BROKEN[claim]) if r.is_claim}
    assert [name for name, verdict in verdicts.items() if verdict == "fails"] == [claim]


def test_bounds_of_the_document() -> None:
    # A lone flow of 2 MB: 500 packets of 162.56 ns, and 3.498 us over the empty network.
    assert MODEL.slot_us == pytest.approx(0.16256)
    assert MODEL.alone_us(2_000_000) == pytest.approx(84.778, abs=5e-4)
    assert MODEL.incast_last_us([2_000_000] * 3) == pytest.approx(1500 * 0.16256 + 3.498, abs=5e-4)
    assert MODEL.incast_mean_us([2_000_000] * 3) == pytest.approx(1000 * 0.16256 + 3.498, abs=5e-4)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=50))
def test_bounds_keep_their_order(sizes: list[int]) -> None:
    mean, last = MODEL.incast_mean_us(sizes), MODEL.incast_last_us(sizes)
    assert MODEL.alone_us(min(sizes)) <= mean * (1 + 1e-12)
    assert mean <= last * (1 + 1e-12)


@given(st.integers(1, 10**9), st.integers(1, 8))
def test_bounds_grow_with_the_path(size: int, links: int) -> None:
    def alone(links: int) -> float:
        return Model(4000, 64, 64, 200, 150, 300, links, links - 1).alone_us(size)

    assert alone(links) < alone(links + 1)


def test_advice_is_the_document_s() -> None:
    published = tomllib.loads(
        (ROOT / "studies" / "sfc-aidc-2025" / "published.toml").read_text(encoding="utf-8")
    )
    for entry in published["advice"]:
        advice = _core.advise_sfc(
            senders=entry["senders"],
            rate="200 Gb/s",
            links=3,
            switches=3,
            link_delay="150 ns",
            switch_latency="300 ns",
            pfc_threshold="380 KB",
            threshold=entry["threshold"],
            packet=None,
        )
        assert advice["headroom_bytes"] == entry["headroom_kB"] * 1000
        assert advice["threshold_max_bytes"] == entry["threshold_max_kB"] * 1000
        least, most = (pytest.approx(pause * 1e6) for pause in entry["pause_us"])
        assert advice["pause_min_ps"] == least
        assert advice["pause_max_ps"] == most


def test_messages_name_a_study_s_files_by_the_shorter_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "studies")
    assert definition.load("sfc-aidc-2025").scenario == Path("sfc-aidc-2025/scenario.toml")
    monkeypatch.chdir(tmp_path)
    scenario = definition.load("sfc-aidc-2025").scenario
    assert len(str(scenario)) <= len(str(ROOT / "studies/sfc-aidc-2025/scenario.toml"))


def test_a_case_is_like_another() -> None:
    three, four, five = (STUDY.case(case) for case in ("3", "4", "5"))
    assert four.set == three.set | {"flow.victim.from": "h64"}
    assert five.set == three.set | {"flow.victim.to": "h65"}
    assert three.set_for == four.set_for == five.set_for
    two, eight = STUDY.case("2"), STUDY.case("8'")
    assert eight.set == two.set
    assert dict(eight.changes("pfc+sfc"))["sfc.pause"] == "50 us"
    assert eight.changes("pfc") == two.changes("pfc")
