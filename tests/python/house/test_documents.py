"""Every example in the README and the guides that is marked `runnable` is run.

A fenced block is marked in its first line: ```` ```bash runnable ````, `python` and `toml`
likewise. The blocks of one document run in order in one directory, so that one may use what an
earlier one wrote. A `toml` block with a name, ```` ```toml runnable name=case.toml ````, is written
under it; each is checked as a scenario unless it needs a file that comes later. A block
```` ```text output ```` is what the block before it says on stdout.

Relative links lead to files and headings that exist, prose is wrapped, and the pages on what is
modelled name every parameter with its default. The documents on the design name what is there.

A Python block, and a bash block of nothing but `backwater` commands or one loop of them over words,
runs in this process, which starts no interpreter for each; all else runs in bash itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import backwater
from backwater.cli import main
from backwater.numbers.table import statistics_schema
from backwater.results import TABLES
from kit.tree import ROOT

DOCUMENTS = [
    path
    for pattern in ("README.md", "docs/**/*.md", "studies/*/README.md")
    for path in sorted(ROOT.glob(pattern))
]
# Pages of the site's own lie elsewhere in it than in the tree: `make docs` checks their links.
LINKING = [
    path
    for pattern in ("*.md", "benches/*.md", "docs/**/*.md", "studies/*/*.md")
    for path in sorted(ROOT.glob(pattern))
    if ROOT / "docs" / "site" not in path.parents
]
WRAPPED = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
MODELLING = ROOT / "docs" / "modelling"
REFERENCE = ROOT / "docs" / "reference.md"
RESULTS = ROOT / "docs" / "results.md"
FENCE = re.compile(
    r"^```(?P<language>bash|python|toml) runnable(?: name=(?P<name>\S+))?\n(?P<text>.*?)^```$"
    r"(?:\n+^```text output\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)

# A fence and what lies in it, which is no Markdown.
FENCED = re.compile(
    r"^ *(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^ *(?P=fence) *$", re.MULTILINE | re.DOTALL
)
GENERATED = re.compile(r"^<!-- (\w+): written by .*?^<!-- end of \1 -->$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?P<ticks>`+)(?:.|\n(?!\n))+?(?P=ticks)")
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^()\s]+)\)")
# A path in backticks, and a name of the code.
PATH = re.compile(
    r"[\w./-]+/|[\w./-]*\w\.(?:rs|py|pyi|toml|md|sh|js|html|lock)|[\w.-]+(?:/[\w.-]+)+"
)
NAME = re.compile(r"(?<![\w.])(?:[A-Z]\w*[a-z]\w*|\w+(?=::)|[a-z]\w*_\w+)(?:::\w+)*")
HEADING = re.compile(r"^#{1,6} +(?P<text>.*?)[ #]*$", re.MULTILINE)
WIDTH = 120

# What they name that is in no file of the tree, and why.
PARTS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/design/*.md"))
DESIGN = ["DESIGN.md", *PARTS, "ARCHITECTURE.md", "CONTRIBUTING.md"]
ELSEWHERE = {
    "ChangeRate": "a function of HPCC's ns-3 code",
    "ReceiveAck": "a function of HPCC's ns-3 code",
    "enum_dispatch": "a crate that is not used",
    "DIR/seed-7": "what a run writes",
    "observed/": "what a report writes",
    "crates/backwater-mech/src/yours/": "the reader's own",
    "yours.rs": "the reader's own",
    "docs/modelling/yours.md": "the reader's own",
}

QUOTED = re.compile(r"\"[^\"\\]*\"|'[^']*'")
LOOP = re.compile(
    r"^for (?P<name>\w+) in (?P<words>[\w -]+); do\s(?P<body>[^;]*?)(?:;|\n) *done$", re.MULTILINE
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


def unrolled(loop: re.Match[str]) -> str:
    """Write out a loop over words, if its body is plain."""
    body, name = loop["body"].strip(), loop["name"]
    turns = [re.sub(rf"\${name}\b", word, body) for word in loop["words"].split()]
    return loop[0] if ";" in body else "\n".join(turns)


def commands(text: str) -> list[list[str]] | None:
    """Return the arguments of each command, if all are `backwater` and need no shell."""
    found = []
    for line in LOOP.sub(unrolled, text.replace("\\\n", " ")).splitlines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            return None
        if not words:
            continue
        # Between quotes a shell minds dollars and backticks at most.
        shell = set(QUOTED.sub("", line)) & set("|&;<>()*") or set(line) & set("$`")
        if words[0] != "backwater" or shell:
            return None
        found.append(words[1:])
    return found


def in_process(example: Example, place: Path) -> tuple[int, str]:
    """Run a block here; gives its exit code and what it said on stdout."""
    out = io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(out):
        if example.language == "python":
            # Where a script's annotations are looked up, and its tracebacks.
            code = compile(example.text, f"line-{example.line}", "exec")
            exec(code, {"__name__": "__main__"})
            return 0, out.getvalue()
        for arguments in commands(example.text) or []:
            if code_ := main(arguments):
                return code_, out.getvalue()
    return 0, out.getvalue()


def in_bash(example: Example, place: Path) -> tuple[int, str]:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example.text],
        cwd=place,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def perform(example: Example, place: Path) -> None:
    if example.language == "toml":
        file = place / (example.name or "example.toml")
        file.write_text(example.text, encoding="utf-8")
        if "table = " not in example.text:
            backwater.load(file).check()
        return
    shell = example.language == "bash" and commands(example.text) is None
    code, out = (in_bash if shell else in_process)(example, place)
    assert code == 0, f"line {example.line}:\n{out}"
    if example.output is not None:
        assert out == example.output, f"line {example.line}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
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


def prose(text: str) -> str:
    """The text with an empty line for each line of a fence."""
    return FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    found: dict[str, int] = {}
    for heading in HEADING.finditer(prose(text)):
        words = LINK.sub(r"\g<text>", heading["text"]).lower().strip()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
        if found[slug]:
            found[f"{slug}-{found[slug]}"] = 0
    return set(found)


def broken_links(document: Path) -> list[str]:
    """The relative links of a document that lead nowhere."""
    broken = []
    for link in LINK.finditer(CODE.sub("", prose(document.read_text(encoding="utf-8")))):
        path, _, anchor = link["target"].partition("#")
        if re.match(r"[a-z]+:", link["target"]):
            continue
        place = document.parent / path if path else document
        text = place.read_text(encoding="utf-8") if place.suffix == ".md" and place.exists() else ""
        if not place.exists() or (anchor and anchor not in anchors(text)):
            broken.append(link["target"])
    return broken


@pytest.mark.parametrize("document", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_resolve(document: Path) -> None:
    assert broken_links(document) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# The `x` of [y](z)\n\n## A, b\n\n## A b\n", encoding="utf-8")
    good = ["b.md", "b.md#the-x-of-y", "b.md#a-b-1", "#here", "https://x.org/#y"]
    bad = ["c.md", "b.md#a-b-2", "#there"]
    text = "# Here\n\n" + "\n".join(f"[text]({link})" for link in good + bad) + "\n\n`[no](link)`\n"
    (tmp_path / "a.md").write_text(text + "```text\n[no](link)\n# There\n```\n", encoding="utf-8")
    assert broken_links(tmp_path / "a.md") == bad


def inline(text: str) -> list[str]:
    """What stands in backticks in prose."""
    return [code[0].strip("`").strip() for code in CODE.finditer(prose(text))]


def unknown(text: str, places: set[str], words: set[str]) -> list[str]:
    """Paths and names in backticks that are not in the tree.

    A path may begin at any folder of the tree. A name is what has capitals and small letters, parts
    joined by `::`, or an underscore; each part must be a word of the code.
    """
    found = []
    for code in inline(text):
        if PATH.fullmatch(code):
            if code.rstrip("/") not in places:
                found.append(code)
            continue
        for name in NAME.findall(code):
            parts = [part for part in name.split("::") if not part.isupper() or "::" in name]
            if "/" not in code and not set(parts) <= words:
                found.append(name)
    return found


@pytest.fixture(scope="module")
def tree() -> tuple[set[str], set[str]]:
    """All paths of the tree, from each folder on, and all words of its code."""
    places, words = set(), set()
    for top in (".cargo", "crates", "python", "playground", "benches", "docs", "studies", "tests"):
        for path in (ROOT / top).rglob("*"):
            parts = path.relative_to(ROOT).parts
            places |= {"/".join(parts[at:]) for at in range(len(parts))}
            if path.suffix in (".rs", ".py", ".pyi") and path != Path(__file__):
                text = path.read_text(encoding="utf-8")
                words |= set(re.findall(r"\w+", re.sub(r"//.*", "", text)))
                words.add(path.stem)
    return places | {path.name for path in ROOT.iterdir()}, words


@pytest.mark.parametrize("name", DESIGN)
def test_what_the_design_names_is_in_the_tree(name: str, tree: tuple[set[str], set[str]]) -> None:
    found = unknown((ROOT / name).read_text(encoding="utf-8"), *tree)
    assert [what for what in found if what not in ELSEWHERE] == []


def test_each_name_from_elsewhere_is_used(tree: tuple[set[str], set[str]]) -> None:
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in DESIGN]
    assert ELSEWHERE.keys() <= {what for text in texts for what in unknown(text, *tree)}


def test_the_version_is_the_same_everywhere() -> None:
    numbers = {
        file: re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)[0]
        for file, pattern in {
            "Cargo.toml": r'^version = "(.+)"$',
            "crates/backwater-wasm/Cargo.toml": r'^version = "(.+)"$',
            "CITATION.cff": r"^version: (.+)$",
            "CHANGELOG.md": r"^## (\d\S+) - \d{4}-\d\d-\d\d$",
        }.items()
    }
    assert len(set(numbers.values())) == 1, numbers


DECISION = re.compile(
    r"- \*\*[^*]+\*\* \*\d{4}-\d\d-\d\d, (?:holds|supersedes [^*]+|superseded by [^*]+|open)\.\* \S"
)


@pytest.mark.parametrize("name", PARTS)
def test_a_decision_has_a_date_and_a_state(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    decisions = re.split(r"\n(?=- )", text.partition("\n- ")[2])
    assert len(decisions) > 5
    for decision in decisions:
        assert DECISION.match(f"- {decision.removeprefix('- ')}".replace("\n  ", " ")), decision


def test_the_design_is_indexed_and_no_longer_than_can_be_read() -> None:
    index = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    assert all(f"]({name})" in index for name in PARTS)
    lines = [len((ROOT / name).read_text().splitlines()) for name in ("DESIGN.md", *PARTS)]
    assert sum(lines) <= 700


def test_a_name_that_is_gone_is_found() -> None:
    text = "`a/b.rs`, `b.rs`, `c.rs`, `d/`, `Is::there(x)`, `Is::gone`, `Gone`, `was_there` `ON`"
    assert unknown(f"{text}\n```\n`Code`\n```\n", {"a/b.rs", "b.rs", "a"}, {"Is", "there"}) == [
        "c.rs",
        "d/",
        "Is::gone",
        "Gone",
        "was_there",
    ]


def long_lines(text: str) -> list[str]:
    """Lines of prose that are too long, apart from where their links lead."""
    lines = prose(GENERATED.sub("", text)).splitlines()
    plain = [LINK.sub(r"[\g<text>]", line) for line in lines if not line.lstrip().startswith("|")]
    return [line for line in plain if len(line) > WIDTH and not re.search(r"https?://", line)]


@pytest.mark.parametrize("document", WRAPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_is_wrapped(document: Path) -> None:
    assert long_lines(document.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("document", LINKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_number_at_the_end_of_a_sentence_becomes_a_list(document: Path) -> None:
    """The site takes a line that begins with `2026. ` for one, within a list.

    So it does with `1. ` below a line of prose.
    """
    text = prose(document.read_text(encoding="utf-8"))
    assert re.findall(r"^ *\d{2,}\. .*", text, re.MULTILINE) == []
    assert re.findall(r"^(?!\d+\. )\S.*\n( *\d+\. .*)", text, re.MULTILINE) == []


def test_a_long_line_is_found() -> None:
    long = "word " * 30
    assert long_lines(f"{long}\n| {long} |\n```text\n{long}\n```\n") == [long]
    assert long_lines(f"<!-- x: written by y -->\n{long}\n<!-- end of x -->\n") == []
    assert long_lines(f"[text]({'a' * 130})\nhttps://{'a' * 130}\n") == []


def declared() -> dict[str, dict[str, tuple[str, str, str]]]:
    """What the reference says of each key of each table: unit, default, meaning."""
    found: dict[str, dict[str, tuple[str, str, str]]] = {}
    for part in re.split(r"^## ", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if table := re.match(r"`(\w+)`\n", part):
            rows = found.setdefault(table[1], {})
            for line in re.findall(r"^\| `.*$", part, re.MULTILINE):
                key, _, meaning, unit, default, *_ = re.split(r" ?(?<!\\)\| ", line[2:] + " ")
                # What it is without a value stands in the meaning.
                said = re.search(r" ?Absent: (.+?)\.(?= |$)", meaning)
                if said and default == "absent":
                    default = said[1]
                    meaning = meaning.replace(said[0], "")
                default = re.sub(r"^`(\d+)\.0`$", r"`\1`", default)
                rows[key.strip("`")] = (unit, default, meaning)
    return found


def parameters(table: str, keys: list[str]) -> str:
    """The parameters of a table of a scenario: all, those named, or all `but` those named."""
    text = "| parameter | unit | default | meaning |\n|---|---|---|---|\n"
    known = declared()[table]
    left_out = ["at", *(keys[1:] if keys[:1] == ["but"] else [])]
    for key in known if not keys or keys[0] == "but" else keys:
        unit, default, meaning = known[key]
        if key not in left_out:
            text += f"| `{key}` | {unit} | {default} | {meaning} |\n"
    return text


MARKED = re.compile(
    r"(<!-- parameters: (\w+)((?: \w+)*) -->\n)(.*?)(<!-- end of parameters -->)", re.DOTALL
)


def test_tables_of_parameters_are_those_of_the_reference() -> None:
    """`make reference` writes them anew."""
    found: dict[str, list[str]] = {}
    for page in sorted(MODELLING.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"^\| parameter \| default \|", text, re.MULTILINE), page.name
        fresh = MARKED.sub(
            lambda part: f"{part[1]}{parameters(part[2], part[3].split())}{part[5]}", text
        )
        if os.environ.get("BLESS"):
            page.write_text(fresh, encoding="utf-8")
        assert os.environ.get("BLESS") or fresh == text, f"{page.name}: `make reference`"
        for _, table, _, rows, _ in MARKED.findall(fresh):
            found.setdefault(table, []).extend(re.findall(r"^\| `(\w+)`", rows, re.MULTILINE))
    tables = json.loads(backwater.schema())["properties"]
    assert {name for name, table in tables.items() if "x-switchable" in table} <= found.keys()
    for name, keys in found.items():
        assert len(keys) == len(set(keys)), f"{name}: a parameter is told twice"
        assert set(keys) == tables[name]["properties"].keys() - {"at"}, name


def test_what_needs_a_shell_is_given_to_one() -> None:
    plain = 'backwater run a.toml --set x="8 us"   # said\n\nbackwater list \\\n    studies\n'
    assert commands(plain) == [["run", "a.toml", "--set", "x=8 us"], ["list", "studies"]]
    loop = "for x in a b-c; do\n    backwater run $x.toml --out $x\ndone\nbackwater list\n"
    runs = [["run", f"{x}.toml", "--out", x] for x in ("a", "b-c")]
    assert commands(loop) == [*runs, ["list"]]
    assert commands(loop.replace("\n    ", " ").replace("\ndone", "; done")) == [*runs, ["list"]]
    for line in (
        "cat x",
        "backwater list | head -1",
        "backwater list > x",
        "backwater x || test 1",
        "for x in a b; do backwater $x | head -1; done",
        "for x in a b; do backwater $x; backwater $y; done",
    ):
        assert commands(line) is None
    for line in ('backwater run "$x"', "backwater run `x`", "backwater run *.toml", "backwater 'x"):
        assert commands(line) is None


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


@pytest.mark.parametrize(
    ("line", "needs_shell"),
    [
        ("backwater x \"drops <= 4 and (a > 1)\" --b 'c | d'", False),
        ("backwater x > file", True),
        ("backwater x 'a' && backwater y", True),
        ('backwater x "$HOME"', True),
        ("backwater x *.toml", True),
        ("ls", True),
    ],
)
def test_a_line_that_needs_no_shell_is_known(line: str, *, needs_shell: bool) -> None:
    assert (commands(line) is None) == needs_shell


def test_the_first_picture_is_what_its_script_draws(tmp_path: Path) -> None:
    """Side by side and one below the other, for light and dark screens."""
    script = ROOT / "docs" / "pressure.py"
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], check=False)
    assert done.returncode == 0
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == sorted(path.name for path in (ROOT / "docs").glob("pressure*.svg"))
    for name in drawn:
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text(), name
    assert all(f"docs/{name}" in (ROOT / "README.md").read_text() for name in drawn)
