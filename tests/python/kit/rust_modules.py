"""Reads which module of a Rust crate uses which, from the syntax tree of its files.

A use is any path in the code outside of tests: in a `use`, a signature, an expression, a macro or a
function. A re-exported name counts as a use of the module that defines it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))

Name = tuple[str, ...]
"""A module, as the names from the root of its crate to it: the root is `()`."""

PATH_IN_MACRO = re.compile(r"\b(?:\w+::)+\w+")
"""Macros and attributes hold tokens, not paths, so they and their strings are read as text."""


@dataclass
class Module:
    """A module of a crate, in a file of its own or in the file of another."""

    name: Name
    children: set[str] = field(default_factory=set)
    names: dict[str, Name] = field(default_factory=dict)
    """The names that its `use` lines bring in, each with its path."""
    paths: list[Name] = field(default_factory=list)
    """Every path in its code, as written."""
    globs: list[Name] = field(default_factory=list)


def text(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode()


def is_test(attributes: list[str]) -> bool:
    """Return whether attributes restrict an item to tests."""
    return any(re.search(r"cfg\((?:test\b|all\(test\b)|^#\[test\]", one) for one in attributes)


def items(node: Node) -> Iterator[Node]:
    """Yield the children of a node, each after its attributes, without those for tests."""
    attributes: list[Node] = []
    for child in node.children:
        if child.type == "attribute_item":
            attributes.append(child)
        elif child.type not in {"line_comment", "block_comment"}:
            if not is_test([text(one) for one in attributes]):
                yield from attributes
                yield child
            attributes = []


def uses(node: Node, base: Name = ()) -> Iterator[tuple[Name, str | None]]:
    """Yield the paths of a tree of `use`, each with the name that it brings in; None for `*`."""
    if node.type == "use_as_clause":
        path = node.child_by_field_name("path")
        alias = node.child_by_field_name("alias")
        assert path is not None
        assert alias is not None
        yield (*base, *text(path).split("::")), text(alias)
    elif node.type == "use_list":
        for child in node.named_children:
            yield from uses(child, base)
    elif node.type == "scoped_use_list":
        path = node.child_by_field_name("path")
        inner = node.child_by_field_name("list")
        assert inner is not None
        yield from uses(inner, (*base, *text(path).split("::")) if path else base)
    elif node.type == "use_wildcard":
        yield (*base, *text(node).removesuffix("*").removesuffix("::").split("::")), None
    elif node.type == "self" and base:
        yield base, base[-1]
    elif node.type in {"identifier", "scoped_identifier", "crate", "self", "super"}:
        path_of = (*base, *text(node).split("::"))
        yield path_of, path_of[-1]


def read(node: Node, module: Module, found: dict[Name, Module]) -> None:
    """Read the items below a node into a module, and modules inside it into their own."""
    for child in items(node):
        if child.type == "mod_item":
            name, body = child.child_by_field_name("name"), child.child_by_field_name("body")
            assert name is not None
            module.children.add(text(name))
            if body is not None:
                inner = found.setdefault(
                    (*module.name, text(name)), Module((*module.name, text(name)))
                )
                read(body, inner, found)
        elif child.type == "use_declaration":
            argument = child.child_by_field_name("argument")
            assert argument is not None
            for path, name_of in uses(argument):
                module.paths.append(path)
                if name_of is None:
                    module.globs.append(path)
                else:
                    module.names.setdefault(name_of, path)
        elif child.type in {"scoped_identifier", "scoped_type_identifier"}:
            plain = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", text(child)))
            module.paths.append(tuple(part for part in plain.replace(" ", "").split("::") if part))
            read(child, module, found)
        elif child.type in {"token_tree", "attribute_item"}:
            found_here = PATH_IN_MACRO.findall(text(child))
            module.paths.extend(tuple(path.split("::")) for path in found_here)
        else:
            read(child, module, found)


def crate(source: Path) -> dict[Name, Module]:
    """Return the modules of the crate with this `src`, without files that only have tests."""
    found: dict[Name, Module] = {}
    for file in sorted(source.rglob("*.rs")):
        parts = file.relative_to(source).with_suffix("").parts
        name = parts[:-1] if parts[-1] in {"mod", "lib"} else parts
        module = found.setdefault(name, Module(name))
        read(PARSER.parse(file.read_bytes()).root_node, module, found)
    reached: dict[Name, Module] = {}
    left: list[Name] = [()]
    while left:
        name = left.pop()
        if name in found:
            reached[name] = found[name]
            left.extend((*name, child) for child in found[name].children)
    return reached


def defining(path: Name, module: Name, modules: dict[Name, Module], depth: int = 0) -> Name | None:
    """Return the module that defines what a path names; None: it is in another crate."""
    first, rest = path[0], path[1:]
    known = modules[module]
    if first == "crate":
        at: Name = ()
    elif first == "self":
        at = module
    elif first == "super":
        at = module[:-1]
    elif first in known.children:
        at, rest = module, path
    elif first in known.names and known.names[first] != path and depth < 16:
        target = known.names[first]
        return defining((*target, *rest), module, modules, depth + 1)
    else:
        return None
    for place, part in enumerate(rest):
        if part == "super":
            at = at[:-1]
        elif (*at, part) in modules:
            at = (*at, part)
        elif part in modules[at].names and depth < 16:
            target = modules[at].names[part]
            through = defining((*target, *rest[place + 1 :]), at, modules, depth + 1)
            return through if through is not None else at
        else:
            return at
    return at


def edges(modules: dict[Name, Module]) -> dict[Name, set[Name]]:
    """Return, for each module, the modules that it uses."""
    return {
        name: {
            other
            for path in module.paths
            if (other := defining(path, name, modules)) is not None and other != name
        }
        for name, module in modules.items()
    }
