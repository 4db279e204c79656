"""Modules import in one direction: what imports what is no circle, in each crate and in Python.

A parent and its child may import each other: a folder is one thing from outside.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

from kit import rust_modules
from kit.rust_modules import Name
from kit.tree import ROOT

# Modules whose imports by name would make a circle, and why they may.
BY_NAME: dict[Name, str] = {
    ("backwater",): "shows what its modules define, and loads each at the first use",
}

CRATES = sorted(file.parent.name for file in (ROOT / "crates").glob("*/src"))


def between_equals(edges: dict[Name, set[Name]]) -> dict[Name, set[Name]]:
    """Leave out what a module imports from its parent where the parent imports the module, too."""
    return {
        name: {other for other in others if other != name[:-1] or name not in edges[other]}
        for name, others in edges.items()
    }


def circles(edges: dict[Name, set[Name]]) -> list[set[str]]:
    """Return the sets of modules that reach each other (strongly connected components)."""

    def reached(start: Name) -> set[Name]:
        seen: set[Name] = set()
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
    return [{"::".join(name) or "lib" for name in circle} for circle in sorted(found)]


def test_circles_are_found() -> None:
    edges: dict[Name, set[Name]] = {
        ("a",): {("b",)},
        ("b",): {("c",)},
        ("c",): {("b",)},
        ("d",): {("a",)},
    }
    assert circles(edges) == [{"b", "c"}]


def test_a_parent_and_its_child_are_no_circle() -> None:
    edges: dict[Name, set[Name]] = {("a",): {("a", "x")}, ("a", "x"): {("a",)}}
    assert circles(between_equals(edges)) == []


def test_a_circle_through_a_folder_is_found() -> None:
    edges: dict[Name, set[Name]] = {("a",): {("a", "x")}, ("a", "x"): {("b",)}, ("b",): {("a",)}}
    assert circles(between_equals(edges)) == [{"a", "a::x", "b"}]


def test_every_form_of_use_is_read(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\nmod c;\nmod d;\npub use b::B;\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mod.rs").write_text("mod x;\nuse x::{X, y::Y as Z};\nfn f() { g(); }\n")
    (tmp_path / "a" / "x.rs").write_text(
        "pub mod y { pub struct Y; }\npub fn g() { crate::c::h::<u8>(); }\n"
    )
    (tmp_path / "b.rs").write_text(
        "pub struct B;\nfn f() { assert!(crate::c::T > 0); }\n"
        "#[cfg(test)]\nmod tests { use crate::a; }\n"
    )
    (tmp_path / "c.rs").write_text("use crate::{B, a};\npub fn k(_: Vec<super::b::B>) {}\n")
    (tmp_path / "d.rs").write_text(
        "pub struct D {\n    #[state(with = crate::c::k)]\n    a: u8,\n"
        '    #[schemars(with = "Option<crate::a::X>")]\n    b: u8,\n'
        "    #[cfg(test)]\n    #[state(with = crate::b::B)]\n    c: u8,\n}\n"
    )
    edges = rust_modules.edges(rust_modules.crate(tmp_path))
    assert edges == {
        (): {("b",)},
        ("a",): {("a", "x"), ("a", "x", "y")},
        ("a", "x"): {("c",)},
        ("a", "x", "y"): set(),
        ("b",): {("c",)},
        # `B` is shown by the root and defined in `b`.
        ("c",): {("a",), ("b",)},
        # In attributes, as a path and in a string.
        ("d",): {("c",), ("a", "x")},
    }


@pytest.mark.parametrize("crate", CRATES)
def test_files_import_in_one_direction(crate: str) -> None:
    modules = rust_modules.crate(ROOT / "crates" / crate / "src")
    # What a `*` brings in has no name here.
    local = {"crate", "self", "super"}
    assert not [path for one in modules.values() for path in one.globs if path[0] in local]
    edges = rust_modules.edges(modules)
    assert sum(map(len, edges.values())) > 2 * len(edges) or crate != "backwater-net"
    assert circles(between_equals(edges)) == []


def python_imports(file: Path, name: Name, known: dict[Name, Path]) -> set[Name]:
    """Return the modules that a module imports, in functions too, except for types only."""
    found: set[Name] = set()

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for otherwise in node.orelse:
                look(otherwise)
            return
        if isinstance(node, ast.Import):
            found.update(tuple(one.name.split(".")) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = name if file.name == "__init__.py" else name[:-1]
            base = package[: len(package) + 1 - node.level] if node.level else ()
            base = (*base, *(node.module.split(".") if node.module else ()))
            inside = {(*base, one.name) for one in node.names}
            found.update(one if one in known else base for one in inside)
        for inner in ast.iter_child_nodes(node):
            look(inner)

    look(ast.parse(file.read_text(encoding="utf-8")))
    return (found & known.keys()) - {name}


def imports_by_name(file: Path, known: Collection[Name]) -> set[Name]:
    """Return the modules that a module may import by `import_module`.

    What is put together of a beginning and a value may be every module that the beginning and a
    text of the file make.
    """
    text = file.read_text(encoding="utf-8")
    if "import_module" not in text:
        return set()
    tree = ast.parse(text)
    texts = {
        one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    }
    found: set[Name] = set()
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func).endswith("import_module")):
            continue
        match call.args[0]:
            case ast.Constant(value=str() as whole):
                found.add(tuple(whole.split(".")))
            case ast.JoinedStr(values=[ast.Constant(value=str() as begin), ast.FormattedValue()]):
                found |= {tuple(f"{begin}{one}".split(".")) for one in texts}
    return found & set(known)


def python_modules() -> dict[Name, Path]:
    base = ROOT / "python"
    known: dict[Name, Path] = {}
    for file in (base / "backwater").rglob("*.py"):
        parts = file.relative_to(base).with_suffix("").parts
        known[parts[:-1] if parts[-1] == "__init__" else parts] = file
    return known


@cache
def python_edges() -> dict[Name, frozenset[Name]]:
    known = python_modules()
    return {name: frozenset(python_imports(file, name, known)) for name, file in known.items()}


def test_python_imports_in_one_direction() -> None:
    known = python_modules()
    edges = {name: set(others) for name, others in python_edges().items()}
    assert sum(map(len, edges.values())) > 2 * len(edges)
    assert circles(between_equals(edges)) == []
    for name, others in edges.items():
        if name not in BY_NAME:
            others |= imports_by_name(known[name], known) - {name}
    assert circles(between_equals(edges)) == []


def test_tests_lie_where_what_they_test_lies() -> None:
    tests, package = ROOT / "tests" / "python", ROOT / "python" / "backwater"
    rooms = {path.parent.name for path in tests.glob("*/*.py")}
    parts = {path.name for path in package.iterdir() if path.is_dir()}
    assert rooms <= parts | {"api", "core", "house", "importing", "kit", "runs"}
    assert [path.name for path in tests.glob("*.py")] == ["conftest.py"]


def test_each_import_by_name_in_the_list_makes_a_circle() -> None:
    known = python_modules()
    for allowed in BY_NAME:
        edges = {name: set(others) for name, others in python_edges().items()}
        edges[allowed] |= imports_by_name(known[allowed], known) - {allowed}
        assert circles(between_equals(edges)) != [], allowed


def test_imports_by_name_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(
        'A = {"b": 1, "c.d": 2, "no": 3}\n'
        'def f(n): return importlib.import_module(f"a.{n}"), import_module("a.e")\n'
    )
    known = [("a", "b"), ("a", "c", "d"), ("a", "e"), ("b",)]
    found = imports_by_name(tmp_path / "x.py", known)
    assert found == {("a", "b"), ("a", "c", "d"), ("a", "e")}
