"""Every example in the README and the guides that is marked `runnable` is run.

A fenced block is marked in its first line: ```` ```bash runnable ````, `python` and `toml`
likewise. The blocks of one document run in order in one directory, so that one may use what an
earlier one wrote. A `toml` block with a name, ```` ```toml runnable name=case.toml ````, is written
under it; each is checked as a scenario.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import backwater
from conftest import ROOT

DOCUMENTS = [
    path
    for pattern in ("README.md", "docs/**/*.md", "studies/*/README.md")
    for path in sorted(ROOT.glob(pattern))
]
FENCE = re.compile(
    r"^```(?P<language>bash|python|toml) runnable(?: name=(?P<name>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    language: str
    name: str | None
    text: str
    line: int


def examples(text: str) -> list[Example]:
    return [
        Example(m["language"], m["name"], m["text"], text.count("\n", 0, m.start()) + 1)
        for m in FENCE.finditer(text)
    ]


def perform(example: Example, place: Path) -> None:
    if example.language == "toml":
        (place / (example.name or "example.toml")).write_text(example.text, encoding="utf-8")
        backwater.parse(example.text).check()
        return
    interpreter = {
        "bash": ["bash", "-euo", "pipefail", "-c"],
        "python": [sys.executable, "-W", "error", "-c"],
    }[example.language]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*interpreter, example.text],
        cwd=place,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"line {example.line}:\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(document: Path, tmp_path: Path) -> None:
    for example in examples(document.read_text(encoding="utf-8")):
        perform(example, tmp_path)


def test_marked_blocks_are_found() -> None:
    text = (
        "# T\n\n```bash runnable\ntrue\n```\n\n"
        "```bash\nfalse\n```\n```toml runnable name=a.toml\n```\n"
    )
    found = examples(text)
    assert [(e.language, e.name, e.text, e.line) for e in found] == [
        ("bash", None, "true\n", 3),
        ("toml", "a.toml", "", 10),
    ]


def test_a_failing_example_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="line 7"):
        perform(Example("bash", None, "echo no; false", 7), tmp_path)
