"""Finds where and when two runs first differ, by repeating both side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.naming import host_names, with_hosts
from backwater.notices import say
from backwater.saving import SLICE_MS
from backwater.stopping import interruptible

if TYPE_CHECKING:
    from backwater.why.evidence import Evidence

# Keys that do not change the course of a run.
IDLE = ("output.", "title")


def diverge(a: Evidence, b: Evidence) -> dict[str, Any]:
    """Return the first frame and the first control message in which two runs differ.

    `keys`: differing values of the scenarios; `frames`, `control`: (of a, of b), or None. Raises
    `backwater.ScenarioError` if the networks differ, `backwater.Interrupted` on Ctrl-C or SIGTERM.
    """
    pair = _core.Divergence(a.scenario.complete(), a.seed, b.scenario.complete(), b.seed)
    say("both run again, side by side, to see where they part")
    found = None
    with interruptible() as stop:
        while found is None and not stop.is_set():
            found = pair.advance(SLICE_MS)
    if found is None:
        raise stop.interrupted(a.run, b.run)
    parted = {**found, "keys": _keys(a, b), "seeds": [a.seed, b.seed]}
    named: dict[str, Any] = with_hosts(parted, host_names(a.run.scenario))
    return named


def _keys(a: Evidence, b: Evidence) -> list[dict[str, str | None]]:
    one, other = ({row["key"]: row["value"] for row in side.scenario.values()} for side in (a, b))
    keys = [key for key in dict.fromkeys([*one, *other]) if not key.startswith(IDLE)]
    differ = [key for key in keys if one.get(key) != other.get(key) and key != "seed"]
    return [{"key": key, "a": one.get(key), "b": other.get(key)} for key in differ]
