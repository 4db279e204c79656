"""The study controls-2026: its files, its refused setups, and its measures."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

import backwater
from backwater import _core
from backwater.errors import InputError
from backwater.study import load
from backwater.study.costs import octets_of
from backwater.study.execute import Changes, plan
from backwater.study.measures import NotThereError, Observed, read
from kit.studies import value
from kit.tree import ROOT, load_file

FOLDER = ROOT / "studies" / "controls-2026"
SCENES = load_file(FOLDER / "scenes.py")

# A frame of 1000 B takes 0.8 us on a link; links and the switch add nothing.
STAR: dict[str, Any] = {
    "topology": {"kind": "star", "hosts": 4, "rate": "10 Gb/s", "link_delay": "0 ns"},
    "packet": {"payload": "1000 B", "header": "0 B", "gap": "0 B"},
    "ack": {"enabled": False},
    "switch": {"latency": "0 ns", "buffer": "1 MB", "buffer_per": "egress"},
}


def _observe(**tables: Any) -> Observed:  # noqa: ANN401 - tables of a scenario
    return Observed(backwater.build({**STAR, **tables}).run())


def test_scenarios_are_what_the_script_writes_from_the_parameters() -> None:
    written = SCENES.files()
    assert set(written) == {path.name for path in FOLDER.glob("*.toml")} - {
        "parameters.toml",
        "study.toml",
        "published.toml",
        "figures.toml",
    }
    for name, text in written.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"run scenes.py: {name}"


def test_every_scheme_runs_in_every_case_on_four_switches_or_says_why_not() -> None:
    study = load("controls-2026")
    schemes = SCENES.parameters()["scheme"]
    main = {scheme["name"] for scheme in schemes if scheme.get("main", True)}
    planned = plan(study, None, Changes(), None)
    for case in ("1", "2", "3", "permutation"):
        for setup in ("", "input-queued", "voq", "shared-memory"):
            there = {
                key.mechanism for key in planned.points if (key.case, key.setup) == (case, setup)
            }
            assert main <= there
    for key, reason in planned.refused.items():
        assert key.setup == "shared-memory"
        assert planned.points[key] == []
        assert "memory" in reason


def test_no_case_tunes_a_scheme() -> None:
    study = load("controls-2026", full=True)
    for case in study.cases:
        assert not case.set_for
        assert all(key.startswith("flow.") for key in case.set)


def test_a_setup_that_is_valid_is_not_called_refused() -> None:
    study = load("controls-2026")
    [block] = [one for one in study.beside if one.id == "architectures"]
    valid = msgspec.structs.replace(block.setups[1], refused=("pfc",))
    wrong = replace(block, setups=(valid,))
    with pytest.raises(InputError, match="valid scenario"):
        plan(replace(study, beside=(wrong,)), "1", Changes(), None)


def test_jains_index_is_of_the_rates() -> None:
    apart = _observe(flow=[{"label": "all", "from": [1, 2], "to": [0, 3], "size": "1 KB"}])
    assert value(apart, "fairness", group="all") == pytest.approx(1)
    # On one link they end after 1.6 and 2.4 us: rates of 3 to 2, and (3 + 2)^2 / (2 (9 + 4)).
    together = _observe(flow=[{"label": "all", "from": [1, 2], "to": 0, "size": "1 KB"}])
    assert value(together, "fairness", group="all") == pytest.approx(25 / 26)
    assert read(apart, "fairness", {"group": "none"}).problem is not None


def test_a_queue_peaks_at_what_waits() -> None:
    # Three frames arrive at 0.8 us. One is on the wire and counts until its last bit has left.
    run = _observe(flow=[{"label": "all", "from": "1..3", "to": 0, "size": "1 KB"}])
    assert value(run, "queue_peak") == 3
    assert value(run, "ingress_peak") == 1
    assert value(run, "all_control_messages") == 0
    assert value(run, "control_octets", octets={}) == 0


OCTETS = {
    "sfc-pause": "sfc.message_size",
    "cim": "40 B + ci.min_header_octets",
    "cf-update": "8 B",
}


def test_octets_of_a_message_are_a_size_or_a_key_or_their_sum() -> None:
    scenario = {"sfc": {"message_size": "64 B"}, "ci": {"min_header_octets": "48 B"}}
    sizes = {kind: octets_of(kind, OCTETS, scenario) for kind in OCTETS}
    assert sizes == {"sfc-pause": 64, "cim": 88, "cf-update": 8}
    with pytest.raises(NotThereError, match="no octets of 'smoke-signal'"):
        octets_of("smoke-signal", OCTETS, scenario)
    with pytest.raises(NotThereError, match=r"no sfc\.message_size"):
        octets_of("sfc-pause", OCTETS, {"sfc": False})


def test_the_study_knows_the_octets_of_all_that_its_schemes_send() -> None:
    # By hand, from the formats: SFCM and CNP by their keys; a CIM of 22 octets of PDU with 18
    # of Ethernet and 48 that it quotes; frames of at least 64; an ordered set of 8.
    [found] = [one for one in load("controls-2026").measures if one.name == "octets"]
    scenario = {
        "sfc": {"message_size": "64 B"},
        "dcqcn": {"cnp_size": "78 B"},
        "ci": {"min_header_octets": "48 B"},
    }
    table = found.parameters["octets"]
    assert {kind: octets_of(kind, table, scenario) for kind in table} == {
        "sfc-pause": 64,
        "sfc-resume": 64,
        "cnp": 78,
        "cim": 88,
        "mac-control": 64,
        "pull": 64,
        "rts": 64,
        "cc-update": 64,
        "cf-update": 8,
    }


def test_a_shared_measure_names_no_mechanism() -> None:
    source = (ROOT / "python" / "backwater" / "study" / "costs.py").read_text(encoding="utf-8")
    known = {one["name"] for one in _core.items("mechanisms")}
    assert {"pfc", "sfc", "hpcc", "cbfc"} <= known
    assert not known & set(re.findall(r"[a-z]+", source.lower()))


def test_what_every_frame_carries_counts_with_packets_and_answers() -> None:
    flow = [{"label": "one", "from": 1, "to": 0, "size": "5 KB"}]
    with_acks = {"enabled": True, "size": "64 B"}
    run = _observe(flow=flow, ack=with_acks, hpcc={"base_rtt": "13 us"})
    # Five packets and five acknowledgements of 42 octets each; a table that is off adds nothing.
    added = {"hpcc": "42 B", "timely": "8 B"}
    measured = value(run, "control_octets", octets={}, in_every_frame=added)
    assert measured == pytest.approx(0.42)
    assert value(run, "control_octets", octets={}) == 0
