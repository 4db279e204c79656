"""The report of a run: one self-contained page, true to its tables, safe with any name."""

from __future__ import annotations

import html
import json
import re
import shutil
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import backwater
from backwater import deck, report
from backwater.cli import main
from backwater.deck.model import Text
from backwater.errors import ResultError
from backwater.report import draw
from backwater.report.assumptions import Assumptions
from backwater.report.film import shoot
from backwater.report.layout import lay_out, only_way
from backwater.report.page import script_json
from kit.command import Command
from kit.results import change_line
from kit.scenarios import SAMPLES
from kit.tree import ROOT

# Those of the page, and not of the embedded scripts.
HEADINGS = re.compile(r"^<h2>(.*?)</h2>$", re.MULTILINE)
MARKUP = "<img src=x onerror=alert(1)></script><b>bold</b> & 'quotes'"
SAMPLED = (
    *("--set", "output.interval=2 us"),
    *(f"--set=output.{key}=true" for key in SAMPLES),
    '--set=output.waits=["all"]',
)


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the texts outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, _tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.texts.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a sampled run and its report, `page.html` and `figures/`."""
    folder = tmp_path_factory.mktemp("report")
    scenario = folder / "incast.toml"
    scenario.write_text(backwater.new_scenario(), encoding="utf-8")
    assert main(["run", str(scenario), "--out", str(folder / "run"), *SAMPLED]) == 0
    options = ["-o", str(folder / "page.html"), "--figures", str(folder / "figures")]
    assert main(["report", str(folder / "run"), *options]) == 0
    return folder


@pytest.fixture(scope="module")
def page(made: Path) -> str:
    """The report of a sampled run."""
    return (made / "page.html").read_text(encoding="utf-8")


def test_the_page_needs_no_network(page: str) -> None:
    for tag, attributes in Elements(page).found:
        assert "src" not in attributes, tag
        assert (attributes.get("href") or "#").startswith("#"), attributes
        assert tag not in ("link", "iframe", "object", "embed", "base")
        if attributes.get("http-equiv") == "Content-Security-Policy":
            assert (attributes["content"] or "").startswith("default-src 'none';")
            assert "connect-src" not in (attributes["content"] or "")
    assert "http-equiv" in page
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_has_its_parts_in_order(page: str) -> None:
    headings = HEADINGS.findall(page)
    assert headings == ["Results", "The fabric over time", "Figures", "Assumptions", "Run it again"]
    for figure in ("completion", "queue", "throughput", "paused", "pauses", "control"):
        assert f'<figure id="{figure}">' in page
    assert '<figure id="fabric-stills">' in page
    texts = " ".join(Elements(page).texts)
    # Parameters are listed, in folded tables.
    assumed = page.partition(">Assumptions</h2>")[2].partition("<section")[0]
    assert re.findall(r"<summary>(.*?)</summary>", assumed)[0].endswith("parameters that are set")
    assert assumed.index("<svg") < assumed.index("<details>") < assumed.index("pfc.xoff")
    assert assumed.count("<table") == assumed.count("<details>") == 2
    assert "pfc.xoff" in texts
    assert "Static threshold: bytes above which the class is paused." in texts
    assert "backwater run scenario.toml --seed" in texts


def test_every_id_of_the_page_is_there_once(page: str) -> None:
    ids = [attributes["id"] for _, attributes in Elements(page).found if "id" in attributes]
    assert len(ids) > 10
    assert len(ids) == len(set(ids)), ids


def test_specs_and_films_are_json(page: str) -> None:
    data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert len(data) >= 7
    film = next(one for one in map(json.loads, data) if "tracks" in one)
    track = film["tracks"][0]
    assert len(track["held"]) == len(track["backlog"]) == film["frames"] <= 300
    assert max(track["held"]) > 0
    assert page.count('data-e="0"') == 3 * len(film["tracks"])
    # The film names its rows as the topology does.
    drawn = page.partition('class="film"')[2].partition('<script type="application/json"')[0]
    assert ">16 hosts</text>" in drawn


def test_figures_are_written_as_svg_png_and_pdf(made: Path) -> None:
    files = sorted((made / "figures").iterdir())
    assert len(files) == 3 * len({file.stem for file in files}) >= 21
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".svg":
            assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
        else:
            assert content.startswith({".png": b"\x89PNG", ".pdf": b"%PDF"}[file.suffix])


def test_names_with_markup_are_text(command: Command, small: Path, tmp_path: Path) -> None:
    text = small.read_text(encoding="utf-8")
    named = re.sub(r"^title = .*$", f"title = {json.dumps(MARKUP)}", text, flags=re.M)
    label = re.search(r'^label = "(.+)"', named, re.M)
    assert label is not None
    evil = named.replace(label[0], 'label = "<script>alert(2)</script>"', 1)
    small.write_text(evil, encoding="utf-8")
    command("run", str(small), "--out", "run", *SAMPLED, code=0)
    command("report", "run", "-o", "page.html", code=0)
    page = Elements((tmp_path / "page.html").read_text(encoding="utf-8"))
    tags = [tag for tag, _ in page.found]
    assert "img" not in tags
    assert not any("onerror" in attributes for _, attributes in page.found)
    # Two scripts of the page and its data: a name has added none.
    scripts = [attributes for tag, attributes in page.found if tag == "script"]
    assert sum("type" not in attributes for attributes in scripts) == 2
    assert MARKUP in page.texts
    assert any("<script>alert(2)</script>" in text for text in page.texts)


def test_json_cannot_end_its_script() -> None:
    hostile = {"</script><script>": "<!-- & \u2028"}
    text = script_json(hostile)
    assert "<" not in text
    assert json.loads(text) == hostile


@pytest.mark.usefixtures("undrawn")
def test_a_series_that_is_not_complete_says_so(
    command: Command, small: Path, tmp_path: Path
) -> None:
    command("run", str(small), "--seeds", "1..3", "--out", "seeds", *SAMPLED, code=0)
    page = tmp_path / "page.html"
    command("report", "seeds", "-o", "page.html")
    whole = page.read_text(encoding="utf-8")
    assert "runs are complete" not in whole
    assert "--seeds 1..3 --out again" in whole
    assert "Fingerprint of the result with seed 1:" in whole
    for seed, status in (("1", "interrupted"), ("3", "running")):
        change_line(tmp_path / "seeds", int(seed), status=status)
    command("report", "seeds", "-o", "page.html", code=0)
    text = page.read_text(encoding="utf-8")
    assert "1 of these 3 runs are complete" in text
    assert "Not complete: seed 1, 3." in text
    assert "Seed 2, the first of 3. " in text


def test_damaged_results_are_named(command: Command, small: Path, tmp_path: Path) -> None:
    command("run", str(small), "--out", "run", *SAMPLED, code=0)
    part = tmp_path / "run" / "flows" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:300])
    cut = command("report", "run", "-o", "page.html", code=1)
    assert "flows" in cut.err
    assert "run it again" in cut.err
    part.unlink()
    gone = command("report", "run", "-o", "page.html", code=1)
    assert "1 of 1 parts are missing" in gone.err
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(ResultError, match="1 of 1 parts are missing"):
        _ = backwater.open_run(tmp_path / "run").flows


@pytest.mark.usefixtures("undrawn")
def test_what_a_killed_run_has_left_is_reported(made: Path, tmp_path: Path) -> None:
    """A killed run has no summary and no table of ports, but closed parts of other tables."""
    run = tmp_path / "killed"
    shutil.copytree(made / "run", run)
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    del manifest["summary"], manifest["tables"]
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    for table in ("ports", "switches"):
        shutil.rmtree(run / table)
    page = report.of(run)
    assert page.failed == ["The run is in progress, or was killed: rows written so far."]
    assert page.lead == []
    assert "completion" in {figure.id for figure in page.figures}
    assert "The fabric over time" not in HEADINGS.findall(page.html())


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_failed_run_says_why(command: Command) -> None:
    scenario = str(ROOT / "scenarios" / "ring-deadlock.toml")
    assert command("run", scenario, "--out", "run").code != 0
    manifest = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))
    reason = manifest["error"].splitlines()[0]
    assert reason
    page = report.of("run", rerun=False)
    assert page.failed == [f"The run is failed: {reason}."]
    assert "of simulated time" in page.lead[0]
    shown = re.findall(r'<p class="lead">(.*?)</p>', page.html())
    assert [html.unescape(line) for line in shown] == [*page.failed, *page.lead]


@pytest.mark.usefixtures("undrawn")
def test_a_film_does_not_say_of_pauses_what_was_not_recorded(
    command: Command, small: Path, page: str
) -> None:
    options = [*SAMPLED, "--set", "output.pauses=false"]
    command("run", str(small), "--out", "run", *options, code=0)
    made = command("report", "run", "-o", "-", "--no-rerun").out
    said = "Pauses of this run were not recorded."
    assert made.count(said) == 2
    assert said not in page
    data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', made, re.DOTALL)
    film = next(one for one in map(json.loads, data) if "tracks" in one)
    assert film["tracks"][0]["held"] is None


WATCHED = """
[[flow]]
label = "watched"
table = "tables/{}"
"""


@pytest.mark.parametrize("name", ["flows.csv", "flows.parquet"])
@pytest.mark.usefixtures("undrawn")
def test_a_run_with_a_flow_table_runs_again_as_it_is(
    command: Command, small: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "elsewhere" / "tables"
    folder.mkdir(parents=True)
    table = pa.table({"id": [7], "src": [9], "dst": [2], "bytes": [10_000], "start_ps": [0]})
    if name.endswith("csv"):
        (folder / name).write_text("id,src,dst,bytes,start\n7,9,2,10000,0\n", encoding="utf-8")
    else:
        pq.write_table(table, folder / name)
    scenario = folder.parent / "case.toml"
    text = small.read_text(encoding="utf-8")
    scenario.write_text(text.replace("[variant", WATCHED.format(name) + "[variant", 1), "utf-8")
    command("run", "elsewhere/case.toml", "--out", "first", code=0)
    command("run", "first/scenario.toml", "--out", "again", code=0)
    first, again = backwater.open_run("first"), backwater.open_run("again")
    assert again.fingerprint == first.fingerprint
    # The recorded scenario keeps the relative name of the table.
    assert f'table = "tables/{name}"' in first.manifest["scenario"]
    page = report.of("first", rerun=False)
    texts = " ".join(Elements(page.html()).texts)
    assert f"The flows of watched are read from {folder / name}" in texts
    [recorded] = [part for part in page.sections[-1].parts if part.folded]
    assert recorded.text == Path("first/scenario.toml").read_text(encoding="utf-8")
    assert "watched: its only path" not in texts
    assert "watched: path chosen in the run" in texts
    # Without the file, the page is still made, and names the missing table.
    (folder / name).unlink()
    texts = " ".join(Elements(report.of("first", rerun=False).html()).texts)
    assert "watched: its table is missing or has changed" in texts
    said = command("run", "first/scenario.toml", "--out", "third", code=2)
    assert f"elsewhere/tables/{name}" in said.err
    assert "hint:" in said.err


@pytest.mark.usefixtures("undrawn")
def test_the_first_sentence_names_variant_and_settings(command: Command) -> None:
    text = backwater.new_scenario()
    Path("s.toml").write_text(text, encoding="utf-8")
    settings = ("--variant", "sfc", "--set", "sfc.threshold=100 KB", "--set", "packet.payload=1 KB")
    command("run", "s.toml", *settings, "--out", "run", code=0)
    texts = " ".join(Elements(report.of("run", rerun=False).html()).texts)
    # Settings are as given: in small letters, a unit would mean another one.
    assert "Variant sfc, --set sfc.threshold=100 KB, --set packet.payload=1 KB: 4 of 4" in texts
    many = [f"--set=topology.{key}={n}" for key, n in (("leaves", 4), ("spines", 2))]
    many += [f"--set=pfc.{key}={n} KB" for key, n in (("xoff", 200), ("xon", 100))]
    many += ["--set=output.queues=false", "--set=packet.payload=1 KB", "--set=seed=1"]
    command("run", "s.toml", *many, "--out", "many", code=0)
    [lead] = report.of("many", rerun=False).lead
    assert ", --set packet.payload=1 KB, and 1 more of these: 4 of 4 flows" in lead


@pytest.mark.usefixtures("undrawn")
def test_a_warning_and_what_the_run_showed_are_one_statement(
    command: Command, tmp_path: Path
) -> None:
    """A formula's bound is sufficient only: the page shows beside it how the run went."""
    (tmp_path / "s.toml").write_text(backwater.new_scenario(), encoding="utf-8")
    over, settings = "sfc.threshold=250 KB", ("--set", "sfc.threshold=250 KB", "--out")
    command("run", "s.toml@sfc", *settings, "run", code=0)
    command("run", "s.toml@sfc", "--seeds", "2", *settings, "runs", code=0)
    names = ("s.toml", f"s.toml@sfc,{over}")
    command("compare", *names, "--seeds", "2", "--out", "both", code=0)
    [warned] = backwater.open_run("run", backwater.Run).warnings[:1]
    beyond = "Beyond it a short incast may still do well"
    assert beyond in warned["hint"]
    for name, of in (("run", "the run"), ("runs", "the 2 runs"), ("both", "the 2 runs")):
        page = report.of(name, rerun=False)
        [results] = [one for one in page.sections if one.id == "results"]
        [said] = [one for one in results.text if "PFC may fire first" in one]
        bound, shown = said.split(f" What {of} showed: ")
        assert warned["message"] in bound
        assert beyond in bound
        assert shown.startswith("0 pauses sent, 0 frames dropped. ")
        assert "`pfc` never paused a neighbour: peak 266.112 KB of 340 KB" in shown
        # The slides have the same text, uncut.
        slides = deck.of(name).slides
        texts = [" ".join(p.paragraphs) for s in slides for p in s.parts if isinstance(p, Text)]
        assert sum("PFC may fire first" in text for text in texts) == 1
        assert any(said.replace("`", "") in text for text in texts)


@pytest.mark.usefixtures("undrawn")
def test_a_large_flow_table_is_not_read_to_be_drawn(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "scenarios" / "poisson-star.csv", tmp_path)
    shutil.copy(ROOT / "scenarios" / "poisson-star.toml", tmp_path)
    command("run", "poisson-star.toml", "--out", "run", code=0)
    monkeypatch.setattr("backwater.report.assumptions.TABLE_BYTES", 100)
    texts = " ".join(Elements(report.of("run", rerun=False).html()).texts)
    assert "watched: its table is too large to draw" in texts


@pytest.mark.usefixtures("undrawn")
def test_flows_that_were_given_in_python_are_said_to_be_in_no_file(tmp_path: Path) -> None:
    table = pa.table({"id": [7], "src": [9], "dst": [2], "bytes": [10_000], "start_ps": [0]})
    scenario = backwater.parse(backwater.new_scenario()).flows(table, "given")
    scenario.run(out=tmp_path / "run")
    texts = " ".join(Elements(report.of(tmp_path / "run").html()).texts)
    assert "was not repeated to record them: the flows of given came from a table" in texts
    assert "The flows of given came from a table in Python" in texts


def test_the_last_step_of_a_film_is_as_long_as_its_samples(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ten samples in at most four steps: three steps of three, and one of one."""
    topology = {"kind": "star", "hosts": 3, "rate": "100 Gb/s", "link_delay": "1 us"}
    flow = {"from": "h0", "to": "h1", "size": "10 MB"}
    output = {"interval": "1 us", "links": True, "queues": True}
    scenario = backwater.build({"topology": topology, "flow": [flow], "output": output})
    run = scenario.run(out=tmp_path / "run")
    monkeypatch.setattr("backwater.report.film.FRAMES", 4)
    film = shoot(Assumptions(run).layout, [("run", run)], ("20 us", "30 us"))
    assert film.frames == 4
    [track] = film.tracks
    # The sender's link is never idle, and its utilisation is that of each step's own length.
    busiest = max(track.busy.values(), key=sum)
    assert min(busiest) >= 97
    assert max(busiest) <= 100
    assert [film.time_ps(frame) for frame in (0, 2, 3)] == [23e6, 29e6, 30e6]
    packed = film.packed()
    assert packed["end_us"] == 30


@pytest.mark.parametrize(
    ("fast", "slow", "size", "interval", "frames"),
    [
        # The product of rate and step exceeds 2^64, with one sample a step and with several.
        ("400 Gb/s", "100 Gb/s", "2350 KB", "47 us", 300),
        ("800 Gb/s", "200 Gb/s", "9400 KB", "23500 ns", 1),
        # The product of samples in a step and their interval exceeds 2^32.
        ("4 Gb/s", "1 Gb/s", "2500 KB", "1 ms", 1),
    ],
)
def test_a_link_is_drawn_as_busy_as_it_is(
    fast: str,
    slow: str,
    size: str,
    interval: str,
    frames: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A sender at a quarter of the receiver's rate keeps its link a quarter busy."""
    topology = {"kind": "star", "hosts": 3, "rate": fast, "link_delay": "1 us"}
    scenario = backwater.build(
        {
            "topology": topology,
            "link": {"at": [{"between": ["h0", "s0"], "rate": slow}]},
            "flow": [{"from": "h0", "to": "h1", "size": size}],
            "output": {"interval": interval, "links": True, "queues": True},
        }
    )
    run = scenario.run(out=tmp_path / "run")
    monkeypatch.setattr("backwater.report.film.FRAMES", frames)
    film = shoot(Assumptions(run).layout, [("run", run)])
    [track] = film.tracks
    names = {block.name: number for number, block in enumerate(film.layout.blocks)}
    # A frame of 4,096 B of payload fills its time on the wire, except preamble and gap (20 B).
    sending, receiving = (
        track.busy[names[a], names[b]][0] for a, b in (("h0", "s0"), ("s0", "h1"))
    )
    assert 98 <= sending <= 100
    assert 24 <= receiving <= 25


@pytest.mark.usefixtures("undrawn")
def test_samples_too_far_apart_for_a_film_are_said(command: Command) -> None:
    scenario = str(ROOT / "scenarios" / "incast-victim.toml")
    options = [*SAMPLED, "--set", "output.interval=300 us"]
    command("run", scenario, "--out", "run", *options, code=0)
    said = command("report", "run", "-o", "-", "--no-rerun", code=0)
    assert "film (no sample lies within the time of the film" in said.out


def test_what_is_no_result_is_said(command: Command) -> None:
    said = command("report", ".", "-o", "page.html", code=1)
    assert "not a result directory" in said.err
    assert "hint:" in said.err


def test_a_study_that_is_misspelt_is_guessed(command: Command) -> None:
    said = command("report", "sfc-aidc", "-o", "page.html", code=1)
    assert said.err.startswith("error: sfc-aidc: neither a directory nor a study")
    assert "did you mean sfc-aidc-2025" in said.err
    assert not Path("page.html").exists()


def test_of_what_resembles_no_study_all_are_listed(command: Command) -> None:
    said = command("report", "nowhere", "-o", "page.html", code=1)
    for name in ("bcn-pause-2006", "sfc-proxy", "backwater run --out"):
        assert name in said.err


def test_a_scenario_is_to_be_run_before_it_is_reported(command: Command, small: Path) -> None:
    said = command("report", str(small), "-o", "page.html", code=1)
    assert "is a scenario, not a result directory" in said.err
    assert f"backwater run {small} --out results/small" in said.err
    table = small.with_name("other.parquet")
    table.write_bytes(b"")
    said = command("report", str(table), "-o", "page.html", code=1)
    assert "backwater run" not in said.err.partition("hint:")[0]


def test_a_scenario_that_is_not_there_is_no_study(command: Command) -> None:
    said = command("report", "missing.toml", "-o", "page.html", code=1)
    assert "missing.toml: neither a directory nor a study" in said.err


def test_a_page_is_not_written_into_nowhere(command: Command, small: Path) -> None:
    command("run", str(small), "--out", "run", code=0)
    said = command("report", "run", "-o", "missing/page.html", code=2)
    assert "does not exist" in said.err


def sketch(kind: str, **keys: int) -> dict[str, Any]:
    topology: dict[str, Any] = {"kind": kind, "rate": "100 Gb/s", "link_delay": "1 us", **keys}
    flow = {"label": "one", "from": "h0", "to": "h1", "size": "1 MB"}
    return backwater.build({"topology": topology, "flow": [flow]}).complete().sketch(1, 10)


def test_small_fabrics_are_drawn_node_by_node_and_large_ones_in_blocks() -> None:
    small = lay_out(sketch("leaf-spine", leaves=16, spines=8, hosts_per_leaf=8))
    assert not small.aggregated
    assert len(small.blocks) == 16 + 8 + 128
    assert [name for name, _ in small.rows] == ["8 spines", "16 leaves", "128 hosts"]
    large = lay_out(sketch("leaf-spine", leaves=128, spines=16, hosts_per_leaf=16))
    assert large.aggregated
    assert len(large.blocks) <= 100
    # A host's circle has no room for a number: the row has it.
    said = [name for name, _ in large.rows]
    assert said == ["16 spines", "128 leaves\n4 each", "2048 hosts\n64 each"]
    assert sum(len(block.members) for block in large.blocks) == 128 + 16 + 2048
    for layout in (small, large):
        places = {(round(block.x, 3), block.y) for block in layout.blocks}
        assert len(places) == len(layout.blocks)
        assert all(0 <= block.x <= 1120 for block in layout.blocks)


def test_a_dense_fabric_is_drawn_in_fewer_blocks() -> None:
    """48 spines over 32 blocks of leaves would be 1,536 lines: the drawing has 16 over 16."""
    layout = lay_out(sketch("leaf-spine", leaves=96, spines=48, hosts_per_leaf=20))
    assert [name for name, _ in layout.rows] == [
        "48 spines\n3 each",
        "96 leaves\n6 each",
        "1920 hosts\n120 each",
    ]
    assert len(layout.edges) == 16 * 16 + 16


def test_names_of_blocks_are_there_for_who_looks_closely() -> None:
    """A page shows these names when enlarged; a file of the drawing never does."""
    layout = lay_out(sketch("leaf-spine", leaves=128, spines=16, hosts_per_leaf=16))
    drawn = draw.nodes(layout, set())
    assert drawn.count('<text display="none" class="full"') == 64
    assert ">leaf0 to leaf3</text>" in drawn
    assert ">h64 to h127</text>" in drawn


def test_queues_are_drawn_outside_of_the_switches_that_hold_them() -> None:
    """A nearly level link leaves a wide box far from its middle: a circle there hid the name."""
    layout = lay_out(sketch("leaf-spine", leaves=4, spines=2, hosts_per_leaf=4))
    number = {block.name: i for i, block in enumerate(layout.blocks)}
    spine = layout.blocks[number["spine1"]]
    x, y = draw.along(layout, (number["spine1"], number["leaf0"]), draw.QUEUE)
    assert abs(x - spine.x) > 42 or abs(y - spine.y) > 11
    # On a steep link, little changes.
    host = layout.blocks[number["leaf0"]]
    x, y = draw.along(layout, (number["leaf0"], number["h1"]), draw.QUEUE)
    assert 20 < y - host.y < 30


def test_pods_of_a_fat_tree_stay_together() -> None:
    about = {"pods": 16, "tors_per_pod": 4, "aggs_per_pod": 4, "cores": 16, "hosts_per_tor": 8}
    layout = lay_out(sketch("fat-tree", **about))
    tors = [block for block in layout.blocks if block.tier == "tor"]
    assert [len(block.members) for block in tors] == [4] * 16


def test_only_a_single_shortest_path_is_drawn_as_one() -> None:
    star = sketch("star", hosts=3)
    hosts = [i for i, (_, _, host) in enumerate(star["nodes"]) if host]
    assert only_way(star, hosts[0], hosts[1]) is not None
    clos = sketch("leaf-spine", leaves=2, spines=2, hosts_per_leaf=1)
    ends = [i for i, (_, _, host) in enumerate(clos["nodes"]) if host]
    assert only_way(clos, ends[0], ends[1]) is None


def test_figures_come_from_python_too(small: Path, tmp_path: Path) -> None:
    backwater.load(small).run(out=tmp_path / "run")
    page = report.of(tmp_path / "run")
    assert {"completion", "pauses"} <= {figure.id for figure in page.figures}
    page.figures[0].save(tmp_path)
    assert (tmp_path / f"{page.figures[0].id}.pdf").is_file()
