"""Backwater: a packet-level simulator for congestion management in data-centre Ethernet.

    import backwater

    run = backwater.load("scenario.toml").set("switch.buffer", "400 KB").run(seed=7)
    run.flows            # an Arrow table; polars.from_arrow(run.flows) takes it as it is
    run.fingerprint      # equal for equal scenario and seed

Times in tables are integer picoseconds, sizes bytes, rates bits per second; every column carries
its unit in the metadata of its field.
"""

from backwater._core import RunError, ScenarioError, Status
from backwater.errors import InputError, Interrupted, ResultError
from backwater.results import Run, open_run
from backwater.scenario import Scenario, build, load, parse

__all__ = [
    "InputError",
    "Interrupted",
    "ResultError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Status",
    "build",
    "explain",
    "load",
    "new_scenario",
    "open_run",
    "parse",
    "schema",
]

from backwater._core import explain, new_scenario, schema
