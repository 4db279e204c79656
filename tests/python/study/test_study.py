"""Files of studies are consistent; verdicts, bounds and claims are right."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import backwater
from backwater import _core
from backwater.errors import InputError
from backwater.study import definition
from backwater.study.bounds import Model
from backwater.study.claims import predicates
from backwater.study.definition import Band
from backwater.study.execute import Plan, Point, Sample
from backwater.study.key import TABLE, Key
from backwater.study.rows import Row, summarise
from backwater.study.verdict import compare
from kit.tree import ROOT

STUDY = definition.load("sfc-aidc-2025")
assert STUDY.model is not None
MODEL = STUDY.model
INCAST, VICTIM = "incast_mean_fct", "victim_fct"


@pytest.mark.parametrize("name", definition.names())
def test_files_are_consistent(name: str) -> None:
    study = definition.load(name)
    cases = {case.id for case in study.cases}
    assert {number.case for number in study.numbers} <= cases
    assert all(study.mechanisms_of(case) for case in cases)
    assert {number.mechanism for number in study.numbers} <= study.mechanisms.keys()
    assert {claim.id for claim in study.claims} == predicates(name).keys()
    measures = [measure.name for measure in study.measures]
    assert len(measures) == len(set(measures))
    for beside in study.beside:
        assert set(beside.cases) <= cases
        assert set(beside.mechanisms) <= study.mechanisms.keys()
        assert set(beside.shows) <= set(measures)
    setups = [setup.id for beside in study.beside for setup in beside.setups]
    assert len(setups) == len(set(setups))
    for case in study.cases:
        assert case.set_for.keys() <= study.mechanisms.keys()
        assert case.scenario.is_file()


def test_the_whole_table_is_there() -> None:
    assert sum(number.against is None for number in STUDY.numbers) == 44
    assert sum(number.against == "pfc" for number in STUDY.numbers) == 8
    assert len(STUDY.claims) == 10
    assert sum(number.tolerance is not None for number in STUDY.numbers) == 3
    apart = [n for n in STUDY.numbers if n.apart is not None]
    chosen = ["chosen by outcome"] * 4
    assert [n.apart for n in apart] == chosen + ["derived"] * 7 + ["inconsistent"]
    # Rows that are not counted are not required, and neither is one case of the counted rows.
    assert [n for n in STUDY.numbers if n.against is not None] == apart[len(chosen) :]
    assert {(n.case, n.mechanism) for n in STUDY.numbers if not (n.required or n.apart)} == {
        ("3", "pfc+dcqcn")
    }
    assert not any(n.required for n in apart)


def test_the_chart_follows_from_the_table() -> None:
    """All except one that fits no entry: 13.98 %, where the table has 8.19 %."""
    for number in (n for n in STUDY.numbers if n.against is not None):
        before, after = (
            STUDY.published(number.case, m, number.quantity) for m in ("pfc", number.mechanism)
        )
        assert before is not None
        assert after is not None
        fits = abs(100 * (1 - after / before) - number.value) <= 0.006
        assert fits == (number.note is None)


def test_a_number_stands_for_all_that_round_to_it() -> None:
    printed = {(n.case, n.mechanism, n.quantity, n.against): n.rounding for n in STUDY.numbers}
    assert printed["1", "pfc", INCAST, None] == pytest.approx(0.5e-4)  # 238.5053
    assert printed["6", "pfc", INCAST, None] == pytest.approx(0.05)  # 24034.0
    assert printed["2", "pfc+sfc", VICTIM, "pfc"] == pytest.approx(0.005)  # 23.80 %


def test_near_name_is_named() -> None:
    with pytest.raises(InputError, match="did you mean sfc-aidc-2025"):
        definition.load("sfc-adc-2025")


def measured(
    incast: float | None,
    victim: float | None,
    messages: int = 100,
    paused: int = 0,
    pauses: int = 100,
    last: float = 100,
    problem: str | None = None,
) -> Point:
    """Return a point of the study with three equal seeds."""

    def sample(value: float | None, sizes: tuple[int, ...] = ()) -> Sample:
        values = () if value is None else (value,) * 3
        return Sample(values, problem if value is None else None, sizes)

    return {
        INCAST: sample(incast, (2_000_000,) * 3),
        VICTIM: sample(victim, (5_000_000,)),
        "sfc_messages": sample(messages),
        "ports_paused": sample(paused),
        "pfc_pauses": sample(pauses),
        "incast_last_fct": sample(last),
    }


def outcome(change: dict[Key, Point] | None = None) -> list[Row]:
    """Compare the published numbers with themselves, with some points changed."""
    points: dict[Key, Point] = {}
    for number in STUDY.numbers:
        key = Key(number.case, number.mechanism, TABLE)
        points |= point(key, messages=150 if number.case == "9" else 100)
    points[Key("2", "pfc", "output-queued")] = measured(1, 1, paused=9)
    points[Key("2", "pfc", "voq")] = measured(1, 1, paused=3)
    points |= change or {}
    plan = Plan(STUDY, {key: [0] * 3 for key in points}, [])
    return compare(plan, points)


def row(rows: list[Row], case: str, mechanism: str, quantity: str) -> Row:
    return next(r for r in rows if (r.case, r.mechanism, r.quantity) == (case, mechanism, quantity))


def point(key: Key, **change: object) -> dict[Key, Point]:
    """Return a changed point of the published table."""
    values = {
        "incast": STUDY.published(key.case, key.mechanism, INCAST),
        "victim": STUDY.published(key.case, key.mechanism, VICTIM),
    }
    return {key: measured(**(values | change))}  # type: ignore[arg-type]


def test_the_document_agrees_with_itself() -> None:
    rows = outcome()
    assert len(rows) == 44 + 8 + 10
    # 13.98 % fits no entry of the table, so it has no band and no verdict.
    assert [(r.case, r.published) for r in rows if not r.good] == [("2", 13.98)]
    assert next(r for r in rows if not r.good).verdict == "not judged"
    summary = summarise(STUDY, rows)
    # The chart's eight numbers follow from the table or contradict it, and choices were fitted to
    # four of the table, so they are not counted.
    assert (summary.numbers, summary.agree, summary.near) == (40, 40, 40)
    assert (summary.apart, summary.apart_agree) == (12, 11)
    assert (summary.exact, summary.exact_met) == (3, 3)
    assert (summary.claims, summary.hold, summary.constructed) == (9, 9, 1)
    assert (summary.own, summary.own_hold, summary.required_off) == (1, 1, 0)


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
    rows = compare(Plan(STUDY, {key: [0] for key in keys}, []), points)
    assert {r.quantity for r in rows} == {INCAST, VICTIM, "dcqcn-short"}


def test_a_row_that_its_null_model_meets_does_not_discriminate() -> None:
    """SFC's incast of case 1 is published as 237.6, PFC's as 238.5: both are within 2 %."""
    rows = [r for r in outcome() if r.against is None]
    incast, victim = (row(rows, "1", "pfc+sfc", name) for name in (INCAST, VICTIM))
    assert (incast.null, incast.discriminates) == ("pfc", False)
    assert incast.null_measured == pytest.approx(238.5053)
    assert (victim.null, victim.discriminates) == ("pfc", True)
    assert victim.null_measured == pytest.approx(355.553)
    # A number that differs cannot discriminate.
    off = row(outcome(point(Key("1", "pfc+sfc", TABLE), incast=300.0)), "1", "pfc+sfc", INCAST)
    assert (off.verdict, off.discriminates) == ("differs", None)


def test_a_changed_model_has_neither_spread_nor_null_model() -> None:
    """Bands and null models apply to the study's own values."""
    key, null = Key("1", "pfc+sfc", TABLE), Key("1", "pfc", TABLE)
    points = {
        one: {name: Sample(sample.values * 5) for name, sample in point(one)[one].items()}
        for one in (key, null)
    }
    runs = {one: [0] * 5 for one in points}

    def of(changed: dict[Key, list[str]]) -> Row:
        return row(compare(Plan(STUDY, runs, [], changed=changed), points), "1", "pfc+sfc", INCAST)

    own = of({})
    assert (own.verdict, own.within, own.discriminates) == ("agrees", True, False)
    said = ["--set sfc.threshold=50 KB"]
    other = of({key: said})
    assert (other.verdict, other.within, other.discriminates) == ("not judged", None, None)
    # A changed null model is not the study's own either.
    beside = of({null: said})
    assert (beside.verdict, beside.within, beside.discriminates) == ("agrees", True, None)


def test_a_claim_is_asked_with_its_own_mechanism_switched_off() -> None:
    claims = {r.quantity: r for r in outcome() if r.is_claim}
    # PFC in place of SFC saves the victim nothing in both cases: the claim fails, as it should.
    assert claims["severity"].discriminates is True
    assert claims["severity"].null == "pfc+sfc"
    # The claim is about PFC alone, whose null model did not run.
    assert (claims["architecture-oq"].null, claims["architecture-oq"].discriminates) == (None, None)
    # The last flow takes no longer under SFC, and not under PFC in its place either.
    assert claims["last-flow"].discriminates is False
    # It is this project's own claim, and not counted among the document's.
    assert summarise(STUDY, list(claims.values())).indiscriminate_claims == 0


def test_only_the_claim_s_own_mechanism_is_replaced() -> None:
    """Prefill: SFC beats DCQCN, and so does PFC alone, which is no worse than SFC."""
    study = definition.load("sfc-aidc-2025-prefill")

    def judged(pfc: float, sfc: float, dcqcn: float) -> Row:
        times = {"pfc": pfc, "pfc+sfc": sfc, "pfc+dcqcn": dcqcn}
        names = ("last", "ports_paused")
        points = {
            Key("part", mechanism, TABLE): {name: Sample((time,)) for name in names}
            for mechanism, time in times.items()
        }
        rows = compare(Plan(study, {key: [0] for key in points}, []), points)
        return next(r for r in rows if r.quantity == "sfc-beats-dcqcn")

    # With PFC in place of DCQCN, its baseline, the claim would fail.
    found = judged(pfc=62.0, sfc=67.0, dcqcn=100.0)
    assert (found.verdict, found.null, found.discriminates) == ("holds", "pfc+sfc", False)
    found = judged(pfc=120.0, sfc=67.0, dcqcn=100.0)
    assert (found.verdict, found.discriminates) == ("holds", True)


def test_a_claim_on_an_interval_takes_three_seeds() -> None:
    """One seed has no interval: its claim is not known, and not off."""

    study = definition.load("sfc-best-effort")
    # As if the claims were a document's.
    study = replace(
        study, claims=tuple(msgspec.structs.replace(one, own=False) for one in study.claims)
    )

    def judged(seeds: int) -> tuple[Row, int]:
        points = {
            Key(case, mechanism, TABLE): {
                measure.name: Sample((us,) * seeds) for measure in study.measures
            }
            for case in ("1", "2", "3")
            for mechanism, us in (("sfc-all", 90.0), ("dcqcn", 100.0))
        }
        rows = compare(Plan(study, {key: [0] * seeds for key in points}, []), points)
        found = [r for r in rows if r.quantity == "our-ecn"]
        return found[0], summarise(study, found).unknown

    for seeds in (1, 2):
        row, unknown = judged(seeds)
        assert (row.verdict, row.good, row.seeds, unknown) == ("not known", False, seeds, 1)
        assert f"takes 3 seeds, not {seeds}" in (row.note or "")
    row, unknown = judged(3)
    assert (row.verdict, row.seeds, unknown) == ("holds", 3, 0)


class OneSeed:
    """The same numbers of one seed for every request."""

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        return self.samples(case, mechanism, quantity, setup)[0]

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        return [1.0 + len(case + mechanism + quantity + setup)]

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = ""
    ) -> tuple[float, float]:
        value = self.value(case, mechanism, quantity, setup)
        return value, value


@pytest.mark.parametrize("name", definition.names())
def test_every_claim_says_what_it_is_about_and_over_how_many_seeds(name: str) -> None:
    study = definition.load(name)
    for claim in study.claims:
        finding = predicates(name)[claim.id](OneSeed())
        # A claim about no mechanism has no null model.
        assert finding.mechanism in {*study.mechanisms, "-"}, claim.id
        of_ratios = name == "sfc-proxy" and claim.id not in (
            "no-spreading",
            "small-queue",
            "no-deadlock",
        )
        if of_ratios or "95 %" in claim.predicate:
            assert finding.seeds == 1, claim.id


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('apart = "derived"\nband_absolute = 3.49', 'apart = "old"', "apart = 'old'"),
        ('apart = "inconsistent"\n', "", "a row without a band is not judged"),
        ("band_absolute = 3.49", "band_absolute = 3.49\nband = 0.1", "one band, not 2"),
    ],
)
def test_what_is_not_counted_says_why(tmp_path: Path, before: str, after: str, said: str) -> None:
    for file in ("study.toml", "published.toml"):
        text = (ROOT / "studies" / STUDY.id / file).read_text(encoding="utf-8")
        if file == "published.toml":
            assert before in text
            text = text.replace(before, after)
        (tmp_path / file).write_text(text, encoding="utf-8")
    for scenario in (ROOT / "studies" / STUDY.id).glob("scenario.toml"):
        (tmp_path / "scenario.toml").write_bytes(scenario.read_bytes())
    with pytest.raises(InputError, match=said):
        definition.read(tmp_path)


CLAIMS_BROKEN = {
    "sfc-helps-victim": point(Key("4", "pfc+sfc", TABLE), victim=600.0),
    "severity": point(Key("3", "pfc+sfc", TABLE), victim=420.0),
    "dcqcn-short": point(Key("1", "pfc+dcqcn", TABLE), incast=230.0),
    "dcqcn-duration": point(Key("6", "pfc+dcqcn", TABLE), victim=38_000.0),
    "late-threshold": point(Key("10", "pfc+sfc", TABLE), incast=2410.0),
    "early-threshold": point(Key("11", "pfc+sfc", TABLE), incast=2300.0),
    "last-flow": point(Key("6", "pfc+sfc", TABLE), last=103.0),
    "over-pause": point(Key("8'", "pfc+sfc", TABLE), incast=2900.0),
    "short-pause-messages": point(Key("9", "pfc+sfc", TABLE), messages=149),
    "architecture-oq": {Key("2", "pfc", "voq"): measured(1, 1, paused=9)},
}


@pytest.mark.parametrize("claim", predicates("sfc-aidc-2025"))
def test_each_claim_can_fail(claim: str) -> None:
    verdicts = {r.quantity: r.verdict for r in outcome(CLAIMS_BROKEN[claim]) if r.is_claim}
    assert [name for name, verdict in verdicts.items() if verdict == "fails"] == [claim]


def test_bounds_of_the_document() -> None:
    # A lone flow of 2 MB: 500 packets of 162.56 ns, and 3.498 us over the empty network.
    assert MODEL.slot_us == pytest.approx(0.16256)
    assert MODEL.alone_us(2_000_000) == pytest.approx(84.778, abs=5e-4)
    assert MODEL.incast_last_us([2_000_000] * 3) == pytest.approx(1500 * 0.16256 + 3.498, abs=5e-4)
    assert MODEL.incast_mean_us([2_000_000] * 3) == pytest.approx(1000 * 0.16256 + 3.498, abs=5e-4)


def test_the_core_has_the_bound_of_one_flow_too() -> None:
    # The core's ideal ends with the last byte and counts the time in which the interface fetches
    # the first packet.
    flows = backwater.load(ROOT / "studies/sfc-aidc-2025/scenario.toml").run().flows
    back = MODEL.links * (MODEL.ack_bytes * 8 / MODEL.rate_gbps / 1e3 + MODEL.link_delay_ns / 1e3)
    back += MODEL.switches * MODEL.switch_latency_ns / 1e3
    for flow in flows.to_pylist():
        ideal_us = flow["ideal_fct_ps"] / 1e6
        assert MODEL.alone_us(flow["bytes"]) == pytest.approx(
            ideal_us - MODEL.slot_us + back, abs=1e-6
        )


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
        advice = _core.advise(
            "sfc",
            {
                "senders": entry["senders"],
                "rate": "200 Gb/s",
                "links": 3,
                "switches": 3,
                "link_delay": "150 ns",
                "switch_latency": "300 ns",
                "pfc_threshold": "380 KB",
                "threshold": entry["threshold"],
                "packet": None,
            },
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
    assert definition.load("sfc-aidc-2025").cases[0].scenario == Path("sfc-aidc-2025/scenario.toml")
    monkeypatch.chdir(tmp_path)
    scenario = definition.load("sfc-aidc-2025").cases[0].scenario
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


def test_seeds_repeat_a_point() -> None:
    sample = Sample((1.0, 2.0, 3.0, 10.0))
    assert sample.statistic("mean") == 4.0
    assert sample.statistic("mean", 3) == 2.0
    assert (sample.statistic("min"), sample.statistic("max")) == (1.0, 10.0)
    assert sample.statistic("std", 3) == pytest.approx(1.0)
    # Student's t of two degrees of freedom is 4.303: 2 ± 4.303 / sqrt(3).
    assert sample.interval(3) == pytest.approx((-0.4841, 4.4841), abs=1e-4)
    assert Sample((7.0,)).interval() is None
    assert Sample((7.0,)).statistic("std") is None
    assert Sample((), "lost").statistic("mean") is None


@pytest.mark.parametrize(
    ("band", "published", "inside", "outside"),
    [
        (Band("relative", 0.05), 100.0, (95.0, 105.0), (94.9, 105.1)),
        (Band("absolute", 0.01), 0.25, (0.24, 0.26), (0.239, 0.261)),
        (Band("factor", 1.25), 100.0, (80.0, 125.0), (79.9, 125.1)),
        (Band("absolute", 0), 0.0, (0.0,), (1.0, -1.0)),
        (Band("range", (95.0, 110.0)), 100.0, (95.0, 110.0), (94.9, 110.1)),
        (Band("factor", 1.25), 0.0, (0.0,), (1.0,)),
    ],
)
def test_bands(
    band: Band, published: float, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    assert all(band.holds(value, published) for value in inside)
    assert not any(band.holds(value, published) for value in outside)


def rewritten(folder: Path, name: str, before: str, after: str) -> str:
    """Return the error of reading a study after a change of its files."""
    for file in ("study.toml", "published.toml"):
        text = (ROOT / "studies" / "sfc-proxy" / file).read_text(encoding="utf-8")
        if file == name:
            assert before in text
            text = text.replace(before, after, 1)
        (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        definition.read(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("study.toml", "title =", 'colum = "x"\ntitle =', "there is no key 'colum'"),
        (
            "study.toml",
            "[[case]]\n",
            '[[case]]\nseedz = "1..2"\n',
            "case.0: there is no key 'seedz'",
        ),
        ("study.toml", "[full]\n", '[full]\nsett = "x"\n', "full: there is no key 'sett'"),
        ("study.toml", "[full.case.nic]", "[full.case.nik]", "full.case: there is no case 'nik'"),
        (
            "study.toml",
            '[full.measure]\nafter = "2.5 ms"',
            '[full.measure]\nsmall_mean = { after = "2.5 ms" }',
            "full.measure: there is no parameter of a measure 'small_mean'",
        ),
        ("study.toml", "title =", "title = 3\n# ", "title: Expected `str`, got `int`"),
        (
            "published.toml",
            "[[claim]]\n",
            "[[claim]]\nrequierd = false\n",
            "claim.0: there is no key 'requierd'",
        ),
        ("published.toml", "document =", "documents =", "documents"),
    ],
)
def test_a_key_that_nobody_reads_is_an_error(
    tmp_path: Path, name: str, before: str, after: str, said: str
) -> None:
    """The error names the place, and the key that may be meant."""
    told = rewritten(tmp_path, name, before, after)
    assert f"{tmp_path / name}: " in told
    assert said in told
    for wrong, right in (("colum", "column"), ("seedz", "seeds"), ("requierd", "required")):
        if wrong in said:
            assert f"did you mean {right}?" in told
