"""What studies came to when they were last run: their records, the README, `reproduce all`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from backwater import study
from backwater.errors import InputError
from backwater.study import definition, record
from backwater.study.execute import Changes, plan
from backwater.study.outcome import Outcome
from backwater.study.rows import Summary, summarise

if TYPE_CHECKING:
    from conftest import Command

ROOT = Path(__file__).resolve().parent.parent.parent
NOTHING = summarise(definition.load("sfc-buffer"), [])


@pytest.mark.parametrize("name", definition.names())
def test_the_readme_s_row_is_the_record(name: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert record.readme_row(name) in readme.splitlines()


def test_the_readme_lists_every_study_once() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[([\w-]+)\]\(studies/", readme, re.M)
    assert sorted(listed) == definition.names()


@pytest.mark.parametrize("name", definition.names())
@pytest.mark.parametrize("full", [False, True])
def test_a_record_is_of_the_study_as_it_is(name: str, full: bool) -> None:
    kept = record.kept(name, full=full)
    if kept is None:
        assert full or record.NOT_RECORDED in record.readme_row(name)
        return
    folder = definition.STUDIES / name
    assert kept["sources"] == record.sources(folder), "run the study again and record it"
    assert kept["size"] == definition.load(name, full=full).size
    page = (folder / ("TABLE-full.md" if full else "TABLE.md")).read_text(encoding="utf-8")
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
    assert cells[2:4] == ["not recorded yet", "not recorded yet"]


def test_cells_say_what_was_counted() -> None:
    assert record.numbers_cell(NOTHING) == "no number is published"
    assert record.claims_cell(NOTHING) == "none"
    some = replace(NOTHING, numbers=52, agree=50, spread=52, within=27, indiscriminate=14)
    assert record.numbers_cell(some) == "27 of 52 (50 in band, 14 of them do not discriminate)"
    # Where some numbers have too few seeds for a spread, the band counts all.
    few = replace(some, spread=40, indiscriminate=0)
    assert record.numbers_cell(few) == "27 of 40 (50 of 52 in band)"
    assert record.numbers_cell(replace(few, spread=0)) == "not known (50 of 52 in band)"
    claims = replace(NOTHING, claims=3, hold=3, indiscriminate_claims=1)
    assert record.claims_cell(claims) == "3 of 3 (1 with the mechanism off, too)"


def test_reproduce_all_ends_with_the_same_cells(
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
        row = record.readme_row(name).split(" | ")
        # A cell may be broken over lines of the terminal, so words are looked for.
        assert name in lines
        for cell in (row[2], row[3]):
            assert cell.split(" (")[0] in lines


def test_a_part_of_a_study_is_no_record(tmp_path: Path) -> None:
    outcome = study.reproduce(
        "bcn-pause-2006",
        "hot-spot",
        [("stop.at", "1 ms")],
        tmp_path / "part",
        seeds=lambda own, _: own[:1],
    )
    with pytest.raises(InputError, match="not the whole study"):
        record.of(outcome)
    with pytest.raises(InputError, match="were not kept"):
        record.of(replace(outcome, directory=None))


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
    """Every scenario of it, every setup beside the table too, is read and checked."""
    sizes = [False, True] if definition.has_full_size(name) else [False]
    counts = [
        len(plan(definition.load(name, full=full), None, Changes(), None).jobs) for full in sizes
    ]
    assert all(counts)
    for full in sizes:
        kept = record.kept(name, full=full)
        if kept is not None:
            assert kept["runs"] == counts[int(full)]
