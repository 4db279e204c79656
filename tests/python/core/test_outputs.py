"""The outputs of a scenario change nothing but what is recorded."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

import backwater
from backwater.results import Run
from kit.scenarios import flow, star

# Two flows end, and one loses its last frames, which the finding of what it waits for names.
LOSSY = f"""{star(4)}
[switch]
buffer = "100 KB"
buffer_per = "ingress"
[pfc]
xoff = "50 KB"
[transport]
recovery = "none"
{flow(["h1", "h2", "h3"], "h0", "200 KB", "all")}
[[fault]]
kind = "drop-nth"
from = "h2"
to = "s0"
frame = "data"
nth = 7
"""

OPTIONS: dict[str, bool | list[str]] = {
    "queues": True,
    "links": True,
    "pauses": True,
    "flows": True,
    "backlogs": True,
    "waits": ["all"],
    "pause_causes": True,
    "nodes": ["s0"],
}
TABLES = ("flows", "ports", "control", "switches", "counters", "collectives")


def _run(*options: str) -> Run:
    scenario = backwater.parse(LOSSY)
    for name in options:
        scenario = scenario.set(f"output.{name}", OPTIONS[name])
    if set(options) - {"waits", "pause_causes"}:
        scenario = scenario.set("output.interval", "1 us")
    if options == ("nodes",):
        scenario = scenario.set("output.links", True)
    return scenario.run()


@pytest.fixture(scope="module")
def plain() -> Run:
    """Return a run without any of the outputs."""
    return _run()


def test_the_scenario_has_something_to_say(plain: Run) -> None:
    said = plain.flows.filter(pc.field("state") == "unfinished")["waits_for"].to_pylist()
    assert len(said) == 1
    assert "frames were lost" in str(said[0])


@pytest.mark.parametrize("options", [*((name,) for name in OPTIONS), tuple(OPTIONS)])
def test_an_output_changes_no_other_column(plain: Run, options: tuple[str, ...]) -> None:
    run = _run(*options)
    assert run.fingerprint == plain.fingerprint
    assert run.summary["time_ps"] == plain.summary["time_ps"]
    for name in TABLES:
        assert run.read(name).to_pylist() == plain.read(name).to_pylist(), name
