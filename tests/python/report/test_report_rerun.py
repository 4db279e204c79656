"""Reports of runs without samples: the run is repeated with them, with the same fingerprint."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import backwater
from backwater import report
from backwater.errors import ResultError
from backwater.manifest import read_manifest, write_manifest
from backwater.report.observe import interval
from kit.command import Command

HEADINGS = re.compile(r"^<h2>(.*?)</h2>$", re.MULTILINE)
FILM = "The fabric over time"


@pytest.fixture
def run(small: Path, tmp_path: Path) -> Path:
    """A directory with a run without samples."""
    backwater.load(small).run(out=tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.usefixtures("undrawn")
def test_a_run_without_samples_is_done_again_with_them_once(run: Path) -> None:
    first = backwater.open_run(run, backwater.Run)
    page = report.of(run).html()
    assert FILM in HEADINGS.findall(page)
    for figure in ("queue", "throughput", "paused", "control"):
        assert f'<figure id="{figure}">' in page
    said = "The run did not record queues, links, pauses, flows and waits: it was repeated"
    assert said in page
    assert f"its fingerprint is the same, {first.fingerprint}." in page
    # The reported results stay as they were, and the next page needs no run.
    again = run / "observed" / "seed-1"
    assert backwater.open_run(run, backwater.Run).series.num_rows == 0
    assert backwater.open_run(again, backwater.Run).fingerprint == first.fingerprint
    written = (again / "manifest.json").stat().st_mtime_ns
    assert report.of(run).html() == page
    assert (again / "manifest.json").stat().st_mtime_ns == written


@pytest.mark.usefixtures("undrawn")
def test_it_is_not_done_again_for_who_does_not_want_it(command: Command, run: Path) -> None:
    page = command("report", str(run), "-o", "-", "--no-rerun").out
    assert FILM not in HEADINGS.findall(page)
    assert "output.interval=1 us" in page
    assert not (run / "observed").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_long_run_is_done_again_only_for_who_asks(command: Command, run: Path) -> None:
    manifest = read_manifest(run)
    times = {"started": "2026-01-01T00:00:00+00:00", "ended": "2026-01-01T00:10:01+00:00"}
    write_manifest(run, manifest | times)
    page = command("report", str(run), "-o", "-").out
    assert "was not repeated to record them: it took 10 min 01 s (<code>--rerun</code>" in page
    assert FILM not in HEADINGS.findall(page)
    assert FILM in HEADINGS.findall(command("report", str(run), "-o", "-", "--rerun").out)


def test_another_run_than_the_reported_one_is_not_drawn(run: Path) -> None:
    manifest = read_manifest(run)
    manifest["summary"]["fingerprint"] = "0123456789abcdef"
    write_manifest(run, manifest)
    with pytest.raises(ResultError, match=r"its fingerprint is [0-9a-f]{16}, not 0123456789abcdef"):
        report.of(run)


@pytest.mark.parametrize("seeds", [(), ("--seeds", "1..2")])
@pytest.mark.usefixtures("undrawn")
def test_who_replaces_results_replaces_what_was_done_again(
    command: Command, small: Path, tmp_path: Path, seeds: tuple[str, ...]
) -> None:
    options = ("run", str(small), "--out", "there", *seeds)
    command(*options, code=0)
    command("report", "there", code=0)
    observed = tmp_path / "there" / "observed"
    assert (observed / "seed-1" / "series").is_dir()
    (observed / "mine.txt").write_text("mine", encoding="utf-8")
    # The directory is kept as it is, and replaced only with --force; foreign files remain.
    command(*options, code=0)
    assert (observed / "seed-1").is_dir()
    command(*options, "--force", "--set", "packet.payload=2 KB", code=0)
    assert [one.name for one in observed.iterdir()] == ["mine.txt"]


def test_samples_are_so_far_apart_that_there_are_some_hundred(run: Path) -> None:
    """A run of 248.3 us in at most 300 steps of 1, 2 or 5 and zeros: 1 us, which makes 249."""
    first = backwater.open_run(run, backwater.Run)
    ends = pc.add(first.flows["start_ps"].cast(pa.int64()), first.flows["fct_last_ack_ps"])
    end = pc.max(ends).as_py()
    every = int(re.fullmatch(r"(\d+) us", interval(first))[1]) * 10**6  # type: ignore[index]
    assert str(every)[0] in "125"
    assert 120 <= end / every <= 300
