"""Distributions of completion times over a study's seeds, and charts of single studies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

import backwater
from backwater.errors import InputError
from backwater.plot.curves import Window, draw
from backwater.plot.own import charts
from backwater.study import Outcome, definition
from backwater.study.key import Key

# In the idle network, a message of n frames of 1000 B takes 0.08 (n + 1) us at 100 Gb/s.
BASE: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 2, "rate": "100 Gb/s", "link_delay": "0 s"},
    "packet": {"payload": "1000 B", "header": "0 B", "gap": "0 B"},
    "ack": {"enabled": False},
    "switch": {"latency": "0 s"},
}
FRAMES = {1: (1, 3), 2: (5, 100)}
"""Frames of the messages by seed."""


def outcome() -> Outcome:
    def runs(key: Key) -> list[backwater.Run]:
        if key.mechanism == "not run":
            return []
        return [
            backwater.build(
                {
                    **BASE,
                    "flow": [
                        {
                            "label": "calls",
                            "from": "h0",
                            "to": "h1",
                            "size": f"{frames} KB",
                            "start": f"{100 * i} us",
                        }
                        for i, frames in enumerate(sizes)
                    ],
                }
            ).run(seed=seed)
            for seed, sizes in FRAMES.items()
        ]

    known = SimpleNamespace(mechanisms={"one": "", "not run": ""})
    return cast("Outcome", SimpleNamespace(study=known, runs=runs))


def points(chart: Any) -> pl.DataFrame:  # noqa: ANN401 - some Altair chart
    return cast("pl.DataFrame", chart.data)


def test_a_curve_is_of_the_messages_of_all_seeds() -> None:
    window = Window("calls", None, None, "last_byte")
    found = points(draw(outcome(), "any", ["one", "not run"], window))
    assert found["us"].to_list() == pytest.approx([0.16, 0.32, 0.48, 8.08])
    assert found["share"].to_list() == [0.25, 0.5, 0.75, 1.0]
    assert set(found["mechanism"]) == {"one"}


def test_sizes_and_the_warm_up_choose_messages() -> None:
    small = Window("calls", ["0 B", "5 KB"], None, "last_byte")
    assert points(draw(outcome(), "any", ["one"], small))["us"].to_list() == pytest.approx(
        [0.16, 0.32]
    )
    late = Window("calls", None, "50 us", "last_byte")
    assert points(draw(outcome(), "any", ["one"], late))["us"].to_list() == pytest.approx(
        [0.32, 8.08]
    )


def test_nothing_to_draw_is_said() -> None:
    window = Window("calls", None, None, "last_byte")
    with pytest.raises(InputError, match="nothing to draw"):
        draw(outcome(), "any", ["not run"], window)
    with pytest.raises(InputError, match="last_ack, last_byte"):
        draw(outcome(), "any", ["one"], Window("calls", None, None, "ever"))


def test_a_study_s_own_charts_are_looked_up_by_its_name() -> None:
    assert set(charts("sfc-buffer")) == {"map"}
    assert set(charts("nccl-2026")) == {"by-size"}
    assert [name for name in definition.names() if charts(name)] == [
        *("moe-2026", "nccl-2026", "notifications-2026", "sfc-buffer")
    ]
