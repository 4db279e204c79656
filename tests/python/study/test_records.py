"""Results of the last complete runs of studies: records, the README, `reproduce all`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backwater import study
from backwater.errors import InputError
from backwater.study import definition, record
from backwater.study.execute import Changes, plan
from backwater.study.outcome import Outcome
from backwater.study.rows import Summary, summarise
from kit.command import Command
from kit.scenarios import LOSSY
from kit.studies import DROPPED_AS_IT_IS, write_study
from kit.tree import ROOT

NOTHING = summarise(definition.load("sfc-buffer"), [])


@pytest.mark.parametrize("name", definition.names())
def test_the_readme_s_row_is_the_record(name: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert record.readme_row(name) in readme.splitlines()


@pytest.mark.parametrize("name", definition.names())
def test_a_study_s_page_says_how_it_came_out(name: str) -> None:
    kept = record.kept(name)
    assert kept is not None
    readme = (definition.STUDIES / name / "README.md").read_text(encoding="utf-8")
    assert readme.count(record.result(kept)) == 1
    assert record.with_result(readme, kept) == readme
    # Only there, since a result counted by hand would be out of date one day.
    assert not re.search(r"\*\*Result", record.RESULT.sub("", readme))


def test_the_readme_lists_every_study_once() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[([\w-]+)\]\(studies/", readme, re.M)
    assert sorted(listed) == definition.names()


def test_a_study_without_a_record_is_listed_so() -> None:
    for name in definition.names():
        recorded = record.kept(name) is not None
        assert recorded != (record.NOT_RECORDED in record.readme_row(name))


RECORDS = sorted(definition.STUDIES.glob("*/record*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_record_is_of_the_study_as_it_is(path: Path) -> None:
    folder, name = path.parent, path.parent.name
    full = path.stem.startswith("record-full")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert record.kept(name, full=full, case=kept["case"]) == kept
    assert kept["sources"] == record.sources(folder), "run the study again and record it"
    assert kept["size"] == definition.load(name, full=full).size
    page = path.with_name(f"TABLE{path.stem.removeprefix('record')}.md").read_text(encoding="utf-8")
    for sentence in Summary(**kept["summary"]).sentences:
        assert sentence in page
    assert kept["date"] in page
    assert kept["versions"]["build"] in page
    rows = kept["rows"]
    assert len(rows) == sum(line.startswith("| ") for line in page.splitlines()) - 2 + (
        all(row["is_claim"] for row in rows) or not any(row["is_claim"] for row in rows)
    )


def test_a_study_without_a_record_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "kept", lambda _name: None)
    cells = record.readme_row("sfc-proxy").split(" | ")
    assert cells[2] == "not recorded yet"


def test_cells_say_what_was_counted() -> None:
    assert record.numbers_cell(NOTHING) == "no number is published"
    assert record.claims_cell(NOTHING) == "none"
    some = replace(NOTHING, numbers=52, agree=50, spread=52, within=27, indiscriminate=14)
    assert record.numbers_cell(some) == "27 of 52 (50 in band, 14 of them do not discriminate)"
    # Where some numbers have too few seeds for a spread, the band counts all.
    few = replace(some, spread=40, indiscriminate=0)
    assert record.numbers_cell(few) == "27 of 40 (50 of 52 in band)"
    assert record.numbers_cell(replace(few, spread=0)) == "not known (50 of 52 in band)"
    apart = replace(some, indiscriminate=0, apart=8)
    assert record.numbers_cell(apart) == "27 of 52 (50 in band, not counted 8 rows)"
    claims = replace(NOTHING, claims=3, hold=3, indiscriminate_claims=1)
    assert record.claims_cell(claims) == "3 of 3 (1 with the mechanism off, too)"
    more = replace(claims, hold=2, constructed=1, unknown=1, own=2, own_hold=1)
    assert record.claims_cell(more) == (
        "2 of 3 (1 with the mechanism off, too, 1 by construction, 1 not known, our own: 1 of 2)"
    )


def test_the_readme_says_in_a_few_words_how_a_study_came_out() -> None:
    assert record.agreement(NOTHING) == ""
    some = replace(NOTHING, numbers=52, agree=50, spread=52, within=27, claims=3, hold=2)
    assert (
        record.agreement(some)
        == "27 of 52 numbers lie within our spread, 50 of 52 in band; 2 of 3 published claims hold"
    )
    few = replace(some, spread=40, claims=0, own=2, own_hold=1)
    assert record.agreement(few) == (
        "27 of 40 numbers lie within our spread, 50 of 52 in band; 1 of 2 own claims hold"
    )
    one = replace(some, spread=0, own=2, own_hold=1)
    assert (
        record.agreement(one)
        == "50 of 52 numbers lie in band; 2 of 3 published claims and 1 of 2 own claims hold"
    )


@pytest.mark.parametrize("name", definition.names())
def test_a_row_of_the_readme_is_read_at_a_glance(name: str) -> None:
    for cell in record.readme_row(name).strip("| ").split(" | "):
        assert len(cell.split()) <= 25, cell


def test_reproduce_all_ends_with_the_records(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def reproduce(name: str, *_: Any, **__: Any) -> Outcome:  # noqa: ANN401 - nothing is run
        kept = record.kept(name)
        summary = NOTHING if kept is None else Summary(**kept["summary"])
        return Outcome(definition.load(name), [], [], summary, None)

    monkeypatch.setattr(study, "reproduce", reproduce)
    monkeypatch.chdir(tmp_path)
    said = command("reproduce", "all").out.partition("All studies")[2]
    lines = " ".join(said.split())
    recorded = [name for name in definition.names() if record.kept(name) is not None]
    assert recorded
    for name in recorded:
        summary = Summary(**(record.kept(name) or {})["summary"])
        # The terminal may break a cell over lines, so the test looks for words.
        assert name in lines
        for cell in (record.numbers_cell(summary), record.claims_cell(summary)):
            assert cell.split(" (")[0] in lines


def test_a_changed_study_is_no_record(tmp_path: Path) -> None:
    outcome = study.reproduce(
        "bcn-pause-2006",
        "hot-spot",
        [("stop.at", "1 ms")],
        tmp_path / "part",
        seeds=lambda own, _: own[:1],
    )
    with pytest.raises(InputError, match="has other seeds or settings than"):
        record.of(outcome)
    with pytest.raises(InputError, match="were not kept"):
        record.of(replace(outcome, directory=None))


STUDY = f"""
title = "Small"
scenario = "scenario.toml"
{{seeds}}
[mechanisms]
"plain" = ""{DROPPED_AS_IT_IS}{{more}}
[headline]
what = "lost frames"
size = "small"
found = "Some are lost."
"""
ROW = """
[[row]]
case = "{case}"
mechanism = "plain"
band = 0.5
{key}
values = {{ drops = 200 }}
"""
LESS = """
[[case]]
id = "b, b'"
text = "less memory"
set = { "switch.buffer" = "20 KB" }
"""
FULL = """
[full]
size = "as published"
[full.set]
"switch.buffer" = "40 KB"
"""


@pytest.fixture
def study_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make a study of lost frames the only study; return its folder."""

    def write(more: str, *rows: str, seeds: str = "") -> Path:
        published = "\n".join(['document = "none"', ROW.format(case="a", key=""), *rows])
        for module in (definition, record):
            monkeypatch.setattr(module, "STUDIES", tmp_path)
        return write_study(tmp_path, LOSSY, STUDY.format(seeds=seeds, more=more), published)

    return write


def test_one_case_is_recorded_as_such(tmp_path: Path, study_of: Callable[..., Path]) -> None:
    folder = study_of(LESS, ROW.format(case="b, b'", key='apart = "control"'))
    begin = "<!-- result: written by `python -m backwater.study.record` -->\n"
    end = "<!-- end of result -->\n"
    said = folder / "README.md"
    said.write_text(f"# Small\n\n{begin}As of old.\n{end}\nMore.\n", encoding="utf-8")
    for case, file in ((None, "record.json"), ("b, b'", "record-b-b-prime.json")):
        out = str(tmp_path / f"out{file}")
        study.reproduce(definition.load(folder.name), case, out=out)
        record.write(out)
        kept = record.kept(folder.name, case=case)
        assert kept == json.loads((folder / file).read_text(encoding="utf-8"))
        assert kept is not None
        assert kept["case"] == case
        assert len(kept["rows"]) == (2 if case is None else 1)
    assert (folder / "TABLE-b-b-prime.md").is_file()
    page = (folder / "TABLE-b-b-prime.md").read_text(encoding="utf-8")
    assert "Case b, b' alone." in page
    assert "(not counted: control)" in page
    # The README's row is of the whole study, and so is the result in its own page.
    before, _, rest = said.read_text(encoding="utf-8").partition(begin)
    result, _, after = rest.partition(end)
    assert (before, after) == ("# Small\n\n", "\nMore.\n")
    assert result.startswith("**Result** ([TABLE.md](TABLE.md), ")
    assert ": 1 of 1 numbers agree (lie within their band), " in result
    assert "1 of 1 numbers lie in band" in record.readme_row(folder.name)


@pytest.mark.parametrize("full", [True, False])
def test_other_seeds_are_recorded_of_a_full_run_only(
    tmp_path: Path, study_of: Callable[..., Path], *, full: bool
) -> None:
    folder = study_of(FULL, seeds='seeds = "1..2"')
    out = tmp_path / "out"
    made = definition.load(folder.name, full=full)
    study.reproduce(made, out=str(out), seeds=lambda own, _: own[:1])
    if not full:
        with pytest.raises(InputError, match="has other seeds or settings than"):
            record.write(str(out))
        return
    record.write(str(out))
    kept = record.kept(folder.name, full=True)
    assert kept is not None
    assert kept["note"] == record.OTHER_SEEDS
    assert [row["seeds"] for row in kept["rows"]] == [1]
    assert record.OTHER_SEEDS in (folder / "TABLE-full.md").read_text(encoding="utf-8")


def test_a_changed_file_of_a_study_is_told(tmp_path: Path) -> None:
    folder = definition.STUDIES / "bcn-delay-2007"
    for path in folder.glob("*.toml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = record.sources(tmp_path)
    assert before == record.sources(folder)
    assert {"study.toml", "published.toml", "scenario.toml", "multistage.toml"} <= set(before)
    text = (tmp_path / "study.toml").read_text(encoding="utf-8")
    words = re.sub(r'^found = ".*"$', 'found = "Something else."', text, flags=re.M)
    assert words != text
    (tmp_path / "study.toml").write_text(words, encoding="utf-8")
    assert record.sources(tmp_path) == before, "words of lists are in no result"
    (tmp_path / "study.toml").write_text(text.replace('"1..20"', '"1..21"'), encoding="utf-8")
    assert record.sources(tmp_path) != before
    assert json.dumps(before)


@pytest.mark.parametrize("name", definition.names())
def test_a_study_can_be_planned_at_every_size(name: str) -> None:
    """Planning reads and checks every scenario, including setups beside the table."""
    sizes = [False, True] if definition.has_full_size(name) else [False]
    counts = [
        len(plan(definition.load(name, full=full), None, Changes(), None).jobs) for full in sizes
    ]
    assert all(counts)
    for full in sizes:
        kept = record.kept(name, full=full)
        if kept is not None:
            assert kept["runs"] == counts[int(full)]


PRINTED = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")


def recorded(folder: Path) -> list[float]:
    """Every number in the rows of a study's records: as it is, in thousands and as a share in %."""
    found: list[float] = []
    for path in folder.glob("record*.json"):
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            numbers = (row["measured"], row["published"], row["null_measured"], *(row["ci"] or ()))
            found += [
                one for number in numbers if number for one in (number, number / 1000, 100 * number)
            ]
            found += [float(number) for number in PRINTED.findall(row["note"] or "")]
    return found


# Numbers in no record, with the page that has them. They are of runs with another setting, of a
# fit, or of a size whose runs were not kept.
ELSEWHERE = {
    "bcn-delay-2007": {"46": "TABLE.md"},
    "ci-qcz-2018": {"22": "README.md", "44": "README.md"},
    "sfc-aidc-2025-training": {"2.1": "README.md"},
    "sfc-best-effort": {"1.9": "README.md", "2.7": "README.md"},
    "sfc-buffer": {"5.9": "README.md"},
}


@pytest.mark.parametrize("name", definition.names())
def test_the_numbers_of_a_headline_stand_in_a_record(name: str) -> None:
    folder = definition.STUDIES / name
    # A time of 80.6 % of another is 19.4 % less, and one of -19.4 % less is 19.4 % more.
    known = [
        told for number in recorded(folder) for told in (abs(number), 100 - number, number - 100)
    ]
    head = definition.toml(folder / "study.toml")[record.HEADLINE]["found"]
    missing = []
    for text in dict.fromkeys(PRINTED.findall(head)):
        digits = len(text.partition(".")[2])
        if float(text) not in {round(number, digits) for number in known}:
            missing.append(text)
    elsewhere = ELSEWHERE.get(name, {})
    assert set(missing) <= set(elsewhere)
    for text in missing:
        page = (folder / elsewhere[text]).read_text(encoding="utf-8")
        digits = len(text.partition(".")[2])
        assert float(text) in {round(float(number), digits) for number in PRINTED.findall(page)}
