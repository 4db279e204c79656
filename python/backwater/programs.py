"""Runs that a class of a Python program controls: they can be read here, and done only there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.control import OFFERED, Control

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backwater.results import Run


STANDING: set[str] = set()
"""Controls of this process that only stand in for those of other programs."""


class Elsewhere(Control):
    """Stands in for a control whose class is in another program, so that its runs can be read."""

    def on_start(self) -> None:
        """Refuse to control anything."""
        raise RuntimeError("the class of this control is in another program")


def control_of(run: Run) -> str | None:
    """Name the class that controls flows of a run, with its digest; None: no class does."""
    return _named(run.scenario.get(_core.CONTROL_TABLE))


def _named(table: object) -> str | None:
    return str(table["control"]) if isinstance(table, dict) and "control" in table else None


def stand_in(run: Run) -> str | None:
    """Make a run's scenario readable whose control is not offered here, and name that control.

    Such a scenario can be checked and told from others, and not run. None: nothing is missing.
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
    """Say why runs of a control cannot be done here."""
    return f"its control {control} is a class of a Python program, and runs only there"


def in_python(settings: Mapping[str, Any], run: str) -> str:
    """Say how such a run is done with other values; `run`: what `Scenario.run` is given."""
    changes = "".join(f'.set("{key}", {_value(value)})' for key, value in settings.items())
    return f"scenario{changes}.prototype(CLASS).run({run})"


def _value(value: Any) -> str:  # noqa: ANN401 - as Scenario.set takes it
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
