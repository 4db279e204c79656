"""A study of random arrivals: rows over seeds, resumed, the same whatever the number of cores."""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

import backwater
from backwater import study
from backwater.errors import InputError
from backwater.journal import Journal
from backwater.study import definition
from kit.command import Command
from kit.studies import write_random_study


@pytest.fixture
def small_study(tmp_path: Path) -> definition.Study:
    return definition.read(write_random_study(tmp_path))


def rates(study: definition.Study, seeds: range) -> list[float]:
    """Return the rates in the runs themselves, in Mb/s."""
    scenario = backwater.load(study.cases[0].scenario)
    found = []
    for seed in seeds:
        series = scenario.run(seed=seed).series.to_pylist()
        received = {1: 0, 2: 0}
        for row in series:
            if row["quantity"] == "flow_received_bytes":
                received[row["time_ps"] // 10**9] += row["value"]
        found.append((received[2] - received[1]) * 8 / 1e3)
    return found


def test_rows_are_over_seeds(small_study: definition.Study) -> None:
    outcome = study.reproduce(small_study)
    own = rates(small_study, range(1, 7))
    mean, greatest, deviation = outcome.rows
    assert mean.measured == pytest.approx(statistics.fmean(own))
    assert (mean.seeds, mean.over, mean.verdict) == (6, "mean", "agrees")
    assert mean.ci is not None
    assert mean.ci[0] < statistics.fmean(own) < mean.ci[1]
    assert mean.statistic == "received from 1 to 2 ms; mean of 6 seeds"
    assert greatest.measured == pytest.approx(max(own[:4]))
    assert (greatest.seeds, greatest.band_kind, greatest.ci) == (4, "factor", None)
    assert deviation.measured == pytest.approx(statistics.stdev(own))
    assert deviation.note == "over 6 seeds instead of 9"
    assert (deviation.verdict, deviation.required) == ("differs", False)
    assert outcome.met
    table, larger = outcome.beside
    # Setups are compared over the same seeds, although the table has more.
    assert (table["seeds"], larger["seeds"]) == (3, 3)
    assert table["rate"] == pytest.approx(statistics.fmean(own[:3]))
    assert larger["drops"] < table["drops"]
    assert table["units"] == {"rate": "Mb/s", "drops": "frames"}
    assert table["unit"] == "Mb/s"


def test_rows_do_not_depend_on_parallelism(small_study: definition.Study) -> None:
    alone, together = (study.reproduce(small_study, workers=workers) for workers in (1, 2))
    assert alone.rows == together.rows
    assert alone.beside == together.beside


def first(count: int) -> Callable[[tuple[int, ...], int], tuple[int, ...]]:
    return lambda own, _: own[:count]


def test_a_study_is_taken_up_where_it_was_left(
    small_study: definition.Study, tmp_path: Path
) -> None:
    out = tmp_path / "o"
    study.reproduce(small_study, out=out, seeds=first(2))
    series = sorted(path.parent for path in out.glob("runs/*/runs.jsonl"))
    before = {one: Journal.read(one).runs for one in series}
    # Case a, its setup beside, and case b: two seeds each.
    assert [len(runs) for runs in before.values()] == [2, 2, 2]
    shutil.rmtree(series[0])
    started: list[int] = []
    outcome = study.reproduce(small_study, out=out, progress=lambda count: started.append(count))
    # Four of 6 + 3 + 2 runs are done.
    assert started == [7]
    assert outcome.rows == study.reproduce(small_study).rows
    for one in series[1:]:
        runs = Journal.read(one).runs
        assert {seed: runs[seed] for seed in before[one]} == before[one]
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    point = manifest["points"][0]
    assert [backwater.open_run(out / "runs" / run).seed for run in point["runs"]] == [*range(1, 7)]
    changed = [("switch.latency", "1 us")]
    kept = {one: (one / "runs.jsonl").read_bytes() for one in series}
    with pytest.raises(InputError, match="holds runs of another scenario"):
        study.reproduce(small_study, overrides=changed, out=out)
    assert {one: (one / "runs.jsonl").read_bytes() for one in series} == kept
    study.reproduce(small_study, overrides=changed, out=out, force=True, seeds=first(2))
    assert [len(Journal.read(one).runs) for one in series] == [2, 2, 2], "force clears all"


def test_one_seed_has_no_deviation(small_study: definition.Study) -> None:
    rows = study.reproduce(small_study, seeds=first(1)).rows
    assert rows[0].ci is None
    assert rows[2].measured is None
    assert (rows[2].verdict, rows[2].note) == ("differs", "takes two seeds or more, not 1")


WRONG = {
    "kind": ('kind = "drops"', 'kind = "losses"', "there is no kind of measure 'losses'"),
    "window": ('window = ["1 ms", "2 ms"]', 'span = "1 ms"', "unexpected keyword argument 'span'"),
    "seeds": ('seeds = "1..6"', 'seeds = "6..1"', "seeds = '6..1'"),
    "like": ('text = "no number of it"', 'text = ""\nlike = "c"', "like 'c'"),
}
WRONG_NUMBERS = {
    "over": ('over = "max"', 'over = "most"', "over = 'most'"),
    "quantity": ("{ rate = 8000 }", "{ speed = 8000 }", "has no measure 'speed'"),
    "case": ('case = "a"', 'case = "c"', "has no case 'c'"),
    "mechanism": ('mechanism = "plain"', 'mechanism = "fancy"', "no mechanism 'fancy'"),
}


@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        *(("study.toml", *change) for change in WRONG.values()),
        *(("published.toml", *change) for change in WRONG_NUMBERS.values()),
    ],
)
def test_a_mistake_in_a_study_is_told(
    file: str, before: str, after: str, said: str, small_study: definition.Study, tmp_path: Path
) -> None:
    path = tmp_path / small_study.id / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        definition.read(path.parent)


def test_the_command_repeats_a_study(
    command: Command, small_study: definition.Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(definition, "STUDIES", tmp_path)
    arguments = ("reproduce", small_study.id, "--out", "o", "--seeds", "3", "--json", "o.json")
    said = command(*arguments)
    rows = json.loads(Path("o.json").read_text(encoding="utf-8"))
    assert [row["seeds"] for row in rows] == [3, 3, 3]
    assert "mean 3" in said.out
    assert "over 3 seeds instead of 9" in said.out
    assert said.code == 0
    assert max(len(line) for line in said.out.splitlines()) <= 100
    again = command(*arguments)
    assert again.out == said.out
    others = command("reproduce", small_study.id, "--seeds", "7..8", "--json", "-", "--out", "p")
    assert [row["seeds"] for row in json.loads(others.out)] == [2, 2, 2]
    series = backwater.open_run("p/runs/case-b-plain", backwater.Series)
    assert [run.seed for run in series.runs] == [7, 8]


def test_what_was_measured_is_taken_up_elsewhere(
    small_study: definition.Study, tmp_path: Path
) -> None:
    first_part, second = tmp_path / "a", tmp_path / "b"
    study.reproduce(small_study, out=first_part, seeds=first(2))
    known = first_part / "measured.jsonl"
    lines = [json.loads(line) for line in known.read_text(encoding="utf-8").splitlines()]
    # Case a, its setup beside, and case b: two seeds each, each by its run.
    assert len(lines) == 6
    for line in lines:
        assert (
            backwater.open_run(first_part / "runs" / line["run"]).fingerprint == line["fingerprint"]
        )
    moved = tmp_path / "moved.jsonl"
    # A kill in the middle of a line leaves the file in this state.
    moved.write_bytes(known.read_bytes() + b'{"of": "half')
    started: list[int] = []
    outcome = study.reproduce(small_study, out=second, measured=moved, progress=started.append)
    # Six of 6 + 3 + 2 runs are known, but not kept.
    assert started == [5]
    assert outcome.taken == 6
    manifest = json.loads((second / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["taken"] == 6
    plain = study.reproduce(small_study)
    assert (outcome.rows, outcome.beside, outcome.points) == (
        plain.rows,
        plain.beside,
        plain.points,
    )
    found = [Journal.read(path.parent).runs for path in second.glob("runs/*/runs.jsonl")]
    assert sum(map(len, found)) == 5
    assert len((second / "measured.jsonl").read_text(encoding="utf-8").splitlines()) == 11


def test_values_of_other_runs_are_not_taken(small_study: definition.Study, tmp_path: Path) -> None:
    out = tmp_path / "o"
    study.reproduce(small_study, out=out, seeds=first(1))
    known = out / "measured.jsonl"
    nothing = "holds none of the runs of this study"
    with pytest.raises(InputError, match=nothing):
        study.reproduce(small_study, overrides=[("switch.latency", "1 us")], measured=known)
    path = tmp_path / small_study.id / "study.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('["1 ms", "2 ms"]', '["0 ms", "2 ms"]'), encoding="utf-8")
    with pytest.raises(InputError, match=nothing):
        study.reproduce(definition.read(path.parent), measured=known)
    other = [json.loads(line) for line in known.read_text(encoding="utf-8").splitlines()]
    assert other
    known.write_text('{"of": 3}\nno JSON\n', encoding="utf-8")
    with pytest.raises(InputError, match="holds no measured run"):
        study.reproduce(small_study, measured=known)
    with pytest.raises(InputError, match="is no file"):
        study.reproduce(small_study, measured=tmp_path / "absent")


def test_an_edited_line_is_measured_anew(small_study: definition.Study, tmp_path: Path) -> None:
    out = tmp_path / "o"
    rows = study.reproduce(small_study, out=out, seeds=first(1)).rows
    known = out / "measured.jsonl"
    edited = [json.loads(line) for line in known.read_text(encoding="utf-8").splitlines()]
    for line in edited:
        line["measures"]["rate"]["value"] = 1.0
    known.write_text("".join(json.dumps(line) + "\n" for line in edited), encoding="utf-8")
    with pytest.raises(InputError, match="holds no measured run"):
        study.reproduce(small_study, seeds=first(1), measured=known)
    assert study.reproduce(small_study, out=out, seeds=first(1)).rows == rows
    again = [json.loads(line) for line in known.read_text(encoding="utf-8").splitlines()]
    assert next(line["measures"]["rate"]["value"] for line in again) == rows[0].measured


def test_lines_sealed_in_the_order_of_their_keys_are_taken(
    small_study: definition.Study, tmp_path: Path
) -> None:
    """The first version of the file sealed its lines like this."""
    first_ = study.reproduce(small_study, out=tmp_path / "o", seeds=first(2))
    path = tmp_path / "measured.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for text in (tmp_path / "o" / "measured.jsonl").read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            del line["sha256"]
            seal = hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()
            file.write(json.dumps(line | {"sha256": seal}) + "\n")
    again = study.reproduce(small_study, measured=path, seeds=first(2))
    assert again.rows == first_.rows
    assert again.taken == 6
