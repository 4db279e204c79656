"""Predictions of an imported SONiC switch whose chip is known, and runs that prove them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import backwater
from backwater.study.measures import Observed
from backwater.study.memory import first_drop, frames_at_pause, frames_until_resume
from kit.command import Command
from kit.sonic_tables import Configuration, fixtures

TABLES = {one.sku: one for one in fixtures()}

# The switch, its ports, their speed and cable, and the predicted frames: at the first pause, the
# first drop, and the pauses of groups 2 to 4. The numbers that tests of hardware expect are in
# studies/silicon-2026/published.toml: 6542 and 7063, 7225, 7835; 120117 and 121302; 133349 and
# 135105; 142285 and 145139; 60204 and 60829.
PROFILES = [
    ("Force10-S6100", 64, "40000", "300m", (6542, 7063, 3274, 1640, 823)),
    ("Force10-S6100", 64, "50000", "300m", (6542, 7225, 3274, 1640, 823)),
    ("Force10-S6100", 64, "100000", "300m", (6542, 7835, 3274, 1640, 823)),
    ("Arista-7060X6-64PE-256x200G", 256, "200000", "5m", (120118, 121304, 60096, 30085, 15079)),
    ("Arista-7060X6-64PE-B-O128", 128, "400000", "40m", (133349, 135105, 66712, 33393, 16733)),
    ("Arista-7060X6-64PE-B-P64", 64, "800000", "5m", (142285, 145139, 71160, 35597, 17815)),
    ("Arista-7050CX3-32S-C32", 32, "100000", "300m", (60204, 60830, 30111, 15065, 7541)),
    # No test of hardware: alpha is 1/4 and 1/8.
    ("DellEMC-Z9332f-O32", 32, "400000", "5m", None),
    ("DellEMC-Z9264f-Q64", 64, "40000", "5m", None),
]
COLUMNS = ("first_pause", "first_drop", "pause_2", "pause_3", "pause_4")


def switch(sku: str, ports: int, speed: str, cable: str) -> Configuration:
    """Return the configuration of a switch whose ports are all alike."""
    table = TABLES[sku]
    rows = [row for row in table.rows if (row["speed_mbps"], row["cable"]) == (speed, cable)]
    if not rows:
        rows = [table.rows[0] | {"speed_mbps": speed, "cable": cable}]
    return dataclasses.replace(table, rows=rows * (ports // 2))


def imported(
    one: Configuration, folder: Path, asic: str | None = None, memory: str | None = None
) -> backwater.Imported:
    """Import a configuration, perhaps with a chip."""
    files, out = one.write(folder), folder / "s.toml"
    return backwater.import_(files, out, asic=asic, memory=memory, force=True)


def frames(row: dict[str, str]) -> tuple[int, ...]:
    """Return the predicted numbers of a row."""
    return tuple(int(row[f"{name}_frames"]) for name in COLUMNS)


@pytest.mark.parametrize(("sku", "ports", "speed", "cable", "expected"), PROFILES)
def test_a_run_proves_a_prediction(
    sku: str, ports: int, speed: str, cable: str, expected: tuple[int, ...] | None, tmp_path: Path
) -> None:
    """To the frame: pauses of four groups, and the first drop."""
    (row,) = imported(switch(sku, ports, speed, cable), tmp_path).predictions
    assert expected is None or frames(row) == expected
    run = Observed(backwater.load(tmp_path / row["scenario"]).run())
    ids = {flow["group"]: flow["flow_id"] for flow in run.run.flows.to_pylist()}
    paused = [frames_at_pause(run, name, ids[name]).value for name in sorted(ids)]
    dropped = first_drop(run, "group-1", ids["group-1"]).value
    assert frames(row) == (paused[0], dropped, *paused[1:])


# With a receiver, and a source that obeys at once: it has begun one frame more when it is paused.
@pytest.mark.parametrize(
    ("number", "drained", "sink"), [(0, 6, "4 Gb/s"), (3, 8, "20 Gb/s"), (5, 7, "80 Gb/s")]
)
def test_a_pause_ends_after_the_predicted_frames(
    number: int, drained: int, sink: str, tmp_path: Path
) -> None:
    sku, ports, speed, cable, _ = PROFILES[number]
    (row,) = imported(switch(sku, ports, speed, cable), tmp_path).predictions
    assert int(row["pause_end_frames"]) == drained
    # A tenth of what comes leaves, so more than a ninth of what the group holds comes beside it.
    size = int(row["first_pause_frames"]) * 18 * 3 // 2
    scenario = backwater.load(tmp_path / row["scenario"])
    scenario = scenario.set("pfc.response", "0 s").set("link.at.0.rate", sink)
    for other in (2, 3, 4):
        # A frame, in guaranteed cells.
        scenario = scenario.set(f"flow.group-{other}.size", "18 B")
    run = Observed(scenario.set("flow.group-1.size", f"{size} B").run())
    (flow,) = (flow for flow in run.run.flows.to_pylist() if flow["group"] == "group-1")
    assert frames_until_resume(run, "group-1", flow["flow_id"]).value == drained + 1


def test_a_chip_is_named_or_known(tmp_path: Path) -> None:
    one = switch(*PROFILES[0][:4])
    known = imported(one, tmp_path).predictions
    unknown = dataclasses.replace(one, sku="Mine")
    assert not imported(unknown, tmp_path, memory="16 MB").predictions
    assert imported(unknown, tmp_path, asic="tomahawk").predictions == known
    backwater.load(tmp_path / "s.toml").check()


def test_the_command_prints_the_predictions(command: Command, tmp_path: Path) -> None:
    files = switch(*PROFILES[0][:4]).write(tmp_path)
    out = tmp_path / "s.toml"
    done = command("import", *map(str, files), "-o", str(out), "--json", f"{out}.json", code=0)
    row = "pg_lossless_40000_300m_profile    40  300   6542   7063      6   3274   1640    823"
    assert row in done.out.splitlines()
    assert json.loads(Path(f"{out}.json").read_text())["predictions"][0]["first_drop_frames"] == (
        "7063"
    )
