"""Runs under a control that is a class of a Python program: only that program can repeat them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.control import OFFERED, Control

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backwater.results import Run


STANDING: set[str] = set()
"""Controls of other programs for which this process has a substitute."""


class Elsewhere(Control):
    """Substitute for a control whose class is in another program, so that its runs can be read."""

    def on_start(self) -> None:
        """Refuse to control anything."""
        raise RuntimeError("the class of this control is in another program")


def control_of(run: Run) -> str | None:
    """Return the class that controls flows of a run, by name and digest; None: no class does."""
    return _named(run.scenario.get(_core.CONTROL_TABLE))


def _named(table: object) -> str | None:
    return str(table["control"]) if isinstance(table, dict) and "control" in table else None


def stand_in(run: Run) -> str | None:
    """Make the scenario of a run readable if this process lacks its control; return the control.

    The scenario can then be checked and compared, but not run. None: this process lacks nothing.
    """
    name = control_of(run)
    if name is None or name in OFFERED:
        return None
    core = _core.Scenario.from_text(str(run.manifest["scenario"]), "<the run's scenario>", ".")
    parameters = list(run.scenario[_core.CONTROL_TABLE].get("parameters", {}))
    STANDING.add(name)
    core.with_control(name, Elsewhere, parameters, False)
    return name


def why_not(control: str) -> str:
    """Return why this process cannot run a control."""
    return f"its control {control} is a class of a Python program, and runs only there"


def in_python(settings: Mapping[str, Any], run: str) -> str:
    """Return Python code for such a run with other values; `run`: the arguments of its `run`."""
    changes = "".join(f'.set("{key}", {_value(value)})' for key, value in settings.items())
    return f"scenario{changes}.prototype(CLASS).run({run})"


def _value(value: Any) -> str:  # noqa: ANN401 - as in Scenario.set
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
