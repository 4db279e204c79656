"""Data of charts and sentences of sweeps: bases stay apart, and means name what they cover."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pytest

from backwater.deck import sweep_sentences as said
from backwater.experiments.sql import Column
from backwater.plot.sweep import SweepPlots
from backwater.sweep.dataset import Sweep

KEYS = ("pfc.xoff", "topology.link_delay")
Point = tuple[str, int, int, int]


@dataclass
class Stub:
    """A sweep of made-up rows: variant, two keys, seed, and a metric."""

    manifest: dict[str, Any]
    points: pa.Table
    columns: list[Column]


def plots(
    points: list[Point], value: Callable[[Point], float], base: tuple[Point, ...] = ()
) -> SweepPlots:
    names = ("variant", *KEYS, "seed")
    rows = [
        dict(zip(names, point, strict=True)) | {"point": f"{n:03}", "status": "done"}
        for n, point in enumerate([*points, *base])
    ]
    rows = [row | {"m": value(point)} for row, point in zip(rows, [*points, *base], strict=True)]
    ids = [row["point"] for row in rows[len(points) :]]
    manifest = {
        "axes": [{"key": KEYS[0], "unit": "B"}, {"key": KEYS[1], "unit": "ps"}],
        "beside": ids,
        "answer": {"kind": "best", "text": "m min", "base": "its base", "base_points": ids},
    }
    columns = [Column("m", "m", "us", "metric", ""), Column(KEYS[0], "a", "B", "parameter", "")]
    return SweepPlots(cast("Sweep", Stub(manifest, pa.Table.from_pylist(rows), columns)))


def grid(*variants: str, seeds: int = 2, sizes: tuple[int, ...] = (10_000, 20_000)) -> list[Point]:
    return [
        (variant, a, b, seed)
        for variant in variants
        for a in sizes
        for b in (1000, 2000)
        for seed in range(1, seeds + 1)
    ]


def values(chart: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any of Altair's
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def below(chart: Any) -> str:  # noqa: ANN401 - any of Altair's
    return " | ".join(chart.to_dict()["title"]["subtitle"])


def test_a_base_is_in_no_line_map_or_effect() -> None:
    """Its value, 900, is far from all others, which are from 1 to 2."""

    def value(point: Point) -> float:
        return 900.0 if point[1] == 99_000 else 1.0 + (point[1] == 20_000)

    base = tuple(("", 99_000, 3000, seed) for seed in (1, 2))
    apart = plots(grid(""), value, base)
    alone = plots(grid(""), value)
    assert (apart.apart, alone.apart) == (2, 0)
    assert apart.varied() == alone.varied() == list(KEYS)
    assert values(apart.heat(*KEYS, "m")) == values(alone.heat(*KEYS, "m"))
    assert values(apart.effects("m")) == values(alone.effects("m"))
    assert "900" not in said.curve(apart, KEYS[0], ["m"])
    # A curve shows it as a separate level.
    lines = {row["series"]: row for row in values(apart.curve(KEYS[0], ["m"]))}
    level = lines.pop("base (its base)")
    assert (level["x"], level["value"]) == (None, 900.0)
    assert set(lines) == {row["series"] for row in values(alone.curve(KEYS[0], ["m"]))}
    front = values(apart.pareto(("m", True), ("seed", True)))
    assert {row["which"] for row in front if row["x"] == 900.0} == {"base"}
    assert {row["x"] for row in front if row["which"] != "base"} == {1.0, 2.0}


def test_bars_and_sentence_are_of_one_variant_and_name_it() -> None:
    """`a` has fewer points, and depends on the delay; `b` on the threshold."""

    def value(point: Point) -> float:
        variant, a, b, seed = point
        return float(b if variant == "a" else a) + seed

    both = plots([*grid("a"), *grid("b", sizes=(10_000, 20_000, 30_000))], value)
    assert both.depends("m").variant == "b"
    assert below(both.effects("m")).endswith("variant b")
    first = max(values(both.effects("m")), key=lambda row: row["value"])
    assert first["name"].startswith("pfc.xoff (p")
    assert said.effects(both, "m") == (
        "Under b, 100 % of the variance of m is due to pfc.xoff, by itself "
        "(F test over 2 seeds: p < 0.001)."
    )


def test_a_map_names_what_its_means_cover() -> None:
    def value(point: Point) -> float:
        return point[1] / 1000 + (point[0] == "b") * 10

    both = plots(grid("a", "b", seeds=3), value)
    assert below(both.heat(*KEYS, "m")) == "mean over 2 variants and 3 seeds"
    # 10 and 20 under a, 20 and 30 under b.
    assert said.heat(both, *KEYS, "m") == (
        "m lies between 15 us (pfc.xoff 10 KB, topology.link_delay 1 ns) and 25 us (pfc.xoff "
        "20 KB, topology.link_delay 1 ns), mean over 2 variants and 3 seeds."
    )
    assert said.curve(both, KEYS[0], ["m"]) == (
        "From pfc.xoff 10 KB to 20 KB m goes from 15 to 25 us, mean over 2 values of "
        "topology.link_delay, 2 variants and 3 seeds."
    )
    assert "subtitle" not in plots(grid("a", seeds=1), value).heat(*KEYS, "m").to_dict()["title"]
    uneven = plots([*grid("a"), ("b", 10_000, 1000, 1)], value)
    assert "cells have 1 to 2 sets of values" in below(uneven.heat(*KEYS, "m"))


def test_a_curve_of_many_settings_names_what_its_means_cover() -> None:
    points: list[Point] = [("", a, b, 1) for a in (1000, 2000) for b in range(1000, 9001, 1000)]
    drawn = plots(points, lambda point: point[1] + point[2])
    assert "mean over 9 values of topology.link_delay" in below(drawn.curve(KEYS[0], ["m"]))


@pytest.mark.parametrize(
    ("seeds", "sentence", "under"),
    [
        (5, "no effect of pfc.xoff and topology.link_delay on m is told from noise", "grey: not"),
        (1, "; with one seed, noise cannot be told from effects.", "one seed: the share of noise"),
    ],
)
def test_noise_is_not_reported_as_an_effect(seeds: int, sentence: str, under: str) -> None:
    dice = random.Random(2)
    drawn = plots(grid("", seeds=seeds), lambda _: dice.gauss(100, 1))
    assert sentence.lower() in said.effects(drawn, "m").lower()
    assert under in below(drawn.effects("m"))
    names = [row["name"] for row in values(drawn.effects("m"))]
    assert [name.endswith("(not significant)") for name in names] == [seeds > 1] * 3


def test_a_requested_metric_is_shown_even_if_it_does_not_vary() -> None:
    """The result is that the victim does not depend on it."""
    columns = {"max_fct:victim": 44.016, "pauses": 0.0, "p99_fct:victim": 41.5, "max_fct:hot": None}
    rows = [
        {"variant": "", KEYS[0]: a, KEYS[1]: 1000, "seed": 1, "point": f"{a}", "status": "done"}
        | {name: (1e-3 * a if value is None else value) for name, value in columns.items()}
        for a in (10_000, 20_000)
    ]
    manifest = {
        "axes": [{"key": KEYS[0], "unit": "B"}, {"key": KEYS[1], "unit": "ps"}],
        "metrics": ["p99_fct:victim"],
    }
    told = [
        Column(name, name, "pauses" if name == "pauses" else "us", "metric", "") for name in columns
    ]
    found = SweepPlots(cast("Sweep", Stub(manifest, pa.Table.from_pylist(rows), told)))
    assert found.telling() == ["p99_fct:victim", "max_fct:hot"]
    assert found.telling(1) == ["p99_fct:victim"]
    assert found.varying(found.telling()) == ["max_fct:hot"]
    assert found.same() == (
        "the same at every point: p99_fct:victim 41.5 us, max_fct:victim 44.016 us, pauses 0"
    )
    titles, lines = found.table(found.telling())
    assert titles == [KEYS[0], "p99_fct:victim (us)", "max_fct:hot (us)"]
    assert [row for _, row in lines] == [["10 KB", "41.5", "10"], ["20 KB", "41.5", "20"]]
