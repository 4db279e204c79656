"""Files of the stage import each other in one direction: what imports what is no circle."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

USE = re.compile(
    r"^\s*(?:pub(?:\(\w+\))? )?use (?P<base>crate|super|self)(?P<path>(?:::\w+)*)"
    r"(?:::\{(?P<items>[^;]*)\})?;",
    re.MULTILINE,
)


def modules(crate: Path) -> dict[str, Path]:
    """Give the files of a crate by the path of their module, `lib.rs` left out."""
    found = {}
    for file in crate.rglob("*.rs"):
        parts = file.relative_to(crate).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "mod" else parts
        if parts != ("lib",):
            found["::".join(parts)] = file
    return found


def renamed(crate: Path) -> dict[str, str]:
    """Give what `lib.rs` shows under another path: each name with the module that it is."""
    text = (crate / "lib.rs").read_text(encoding="utf-8")
    names: dict[str, str] = {}
    for module, items in re.findall(r"^pub use (\w+)::\{?([\w, ]+)\}?;", text, re.MULTILINE):
        names |= {item: f"{module}::{item}" for item in re.findall(r"\w+", items)}
    return names


def imports(module: str, text: str, known: dict[str, Path], names: dict[str, str]) -> set[str]:
    """Give the modules from which a file imports something, its tests left out."""
    found = set()
    for use in USE.finditer(text.split("#[cfg(test)]")[0]):
        base = {"crate": [], "super": module.split("::")[:-1], "self": module.split("::")}
        start = base[use["base"]] + [part for part in use["path"].split("::") if part]
        items = [item.strip().split("::")[0] for item in (use["items"] or "").split(",")]
        for item in items:
            path = [*start, *([item.split(" ")[0]] if item else [])]
            if path and path[0] in names:
                path = [*names[path[0]].split("::"), *path[1:]]
            inside = ["::".join(path[:end]) for end in range(len(path), 0, -1)]
            found |= {next((name for name in inside if name in known), module)}
    return found - {module}


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Give the sets of modules that reach each other (strongly connected components)."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = [start]
        while left:
            for name in edges[left.pop()] - seen:
                seen.add(name)
                left.append(name)
        return seen

    reach = {name: reached(name) for name in edges}
    found = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in edges
        if name in reach[name]
    }
    return [list(circle) for circle in sorted(found)]


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert circles(edges) == [["b", "c"]]


@pytest.mark.parametrize(
    "crate", ["backwater-engine", "backwater-wire", "backwater-net", "backwater-mech", "backwater"]
)
def test_files_import_in_one_direction(crate: str) -> None:
    source = ROOT / "crates" / crate / "src"
    known = modules(source)
    names = renamed(source)
    edges = {
        name: imports(name, file.read_text(encoding="utf-8"), known, names)
        for name, file in known.items()
    }
    assert sum(map(len, edges.values())) > 2 * len(edges) or crate != "backwater-net"
    assert circles(edges) == []


def python_imports(name: str, known: dict[str, Path]) -> set[str]:
    """Give the modules that a module imports, in functions too, but for types alone."""
    found: set[str] = set()

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for otherwise in node.orelse:
                look(otherwise)
            return
        if isinstance(node, ast.Import):
            found.update(one.name for one in node.names if one.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            inside = (f"{node.module}.{one.name}" for one in node.names)
            found.update(one if one in known else str(node.module) for one in inside)
        for inner in ast.iter_child_nodes(node):
            look(inner)

    look(ast.parse(known[name].read_text(encoding="utf-8")))
    return found - {name}


def test_python_imports_in_one_direction() -> None:
    base = ROOT / "python"
    known = {}
    for file in (base / "backwater").rglob("*.py"):
        parts = file.relative_to(base).with_suffix("").parts
        known[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    edges = {name: python_imports(name, known) for name in known}
    assert sum(map(len, edges.values())) > 2 * len(edges)
    # `run.plot` draws a run, and what draws reads it: the one link back, made when it is asked for.
    edges["backwater.results"].remove("backwater.plot")
    assert circles(edges) == []
