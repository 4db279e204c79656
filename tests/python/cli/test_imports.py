"""The modules that commands import: names, since times depend on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.command import run_python

# Libraries that take 20 ms or 5 MB and more.
HEAVY = (
    *("altair", "jinja2", "msgspec", "numpy", "pandas", "polars", "pyarrow", "pydantic"),
    *("rich", "scipy", "vl_convert"),
)
PROGRAM = f"""
import sys
from backwater.cli import main
code = main(sys.argv[1:])
print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def heavy(*arguments: str, cwd: Path) -> list[str]:
    """Return the heavy libraries that a command imports if its output is not a terminal."""
    said = run_python("-c", PROGRAM, *arguments, cwd=cwd)
    assert said.code == 0, said.err
    return said.err.splitlines()[-1].split()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["explain"],
        ["explain", "pfc.xoff"],
        ["check", "small.toml", "--set", "switch.buffer=1 MB", "--json", "c.json"],
        ["new", "other.toml"],
        ["schema"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_runs_nothing_imports_nothing_heavy(
    arguments: list[str], small: Path, tmp_path: Path
) -> None:
    assert small.name == "small.toml"
    assert heavy(*arguments, cwd=tmp_path) == []


def test_a_series_imports_no_pandas(small: Path, tmp_path: Path) -> None:
    """They take a second, in which a stopped series must already have ended."""
    found = heavy("run", str(small), "--seeds", "2", "--out", "o", cwd=tmp_path)
    assert "pandas" not in found


def test_a_short_run_imports_nothing_heavy(small: Path, tmp_path: Path) -> None:
    arguments = ("run", str(small), "--seed", "7", "--out", "o", "--json", "o.json")
    assert heavy(*arguments, cwd=tmp_path) == []


def test_metrics_import_no_library_of_tables(small: Path, tmp_path: Path) -> None:
    """This holds both for listing metrics and for comparing runs."""
    tables = {"pandas", "polars", "pyarrow"}
    assert tables.isdisjoint(heavy("list", "metrics", cwd=tmp_path))
    scenarios = (str(small), f"{small},switch.buffer=9MB")
    assert tables.isdisjoint(heavy("compare", *scenarios, "--seeds", "2", cwd=tmp_path))
