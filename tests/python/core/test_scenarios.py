"""The examples under scenarios/: each runs, with every variant, and has the same results as before.

Times are compared to 0.1 us: what an example shows, not the last digit of the trajectory.
"""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import backwater
from backwater.numbers.run import group_times, port_totals
from kit.tree import ROOT

FOLDER = ROOT / "scenarios"
# Examples of runs that fail.
FAILING = {("ring-deadlock", None)}


def cases() -> list[tuple[str, str | None]]:
    names = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return [
        (name, variant)
        for name in names
        for variant in (None, *backwater.load(FOLDER / f"{name}.toml").variants)
    ]


def summary(run: backwater.Run) -> list[str]:
    def times(group: dict[str, Any]) -> str:
        spread = group["fct_last_ack_us"]
        if spread is None:
            return "no times"
        return f"mean {spread['mean']:.1f} us, greatest {spread['max']:.1f} us"

    ports = port_totals(run)
    return [
        *(
            f"{group['group']}: {group['complete']} of {group['flows']} complete, {times(group)}"
            for group in group_times(run)
        ),
        f"ports paused: {ports['ports_paused']}, frames dropped: {ports['drop_frames']}, "
        f"marked: {'some' if ports['marked_frames'] else 'none'}",
    ]


@pytest.mark.parametrize(("name", "variant"), cases())
def test_example(name: str, variant: str | None, snapshot: SnapshotAssertion) -> None:
    scenario = backwater.load(FOLDER / f"{name}.toml")
    if variant is not None:
        scenario = scenario.variant(variant)
    assert scenario.check() == []
    if (name, variant) in FAILING:
        with pytest.raises(backwater.RunError) as raised:
            scenario.run()
        assert str(raised.value) == snapshot
        return
    assert summary(scenario.run()) == snapshot


def test_a_variant_of_the_slow_receiver_without_the_fault() -> None:
    scenario = backwater.load(FOLDER / "slow-receiver.toml")
    slow, quick = (
        {row["group"]: row["fct_last_ack_us"]["max"] for row in group_times(one.run())}
        for one in (scenario, scenario.set("fault", []))
    )
    assert slow["innocent"] > 2 * quick["innocent"]


def test_every_example_says_how_it_is_run() -> None:
    for path in FOLDER.glob("*.toml"):
        assert f"backwater run scenarios/{path.name}" in path.read_text(encoding="utf-8"), path
