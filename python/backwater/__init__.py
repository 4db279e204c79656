"""Backwater: a packet-level simulator for congestion management in data-centre Ethernet.

    import backwater

    run = backwater.load("scenario.toml").set("switch.buffer", "400 KB").run(seed=7)
    run.flows            # an Arrow table, which polars.from_arrow(run.flows) accepts
    run.fingerprint      # equal for equal scenario and seed

In tables, times are integer picoseconds, sizes are bytes and rates are bits per second. The
metadata of each column's field holds its unit.
"""

from __future__ import annotations

import os

# Not from `typing`: its import takes half of the time before the command can handle Ctrl-C.
TYPE_CHECKING = False

if "BACKWATER_CORE" in os.environ:
    # A command with mechanisms of its user sets it for its processes, of which this is one.
    from backwater.own import use_given

    use_given()

if TYPE_CHECKING:
    from backwater._core import (
        Acknowledgement,
        Capture,
        RunError,
        ScenarioError,
        Status,
    )
    from backwater.control import Control
    from backwater.errors import InputError, Interrupted, OtherBuildWarning, ResultError
    from backwater.experiments.points import query
    from backwater.explaining import explain, new_scenario, schema
    from backwater.exporting import export
    from backwater.import_files import Imported
    from backwater.importing import import_
    from backwater.live import Live
    from backwater.reading import Comparison, open_run
    from backwater.repetitions import Series
    from backwater.results import Run
    from backwater.resumed import Resumed, resume
    from backwater.scenario import Scenario, build, load, parse
    from backwater.sweep.dataset import Sweep, open_sweep
else:
    # Imported on first use: the command must handle Ctrl-C before heavy libraries load, and its
    # help needs none of them.
    _HOMES = {
        "_core": (
            "Acknowledgement",
            "Capture",
            "RunError",
            "ScenarioError",
            "Status",
        ),
        "control": ("Control",),
        "errors": ("InputError", "Interrupted", "OtherBuildWarning", "ResultError"),
        "experiments.points": ("query",),
        "explaining": ("explain", "new_scenario", "schema"),
        "exporting": ("export",),
        "import_files": ("Imported",),
        "importing": ("import_",),
        "live": ("Live",),
        "reading": ("Comparison", "open_run"),
        "repetitions": ("Series",),
        "results": ("Run",),
        "resumed": ("Resumed", "resume"),
        "scenario": ("Scenario", "build", "load", "parse"),
        "sweep.dataset": ("Sweep", "open_sweep"),
    }

    def __getattr__(name: str) -> object:
        from importlib import import_module

        for home, names in _HOMES.items():
            if name in names:
                value = getattr(import_module(f"backwater.{home}"), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module 'backwater' has no attribute {name!r}")

    def __dir__() -> list[str]:
        # Names that only this file needs are not public.
        own = {"TYPE_CHECKING", "annotations", "os"}
        return sorted({*globals(), *__all__} - own)


__all__ = [
    "Acknowledgement",
    "Capture",
    "Comparison",
    "Control",
    "Imported",
    "InputError",
    "Interrupted",
    "Live",
    "OtherBuildWarning",
    "ResultError",
    "Resumed",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Series",
    "Status",
    "Sweep",
    "build",
    "explain",
    "export",
    "import_",
    "load",
    "new_scenario",
    "open_run",
    "open_sweep",
    "parse",
    "query",
    "resume",
    "schema",
]
