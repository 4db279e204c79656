"""The suite as data: what its files name exists, and its expressions are arithmetic alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from backwater.bench import planned
from backwater.bench.definition import READING, shared, suite
from backwater.bench.expression import filled, value
from backwater.bench.fabric import USUAL, Fabric, load
from backwater.numbers.metrics import metric
from backwater.scenario import parse
from kit.tree import ROOT

if TYPE_CHECKING:
    from backwater.bench.definition import Test

TESTS = {one.id: one for one in suite().tests}


@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_what_a_test_names_exists(test: Test) -> None:
    labels = [one.label for one in test.metric]
    assert len(set(labels)) == len(labels)
    for one in test.metric:
        for found in READING.finditer(one.value):
            assert metric(found[1]).name == found[1]
            assert found[2] is None or found[2] in test.parameter
        assert set(one.only) <= set(test.parameter)
    for name, parameter in test.parameter.items():
        choices = [one for one in parameter.values if isinstance(one, str)]
        known = shared()[parameter.choice] if parameter.choice else parameter.choices
        assert set(known) <= set(choices), name
    if test.figure is not None:
        assert test.figure.metric in labels
        others = [test.figure.over, *filter(None, [test.figure.apart]), *test.figure.only]
        assert set(others) <= set(test.parameter)


def test_sections_are_tested_once_or_listed_as_untested() -> None:
    every = [*TESTS, *(f"{one.draft}-{one.section}" for one in suite().untested)]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("name", TESTS)
def test_every_test_fits_the_usual_fabric(name: str) -> None:
    asked = planned(load(USUAL), USUAL, (name,), (1,), None)
    assert not asked.unfit
    assert {point.test.id for point in asked.points} == {name}
    assert all(re.fullmatch(r"[A-Za-z0-9.-]+", point.place) for point in asked.points)


def test_the_usual_fabric_has_two_tiers_of_eight() -> None:
    fabric = Fabric.of(load(USUAL), USUAL)
    # Each leaf has eight hosts, and a link to each of eight spines.
    facts = {key: fabric.facts[key] for key in ("hosts", "leaves", "hosts_per_leaf", "uplinks")}
    assert facts == {"hosts": 64, "leaves": 8, "hosts_per_leaf": 8, "uplinks": 64}


def test_arithmetic() -> None:
    names = {"hosts": 64, "size": 3}
    assert value("(hosts - 1) // 2", names) == 31
    assert value("min(hosts, 8) * size", names) == 24
    assert value("hosts >= 4 and size < 3", names) is False
    assert filled({"a": ["{hosts // 2}..{hosts - 1}", "{size}"], "b": 1}, names) == {
        "a": ["32..63", 3],
        "b": 1,
    }


@pytest.mark.parametrize("text", ["open('x')", "hosts.real", "[1]", "'a'", "1 +"])
def test_nothing_else_is_arithmetic(text: str) -> None:
    with pytest.raises(ValueError, match="expression"):
        value(text, {"hosts": 64, "open": open})


def test_the_page_has_all_categories_and_tests() -> None:
    text = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
    part = text.split("<!-- categories -->\n")[1].split("<!-- end of categories -->")[0]
    found = []
    for line in part.splitlines()[2:]:
        category, tests = (cell.strip() for cell in line.split("|")[1:3])
        draft = ""
        for name in tests.split(", "):
            # A section without a draft is of the draft before it.
            draft = name.rpartition("-")[0] or draft
            found.append((category.strip("`"), f"{draft}-{name.rpartition('-')[2]}"))
    assert sorted(found) == sorted((one.category, one.id) for one in TESTS.values())


SHAPES = {
    "nine hosts at one switch": 'kind = "star"\nhosts = 9\nrate = "10 Gb/s"',
    "two planes": 'kind = "leaf-spine"\nplanes = 2\nleaves = 4\nspines = 2\nhosts_per_leaf = 4\n'
    'rate = "200 Gb/s"',
    "rails": 'kind = "leaf-spine"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\nrails = 4\n'
    'rate = "400 Gb/s"',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_other_fabrics_have_what_fits_them(shape: str) -> None:
    case = parse(f'[topology]\n{SHAPES[shape]}\nlink_delay = "500 ns"\n', "mine.toml")
    asked = planned(case, "mine.toml", ("experts", "tenants", "training-8.4"), (1,), None)
    # Hosts of these are not numbered leaf by leaf, each at one leaf, or are too few.
    assert "training-10.3" in {test.id for test, _ in asked.unfit}
    ranks = {
        dict(point.setting)["ranks"] for point in asked.points if point.test.id == "inference-7.3"
    }
    hosts = asked.fabric.facts["hosts"]
    assert max(ranks) == {9: 8, 8: 8, 16: 16}[hosts]
