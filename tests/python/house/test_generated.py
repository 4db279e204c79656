"""Pages that are written from the code: commands, metrics, the catalog; by `make reference`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backwater import _core
from backwater.cli.app import COMMANDS, built
from backwater.examples import names as scenarios
from backwater.examples import shipped
from backwater.study import load, names
from kit.reference import metrics, table
from kit.tree import ROOT

DOCS = ROOT / "docs"
SIDES = ROOT / "crates/backwater-net/src/model/hooks/sides.rs"
MECHANISMS = ROOT / "crates/backwater-mech/src"
SIDE = re.compile(
    r"(?P<doc>(?:^///[^\n]*\n)+)#\[[^\n]*\]\n"
    r"pub trait (?P<name>\w+)(?:: \w+)? \{\n(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
HOOK = re.compile(
    r"(?P<doc>(?:^ *///.*\n)+) *#\[hook\((?P<joined>.*)\)\]\n"
    r"\s*fn (?P<name>\w+)\((?:[^()]|\([^()]*\))*\)(?: -> (?P<answer>[^{]+))? \{",
    re.MULTILINE,
)
# A mechanism's page has its name, or says in a row of docs/modelling/README.md what it is about.
ELSEWHERE = {
    "ci": "congestion-isolation",
    "ev": "entropy-values",
    "trim": "trimming",
    "spray": "load-balancing",
    "flowlet": "load-balancing",
}
# What is marked as code, or an option in prose that is not yet.
OPTION = re.compile(r"`[^`]*`|(?<![\w`-])--[a-z][a-z-]*(?: -(?= ))?")


def kind(param: Any) -> str:  # noqa: ANN401 - typer's parameters have no public type
    """What a parameter takes: as its help calls it, or the type of its value."""
    if param.metavar:
        return f"`{param.metavar}`"
    if getattr(param, "is_flag", False):
        return ""
    return {str: "text", int: "whole number", float: "number"}.get(
        param.type_descriptor.annotation, "value"
    )


def parameters(command: Any) -> str:  # noqa: ANN401
    """The arguments and options of one command."""
    rows = []
    for param in command.params:
        if param.name in ("help", "install_completion", "show_completion"):
            continue
        name = ", ".join(f"`{one}`" for one in param.opts if one.startswith("-"))
        default = param.default
        said = "" if default in (None, False, "") or callable(default) else f"`{default}`"
        rows.append((name or kind(param), kind(param) if name else "", said, param.help or ""))
    if not rows:
        return ""
    return "\n" + table(("argument or option", "takes", "default", "what it does"), rows)


def told(name: str, command: Any, depth: int) -> str:  # noqa: ANN401
    """One command, and those below it."""
    about = OPTION.sub(lambda found: f"`{found[0].strip('`')}`", command.help or "")
    about = about.replace("[", r"\[")
    text = f"\n{'#' * depth} backwater {name}\n\n{about}\n{parameters(command)}"
    for below, one in getattr(command, "commands", {}).items():
        text += told(f"{name} {below}", one, depth + 1)
    return text


def commands() -> str:
    program: Any = built(tuple(COMMANDS))
    text = (
        "# Reference: every command\n\n"
        "Written from the command itself by `make reference`, not by hand. "
        "`backwater COMMAND --help` prints the same at the terminal.\n\n"
    )
    return text + "".join(told(name, one, 2) for name, one in program.commands.items()).lstrip("\n")


def page(name: str) -> str:
    """A mechanism with a link to its page."""
    file = f"modelling/{ELSEWHERE.get(name, name)}.md"
    assert (DOCS / file).exists(), f"{name} has no page {file}"
    return f"[`{name}`]({file})"


def catalog() -> str:
    text = (
        "# Reference: catalog\n\n"
        "Written from the code by `make reference`, not by hand: what `backwater list` prints.\n"
    )
    mechanisms = _core.items("mechanisms")
    studies = [load(name) for name in names()]
    found: dict[str, tuple[list[tuple[str, str, str]], str]] = {
        "mechanisms": (
            [(page(one["name"]), one["summary"], one["source"]) for one in mechanisms],
            "The page of each says what is modelled, what is not, and where it differs from its "
            "source.",
        ),
        "silicon": (
            [(f"`{o['name']}`", o["summary"], o["source"]) for o in _core.items("silicon")],
            "`[switch] preset` takes a name. [What the values mean](modelling/switches.md).",
        ),
        "topologies": (
            [(f"`{o['name']}`", o["summary"], o["source"]) for o in _core.items("topologies")],
            "[How they are wired](modelling/topologies.md).",
        ),
        "workloads": (
            [(f"`{o['name']}`", o["summary"], o["source"]) for o in _core.items("workloads")],
            "[Who sends to whom](modelling/workloads.md), and [jobs](modelling/jobs.md).",
        ),
        "formats": (
            [(f"`{one['name']}`", one["summary"], one["source"]) for one in _core.formats()],
            "[Files of other tools](import/README.md).",
        ),
        "studies": (
            [(f"[`{s.id}`](../studies/{s.id}/README.md)", s.title, s.document) for s in studies],
            "[What a study is](guide.md#studies).",
        ),
    }
    examples = [shipped(name) for name in scenarios()]
    found["scenarios"] = (
        [
            (f"[`{one.name}`](../scenarios/{one.name}.toml)", one.title, ", ".join(one.variants))
            for one in examples
        ],
        "`backwater new --from NAME` copies one.",
    )
    for what, (rows, about) in found.items():
        header = ("name", "what it is", "variants" if what == "scenarios" else "source")
        text += f"\n## {what.capitalize()}\n\n{about}\n\n{table(header, rows)}"
    return text


# How the answers of several mechanisms become one (`crates/backwater-derive/src/hooks.rs`).
JOINED = {
    "each": "",
    "each_of_flow": "",
    "levels": "all",
    "least": "the least",
    "latest": "the latest",
    "all": "`true` if all say so",
    "any": "`true` if one says so",
    "own": "the one that it is for",
    "report": "each",
}


def sentence(text: str) -> str:
    """Return the first sentence of a rustdoc, with its links as code."""
    plain = re.sub(r"^ *///", "", text, flags=re.MULTILINE)
    return without_paths(re.split(r"(?<=\.)\s", " ".join(plain.split()), maxsplit=1)[0])


def without_paths(text: str) -> str:
    """Replace the links of a rustdoc by code."""
    return re.sub(r"\[`(?:(?:super|crate|[a-z_]+)::)*([^`]+)`\]", r"`\1`", text)


def joined(attribute: str) -> str:
    """Describe how the answers of several mechanisms combine, by the attribute of a hook."""
    if found := re.match(r"until = ([\w:]+)", attribute):
        return f"the first that is not `{found[1]}`"
    return JOINED[re.split(r"\W", attribute)[0]]


def hooks() -> str:
    """A table for each side: its hooks, when they are called or what they are asked, the answer."""
    header = ("hook", "when it is called, or what it is asked", "answer", "of several")
    told: dict[str, str] = {}
    written = ""
    text = SIDES.read_text(encoding="utf-8")
    sides = list(SIDE.finditer(text))
    assert len(sides) == text.count("pub trait ")
    for side in sides:
        rows = []
        for found in HOOK.finditer(side["body"]):
            about = sentence(found["doc"])
            if same := re.fullmatch(r"As `(\w+::\w+)`\.", about):
                about = told[same[1]]
            told[f"{side['name']}::{found['name']}"] = about
            answer = f"`{found['answer'].strip()}`" if found["answer"] else ""
            several = joined(found["joined"]) if answer else ""
            rows.append((f"`{found['name']}`", about, answer, several))
        assert len(rows) == side["body"].count("#[hook(")
        written += f"\n### `{side['name']}`\n\n{sentence(side['doc'])}\n\n{table(header, rows)}"
    return written + "\n"


def test_the_hooks_of_own_mechanisms_are_current() -> None:
    file = DOCS / "own-mechanism.md"
    before, begin, rest = file.read_text(encoding="utf-8").partition(
        "<!-- hooks: written by `make reference` -->\n"
    )
    written, end, after = rest.partition("<!-- end of hooks -->")
    assert begin
    assert end
    if os.environ.get("BLESS"):
        file.write_text(before + begin + hooks() + end + after, encoding="utf-8")
    else:
        assert written == hooks(), "`make reference` writes it anew"


def test_how_several_hooks_become_one_is_told() -> None:
    assert joined("until = Fate::Passed") == "the first that is not `Fate::Passed`"
    assert joined("own(cx.owner(), ())") == "the one that it is for"
    assert joined("least, or = window") == "the least"
    assert (
        sentence("  /// It is [`super::A`] of\n  /// IEEE 802.3. More.")
        == "It is `A` of IEEE 802.3."
    )


@pytest.mark.parametrize("what", [commands, metrics, catalog])
def test_generated_pages_are_current(what: Callable[[], str]) -> None:
    file = DOCS / f"{what.__name__}.md"
    title, _, rest = re.sub(r" +$", "", what(), flags=re.MULTILINE).partition("\n\n")
    name = what.__name__
    fresh = (
        f"{title}\n\n<!-- {name}: written by `make reference` -->\n\n{rest}"
        f"\n<!-- end of {name} -->\n"
    )
    if os.environ.get("BLESS"):
        file.write_text(fresh, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == fresh, "`make reference` writes it anew"


SOURCE = re.compile(
    r"(<!-- source: written by `make reference` from ([\w/., ]+) -->\n)"
    r"(.*?)(<!-- end of source -->)",
    re.DOTALL,
)
LABELLED = "Not modelled", "Differences"


def header(file: Path) -> dict[str, str]:
    """The parts of a mechanism's header that its page repeats: pseudo-code, and the two lists.

    A second piece of pseudo-code keeps the sentence that leads to it.
    """
    text = file.read_text(encoding="utf-8")
    written = re.match(r"(?://!.*\n)+", text)
    assert written, file
    plain = re.sub(r"^//! ?", "", written[0], flags=re.MULTILINE)
    about, *rest = re.split(r"^# (.*)\n", plain, flags=re.MULTILINE)
    found = dict(zip(rest[::2], (one.strip() for one in rest[1::2]), strict=True))
    assert found.keys() <= set(LABELLED), f"{file}: {list(found)}"
    code = ""
    for leads, block in re.findall(r"([^\n].*?)?\n*(^```text\n.*?^```$)", about, re.M | re.S):
        last = leads.strip().rpartition("\n\n")[2]
        code += f"{without_paths(last)}\n\n" if code and last.endswith(":") else ""
        code += f"{block}\n\n"
    return {"Pseudo-code": code.strip(), **found}


def from_source(names: str) -> str:
    """What a page has from the headers of these files, with links that hold on the page."""
    found = {name: header(MECHANISMS / name) for name in names.split(", ")}
    text = ""
    for title in ("Pseudo-code", *LABELLED):
        said = {name: one[title] for name, one in found.items() if one.get(title)}
        text += f"\n## {title}\n" if said else ""
        for name, part in said.items():
            text += f"\nOf `{Path(name).stem}`:\n\n" if len(found) > 1 else "\n"
            text += f"{part}\n"
    return text.replace("](docs/modelling/", "](").replace("](docs/", "](../") + "\n"


@pytest.mark.parametrize(
    "file",
    [path for path in sorted((DOCS / "modelling").glob("*.md")) if SOURCE.search(path.read_text())],
    ids=lambda path: path.stem,
)
def test_a_page_has_what_the_header_of_its_source_says(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    fresh = SOURCE.sub(lambda part: f"{part[1]}{from_source(part[2])}{part[4]}", text)
    if os.environ.get("BLESS"):
        file.write_text(fresh, encoding="utf-8")
    else:
        assert text == fresh, "`make reference` writes it anew"


def test_the_parts_of_a_header_are_found(tmp_path: Path) -> None:
    (tmp_path / "x.rs").write_text(
        "//! X.\n//!\n//! ```text\n//! a\n//! ```\n//!\n//! More. With [`crate::x::B`]:\n//!\n"
        "//! ```text\n//! b\n//! ```\n//!\n//! # Not modelled\n//! - c\n\nuse d;\n"
    )
    assert header(tmp_path / "x.rs") == {
        "Pseudo-code": "```text\na\n```\n\nMore. With `B`:\n\n```text\nb\n```",
        "Not modelled": "- c",
    }


@pytest.mark.parametrize("name", [one["name"] for one in _core.items("mechanisms")])
def test_a_mechanism_s_page_says_what_is_modelled_and_what_is_not(name: str) -> None:
    text = (DOCS / "modelling" / f"{ELSEWHERE.get(name, name)}.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert {"Not modelled", "Checked against", "Pseudo-code"} <= set(sections)
    assert f"## Parameters of `[{name}]`" in text
    sources = SOURCE.search(text)
    assert sources
    assert {f"{name}.rs", f"{name}/mod.rs"} & set(sources[2].split(", "))
    for title in ("Not modelled", "Checked against"):
        assert text.partition(f"## {title}\n")[2].partition("\n## ")[0].strip()


def test_a_run_has_an_attribute_for_each_table() -> None:
    file = ROOT / "python" / "backwater" / "results.py"
    before, begin, rest = file.read_text(encoding="utf-8").partition(
        "    # tables: written by `make reference`\n"
    )
    written, end, after = rest.partition("    # end of tables\n")
    fresh = "".join(f'    {name} = _table("{name}")\n' for name, _ in _core.tables())
    if os.environ.get("BLESS"):
        file.write_text(before + begin + fresh + end + after, encoding="utf-8")
    else:
        assert begin
        assert end
        assert written == fresh
