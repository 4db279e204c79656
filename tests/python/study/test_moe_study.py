"""The study of dispatch and combine: its fits, its cases and messages, and claims that can fail."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow.parquet as pq
import pytest

import backwater
from backwater.errors import InputError
from backwater.plot.own import charts
from backwater.study.claims.moe_2026 import CLAIMS, judged, published
from backwater.study.definition import load
from backwater.study.key import TABLE, Key
from backwater.study.measures import Observed, read
from kit.tree import ROOT, load_file

if TYPE_CHECKING:
    from backwater.study import Outcome

FOLDER = ROOT / "studies" / "moe-2026"
FIT = load_file(FOLDER / "constants.py")
MESSAGES = load_file(FOLDER / "messages.py")
STUDY: dict[str, Any] = tomllib.loads((FOLDER / "study.toml").read_text(encoding="utf-8"))
CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in STUDY["case"]}
ROWS: list[Any] = FIT.published()


def test_the_hosts_constants_are_those_of_the_fits() -> None:
    for setup in FIT.SETUPS:
        for row in (row for row in ROWS if row.setup == setup):
            sets = CASES[f"{setup}-ep{row.gpus}"]["set_for"]
            for mechanism, gpus in (("host model", 16), ("fitted at EP 32", 32)):
                rate = 8 * FIT.feed_rate(ROWS, setup, gpus)
                assert sets[mechanism]["nic.feed_rate"] == f"{rate:.1f} Gb/s"
    incast = tomllib.loads((FOLDER / "incast.toml").read_text(encoding="utf-8"))["variant"]
    largest = published()["rail-4096KB"]["sent"]
    assert {one["nic"]["feed_rate"] for one in (incast["host"], incast["pairs"])} == {
        f"{8 * largest:.1f} Gb/s"
    }


def test_a_fit_reads_one_number_of_gpus_and_rows_of_it_are_not_counted() -> None:
    other = [row if row.gpus == 16 else replace(row, bandwidth=1.0) for row in ROWS]
    twice = [replace(row, bandwidth=0.5 * row.bandwidth) for row in ROWS]
    for setup in FIT.SETUPS:
        assert FIT.feed_rate(other, setup) == FIT.feed_rate(ROWS, setup)
        assert FIT.feed_rate(twice, setup) == pytest.approx(FIT.feed_rate(ROWS, setup) / 2, 1e-3)
    assert not any(case.endswith("-ep16") for case, _, _ in judged())
    assert "rail-4096KB" not in {case for case, _, _ in judged()}
    assert len(judged()) == 42


def test_the_formulas_are_those_of_their_words() -> None:
    # 8 of 256 experts: all in one of two servers with probability 2 C(128, 8) / C(256, 8).
    assert FIT.reached(2) == pytest.approx(1.9930, abs=1e-4)
    assert FIT.reached(256) == pytest.approx(8)
    [first] = [
        row for row in ROWS if (row.setup, row.gpus, row.quantity) == ("b200", 16, "combine")
    ]
    assert first.remote == 0.5
    assert FIT.modelled(first, 30.0) == 60.0
    assert FIT.own_constant(ROWS, first) == 60.0
    [last] = [row for row in ROWS if (row.setup, row.gpus, row.quantity) == ("b200", 32, "combine")]
    assert FIT.own_constant(ROWS, last) == pytest.approx(60 * 0.5 / 0.75)
    assert FIT.forwarded(replace(first, setup="thor2")) is None
    assert FIT.forwarded(last) == pytest.approx(FIT.WIRE_GBPS / 0.75)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.setup}-{row.gpus}-{row.quantity}")
def test_a_case_is_what_its_row_says(row: Any) -> None:  # noqa: ANN401 - a class of constants.py
    sets = CASES[f"{row.setup}-ep{row.gpus}"]["set"]
    assert int(sets["job.moe.ranks"]) == int(sets["topology.hosts"]) == row.gpus
    assert (row.gpus == 24) == (sets.get("job.moe.step.dispatch.experts") == "288")


def test_the_files_of_messages_are_those_that_the_script_writes() -> None:
    tables = MESSAGES.tables()
    assert {path.stem for path in (FOLDER / "incast").iterdir()} == set(tables)
    for name, table in tables.items():
        assert pq.read_table(FOLDER / "incast" / f"{name}.parquet").equals(table), name
    for case in CASES.values():
        if case.get("scenario") == "incast.toml":
            file = case["set"]["job.incast.operations"]
            assert file == f"incast/{case['id']}.parquet"


def test_the_order_and_the_window_are_those_of_the_source() -> None:
    each, window, gpus = MESSAGES.EACH, MESSAGES.WINDOW, MESSAGES.GPUS
    # Commit 0cdfcf52: 1000 messages a receiver, 4 interfaces with 256 in flight each.
    assert window / each == pytest.approx(4 * 256 / 1000, rel=0.01)
    assert MESSAGES.receivers("cross", 3, 2)[:4] == [0, 0, 1, 1]
    assert set(MESSAGES.receivers("rail", 3, 2)) == {3}
    assert sorted(MESSAGES.receivers("random", 3, 2)) == MESSAGES.receivers("cross", 3, 2)
    assert MESSAGES.receivers("random", 3, 2) != MESSAGES.receivers("random", 4, 2)
    rows = MESSAGES.operations("cross", 8192).to_pylist()
    assert len(rows) == gpus * gpus * each
    # The first window is posted at once; the next message follows the first completion of any.
    assert all(not row["after"] for row in rows[:window])
    assert rows[window]["after"] == list(range(window))
    assert rows[window]["needs"] == 1
    assert rows[window + 1]["needs"] == 2
    assert rows[gpus * each]["after"] == []


class Given:
    """Numbers by case, mechanism and quantity: the published ones, times a factor."""

    def __init__(self, **factors: float) -> None:
        self.factors = {name.replace("_", " "): factor for name, factor in factors.items()}

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        assert setup == ""
        number = 43.0 if case.startswith("random") else published()[case][quantity]
        factor = self.factors.get(case.partition("-")[0], 1.0)
        return number * factor * self.factors.get(mechanism, 1.0)


def test_claims_hold_with_the_published_numbers_and_can_fail() -> None:
    said = Given(network_alone=1.2)
    for name, claim in CLAIMS.items():
        assert claim(cast("Any", said)).holds, name
    for names, wrong in (
        (("rails-win", "rails-win-always", "pairs-decide"), Given(rail=1.2)),
        (("order-decides",), Given(random=0.5)),
        (("host-explains",), Given(network_alone=1.01, host_model=1.1)),
    ):
        for name in names:
            assert not CLAIMS[name](cast("Any", wrong)).holds, name


@pytest.mark.parametrize("name", ["shape", "half-the-time"])
def test_a_claim_on_series_fails_with_one_wrong_number(name: str) -> None:
    class Wrong(Given):
        def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
            number = super().value(case, mechanism, quantity, setup)
            return number * 1.2 if (case, quantity) == ("cx7-ep32", "combine") else number

    assert not CLAIMS[name](cast("Any", Wrong())).holds


def test_what_a_group_sent_is_payload_by_sender_and_time() -> None:
    scenario = {
        "topology": {"kind": "star", "hosts": 4, "rate": "8 Gb/s", "link_delay": "0 ns"},
        "switch": {"buffer_per": "none", "latency": "0 ns"},
        "packet": {"payload": "1000 B", "header": "0 B", "gap": "0 B"},
        "ack": {"enabled": False},
        "flow": [{"label": "two", "from": [0, 1], "to": 3, "size": "500 KB"}],
    }
    run = Observed(backwater.build(scenario).run())
    # 1 MB through a link of 1 GB/s, by two senders; the first packet is on two links in turn.
    assert read(run, "sent", {"group": "two"}).value == pytest.approx(0.5, rel=2e-3)
    stopped = Observed(backwater.build(scenario | {"stop": {"at": "10 us"}}).run())
    found = read(stopped, "sent", {"group": "two"})
    assert found.value is None
    assert found.problem == "2 of 2 flows of two not complete"


def test_the_figure_has_published_numbers_beside_measured_ones() -> None:
    """A panel for each set-up that was run; the others are left out."""
    point = {"dispatch": SimpleNamespace(statistic=lambda _, __: 50.0)}
    points = {Key("cx7-ep32", "host model", TABLE): point}
    outcome = cast("Outcome", SimpleNamespace(study=load("moe-2026"), points=points))
    chart = charts("moe-2026")["by-ep"]
    drawn = chart(outcome, {"cx7": "one", "thor2": "none"}, "dispatch").to_dict()
    told = [
        [row["bandwidth"] for row in rows]
        for rows in drawn["datasets"].values()
        if {row["mechanism"] for row in rows} == {""}
    ]
    assert told == [[60.0]]
    with pytest.raises(InputError, match="nothing to draw"):
        chart(outcome, {"thor2": "none"}, "dispatch")
