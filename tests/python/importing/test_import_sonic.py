"""Configurations of SONiC: each verdict of an import, and a run that confirms it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import backwater
from kit.tree import ROOT

LEAF = ROOT / "crates/backwater-import/tests/files/sonic/leaf.json"
PROFILE = "pg_lossless_100000_40m_profile"
POOL = "ingress_lossless_pool"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to the test's directory."""
    monkeypatch.chdir(tmp_path)


def config(**tables: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Return the fixture with other fields: 8 ports of 100 Gb/s, 8 MB shared, 160 KB headroom."""
    database: dict[str, Any] = json.loads(LEAF.read_text())
    for table, entries in tables.items():
        for key, fields in entries.items():
            database[table].setdefault(key, {}).update(fields)
    return database


def imported(
    database: dict[str, Any],
    memory: str,
    response: str | None = None,
    asic: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Import it, and return its verdicts by question."""
    Path("leaf.json").write_text(json.dumps(database))
    done = backwater.import_(
        "leaf.json", "leaf.toml", memory=memory, response=response, asic=asic, force=True
    )
    assert done.kinds == ["sonic-config-db"]
    return {one["question"]: one for one in json.loads(Path("leaf.verdicts.json").read_text())}


def totals(scenario: str) -> dict[str, int]:
    """Return sums, over all ports of a run, of the numbers that decide verdicts."""
    ports = backwater.load(scenario).run().ports.to_pylist()
    columns = ("drop_frames", "flushed_frames", "marked_frames", "pauses_sent")
    return {column: sum(port[column] for port in ports) for column in columns}


def warnings(scenario: str) -> str:
    """Return the warnings of `check`."""
    return "\n".join(str(warning) for warning in backwater.load(scenario).check())


def test_the_worst_incast_of_a_good_configuration_loses_nothing() -> None:
    imported(config(), "16 MB")
    assert not warnings("leaf.toml")
    run = totals("leaf.toml")
    assert run["drop_frames"] == run["flushed_frames"] == 0
    assert run["pauses_sent"] > 0


def test_ports_may_have_the_names_of_what_is_no_port() -> None:
    text = json.dumps(config())
    for number, name in enumerate(["next", "sink", "back-1", "back-2", "switch"]):
        for end in '",|':
            text = text.replace(f"Ethernet{4 * number}{end}", f"{name}{end}")
    verdicts = imported(json.loads(text), "16 MB")
    scenarios = [verdict["scenario"] for verdict in verdicts.values()]
    assert len(scenarios) == 4
    for scenario in ["leaf.toml", *scenarios]:
        assert not warnings(scenario), scenario


# 9122 B of a frame and 20 B of gap take 731.36 ns at 100 Gb/s, a PFC frame 6.72 ns, the cable
# 200 ns each way: with 738.08 ns, the response and 400 ns between them, frames of 9122 B go on,
# and 18,244 B are two whole ones. 802.3's bound is 394 quanta of 512 bit times: 2017.28 ns.
@pytest.mark.parametrize(
    ("response", "need"),
    [
        ("0 s", 18_244 + 1_138_080 * 9122 // 731_360),
        ("1 us", 18_244 + 2_138_080 * 9122 // 731_360),
        (None, 18_244 + 3_155_360 * 9122 // 731_360),
    ],
)
@pytest.mark.parametrize("limit", ["dynamic_th", "static_th"])
def test_headroom(limit: str, response: str | None, need: int) -> None:
    """The verdict agrees with `check` of its scenario, and with the run."""
    for headroom in (need, need - 1, 20_000):
        profile = {"xoff": str(headroom), "size": str(18432 + headroom)}
        database = config(BUFFER_PROFILE={PROFILE: profile})
        if limit == "static_th":
            del database["BUFFER_PROFILE"][PROFILE]["dynamic_th"]
            database["BUFFER_PROFILE"][PROFILE]["static_th"] = "500000"
        verdict = imported(database, "16 MB", response)["headroom"]
        assert verdict["facts"]["need_bytes"] == need
        assert verdict["facts"]["headroom_bytes"] == headroom
        # With interfaces as slow as they may be more is needed.
        assert verdict["facts"]["need_slow_interfaces_bytes"] > need
        assert verdict["holds"] is (None if headroom >= need else False)
        assert ("headroom" in warnings(verdict["scenario"])) is (headroom < need)
        if headroom in (need, 20_000):
            assert (totals(verdict["scenario"])["drop_frames"] == 0) is (headroom == need)


def test_a_headroom_that_is_enough_only_for_ports_that_stop_at_once() -> None:
    """400 Gb/s over 100 m with 125,000 B: enough without a response, not with 802.3's 1158.4 ns.

    A frame takes 182.84 ns there, a PFC frame 1.68 ns, the cable 500 ns: 1184.52 ns without a
    response are 59,097 B beside two frames. Annex N: 2 x 73,136 + 672 + 2 x 200,000 + 2 x 491,520
    + 463,360 bit times. Both interfaces may take 2 x 491,520 bit times, 2457.6 ns, beside it.
    """
    names = [f"Ethernet{number}" for number in range(0, 32, 4)]
    database = config(
        BUFFER_PROFILE={PROFILE: {"xoff": "125000", "size": "143432"}},
        CABLE_LENGTH={"AZURE": dict.fromkeys(names, "100m")},
        PORT={key: {"speed": "400000"} for key in names},
    )
    at_once = 18_244 + 1_184_520 * 9122 // 182_840
    for response, need in [("0 s", at_once), (None, 18_244 + 2_342_920 * 9122 // 182_840)]:
        verdict = imported(database, "64 MB", response)["headroom"]
        assert verdict["facts"]["need_bytes"] == need
        assert verdict["holds"] is (None if need <= 125_000 else False)
    assert (at_once, need) == (77_340, 135_133)
    assert verdict["facts"]["annex_n_bytes"] == 249_168
    most = 18_244 + (2_342_920 + 2_457_600) * 9122 // 182_840
    assert most == 257_744
    for headroom, holds in [(most, True), (most - 1, None)]:
        database["BUFFER_PROFILE"][PROFILE].update(xoff=str(headroom), size=str(headroom))
        assert imported(database, "64 MB")["headroom"]["holds"] is holds
    assert "stop 1158.4 ns after a pause has come, the longest that IEEE 802.3" in verdict["says"]


def test_a_response_is_a_time_that_ports_have() -> None:
    with pytest.raises(backwater.InputError, match="response 2 s: too long for a port"):
        imported(config(), "16 MB", "2 s")


@pytest.mark.parametrize("limit", ["dynamic_th", "static_th"])
@pytest.mark.parametrize(("cable", "frames"), [("5m", 3), ("300m", 19)])
def test_headroom_is_lost_by_the_octet(cable: str, frames: int, limit: str) -> None:
    """The run shows the worst case of whole frames.

    A frame of 9122 B and its gap take 182.84 ns at 400 Gb/s, a PFC frame 1.68 ns. The pause waits
    for the frame that has just begun (less 0.1 ns), and travels for 25 or 1500 ns, as do frames
    sent meanwhile: 182.74 + 1.68 + 50 ns are 1.28 frames, and with 3000 ns 17.4. The sender ends
    the frame that it has begun: 2 and 18. One more, before them, finds no room below the limit.
    """
    most = 9122 * frames
    for headroom in (most, most - 1):
        names = [f"Ethernet{number}" for number in range(0, 32, 4)]
        profile = {"xoff": str(headroom), "size": str(18432 + headroom)}
        if limit == "static_th":
            profile["static_th"] = "500000"
        database = config(
            BUFFER_PROFILE={PROFILE: profile},
            CABLE_LENGTH={"AZURE": dict.fromkeys(names, cable)},
            PORT={key: {"speed": "400000"} for key in names},
        )
        if limit == "static_th":
            del database["BUFFER_PROFILE"][PROFILE]["dynamic_th"]
        verdict = imported(database, "64 MB", "0 s")["headroom"]
        assert (totals(verdict["scenario"])["drop_frames"] > 0) is (headroom < most), headroom


@pytest.mark.parametrize(("headroom", "enough"), [(32_438, True), (20_000, False)])
def test_headroom_that_all_share(headroom: int, enough: bool) -> None:
    """Nothing is reserved, and lossy traffic that finds no room is not counted as lost."""
    database = config(
        BUFFER_POOL={POOL: {"xoff": str(16 * headroom)}},
        BUFFER_PROFILE={PROFILE: {"xoff": "40000", "size": "0"}},
    )
    verdict = imported(database, "16 MB", "0 s")["headroom"]
    assert verdict["facts"]["headroom_bytes"] == headroom
    assert verdict["holds"] is (None if enough else False)
    assert (totals(verdict["scenario"])["drop_frames"] == 0) is enough


@pytest.mark.parametrize("headroom", [230_632, 137_668, 54_864, 54_863])
def test_headroom_in_the_cells_of_a_chip(headroom: int) -> None:
    """Cells of Tomahawk 5 have 254 B, so that the longest frame of 9122 B takes 9144 B.

    By length 57,599 B are needed, of which 39,355 B are sent until the stop: 4 whole frames, beside
    the two at both ends. A wire full of frames of 64 B, 84 B each with the gap, fills 254 B of
    memory with each: 39,355 x 9142 / 9122 x 254 / 84 B are 470 cells, beside two of the longest
    frames. Interfaces may take 2 x 122,880 bit times, in which 30,653 B more are sent: 836 cells.
    """
    profile = {"xoff": str(headroom), "size": str(18432 + headroom)}
    database = config(BUFFER_PROFILE={PROFILE: profile})
    verdict = imported(database, "64 MB", asic="tomahawk5")["headroom"]
    facts = verdict["facts"]
    assert facts["need_longest_frames_bytes"] == 6 * 9144 == 54_864
    assert facts["need_bytes"] == 470 * 254 + 2 * 9144 == 137_668
    sent = 39_355 + 245_760 * 9122 // (9142 * 8)
    assert facts["need_slow_interfaces_bytes"] == (
        math.ceil(sent * 9142 / 9122 * 254 / 84 / 254) * 254 + 2 * 9144
    )
    most = facts["need_slow_interfaces_bytes"]
    assert verdict["holds"] is (True if headroom >= most else None if headroom >= 54_864 else False)
    assert ("headroom" in warnings(verdict["scenario"])) is (headroom < 137_668)
    assert (totals(verdict["scenario"])["drop_frames"] == 0) is (headroom >= 54_864)


def test_the_verdict_on_headroom_knows_the_slices_of_a_chip() -> None:
    """Six ports lie 2, 1, 2, 1 in the four slices of Tomahawk: four groups share a quarter."""
    names = [f"Ethernet{number}" for number in range(0, 24, 4)]
    database = config(
        BUFFER_POOL={POOL: {"xoff": str(12 * 116_064)}},
        BUFFER_PROFILE={PROFILE: {"xoff": "116064"}},
    )
    for table in ("PORT", "BUFFER_PG", "CABLE_LENGTH", "PORT_QOS_MAP", "QUEUE", "BUFFER_QUEUE"):
        for key in [key for key in database.get(table, {}) if key.startswith("Ethernet")]:
            if key.split("|")[0] not in names:
                del database[table][key]
    facts = imported(database, "64 MB", asic="tomahawk")["headroom"]["facts"]
    assert facts["headroom_bytes"] == 12 * 116_064 // 4 // 4


@pytest.mark.parametrize(
    # A pool beside its headroom, a 32nd of 258,035,400 + 81,553,920 B in 267 MB; and the same pool
    # minus its headroom, which fits into the same memory.
    ("size", "legal"),
    [(8_063_606, False), (5_515_046, True)],
)
def test_memory(size: int, legal: bool) -> None:
    pool = {POOL: {"size": str(size), "xoff": "2548560"}}
    verdict = imported(
        config(BUFFER_POOL=pool, BUFFER_PROFILE={PROFILE: {"size": "0"}}), "8343750 B"
    )["memory"]
    assert verdict["holds"] is legal
    assert verdict["facts"]["need_bytes"] == size + 2_548_560
    assert (totals(verdict["scenario"])["drop_frames"] == 0) is legal


@pytest.mark.parametrize(("hwsku", "legal"), [("NH-4210-F-P128", True), ("Some-Switch", False)])
def test_memory_of_a_switch_that_has_headroom_within_its_pool(hwsku: str, legal: bool) -> None:
    """The pool of NH-4210 in sonic-buildimage, on 128 ports of 800 Gb/s over 5 m."""
    ports = [f"Ethernet{number}" for number in range(0, 1024, 8)]
    pool = {"type": "ingress", "mode": "dynamic", "size": "258035400", "xoff": "81553920"}
    profile = {"pool": POOL, "size": "4620", "xoff": "1249080", "xon_offset": "3360"}
    database = {
        "DEVICE_METADATA": {"localhost": {"hwsku": hwsku}},
        "PORT": {port: {"speed": "800000"} for port in ports},
        "BUFFER_POOL": {POOL: pool},
        "BUFFER_PROFILE": {PROFILE: profile | {"dynamic_th": "0"}},
        "BUFFER_PG": {",".join(ports) + "|3-4": {"profile": PROFILE}},
        "PORT_QOS_MAP": {"global": {"pfc_enable": "3,4"}},
    }
    verdict = imported(database, "267 MB")["memory"]
    assert verdict["holds"] is legal
    assert (totals(verdict["scenario"])["drop_frames"] == 0) is legal


@pytest.mark.parametrize(
    ("kmin", "kmax", "marks_first"),
    [("100000", "400000", True), ("7000000", "7500000", False)],
)
def test_ecn_before_pfc(kmin: str, kmax: str, marks_first: bool) -> None:
    thresholds = {"green_min_threshold": kmin, "green_max_threshold": kmax}
    verdict = imported(config(WRED_PROFILE={"AZURE_LOSSLESS": thresholds}), "16 MB")[
        "ecn-before-pfc"
    ]
    assert verdict["holds"] is marks_first
    run = totals(verdict["scenario"])
    assert (run["marked_frames"] > 0, run["pauses_sent"] == 0) == (marks_first, marks_first)


def test_ports_that_never_mark_are_paused_before_any_mark() -> None:
    """WRED at one of eight ports: verdict and run concern the other ports."""
    database = config()
    for key in [key for key in database["QUEUE"] if not key.startswith("Ethernet0|")]:
        del database["QUEUE"][key]
    verdict = imported(database, "16 MB")["ecn-before-pfc"]
    assert verdict["holds"] is False
    assert verdict["facts"]["ports_that_never_mark"] == 7
    few = ", ".join(f"Ethernet{number}" for number in range(4, 28, 4))
    few = f"{few} and Ethernet28 (7 of 8 ports)"
    assert verdict["says"].startswith(f"PFC pauses and ECN never marks at {few}")
    run = totals(verdict["scenario"])
    assert (run["marked_frames"], run["pauses_sent"] > 0) == (0, True)


@pytest.mark.parametrize("action", ["drop", "forward"])
@pytest.mark.parametrize(("detection", "holds"), [("200", False), ("5000", True)])
def test_a_watchdog_fires_in_a_pause_of_congestion(
    detection: str, holds: bool, action: str
) -> None:
    """Six of eight ports of 100 Mb/s hold 6 MB, or 480 ms; all memory, 10.9 MB, takes 870 ms."""
    names = [f"Ethernet{number}" for number in range(0, 32, 4)]
    times = {"detection_time": detection, "restoration_time": "100", "action": action}
    database = config(
        PORT={key: {"speed": "100"} for key in names}, PFC_WD=dict.fromkeys(names, times)
    )
    verdict = imported(database, "16 MB")["watchdog"]
    assert verdict["holds"] is holds
    control = backwater.load(verdict["scenario"]).run().control.to_pylist()
    fired = [row for row in control if row["kind"] == "pfc-watchdog"]
    assert (fired == []) is holds


def test_a_watchdog_outlasts_congestion() -> None:
    verdict = imported(config(), "16 MB")["watchdog"]
    assert verdict["holds"] is True
    run = totals(verdict["scenario"])
    assert run["flushed_frames"] == 0
    assert run["pauses_sent"] > 0


def test_a_watchdog_takes_congestion_for_a_storm() -> None:
    # 8 ports of 10 Mb/s that resume at 18,432 B: 7 x (600 KB - 18 KB) leave in 3.3 s.
    slow = {"speed": "10"}
    database = config(
        PORT={f"Ethernet{number}": slow for number in range(0, 32, 4)},
        BUFFER_PROFILE={PROFILE: {"static_th": "440000", "xoff": "160000", "xon_offset": "440000"}},
    )
    del database["BUFFER_PROFILE"][PROFILE]["dynamic_th"]
    verdict = imported(database, "16 MB")["watchdog"]
    assert verdict["holds"] is False
    assert totals(verdict["scenario"])["flushed_frames"] > 0
