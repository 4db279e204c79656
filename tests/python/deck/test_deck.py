"""Slides of results: their parts, positions and texts, and that all fits."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pypdf
import pytest
import vl_convert
from PIL import Image
from pptx import Presentation
from pptx.util import Pt

import backwater
from backwater import deck
from backwater.deck import Deck, layout, sentences
from backwater.deck.model import HEIGHT, LINE, PAD_X, PAD_Y, WIDTH, Drawing, Grid, Slide, Text
from backwater.errors import InputError
from backwater.plot import sheet
from backwater.report.page import Table, header
from kit.command import Command, run_python
from kit.scenarios import sampled
from kit.tree import ROOT

DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
LEAST = 12
"""Points of the smallest text."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the incast with a victim, with samples."""
    scenario = backwater.load(ROOT / "scenarios" / "incast-victim.toml").variant("sfc")
    place = tmp_path_factory.mktemp("results") / "run"
    sampled(scenario).run(out=place)
    return place


@pytest.fixture(scope="module")
def slides(results: Path) -> Deck:
    return deck.of(results)


@pytest.fixture(scope="module")
def written(slides: Deck) -> dict[str, bytes]:
    return {kind: deck.octets(slides, kind) for kind in deck.KINDS}


@pytest.fixture(scope="module")
def shown(written: dict[str, bytes]) -> Any:  # noqa: ANN401 - python-pptx has no types
    return Presentation(io.BytesIO(written["pptx"]))


def texts(slide: Any) -> list[str]:  # noqa: ANN401 - as above
    return [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]


def test_a_deck_has_all_parts_in_order(slides: Deck) -> None:
    kinds = list(dict.fromkeys(slide.kind for slide in slides.slides))
    assert kinds == ["title", "setup", "assumptions", "table", "figure", "again"]


def test_the_presentation_has_native_tables_texts_and_pictures(
    shown: Any,  # noqa: ANN401 - as above
    results: Path,
) -> None:
    assert (shown.slide_width, shown.slide_height) == (Pt(960), Pt(540))
    assert shown.slide_width / shown.slide_height == pytest.approx(16 / 9)
    first = " ".join(texts(shown.slides[0]))
    run = backwater.open_run(results)
    assert run.manifest["started"][:10] in first
    assert run.manifest["versions"]["build"] in first
    assert "seed 1" in first
    assert str(run.fingerprint) in first
    tables = [shape.table for s in shown.slides for shape in s.shapes if shape.has_table]
    heads = [[cell.text for cell in table.rows[0].cells] for table in tables]
    assert ["parameter", "value", "set by", "what it is"] in heads
    [times] = [table for table, head in zip(tables, heads, strict=True) if head[0] == "group"]
    assert [row.cells[0].text for row in times.rows][1:] == ["incast", "victim"]
    pictures = [s for slide in shown.slides for s in slide.shapes if s.shape_type == 13]
    assert len(pictures) >= 8
    for picture in pictures:
        # At least two pixels for each point, as on a screen at full size.
        assert picture.image.size[0] / picture.width.pt >= 2
        assert picture._element._nvXxPr.cNvPr.get("descr")


def test_numbers_stand_to_the_right(shown: Any) -> None:  # noqa: ANN401 - as above
    for slide in shown.slides:
        for shape in slide.shapes:
            if not shape.has_table:
                continue
            for row in list(shape.table.rows)[1:]:
                for cell in list(row.cells)[1:]:
                    if re.fullmatch(r"[\d.,]+", cell.text):
                        assert cell.text_frame.paragraphs[0].alignment == 3, cell.text


def test_no_text_is_small(shown: Any) -> None:  # noqa: ANN401 - as above
    for slide in shown.slides:
        for shape in slide.shapes:
            frames = [shape.text_frame] if shape.has_text_frame else []
            if shape.has_table:
                frames += [c.text_frame for row in shape.table.rows for c in row.cells]
            for frame in frames:
                for paragraph in frame.paragraphs:
                    for run in paragraph.runs:
                        assert run.font.size.pt >= LEAST


def boxes(slide: Slide) -> list[tuple[float, float, float, float]]:
    found = []
    for part in slide.parts:
        if isinstance(part, Grid):
            found.append((part.x, part.y, sum(part.widths), sum(part.heights)))
        else:
            found.append((part.x, part.y, part.width, part.height))
    return found


def check_fits(slides: Deck) -> None:
    for slide in slides.slides:
        for part in slide.parts:
            if isinstance(part, Text):
                assert part.needs <= part.height + 0.01, (slide.title, part.paragraphs)
            elif isinstance(part, Grid):
                for n, row in enumerate(part.rows):
                    for column in range(len(row)):
                        lines = part.lines(n, column)
                        high = len(lines) * part.size * LINE + 2 * PAD_Y
                        assert high <= part.heights[n] + 0.01
        placed = boxes(slide)
        for n, (x, y, wide, high) in enumerate(placed):
            assert x >= 0, slide.title
            assert y >= 0, slide.title
            assert x + wide <= WIDTH, slide.title
            assert y + high <= HEIGHT, slide.title
            for a, b, wider, higher in placed[:n]:
                apart = x + wide <= a + 1 or a + wider <= x + 1 or y + high <= b + 1
                assert apart or b + higher <= y + 1, (slide.title, slide.parts[n])


def test_everything_fits_and_nothing_overlaps(slides: Deck) -> None:
    check_fits(slides)


def test_lines_are_no_wider_than_their_boxes_by_the_renderer(slides: Deck) -> None:
    """Lines are broken by tables of widths: a renderer's widths must not exceed them."""
    lines: list[tuple[str, float, float, bool, bool]] = []
    for slide in slides.slides:
        for part in slide.parts:
            if isinstance(part, Text):
                lines += [
                    (line, part.size, part.width, part.bold, part.mono)
                    for some in part.lines
                    for line in some
                ]
            elif isinstance(part, Grid):
                for row, column in ((0, 0), (1, 0), (1, len(part.widths) - 1)):
                    room = part.widths[column] - 2 * PAD_X
                    for line in part.lines(row, column):
                        lines.append((line, part.size, room, row == 0, False))
    assert len(lines) > 60
    for line, size, room, bold, mono in dict.fromkeys(lines):
        family = "Liberation Mono" if mono else "Liberation Sans"
        escaped = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="1000" height="60"><rect width="1000" '
            f'height="60" fill="white"/><text x="10" y="44" font-size="{size}" '
            f'font-family="{family}" font-weight="{"bold" if bold else "normal"}">{escaped}</text>'
            "</svg>"
        )
        ink = Image.open(io.BytesIO(vl_convert.svg_to_png(svg))).convert("L")
        box = ink.point(lambda grey: 255 - grey).getbbox()
        if box is not None:
            assert box[2] - 10 <= room + 1, line


def test_each_figure_has_one_sentence_with_its_numbers(slides: Deck, results: Path) -> None:
    found = {
        slide.title: slide.parts[1].paragraphs[0]
        for slide in slides.slides
        if slide.kind == "figure" and isinstance(slide.parts[1], Text)
    }
    assert len(found) >= 7
    assert all(re.search(r"\d", text) for text in found.values())
    run = backwater.open_run(results)
    last = max(row["fct_last_ack_ps"] for row in run.flows.to_pylist() if row["group"] == "incast")
    assert f"the last after {last / 1e6:.0f} us" in found["Completion times"]
    paused = [row for row in run.ports.to_pylist() if row["pauses_received"]]
    assert f"{len(paused)} port" in found["Pauses, port by port"]
    deepest: dict[tuple[Any, ...], int] = {}
    for row in run.series.to_pylist():
        if row["quantity"] == "queue_bytes":
            at = (row["time_ps"], row["node"], row["port"])
            deepest[at] = deepest.get(at, 0) + row["value"]
    assert f"{max(deepest.values()) / 1e3:,.0f} KB" in found["Queues over time"]


def test_the_command_on_the_last_slide_gives_the_same_run(
    slides: Deck, results: Path, command: Command, tmp_path: Path
) -> None:
    box = slides.slides[-1].parts[1]
    assert isinstance(box, Text)
    again = box.paragraphs[1]
    import shlex

    words = shlex.split(again)
    assert words[0] == "backwater"
    command(*words[1:], code=0)
    first, second = backwater.open_run(results), backwater.open_run(tmp_path / "again")
    assert first.fingerprint == second.fingerprint


def test_the_same_results_give_the_same_octets(results: Path, written: dict[str, bytes]) -> None:
    # Drawn anew, and not from the cache: Vega's numbering has moved on meanwhile.
    sheet._drawn.cache_clear()
    again = deck.of(results)
    for kind in deck.KINDS:
        assert deck.octets(again, kind) == written[kind]


def test_a_pdf_has_a_page_a_slide_with_its_text(slides: Deck, written: dict[str, bytes]) -> None:
    pages = pypdf.PdfReader(io.BytesIO(written["pdf"])).pages
    assert len(pages) == len(slides.slides)
    for page, slide in zip(pages, slides.slides, strict=True):
        assert (page.mediabox.width, page.mediabox.height) == (960, 540)
        assert slide.title.split()[0] in page.extract_text()


@pytest.mark.parametrize("theme", ["dark", "print"])
def test_themes_change_colours_and_not_places(results: Path, slides: Deck, theme: str) -> None:
    other = deck.of(results, theme)
    assert [boxes(slide) for slide in other.slides] == [boxes(slide) for slide in slides.slides]
    colours = {
        value
        for slide in other.slides
        for part in slide.parts
        if isinstance(part, Drawing)
        for value in re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', part.svg)
    }
    if theme == "print":
        assert all(value[1:3] == value[3:5] == value[5:7] for value in colours)
    else:
        assert "#ffffff" not in {
            re.findall(r'<rect[^>]*fill="(#[0-9a-f]{6})"', part.svg)[0]
            for slide in other.slides
            for part in slide.parts
            if isinstance(part, Drawing)
        }


def test_a_series_has_statistics_and_its_seeds(command: Command, tmp_path: Path) -> None:
    file = ROOT / "scenarios" / "incast-victim.toml"
    command("run", str(file), "--seeds", "2..4", "--out", "s", code=0)
    made = deck.of(tmp_path / "s")
    check_fits(made)
    # Ratios have no unit: without a size, an empty cell has 18 points, and its row grows.
    shown = Presentation(io.BytesIO(deck.octets(made, "pptx")))
    empty = [
        cell.text_frame.paragraphs[0]._p.find(f"{DRAWING}endParaRPr")
        for slide in shown.slides
        for shape in slide.shapes
        if shape.has_table
        for row in shape.table.rows
        for cell in row.cells
        if not cell.text
    ]
    assert empty
    assert all(one is not None and int(one.get("sz")) <= 1600 for one in empty)
    first = made.slides[0].parts[1]
    assert isinstance(first, Text)
    assert "Seeds 2 to 4, 3 runs." in first.paragraphs
    assert any(slide.title.startswith("Results over the seeds") for slide in made.slides)
    every = [s for s in made.slides if s.title.startswith("Every number of the runs")]
    rows = [row for s in every for p in s.parts if isinstance(p, Grid) for row in p.rows[1:]]
    # The scenario sets the number of flows: a sentence has it instead of a row.
    assert not [row for row in rows if row[1] == "flows"]
    assert "incast: flows 3, complete 3" in str(every[-1].parts)


def test_a_study_has_published_numbers_and_what_differs(command: Command, tmp_path: Path) -> None:
    said = command("reproduce", "bcn-pause-2006", "--seeds", "2", "--out", "b")
    assert said.code in (0, 1), said.err
    made = deck.of(tmp_path / "b")
    check_fits(made)
    kinds = list(dict.fromkeys(slide.kind for slide in made.slides))
    assert kinds == ["title", "setup", "assumptions", "table", "figure", "differs", "again"]
    outcome = backwater.study.open_study(tmp_path / "b")
    off = [row for row in outcome.rows if row.verdict == "differs"]
    rows = [
        row
        for slide in made.slides
        if slide.kind == "differs" and "claims" not in slide.title
        for part in slide.parts
        if isinstance(part, Grid)
        for row in part.rows[1:]
    ]
    assert len(rows) == len(off)
    assert off


def test_a_long_table_goes_on_with_its_head() -> None:
    rows = [[f"row {n}", str(n), "a few words " * 6] for n in range(60)]
    columns = [*header(["name"], ["number"]), *header(["what"])]
    made = layout.table("table", "Long", Table(columns, rows))
    grids = [part for slide in made for part in slide.parts if isinstance(part, Grid)]
    assert len(grids) > 1
    assert all(grid.rows[0] == ("name", "number", "what") for grid in grids)
    assert [row[0] for grid in grids for row in grid.rows[1:]] == [row[0] for row in rows]
    assert made[0].title == f"Long (1 of {len(made)})"
    many = layout.table("table", "Longer", Table(header([], ["n"]), [[str(n)] for n in range(500)]))
    notes = [part for part in many[-1].parts if isinstance(part, Text)]
    shown = sum(len(p.rows) - 1 for s in many for p in s.parts if isinstance(p, Grid))
    assert f"{500 - shown} more rows are in the report." in notes[-1].paragraphs[0]


@pytest.mark.parametrize(
    ("given", "code", "place"),
    [
        (["nowhere"], 1, "nowhere: has no results"),
        (["sfc-aidc-2025"], 1, "sfc-aidc-2025: has no results"),
        (["notes.txt"], 1, "notes.txt: is a file"),
        (["."], 1, "."),
        (["run", "-o", "talk.odp"], 2, "-o talk.odp"),
        (["run", "-o", "talk"], 2, "-o talk"),
        (["run", "--theme", "grey"], 2, "--theme grey"),
        (["run", "-o", "there/talk.pptx"], 2, "there/talk.pptx"),
        (["run", "-o", "mine.pptx"], 2, "mine.pptx"),
    ],
)
def test_bad_decks_are_errors_with_place_and_hint(
    command: Command, tmp_path: Path, results: Path, given: list[str], code: int, place: str
) -> None:
    (tmp_path / "run").symlink_to(results)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "mine.pptx").write_bytes(b"PK\x03\x04 mine")
    said = command("deck", *given, code=code)
    assert f"error: {place}" in said.err
    assert "hint: " in said.err
    assert (tmp_path / "mine.pptx").read_bytes() == b"PK\x03\x04 mine"


def test_the_command_writes_slides_and_replaces_with_force(
    command: Command, results: Path, tmp_path: Path
) -> None:
    said = command("deck", str(results), "-o", "talk.pdf", "--theme", "print", code=0)
    before = (tmp_path / "talk.pdf").read_bytes()
    assert re.search(r"\d+ slides: talk\.pdf", said.err)
    command("deck", str(results), "-o", "talk.pdf", code=2)
    command("deck", str(results), "-o", "talk.pdf", "--force", code=0)
    assert (tmp_path / "talk.pdf").read_bytes() != before


@pytest.mark.parametrize(("kind", "library"), [("pptx", "pptx"), ("pdf", "pypdf")])
def test_without_the_extra_the_command_says_what_to_install(
    results: Path, tmp_path: Path, kind: str, library: str
) -> None:
    script = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from backwater.cli import main\n"
        f"sys.exit(main(['deck', {str(results)!r}, '-o', 'talk.{kind}']))"
    )
    said = run_python("-c", script, cwd=tmp_path)
    assert said.code == 2
    assert f"error: the library {library} is not installed" in said.err
    assert "pip install 'backwater[deck]'" in said.err
    assert not (tmp_path / f"talk.{kind}").exists()


def test_a_paragraph_longer_than_a_slide_is_refused() -> None:
    with pytest.raises(InputError, match="longer than a slide"):
        layout.text("differs", "Notes", ["word " * 5000])


def test_a_comparison_has_what_differs_and_the_table_of_differences(
    command: Command, tmp_path: Path
) -> None:
    file = str(ROOT / "scenarios" / "incast-victim.toml")
    command("compare", file, f"{file}@sfc", "--seeds", "3", "--out", "c", code=0)
    command("deck", "c", "-o", "c.pdf", code=0)
    made = deck.of(tmp_path / "c")
    check_fits(made)
    kinds = list(dict.fromkeys(slide.kind for slide in made.slides))
    assert kinds == ["title", "setup", "assumptions", "table", "figure", "again"]
    grids = {s.title: p for s in made.slides for p in s.parts if isinstance(p, Grid)}
    [differs] = [grid for title, grid in grids.items() if title.startswith("What differs")]
    assert "sfc.threshold" in [row[0] for row in differs.rows]
    assert list(differs.rows[0]) == ["parameter", "incast-victim", "incast-victim@sfc"]
    compared = backwater.open_run(tmp_path / "c", backwater.Comparison)
    [told] = [grid for title, grid in grids.items() if title.startswith("Results over")]
    known = {row["metric"] for row in compared.rows}
    assert {row[0].partition(" ")[0] for row in told.rows[1:]} <= known
    # Each figure has a sentence; for a single group, it has a number of each scenario.
    row = next(one for one in compared.rows if one["metric"] == "mean_fct:victim")
    figures = [s for s in made.slides if s.kind == "figure"]
    victim = next(s for s in figures if s.title == "Completion times of victim")
    sentence = next(p for p in victim.parts if isinstance(p, Text) and "take" in p.paragraphs[0])
    for one in row["scenarios"]:
        assert f"{one['mean']:.3g} us" in sentence.paragraphs[0]
    assert any("under incast-victim@sfc" in str(s.parts) for s in figures)
    again = str(made.slides[-1].parts)
    assert "backwater compare" in again
    assert "backwater deck" in again


def test_parameters_of_an_import_stand_together_without_folders(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    matrix = "Nodes 16\nConnections 2\n1->0 start 0 size 20000\n2->0 start 0 size 20000\n"
    (tmp_path / "burst.cm").write_text(matrix, encoding="utf-8")
    command("run", "burst.cm", "--set", "seed=7", "--out", "m", code=0)
    made = deck.of(tmp_path / "m")
    check_fits(made)
    assert "/imported/" not in str([slide.parts for slide in made.slides])
    grids = {s.title: p for s in made.slides for p in s.parts if isinstance(p, Grid)}
    own = grids["Assumptions: parameters"]
    assert [row[0] for row in own.rows] == ["parameter", "seed"]
    told = grids["Assumptions: import of burst.cm"]
    assert list(told.rows[0]) == ["parameter", "value"] * 2
    values = {row[n]: row[n + 1] for row in told.rows[1:] for n in (0, 2)}
    assert values["topology.kind"] == "fat-tree"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of a collective and, in every other round, a collective that another flow delays."""
    steps = [
        {"label": "grads", "kind": "all-reduce", "size": "400 KB"},
        {"label": "moe", "kind": "all-to-all", "size": "40 KB"},
    ]
    scenario = backwater.build(
        {
            "topology": {"kind": "star", "hosts": 5, "rate": "100 Gb/s", "link_delay": "500 ns"},
            "switch": {"buffer_per": "none"},
            "job": [{"label": "train", "ranks": 4, "rounds": 4, "step": steps}],
            "flow": [{"label": "other", "from": "h4", "to": "h0", "size": "500 KB"}],
            "output": {"interval": "1 us", "queues": True, "links": True, "flows": True},
        }
    )
    place = tmp_path_factory.mktemp("trained") / "run"
    scenario.run(out=place)
    return place


@pytest.mark.usefixtures("undrawn")
def test_sentences_are_of_what_their_figures_show(trained: Path) -> None:
    run = backwater.open_run(trained)
    rows = [row for row in run.collectives.to_pylist() if row["step"] == "grads"]
    times = sorted(row["duration_ps"] / 1e6 for row in rows)
    assert len(times) == 4
    assert times[0] < 0.9 * times[-1], "the other flow delays one"
    middle = (times[1] + times[2]) / 2
    sentences = {one.title: " ".join(words(one)) for one in deck.of(trained).slides}
    assert (
        f"Of 4 collectives of train/grads half take at most {middle:.3g} us, the longest "
        f"{times[-1]:.3g} us" in sentences["Collective completion times"]
    )
    # The last bar of the timeline ends with the job.
    ends = max(row["end_ps"] for row in run.jobs.to_pylist()) / 1e6
    assert f"to {ends:.0f} us" in sentences["Timeline of train"]
    # 100 Gb/s less headers is the most, and `other` has the link to h0 to itself at times.
    [rate] = re.findall(r"([\d.]+) Gb/s \(other\)", sentences["Throughput over time"])
    assert 50 < float(rate) < 100
    sampled: dict[tuple[str, int, int], float] = {}
    for row in run.series.to_pylist():
        if row["quantity"] == "queue_bytes":
            place = (row["node"], row["port"], row["time_ps"])
            sampled[place] = sampled.get(place, 0) + row["value"]
    most = max(sampled.values()) / 1e3
    assert f"At most {most:,.0f} KB wait for s0 → h0" in sentences["Queues over time"]


def words(slide: Slide) -> list[str]:
    """Return the texts of a slide."""
    return [line for part in slide.parts if isinstance(part, Text) for line in part.paragraphs]


def test_collectives_that_took_the_same_have_bars(trained: Path) -> None:
    """A distribution of a single value was a dot at 50 % of an axis that ended there."""
    run = backwater.open_run(trained)
    spec = run.plot.collectives().to_dict()
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 1]
    steps = {"label": "grads", "kind": "all-reduce", "size": "40 KB"}
    scenario = backwater.build(
        {
            "topology": {"kind": "star", "hosts": 4, "rate": "100 Gb/s", "link_delay": "500 ns"},
            "job": [{"label": "train", "ranks": 4, "step": [steps]}],
        }
    )
    once = scenario.run()
    spec = once.plot.collectives().to_dict()
    [values] = spec["datasets"].values()
    [row] = once.collectives.to_pylist()
    assert [(one["step"], one["time"]) for one in values] == [
        ("train/grads", row["duration_ps"] / 1e6)
    ]
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["bar", "text"]
    assert sentences.run("collectives", once.plot.collectives(), once) == (
        f"The collective of train/grads takes {row['duration_ps'] / 1e6:.3g} us."
    )


@pytest.mark.usefixtures("undrawn")
def test_pauses_that_one_of_two_scenarios_has_alone_are_told(command: Command, small: Path) -> None:
    names = (str(small), f"{small}@sfc")
    command("compare", *names, "--seeds", "1", "--out", "both", code=0)
    command("deck", "both", "-o", "both.pdf", code=0)
    [paused] = [
        one for one in deck.of("both").slides if one.title == "Ports paused by their neighbours"
    ]
    text = " ".join(
        word for part in paused.parts if isinstance(part, Text) for word in part.paragraphs
    )
    assert re.search(r"small: .* is paused longest: \d+ times, [\d.]+ us in all\.", text), text


def test_a_talk_may_have_one_figure_with_the_verdict_on_a_claim(
    command: Command, results: Path, tmp_path: Path
) -> None:
    """The title, the map of annex Y and the commands; of 24 cases nothing is run but one."""
    out = tmp_path / "o"
    command("reproduce", "sfc-buffer", "--case", "n3-5.76", "--out", str(out), code=0)
    command("deck", str(out), "--only", "claims", "-o", str(tmp_path / "t.pdf"), code=0)
    made = deck.of(out, only=["claims", "table"])
    assert [slide.kind for slide in made.slides] == ["title", "table", "again"]
    assert any("--only claims --only table" in str(part) for part in made.slides[-1].parts)
    outcome = backwater.study.open_study(out)
    says = sentences.StudySentences(outcome).sentence({"kind": "own", "claim": "advice"}, None, [])
    assert says.startswith("Holds by construction: headroom 120 KB")
    with pytest.raises(InputError, match="--only mapp: no such figure"):
        deck.of(out, only=["mapp"])
    with pytest.raises(InputError, match="--only map: has no slide") as failed:
        deck.of(out, only=["map"])
    assert "none of these points was run" in str(failed.value.hint)
    with pytest.raises(InputError, match="is no study"):
        deck.of(results, only=["map"])
