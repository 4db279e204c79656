"""Slides of sweeps: a grid, a threshold as goal, a front, and one of seeds alone."""

from __future__ import annotations

import io
import os
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pypdf
import pytest
from pptx import Presentation

import backwater
from backwater import deck
from backwater.cli import main
from backwater.deck import Deck
from backwater.deck.model import HEIGHT, WIDTH, Drawing, Grid, Slide, Text
from kit.command import run_python
from kit.sweeping import HOT, rows, run_here

SWEEPS = {
    "grid": (
        *("--vary", "pfc.xoff=5 KB,20 KB,60 KB", "--vary", "topology.link_delay=100ns,2us"),
        *("--seeds", "1..2"),
    ),
    "least": (
        *("--goal", "smallest pfc.xoff in 5 KB..75 KB step 5 KB where pauses <= 4"),
        *("--seeds", "1..2"),
    ),
    "front": (
        *("--vary", "pfc.xoff=12 KB..80 KB", "--vary", "topology.link_delay=100 ns..1 us"),
        *("--goal", "max_fct:victim min, max_fct:hot min", "--trials", "12"),
    ),
    "seeds": ("--seeds", "1..2"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """All sweeps, run by the command in this process."""
    folder = tmp_path_factory.mktemp("sweeps")
    # A key that is set to its default.
    hot = HOT.replace('size = "30 KB"', 'size = "30 KB"\nclass = 3')
    (folder / "hot.toml").write_text(hot, encoding="utf-8")
    # Slides have the directory names as given, and the test of the last slide relies on that.
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    with pytest.MonkeyPatch.context() as patch:
        run_here(patch)
        for name, options in SWEEPS.items():
            assert main(["sweep", "hot.toml", "--variant", "pfc", *options, "--out", name]) == 0
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def decks(place: Path) -> dict[str, Deck]:
    assert place.is_dir()
    return {name: deck.of(name) for name in SWEEPS}


def grid(slide: Slide) -> Grid:
    [found] = [part for part in slide.parts if isinstance(part, Grid)]
    return found


def words(slide: Slide) -> str:
    texts = [part for part in slide.parts if isinstance(part, Text)]
    return " ".join(text for part in texts for text in part.paragraphs)


def slide_of(made: Deck, title: str) -> Slide:
    [found] = [slide for slide in made.slides if slide.title == title]
    return found


@pytest.mark.parametrize("name", SWEEPS)
def test_slides_of_a_sweep_are_in_order_and_fit(decks: dict[str, Deck], name: str) -> None:
    made = decks[name]
    kinds = list(dict.fromkeys(slide.kind for slide in made.slides))
    figures = [] if name == "seeds" else ["figure"]
    assert kinds == ["title", "setup", "assumptions", "table", *figures, "differs", "again"]
    few = "Intervals over 2 seeds are wide: --seeds 5 or more narrows them."
    noted = words(slide_of(made, "What to keep in mind"))
    # The search for a front runs one seed at each point.
    assert (few in noted) == (name != "front")
    same = [list(row) for row in grid(slide_of(made, "Assumptions: the same at every point")).rows]
    assert ["switch.buffer", "200 KB"] in same
    # Neither varied keys nor keys that were not set.
    assert ("pfc.xoff" in [row[0] for row in same]) == (name == "seeds")
    assert "ack.first_packet" not in [row[0] for row in same]
    assert "switch.alpha_ingress" not in [row[0] for row in same]
    # Keys that the file sets, even to their defaults.
    assert ["pfc.xon", "2 KB"] in same
    assert ["flow.victim.class", "3"] in same
    for slide in made.slides:
        for part in slide.parts:
            wide = sum(part.widths) if isinstance(part, Grid) else part.width
            high = sum(part.heights) if isinstance(part, Grid) else part.height
            assert 0 <= part.x <= part.x + wide <= WIDTH, slide.title
            assert 0 <= part.y <= part.y + high <= HEIGHT, slide.title
    assert "5 hosts, 1 switch, 5 links" in words(made.slides[1])


def test_points_are_means_with_intervals(decks: dict[str, Deck], place: Path) -> None:
    told = grid(slide_of(decks["grid"], "Points"))
    assert told.rows[0][:3] == ("variant", "pfc.xoff", "topology.link_delay")
    column = told.rows[0].index("pauses")
    assert len(told.rows) == 1 + 6
    for row in told.rows[1:]:
        at = {"100 ns": 100_000, "2 us": 2_000_000}[row[2]]
        size = int(row[1].split()[0]) * 1000
        mine = [
            one["pauses"]
            for one in rows(place / "grid")
            if (one["pfc.xoff"], one["topology.link_delay"]) == (size, at)
        ]
        mean, half = row[column].split(" ±")
        assert float(mean) == pytest.approx(statistics.mean(mine), rel=0.01)
        # Student's t with one degree of freedom, for two values: 12.706 times half their distance.
        assert float(half) == pytest.approx(12.706 * abs(mine[0] - mine[1]) / 2, rel=0.01)
    assert "e-" not in " ".join(cell for row in told.rows for cell in row)


def test_the_answer_and_its_test_have_slides(decks: dict[str, Deck], place: Path) -> None:
    answer = backwater.open_sweep(place / "least").manifest["answer"]
    assert answer["kind"] == "threshold"
    held: dict[int, list[bool]] = {}
    for row in rows(place / "least"):
        held.setdefault(row["pfc.xoff"], []).append(row["pauses"] <= 4)
    least = min(size for size, seeds in held.items() if all(seeds))
    said = words(slide_of(decks["least"], "Answer"))
    assert f"smallest pfc.xoff: {least // 1000} KB, with all of 2 seeds" in said
    tests = grid(slide_of(decks["least"], f"pfc, pfc.xoff {least // 1000} KB"))
    assert tests.rows[0] == ("metric", "unit", "here", "base", "difference", "p")
    assert max(len(cell) for row in tests.rows for cell in row) < 20


def test_sentences_say_what_figures_show(decks: dict[str, Deck]) -> None:
    figures = {s.title: words(s) for s in decks["grid"].slides if s.kind == "figure"}
    assert re.search(
        r"From pfc.xoff 5 KB to 60 KB .* goes from [\d.]+ to [\d.]+ us", figures["Over pfc.xoff"]
    )
    assert "100 ns to 2 us" in figures["Over topology.link_delay"]
    assert "% of the variance of pauses is due to" in figures["What pauses depends on"]
    front = {s.title: words(s) for s in decks["front"].slides if s.kind == "figure"}
    grows = "max_fct:hot grows with topology.link_delay (rank correlation +"
    assert grows in front["What max_fct:hot depends on"]
    assert any(
        isinstance(part, Drawing)
        for slide in decks["front"].slides
        if slide.title == "max_fct:victim and max_fct:hot"
        for part in slide.parts
    )


def test_a_sweep_of_seeds_has_its_numbers(decks: dict[str, Deck]) -> None:
    told = grid(slide_of(decks["seeds"], "Points"))
    assert {"max_fct:hot (us)", "max_fct:victim (us)", "pauses"} <= set(told.rows[0])
    assert len(told.rows) == 2
    assert "2 points of one setting, with 2 seeds." in words(decks["seeds"].slides[0])


def test_files_have_a_page_a_slide(decks: dict[str, Deck]) -> None:
    made = decks["least"]
    pages = pypdf.PdfReader(io.BytesIO(deck.octets(made, "pdf"))).pages
    shown = Presentation(io.BytesIO(deck.octets(made, "pptx")))
    assert len(pages) == len(shown.slides) == len(made.slides)
    assert "smallest pfc.xoff" in pages[4].extract_text()


def test_the_command_on_the_last_slide_finds_all_there(decks: dict[str, Deck], place: Path) -> None:
    import shlex

    again = words(decks["grid"].slides[-1])
    command = again[again.index("backwater sweep") : again.index(" backwater query")]
    said = run_python("-m", *shlex.split(command), cwd=place)
    assert said.code == 0, said.err
    assert said.out.splitlines()[1].split() == ["12", "12", "0", "0"]
