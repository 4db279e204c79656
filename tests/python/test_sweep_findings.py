"""What sweeps come to: fronts, effects, tests, each against an account of its own."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest

from backwater.sweep.findings import Design, best, designs, effects, front, paired, ranks


def design(values: tuple[object, ...], metric: list[float | None], variant: str = "") -> Design:
    rows = tuple(
        {"seed": seed, "status": "done", "m": value, "variant": variant}
        for seed, value in enumerate(metric)
    )
    return Design(variant, values, rows)


@pytest.mark.parametrize("least", list(itertools.product([True, False], repeat=2)))
def test_a_front_is_what_comparing_all_pairs_leaves(least: list[bool]) -> None:
    dice = random.Random(7)
    for count in (1, 2, 10, 60):
        # Small whole numbers, so that there are ties.
        values = [(float(dice.randrange(6)), float(dice.randrange(6))) for _ in range(count)]

        def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
            signs = [1 if low else -1 for low in least]
            a, b = ([s * v for s, v in zip(signs, some, strict=True)] for some in (one, other))
            return a != b and all(x <= y for x, y in zip(a, b, strict=True))

        wanted = [
            n for n, one in enumerate(values) if not any(beats(other, one) for other in values)
        ]
        assert front(values, least) == wanted


def test_effects_of_a_sum_are_those_of_its_parts() -> None:
    """3 a + b over a in 0, 1 and b in 0, 1, 2: sums of squares 6 x 2.25 and 4 x 1, no other."""
    found = [design((a, b), [3.0 * a + b]) for a in (0, 1) for b in (0, 1, 2)]
    told = effects(found, ["a", "b"], "m")
    assert told is not None
    assert [one.keys for one in told] == [("a",), ("b",), ("a", "b")]
    total = 6 * 2.25 + 4
    assert [one.share for one in told] == pytest.approx([13.5 / total, 4 / total, 0.0])
    assert told[0].low == (0, 1.0)
    assert told[0].high == (1, 4.0)


def test_an_interaction_alone_is_one() -> None:
    """An exclusive or: neither key alone says anything."""
    found = [design((a, b), [float(a ^ b)]) for a in (0, 1) for b in (0, 1)]
    told = effects(found, ["a", "b"], "m")
    assert told is not None
    assert {one.keys: one.share for one in told} == pytest.approx(
        {("a",): 0.0, ("b",): 0.0, ("a", "b"): 1.0}
    )


def test_shares_of_two_keys_make_one() -> None:
    dice = random.Random(3)
    found = [design((a, b), [dice.random()]) for a in range(4) for b in range(3)]
    told = effects(found, ["a", "b"], "m")
    assert told is not None
    assert math.fsum(one.share for one in told) == pytest.approx(1.0)


def test_no_effects_without_all_combinations() -> None:
    found = [design((a, b), [1.0 * a]) for a in (0, 1) for b in (0, 1)]
    assert effects(found[1:], ["a", "b"], "m") is None
    assert effects([*found, found[0]], ["a", "b"], "m") is None


def test_a_paired_test_is_that_of_the_differences() -> None:
    """Student's t by hand: mean of the differences over its standard error, against tables."""
    one = design((1,), [10.0, 12.0, 15.0, 13.0, None])
    base = design((0,), [9.0, 10.0, 11.0, 12.0, 1.0])
    test = paired(one, base, "m")
    assert test is not None
    apart = [1.0, 2.0, 4.0, 1.0]
    t = statistics.fmean(apart) / (statistics.stdev(apart) / 2)
    # Two-sided p of Student's t with 3 degrees of freedom, by its closed form.
    x = t / math.sqrt(3)
    p = 1 - 2 / math.pi * (math.atan(x) + x / (1 + x * x))
    assert test.p == pytest.approx(p)
    assert test.difference.mean == pytest.approx(2.0)
    # 3.182 is the table's value of t for 95 % and 3 degrees of freedom.
    half = 3.1824 * statistics.stdev(apart) / 2
    assert test.difference.ci_high == pytest.approx(2.0 + half, rel=1e-4)
    assert (test.value.mean, test.base.mean) == (12.5, 10.5)


def test_differences_that_do_not_vary_have_no_p() -> None:
    test = paired(design((1,), [2.0, 3.0]), design((0,), [1.0, 2.0]), "m")
    assert test is not None
    assert test.p is None
    assert (test.difference.mean, test.difference.ci_low) == (1.0, 1.0)
    assert paired(design((1,), [None, 1.0]), design((0,), [1.0, None]), "m") is None


def test_a_design_lacks_a_number_if_a_seed_does() -> None:
    found = [design((1,), [0.0, None]), design((2,), [3.0, 4.0]), design((3,), [5.0, 1.0])]
    assert found[0].spread("m") is None
    assert best(found, "m", least=True) is found[2]
    assert best(found, "m", least=False) is found[1]
    assert best(found[:1], "m", least=True) is None


def test_rows_are_put_together_by_values() -> None:
    rows = [
        {"variant": "v", "k": k, "seed": seed, "status": "done", "m": 1.0}
        for seed in (1, 2)
        for k in (None, 5)
    ]
    assert [(one.values, len(one.rows)) for one in designs(rows, ["k"])] == [
        ((None,), 2),
        ((5,), 2),
    ]


def test_ranks_of_a_monotone_curve_are_one() -> None:
    found = [design((float(n), 7.0), [math.exp(n)]) for n in range(8)]
    [rank] = ranks(found, ["a", "b"], "m")
    assert rank.key == "a"
    assert rank.rho == pytest.approx(1.0)
