"""Small studies, and few seeds of large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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


def one_seed(own: tuple[int, ...], _: int) -> tuple[int, ...]:
    """Only the first seed of each point of a study."""
    return own[:1]
