"""Every example in the README and the guides that is marked `runnable` is run.

A fenced block is marked in its first line: ```` ```bash runnable ````, `python` and `toml`
likewise. The blocks of one document run in order in one directory, so that one may use what an
earlier one wrote. A `toml` block with a name, ```` ```toml runnable name=case.toml ````, is written
under it; each is checked as a scenario unless it needs a file that comes later. A block
```` ```text output ```` is what the block before it says on stdout.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import backwater
from backwater.cli.runs import statistics_schema
from backwater.results import TABLES
from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

DOCUMENTS = [
    path
    for pattern in ("README.md", "docs/**/*.md", "studies/*/README.md")
    for path in sorted(ROOT.glob(pattern))
]
RESULTS = ROOT / "docs" / "results.md"
FENCE = re.compile(
    r"^```(?P<language>bash|python|toml) runnable(?: name=(?P<name>\S+))?\n(?P<text>.*?)^```$"
    r"(?:\n+^```text output\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    language: str
    name: str | None
    text: str
    line: int
    output: str | None = None


def examples(text: str) -> list[Example]:
    return [
        Example(
            m["language"], m["name"], m["text"], text.count("\n", 0, m.start()) + 1, m["output"]
        )
        for m in FENCE.finditer(text)
    ]


def perform(example: Example, place: Path) -> None:
    if example.language == "toml":
        file = place / (example.name or "example.toml")
        file.write_text(example.text, encoding="utf-8")
        if "table = " not in example.text:
            backwater.load(file).check()
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
    if example.output is not None:
        assert done.stdout == example.output, f"line {example.line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(document: Path, tmp_path: Path) -> None:
    for example in examples(document.read_text(encoding="utf-8")):
        perform(example, tmp_path)


def described(name: str, schema: pa.Schema) -> str:
    """The columns of one table as docs/results.md has them."""
    about = (schema.metadata or {})[b"description"].decode()
    text = f"\n**{name}** — {about}\n\n| column | unit | |\n|---|---|---|\n"
    for field in schema:
        facts = {key.decode(): text.decode() for key, text in (field.metadata or {}).items()}
        text += f"| `{field.name}` | {facts['unit']} | {facts['description']} |\n"
    return text


def columns() -> str:
    """The result tables' columns, from the tables of a run."""
    run = backwater.parse(backwater.new_scenario()).run()
    return "".join(described(name, run.read(name).schema) for name in TABLES) + "\n"


def statistics() -> str:
    """The columns of the statistics over repeated runs."""
    return described("statistics", statistics_schema()) + "\n"


@pytest.mark.parametrize("what", [columns, statistics])
def test_every_column_is_described(what: Callable[[], str]) -> None:
    text = RESULTS.read_text(encoding="utf-8")
    before, begin, rest = text.partition(f"<!-- {what.__name__}: ")
    marker, newline, rest = rest.partition("\n")
    written, end, after = rest.partition(f"<!-- end of {what.__name__} -->")
    assert begin
    assert end
    if os.environ.get("BLESS"):
        text = before + begin + marker + newline + what() + end + after
        RESULTS.write_text(text, encoding="utf-8")
    else:
        assert written == what()


def test_marked_blocks_are_found() -> None:
    text = (
        "# T\n\n```bash runnable\ntrue\n```\n\n"
        "```bash\nfalse\n```\n```toml runnable name=a.toml\n```\n\n```text output\nsaid\n```\n"
    )
    found = examples(text)
    assert found == [
        Example("bash", None, "true\n", 3),
        Example("toml", "a.toml", "", 10, "said\n"),
    ]


def test_a_failing_example_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="line 7"):
        perform(Example("bash", None, "echo no; false", 7), tmp_path)
