"""Layers point one way: what the command stands on knows nothing of the command."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.tree import ROOT

PACKAGE = ROOT / "python" / "backwater"
ABOVE = {
    "": ("cli", "report"),
    "study": ("cli", "report"),
    "study/claims": ("cli", "report"),
    "why": ("cli", "report"),
    "plot": ("cli", "report"),
    "exporting": ("cli", "report"),
    "report": ("cli",),
}
"""What the modules of a folder must not import."""
DOORS = ("__main__.py",)
"""Modules that are the command itself."""


def imported(file: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("folder", ABOVE)
def test_nothing_imports_what_stands_on_it(folder: str) -> None:
    files = [file for file in (PACKAGE / folder).glob("*.py") if file.name not in DOORS]
    assert files
    above = tuple(f"backwater.{name}" for name in ABOVE[folder])
    found = {
        (file.name, name)
        for file in files
        for name in imported(file)
        if name in above or name.startswith(tuple(f"{one}." for one in above))
    }
    assert not found
