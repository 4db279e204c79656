"""Small studies, and few seeds of large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.study.measures import Observed, read

if TYPE_CHECKING:
    from pathlib import Path

DROPPED_AS_IT_IS = """
[[measure]]
name = "drops"
kind = "drops"
unit = "frames"
text = "lost"
[[case]]
id = "a"
text = "as it is"
"""
"""A measure and a case of a study."""


def write_study(base: Path, scenario: str, study_: str, published: str) -> Path:
    """Write the files of a study; gives its folder."""
    folder = base / "small-2026"
    folder.mkdir()
    for name, text in {
        "scenario.toml": scenario,
        "study.toml": study_,
        "published.toml": published,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def value(run: Observed, kind: str, **parameters: object) -> float:
    """What a study measures of a run."""
    reading = read(run, kind, parameters)
    assert reading.problem is None
    assert reading.value is not None
    return reading.value


def one_seed(own: tuple[int, ...], _: int) -> tuple[int, ...]:
    """Only the first seed of each point of a study."""
    return own[:1]
