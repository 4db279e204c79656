"""Drawn faults: failed links, other rates, and hosts that pause."""

from __future__ import annotations

import re
from typing import Any

import backwater
from backwater.report import draw
from backwater.report.assumptions import Assumptions
from backwater.report.faults import STORM, outages, pausing
from backwater.report.film import moments, shoot, stills
from backwater.report.key import LETTER
from backwater.report.layout import lay_out
from backwater.report.overtime import film_part


def scenario(**more: str) -> dict[str, Any]:
    """A small leaf-spine; `more` are keys of its topology."""
    topology: dict[str, Any] = {"kind": "leaf-spine", "leaves": 2, "spines": 2}
    topology |= {"hosts_per_leaf": 2, "rate": "100 Gb/s", "link_delay": "1 us"} | more
    flow = {"label": "one", "from": "h0", "to": "h3", "size": "1 MB"}
    return {"topology": topology, "flow": [flow]}


def check_within(drawing: str) -> None:
    """Check that the key of a drawing has all signs, with their words."""
    [(wide, tall)] = re.findall(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', drawing)
    place = r'<g transform="translate\(([0-9.]+) ([0-9.]+)\) scale\(([0-9.]+)\)">'
    [(left, top, size)] = re.findall(place, drawing)
    key = drawing[drawing.index(f"scale({size})") :]
    words = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]*)', key)
    assert len(words) >= 3
    for x, y, text in words:
        end = float(left) + float(size) * (float(x) + LETTER * len(text))
        assert end <= float(wide), text
        assert float(top) + float(size) * float(y) <= float(tall), text


def test_hosts_that_pause_are_said() -> None:
    slow = {"kind": "slow-receiver", "host": "h1", "rate": "1 Gb/s"}
    storm = {"kind": "pause-storm", "host": "h2", "at": "20 us"}
    faults = [
        {**storm, "until": "120 us", "classes": [3, 4]},
        {**storm, "classes": list(range(8))},
        {**storm, "link": True},
        slow,
        {"kind": "loss", "probability": 0.1},
    ]
    assert pausing({"fault": faults}) == [
        "Fault: h1 takes frames at only 1 Gb/s from the start, and pauses class 3 of its links "
        "while its buffer is full.",
        "Fault: h2 pauses classes 3, 4 of its links from 20 us until 120 us (a pause storm).",
        "Fault: h2 pauses all classes of its links from 20 us (a pause storm).",
        "Fault: h2 pauses its links from 20 us (a pause storm).",
    ]
    assert pausing({}) == []


def test_a_link_is_down_until_it_is_up_again_or_to_the_end() -> None:
    ends = {"a": "leaf0", "b": "spine1"}
    faults = [
        {"kind": "link-down", "at": "40 us", **ends},
        {"kind": "link-down", "at": "10 us", **ends},
        {"kind": "link-up", "at": "25 us", "a": "spine1", "b": "leaf0"},
        {"kind": "loss", "from": "h0", "to": "leaf0", "probability": 0.1},
        {"kind": "rate-change", "at": "50 us", "rate": "100 Gb/s", "from": "h0", "to": "leaf0"},
        {"kind": "rate-change", "at": "5 us", "rate": "10 Gb/s", "from": "h0", "to": "leaf0"},
    ]
    layout = lay_out(backwater.build(scenario()).complete().sketch(1, 10))
    found = outages({"fault": faults}, layout)
    assert [one.text for one in found] == [
        "h0 → leaf0 sends at 10 Gb/s from 5 us until 50 us",
        "leaf0 to spine1 carries nothing from 10 us until 25 us",
        "leaf0 to spine1 carries nothing from 40 us",
    ]
    down = found[1]
    assert [down.lasts(time * 10**6) for time in (9, 10, 24, 25)] == [False, True, True, False]
    drawn = draw.fabric(layout, {}, set(), outages=found, time=30 * 10**6)
    # One of the three faults lasts at 30 us: the other rate.
    assert drawn.count('data-f="') == 3
    assert drawn.count('visibility="hidden"') == 2


def test_a_link_that_flaps_is_one_outage() -> None:
    flap: dict[str, Any] = {"kind": "link-flap", "at": "10 us", "a": "leaf0", "b": "spine1"}
    flap |= {"down": "5 us", "up": "20 us", "times": 3}
    layout = lay_out(backwater.build(scenario()).complete().sketch(1, 10))
    [one] = outages({"fault": [flap]}, layout)
    # Down from 10, 35 and 60 us on, for 5 us each.
    assert (one.begin_ps, one.end_ps) == (10_000_000, 65_000_000)
    assert one.text == "leaf0 to spine1 carries nothing from 10 us until 65 us, 3 times 5 us each"


def test_links_of_a_bundle_fail_and_recover_by_their_numbers() -> None:
    ends = {"a": "leaf0", "b": "spine1"}
    faults = [
        {"kind": "link-down", "at": "10 us", "number": 1, **ends},
        {"kind": "link-down", "at": "20 us", "number": 0, **ends},
        {"kind": "link-up", "at": "30 us", "number": 0, **ends},
    ]
    layout = lay_out(backwater.build(scenario()).complete().sketch(1, 10))
    assert [one.text for one in outages({"fault": faults}, layout)] == [
        "link 1 from leaf0 to spine1 carries nothing from 10 us",
        "link 0 from leaf0 to spine1 carries nothing from 20 us until 30 us",
    ]


def test_rates_stand_between_the_tiers() -> None:
    layout = lay_out(backwater.build(scenario()).complete().sketch(1, 10))
    assert [text for text, _ in layout.speeds] == ["100 Gb/s", "100 Gb/s"]
    mixed = scenario(fabric_rate="400 Gb/s")
    layout = lay_out(backwater.build(mixed).complete().sketch(1, 10))
    assert [text for text, _ in layout.speeds] == ["400 Gb/s", "100 Gb/s"]
    # A faster link is thicker.
    drawn = draw.links(layout)
    assert drawn.count("<path") == 2


def test_each_film_of_several_has_the_failures_of_its_own_run() -> None:
    ends = {"at": "5 us", "a": "leaf0", "b": "spine1"}
    up = scenario() | {"output": {"interval": "5 us", "queues": True, "links": True}}
    down = up | {"fault": [{"kind": "link-down", **ends}]}
    runs = [(name, backwater.build(one).run()) for name, one in (("up", up), ("down", down))]
    layout = lay_out(backwater.build(up).complete().sketch(1, 10))
    for order in (runs, runs[::-1]):
        film = shoot(layout, order)
        part = film_part("film", film, [run for _, run in order], set(), "")
        drawn = {one["label"]: one["svg"] for one in part.tracks}
        faults = {one["label"]: one["faults"] for one in film.packed()["tracks"]}
        assert "leaf0 to spine1 carries nothing" not in drawn["up"]
        assert "leaf0 to spine1 carries nothing from 5 us" in drawn["down"]
        # The second step is the first that ends after 5 us, when the link has failed.
        assert faults == {"up": [], "down": [[1, film.frames]]}
        # Each of three moments is drawn once for each run, and the key explains the sign.
        assert stills(film, set(), 3).count("carries nothing") == 3
        assert "link that has failed" in film.key(1200)[0]
        for slide in [*moments(film, set()), stills(film, set(), 3)]:
            check_within(slide)
    assert "link that has failed" not in shoot(layout, runs[:1]).key(1200)[0]


def test_a_host_that_pauses_is_marked_where_it_is_and_explained() -> None:
    """The sign is above the circle of the host, in topology and films, and the key explains it."""
    storm = {"kind": "pause-storm", "host": "h2", "at": "5 us", "until": "20 us"}
    slow = {"kind": "slow-receiver", "host": 3, "rate": "1 Gb/s", "xoff": "40 KB", "xon": "20 KB"}
    calm = scenario() | {"output": {"interval": "5 us", "queues": True, "links": True}}
    calm["pfc"] = {"xoff": "400 KB"}
    wild = calm | {"fault": [storm, slow], "stop": {"at": "40 us"}}
    run = backwater.build(wild).run()
    layout = lay_out(backwater.build(calm).complete().sketch(1, 10))
    film = shoot(layout, [("wild", run)])
    block = layout.blocks[layout.of[layout.names["h2"]]]
    place = f'<g transform="translate({block.x:.1f} {block.y:.1f})">{STORM}</g>'
    first, second = (
        draw.fabric(layout, {}, set(), outages=film.tracks[0].outages, time=time)
        for time in (0, 10**7)
    )
    circles = f'<circle cx="{block.x:.1f}" cy="{block.y:.1f}"'
    for drawn, hidden in ((first, 1), (second, 0)):
        assert drawn.index(place) > drawn.index(circles), "above the circle of the host"
        assert drawn.count('visibility="hidden"') == hidden
        assert (
            "<title>h2 pauses all classes of its links from 5 us until 20 us (a pause storm"
            in drawn
        )
        assert "<title>h3 takes frames at only 1 Gb/s from the start" in drawn
    explained, high = film.key(1200)
    assert "host with a pause storm" in explained
    assert "host that receives slowly" in explained
    assert "link that has failed" not in explained
    # Each row of signs is within the width, and all signs are in some row.
    assert film.key(600)[1] > high
    for drawn in [*moments(film, set()), stills(film, set(), 3)]:
        check_within(drawn)
    assert film.packed()["tracks"][0]["faults"] == [[0, film.frames], [1, 4]]
    assumptions = Assumptions(run)
    picture = assumptions.topology()
    assert STORM in picture.drawn
    assert " Marked: h3 takes frames at only 1 Gb/s from the start" in picture.caption
