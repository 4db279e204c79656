"""Prediction intervals have their promised coverage, by drawn documents instead of a formula."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from backwater.samples import RUNS
from backwater.study import prediction
from backwater.study.prediction import interval

DOCUMENTS = 3000
# Four standard errors of a share of .95 over that many documents.
SLACK = 4 * (0.95 * 0.05 / DOCUMENTS) ** 0.5


def test_one_more_run_by_hand() -> None:
    """1 to 5: mean 3, s = sqrt(2.5), t of four degrees 2.776: 3 +- 2.776 sqrt(2.5 (1 + 1/5))."""
    assert interval([5, 1, 2, 4, 3]) == pytest.approx((3 - 4.8083, 3 + 4.8083), abs=1e-3)
    # A mean over four more runs: 2.776 sqrt(2.5 (1/4 + 1/5)).
    assert interval([1, 2, 3, 4, 5], "mean", 4) == pytest.approx((0.0555, 5.9445), abs=1e-3)


@pytest.mark.parametrize("runs", [1, 25])
@pytest.mark.parametrize("ours", [5, 30])
def test_95_of_100_documents_lie_inside(runs: int, ours: int) -> None:
    # Every document is drawn with its own set of our runs: only then is the promise 95 %.
    draw = np.random.default_rng(7)
    own = draw.normal(40.0, 3.0, (DOCUMENTS, ours))
    published = np.mean(draw.normal(40.0, 3.0, (DOCUMENTS, runs)), axis=1)
    inside = 0
    for values, one in zip(own.tolist(), published.tolist(), strict=True):
        found = interval(values, "mean", runs)
        assert found is not None
        inside += found[0] <= one <= found[1]
    assert inside / DOCUMENTS == pytest.approx(0.95, abs=SLACK)


STATISTICS: dict[str, Callable[..., float]] = {
    "std": lambda values: float(np.std(values, ddof=1)),
    "min": np.min,
    "max": np.max,
}
LAWS = ("normal", "exponential")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("over", STATISTICS)
def test_a_bootstrap_holds_what_it_can(
    over: str, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """25 of 100 more runs, of distributions without and with a tail below.

    A deviation lies inside as often as promised. For an extreme, the interval ends at our own
    extreme. One of m more runs lies beyond it with a chance of m / (n + m), for any distribution.
    """
    monkeypatch.setattr(prediction, "DRAWS", 1000)
    draw, ours, runs, few = np.random.default_rng(7), 300, 25, 300
    inside = 0
    for _ in range(few):
        own, one = (getattr(draw, law)(size=size) for size in (ours, runs))
        found = interval(own.tolist(), over, runs)
        assert found is not None
        assert own.min() <= found[0] or over == "std"
        assert found[1] <= own.max() or over == "std"
        inside += found[0] <= STATISTICS[over](one) <= found[1]
    beyond = 0 if over == "std" else max(0.0, runs / (ours + runs) - 0.025)
    assert inside / few >= 0.95 - beyond - 4 * (0.95 * 0.05 / few) ** 0.5


def test_our_own_statistic_lies_inside_our_own_interval() -> None:
    """The fairness index of 2006 cannot be below 0, where a normal distribution put its least."""
    draw = np.random.default_rng(5)
    own = np.abs(draw.normal(0.18, 0.09, 300)).tolist()
    for over, statistic in STATISTICS.items():
        for runs in (200, 300):
            found = interval(own, over, runs, 0.0)
            assert found is not None
            assert 0 <= found[0] <= statistic(own[:runs]) <= found[1]
    # A number that cannot be below 0 has no interval below 0.
    found = interval([0.0, 0.0, 0.0, 0.0, 1.0], "mean", 1, 0.0)
    assert found is not None
    assert found[0] == 0
    assert found[1] == pytest.approx(1.56, abs=0.01)


def test_an_interval_does_not_depend_on_the_order_of_seeds() -> None:
    values = [3.0, 1.0, 2.0, 7.0, 5.0, 4.0]
    for over in ("mean", "min", "max", "std"):
        assert interval(values, over, 4) == interval(values[::-1], over, 4)


def test_runs_that_do_not_vary_leave_a_point() -> None:
    assert interval([7.0] * 5) == (7.0, 7.0)
    assert interval([7.0] * 5, "max", 10) == (7.0, 7.0)
    assert interval([7.0] * 5, "std", 10) == (0.0, 0.0)


def test_too_few_runs_have_none() -> None:
    assert interval([1.0] * (RUNS - 1)) is None
    assert interval([1.0, 2.0, 3.0, 4.0, 5.0], "std", 1) is None
