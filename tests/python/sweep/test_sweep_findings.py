"""Conclusions from sweeps: fronts, effects and tests, each against a separate calculation."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import pytest

from backwater.sweep.effects import Analysis, corrected, effects, ranks, written
from backwater.sweep.findings import Design, chosen, designs, front, paired


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
        # Small whole numbers, so that some are equal.
        values = [(float(dice.randrange(6)), float(dice.randrange(6))) for _ in range(count)]

        def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
            signs = [1 if low else -1 for low in least]
            a, b = ([s * v for s, v in zip(signs, some, strict=True)] for some in (one, other))
            return a != b and all(x <= y for x, y in zip(a, b, strict=True))

        wanted = [
            n for n, one in enumerate(values) if not any(beats(other, one) for other in values)
        ]
        assert front(values, least) == wanted


def shares(told: Analysis | None) -> dict[tuple[str, ...], float]:
    assert told is not None
    return {one.keys: one.share for one in told.effects}


def test_effects_of_a_sum_are_those_of_its_parts() -> None:
    """3 a + b over a in 0, 1 and b in 0, 1, 2 has only the sums of squares 6 x 2.25 and 4 x 1."""
    found = [design((a, b), [3.0 * a + b]) for a in (0, 1) for b in (0, 1, 2)]
    told = effects(found, ["a", "b"], "m")
    assert told is not None
    assert [one.keys for one in told.effects] == [("a",), ("b",), ("a", "b")]
    total = 6 * 2.25 + 4
    assert [one.share for one in told.effects] == pytest.approx([13.5 / total, 4 / total, 0.0])
    assert told.effects[0].low == (0, 1.0)
    assert told.effects[0].high == (1, 4.0)
    # One seed shows no noise.
    assert told.seeds == 1
    assert [one.p for one in told.effects] == [None] * 3


def test_an_interaction_alone_is_one() -> None:
    """An exclusive or: neither key alone has an effect."""
    found = [design((a, b), [float(a ^ b)]) for a in (0, 1) for b in (0, 1)]
    told = shares(effects(found, ["a", "b"], "m"))
    assert told == pytest.approx({("a",): 0.0, ("b",): 0.0, ("a", "b"): 1.0})


def test_shares_of_two_keys_make_one() -> None:
    dice = random.Random(3)
    found = [design((a, b), [dice.random()]) for a in range(4) for b in range(3)]
    assert math.fsum(shares(effects(found, ["a", "b"], "m")).values()) == pytest.approx(1.0)


def test_an_effect_is_held_against_the_noise_between_seeds() -> None:
    """By hand: means 2, 2, 7, 7 depend on `a` alone, 50 of 54; seeds have 2, and 2 remain, of 3."""
    values = {(0, 0): [1.0, 3.0], (0, 1): [2.0, 2.0], (1, 0): [7.0, 7.0], (1, 1): [6.0, 8.0]}
    found = [design(at, list(some)) for at, some in values.items()]
    told = effects(found, ["a", "b"], "m")
    assert told is not None
    assert told.seeds == 2
    noise = 2 / 3
    assert shares(told) == pytest.approx(
        {("a",): (50 - noise) / (50 + 2 + noise), ("b",): 0.0, ("a", "b"): 0.0}
    )
    # F is 50 over 2/3, with 1 and 3: the square of Student's t with 3, whose p has a closed form.
    x = math.sqrt(75) / math.sqrt(3)
    alone = 1 - 2 / math.pi * (math.atan(x) + x / (1 + x * x))
    # The correction multiplies the least of three by three.
    assert {one.keys: one.p for one in told.effects} == pytest.approx(
        {("a",): 3 * alone, ("b",): 1.0, ("a", "b"): 1.0}
    )
    assert [one.keys for one in told.effects if one.clear] == [("a",)]


def test_noise_alone_has_no_effects() -> None:
    """About 15 of 300 sweeps, 5 %, may show an effect, even if a seed moves all points."""
    dice = random.Random(5)
    shown = 0
    for _ in range(300):
        seeds = [dice.gauss(0, 3) for _ in range(4)]
        found = [
            design((a, b), [100 + seed + dice.gauss(0, 1) for seed in seeds])
            for a in range(3)
            for b in range(3)
        ]
        told = effects(found, ["a", "b"], "m")
        assert told is not None
        shown += any(one.clear for one in told.effects)
    # 15 and four standard deviations of 3.8.
    assert 0 < shown <= 30


def test_without_noise_whatever_differs_is_an_effect() -> None:
    found = [design((a, b), [float(a)] * 3) for a in (0, 1) for b in (0, 1)]
    told = effects(found, ["a", "b"], "m")
    assert told is not None
    assert [one.keys for one in told.effects if one.clear] == [("a",)]
    assert shares(told)["a",] == pytest.approx(1.0)


def test_what_rounding_leaves_is_neither_noise_nor_effect() -> None:
    """Thirds near a million, without noise: only `a` makes a difference."""
    found = [
        design((a, b), [1e6 + a / 3 + s / 7 for s in (1, 2, 3)]) for a in (0, 1) for b in (0, 1)
    ]
    told = effects(found, ["a", "b"], "m")
    assert told is not None
    assert {one.keys: one.p for one in told.effects} == {("a",): 0.0, ("b",): 1.0, ("a", "b"): 1.0}
    flat = [design((a,), [0.1 + s / 7 for s in (1, 2, 3)]) for a in (0, 1)]
    assert effects(flat, ["a"], "m") is None


def test_effects_are_of_the_seeds_that_all_points_have() -> None:
    found = [design((0,), [1.0, 2.0, 9.0]), design((1,), [2.0, 4.0])]
    told = effects(found, ["a"], "m")
    assert told is not None
    assert told.seeds == 2


def test_several_p_are_corrected_for_each_other() -> None:
    """Benjamini and Hochberg: the k-th of n is multiplied by n / k, and never above later ones."""
    assert corrected([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert corrected([]) == []
    assert (written(0.0002), written(0.0314)) == ("p < 0.001", "p = 0.031")


def test_no_effects_without_all_combinations() -> None:
    found = [design((a, b), [1.0 * a]) for a in (0, 1) for b in (0, 1)]
    assert effects(found[1:], ["a", "b"], "m") is None
    assert effects([*found, found[0]], ["a", "b"], "m") is None


def test_a_paired_test_is_that_of_the_differences() -> None:
    """Student's t by hand, the mean difference over its standard error, against tables."""
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
    assert chosen(found, [("m", True)]) == ([found[2]], [])
    assert chosen(found, [("m", False)]) == ([found[1]], [])
    assert chosen(found[:1], [("m", True)]) == ([], [])


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
    assert rank.clear


def test_few_points_say_little_however_well_they_are_ordered() -> None:
    """Two of the six orders of three points are monotone.

    Two of the twenty ways to choose the three greater of six points separate them completely.
    """
    three = [design((float(n),), [float(n)]) for n in range(3)]
    [rank] = ranks(three, ["a"], "m")
    assert rank.rho == pytest.approx(1.0)
    assert rank.p == pytest.approx(1 / 3)
    assert not rank.clear
    halves = [design((float(n > 2),), [float(n)]) for n in range(6)]
    [rank] = ranks(halves, ["a"], "m")
    assert rank.p == pytest.approx(2 / 20)


def test_ranks_with_ties_count_the_orders_that_are_as_far_either_way() -> None:
    """One of four orders puts the differing point on itself; likewise one of seven.

    All other orders are less extreme, on the other side, and do not count.
    """
    for values, p in (([1.0, 1.0, 1.0, 2.0], 1 / 4), ([1.0] * 6 + [2.0], 1 / 7)):
        [rank] = ranks([design((x,), [x]) for x in values], ["a"], "m")
        assert [rank.rho, rank.p] == pytest.approx([1.0, p])
        [rank] = ranks([design((x,), [-x]) for x in values], ["a"], "m")
        assert [rank.rho, rank.p] == pytest.approx([-1.0, p])


def test_noise_alone_has_no_ranks() -> None:
    dice = random.Random(11)
    shown = 0
    for _ in range(100):
        found = [design((dice.random(), dice.random()), [dice.random()]) for _ in range(12)]
        shown += any(rank.clear for rank in ranks(found, ["a", "b"], "m"))
    # 5 and four standard deviations of 2.2.
    assert shown <= 13
