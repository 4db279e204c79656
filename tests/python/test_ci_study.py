"""The study of congestion isolation: measures, reductions, and its models in a small network."""

from __future__ import annotations

from typing import Any

import pytest

import backwater
from backwater import study
from backwater.study.claims import predicates
from backwater.study.claims.base import Numbers
from backwater.study.execute import Sample
from backwater.study.measures import Observed, read

STUDY = "ci-qcz-2018"

# Two senders of 100 Gb/s into a port of 100 Gb/s whose neighbours are paused above 20 KB.
STAR: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 3, "rate": "100 Gb/s", "link_delay": "500 ns"},
    "switch": {"buffer_per": "none"},
    "pfc": {"xoff": "20 KB", "xon": "10 KB", "signal": "on-off", "classes": [3]},
    "flow": [{"from": [1, 2], "to": 0, "size": "400 KB", "class": 3}],
}


def observe(**tables: Any) -> Observed:  # noqa: ANN401 - tables of a scenario
    return Observed(backwater.build({**STAR, **tables}).run())


def value(run: Observed, kind: str, **parameters: object) -> float:
    reading = read(run, kind, parameters)
    assert reading.problem is None
    assert reading.value is not None
    return reading.value


def test_pauses_are_counted_and_timed_by_class() -> None:
    run = observe()
    frames = value(run, "pause_frames")
    asked = sum(row["pauses_sent"] for row in run.run.ports.to_pylist())
    assert frames == asked > 2
    assert value(run, "pause_frames", classes=[2]) == 0
    whole = value(run, "pause_time")
    # As the hosts felt it: each pause begins and ends one frame and 500 ns later.
    felt = sum(row["paused_ps"] for row in run.run.ports.to_pylist()) / 1e9
    assert whole == pytest.approx(felt, rel=1e-3)
    parts = [
        value(run, "pause_time", before="20 us"),
        value(run, "pause_time", after="20 us", before="40 us"),
        value(run, "pause_time", after="40 us"),
    ]
    assert sum(parts) == pytest.approx(whole)
    assert all(parts)
    early = value(run, "pause_frames", before="20 us")
    assert early + value(run, "pause_frames", after="20 us") == frames


def test_loss_is_a_share_of_what_hosts_sent() -> None:
    assert value(observe(), "loss_rate") == 0
    run = observe(pfc=False, switch={"buffer": "50 KB", "buffer_per": "queue"})
    sent = sum(row["packets"] for row in run.run.flows.to_pylist())
    lost = run.run.summary["drops"]
    assert lost > 0
    assert value(run, "loss_rate") == pytest.approx(100 * lost / sent)


def test_a_reduction_is_seed_by_seed() -> None:
    less = Sample((50.0, 90.0)).less_than(Sample((100.0, 100.0)))
    assert list(less.values) == pytest.approx([50.0, 10.0])
    assert Sample((1.0,)).less_than(Sample((0.0,))).problem is not None
    assert Sample((), "lost").less_than(Sample((1.0,))).problem == "lost"


class Made(Numbers):
    """Numbers as the document has them, where it says no more than that they fall."""

    def __init__(self, **changed: float) -> None:
        self.left = {
            "fct_mice": 0.37,
            "fct_elephants": 0.77,
            "fct_all": 0.62,
            "pause_frames": 0.16,
            "pause_time": 0.5,
            "monitored_pauses": 0.1,
            "loss_rate": 0.34,
            "mice, 3 queues": 0.95,
            "local": 0.8,
            "largest": 0.6,
        } | changed

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        del setup
        if mechanism.startswith("none"):
            return [100.0, 200.0]
        name = quantity
        if "3 queues" in mechanism:
            name = "mice, 3 queues"
        elif mechanism == "local":
            name = "local"
        elif case == "1152 hosts":
            name = "largest"
        return [100.0 * self.left[name], 200.0 * self.left[name]]

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        return sum(self.samples(case, mechanism, quantity, setup)) / 2

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = ""
    ) -> tuple[float, float]:
        raise NotImplementedError("no claim of these studies asks for it")


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("signs", {"loss_rate": 1.1}),
        ("mice-most", {"fct_mice": 0.8}),
        ("three-queues", {"mice, 3 queues": 0.5}),
        ("xoff-less", {"pause_time": 0.1}),
        ("monitored-queue", {"monitored_pauses": 0.3}),
        ("upstream-best", {"local": 0.6}),
        ("scale", {"largest": 0.7}),
    ],
)
def test_each_claim_holds_of_the_document_and_can_fail(
    claim: str, changed: dict[str, float]
) -> None:
    predicate = predicates(STUDY)[claim]
    assert predicate(Made()).holds
    assert not predicate(Made(**changed)).holds


SMALL = [
    ("topology.leaves", "8"),
    ("topology.spines", "4"),
    ("topology.hosts_per_leaf", "4"),
    ("flow.many-to-many.from", "0..20"),
    ("flow.many-to-many.cluster", "7"),
    ("flow.many-to-many.sizes", "web-search"),
    ("flow.many-to-many.start", "20 us"),
    ("flow.many-to-many.until", "120 us"),
    ("flow.incast.from", "21..31"),
    ("flow.incast.cluster", "11"),
    # Ten senders only: so that without PFC something is lost.
    ("transport.window", "200 KB"),
]


@pytest.mark.parametrize(
    ("case", "models", "isolation", "rows"),
    [
        ("main", 5, "isolation", {"fct_mice", "fct_elephants", "fct_all", "pause_frames"}),
        ("lossy", 2, "isolation, lossy", {"loss_rate"}),
    ],
)
def test_the_queue_models_in_a_small_network(
    case: str, models: int, isolation: str, rows: set[str]
) -> None:
    outcome = study.reproduce(STUDY, case, SMALL, seeds=lambda own, _: own[:2], workers=1)
    found = {(row.mechanism, row.quantity): row for row in outcome.rows if not row.is_claim}
    assert set(found) == {(isolation, quantity) for quantity in rows}
    assert all(row.unit == "%" and row.against is not None for row in found.values())
    beside = {row["mechanism"]: row for row in outcome.beside if row["case"] == case}
    assert len(beside) == models
    for name, model in beside.items():
        # Every flow is run to its end, whatever the permanent incast does.
        assert model["fct_all"] is not None, (name, model["note"])
        assert (model["loss_rate"] > 0) == (case == "lossy")
    if case == "lossy":
        return
    # Both seeds have one flow set: reductions differ from ratios of means only by their weights.
    everyone = found[isolation, "fct_all"]
    assert everyone.measured is not None
    assert everyone.ci is not None
    assert everyone.ci[0] < everyone.measured < everyone.ci[1]


def test_the_full_size_is_the_document_s() -> None:
    full = study.load(STUDY, full=True)
    main = full.case("main")
    assert full.case("lossy").set == main.set
    assert (main.set["topology.leaves"], main.set["topology.spines"]) == ("48", "24")
    # The case of the queue models is so by default, too, for a shorter time.
    default = study.load(STUDY).case("main").set
    assert main.set == default | {"flow.many-to-many.until": "11 ms"}
    scenario = backwater.load(main.scenario).variant("isolation")
    for key, text in main.set.items():
        scenario = scenario.set(key, text)
    resolved = scenario.prepare().resolved
    assert 'from = "0..1049"' in resolved
    assert 'from = "1050..1133"' in resolved
    windows = {m.parameters.get("before") for m in full.measures}
    assert main.set["flow.many-to-many.until"] == "11 ms", "10 ms of arrivals"
    assert windows == {None, "20 ms"}, "while flows arrive, and 9 ms more"
