"""Prediction intervals hold what they promise: judged by drawing documents, not by a formula."""

from __future__ import annotations

import numpy as np
import pytest

from backwater.samples import RUNS
from backwater.study.prediction import interval

DOCUMENTS = 3000
# The standard error of a share of .95 over so many documents, four times.
SLACK = 4 * (0.95 * 0.05 / DOCUMENTS) ** 0.5


def test_one_more_run_by_hand() -> None:
    """1 to 5: mean 3, s = sqrt(2.5), t of four degrees 2.776: 3 +- 2.776 sqrt(2.5 (1 + 1/5))."""
    assert interval([5, 1, 2, 4, 3]) == pytest.approx((3 - 4.8083, 3 + 4.8083), abs=1e-3)
    # A mean over four more runs: 2.776 sqrt(2.5 (1/4 + 1/5)).
    assert interval([1, 2, 3, 4, 5], "mean", 4) == pytest.approx((0.0555, 5.9445), abs=1e-3)


@pytest.mark.parametrize(
    ("over", "runs", "statistic"),
    [
        ("mean", 1, np.mean),
        ("mean", 25, np.mean),
        ("std", 25, lambda a, axis: np.std(a, axis=axis, ddof=1)),
        ("min", 25, np.min),
        ("max", 40, np.max),
    ],
)
@pytest.mark.parametrize("ours", [5, 30])
def test_95_of_100_documents_lie_inside(over: str, runs: int, statistic: object, ours: int) -> None:
    # Every document is drawn with its own set of our runs: only then is the promise 95 %.
    few = DOCUMENTS if over in ("mean", "std") else DOCUMENTS // 10
    draw = np.random.default_rng(7)
    own = draw.normal(40.0, 3.0, (few, ours))
    published = statistic(draw.normal(40.0, 3.0, (few, runs)), axis=1)  # type: ignore[operator]
    inside = 0
    for values, one in zip(own.tolist(), published.tolist(), strict=True):
        found = interval(values, over, runs)
        assert found is not None
        inside += found[0] <= one <= found[1]
    assert inside / few == pytest.approx(0.95, abs=SLACK * (DOCUMENTS / few) ** 0.5)


def test_runs_that_do_not_vary_leave_a_point() -> None:
    assert interval([7.0] * 5) == (7.0, 7.0)
    assert interval([7.0] * 5, "max", 10) == (7.0, 7.0)
    assert interval([7.0] * 5, "std", 10) == (0.0, 0.0)


def test_too_few_runs_have_none() -> None:
    assert interval([1.0] * (RUNS - 1)) is None
    assert interval([1.0, 2.0, 3.0, 4.0, 5.0], "std", 1) is None
