"""Comments, docstrings and documents are plain English: they have none of the patterns below.

In Rust a comment is one paragraph of lines with `//`, `///` or `//!`, in Python of lines with `#`
or of a docstring. Code, in backticks or a fence, and tables are no prose. Header blocks of
mechanisms are pages of the documents as well, and are read there.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from typing import TYPE_CHECKING, NamedTuple

from kit.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What has been read through. Others are to follow, and none leaves.
READ = ("binding", "derive", "engine", "import", "mech", "net", "python", "wasm", "wire")
SOURCES = [ROOT / "crates/backwater", *(ROOT / f"crates/backwater-{one}" for one in READ)]

PYTHON = ("python/backwater", "tests/python", "benches")

# What no sentence has, and what to write in its place.
BANNED = [
    (r"\bthat there (is|are|was|were)\b", "name the thing: `existing`, `all`, or nothing at all"),
    (r"\bthere (is|are) none\b", "say what is absent: `without a link`, `no flow waits`"),
    (r"\b(is|are|be|been|was|were) told\b", "active voice: `the sender learns`, `reports`"),
    (r"\b[Ww]hoever\b", "name the actor: `a node that`, `the caller`"),
    (r"\b[Ww]hat(ever)? is otherwise\b", "`everything else`"),
    (r"\b[Ww]hat there is\b", "name the things"),
    (r"\bof which (none|no)\b", "`none of which`, or two sentences"),
    (r"\bnor (does|do|did|is|are|was|can|has|have|may)\b", "`and ... not`, or two sentences"),
    (r"\bsays? so\b", "say what is said: `the scenario names it`, `an error reports it`"),
    (r"\b(comes?|came) of\b", "`results from`, `the outcome of`"),
    (r"\bfor ever\b", "`forever`, or `without end`"),
    (r"\bone's own\b", "name the owner"),
    (r"\b(is|are) asked of\b", "`must`, `needs`, or name who asks"),
    (
        r"(?:^|[.:;?] )Of (?!`?Interest)\w",
        "subject first: `The largest of ...`, `For a stream, ...`",
    ),
    (r"\bWhere one (hook )?(also|does)\b", "`If a hook also ...`"),
    (r"\b(be|Be) it\b", "`whether ... or ...`"),
    (r"\bbut for\b", "`except`, `except for`"),
    (r"\b(under way|on the way)\b", "`in flight`, `in progress`"),
    (r"\btaken up again\b", "`resumed`"),
    (r"\b(sent|sends?|sending) again\b", "`retransmit`, `repeat`"),
    (r"\btime is over\b", "`expires`"),
    (r"\blooks? on\b", "`probes`"),
    (r"\bowes?\b", "name the duty: `still has to send`"),
    (r"\bthere(of|by|in|upon|fore it)\b|\bwhere(of|by|in|upon)\b", "two sentences"),
]

# Rustdoc of all but functions is a noun phrase or a sentence: no clause that lacks its noun.
FRAGMENT = re.compile(r"(?:Whether|What|Who|Whose|Whom) ")
FRAGMENT_ADVICE = "`True if ...`, `The bytes that ...`, `The hosts that ...`"

COMMENT = re.compile(r"\s*(?P<mark>//[/!]?) ?(?P<text>.*)")
FUNCTION = re.compile(r"(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe|extern \"C\") )*fn ")
# Items whose comments are texts of documents and schemas: those have a form of their own.
DESCRIBING = re.compile(
    r"(?P<indent> *)#\[(?:(?:backwater_derive::)?parameters\b"
    r"|derive\(.*\b(?:Table|Columns|JsonSchema)\b)"
)


class Comment(NamedTuple):
    """A paragraph of comment: where it begins, mark, text without code, and what follows."""

    line: int
    mark: str
    text: str
    first: bool
    """It begins a comment, so what it says is of what follows."""
    item: str
    """The line of code that follows."""


def comments(source: str) -> Iterator[Comment]:
    """Yield the paragraphs of a file's comments, without code in fences and rows of tables."""
    lines = source.splitlines()
    begun: list[str] = []
    start, mark, first, fence = 0, "", True, False
    for number, line in enumerate([*lines, ""]):
        found = COMMENT.fullmatch(line)
        text = found["text"].strip() if found else ""
        if found and text.startswith("```"):
            fence = not fence
        apart = not text or fence or text.startswith("```")
        if begun and (
            apart or text.startswith(("- ", "* ", "| ", "#")) or (found and found["mark"] != mark)
        ):
            following = (one.strip() for one in lines[number:])
            code = next((one for one in following if one and not one.startswith("//")), "")
            prose = re.sub(r"`[^`]*`", "`code`", " ".join(begun))
            yield Comment(start + 1, mark, prose, first, code)
            begun = []
            first = False
        if not found:
            first, fence = True, False
        elif not apart:
            if not begun:
                start, mark = number, found["mark"]
            begun.append(text)


def descriptions(source: str) -> set[int]:
    """Return the lines, from 1, of items that describe parameters, columns and keys."""
    lines = source.splitlines()
    found: set[int] = set()
    for number, line in enumerate(lines):
        if begins := DESCRIBING.match(line):
            begin = end = number
            while begin and lines[begin - 1].strip().startswith(("///", "#[")):
                begin -= 1
            while end < len(lines) - 1 and not re.match(
                begins["indent"] + r"(?:\}|.*;$)", lines[end]
            ):
                end += 1
            found.update(range(begin + 1, end + 2))
    return found


def hits(path: Path) -> Iterator[str]:
    """Yield the banned patterns of a file, one line each."""
    where = path.relative_to(ROOT)
    source = path.read_text(encoding="utf-8")
    described = descriptions(source)
    for one in comments(source):
        if one.mark == "//!" and re.fullmatch(r"crates/backwater-mech/src/\w+/mod\.rs", str(where)):
            continue
        if one.line in described:
            continue
        for pattern, advice in BANNED:
            for found in re.finditer(pattern, one.text):
                yield f"{where}:{one.line}: {found[0].strip()!r}: {advice}"
        of_item = one.mark == "///" and one.first and not FUNCTION.match(one.item)
        if of_item and (begin := FRAGMENT.match(one.text)):
            yield f"{where}:{one.line}: {begin[0].strip()!r} at the beginning: {FRAGMENT_ADVICE}"


def paragraphs(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a text that begins in line `start`; no code, headings or tables."""
    begun: list[str] = []
    fence = False
    for number, line in enumerate([*text.splitlines(), ""], start):
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            fence = not fence
        begins = re.match(r"(?:[-*] |\d+\. |>|\||#|<)", bare)
        if begun and (not bare or begins or fence):
            yield number - len(begun), re.sub(r"`+[^`]*`+", "`code`", " ".join(begun))
            begun = []
        if bare and not fence and not bare.startswith(("|", "```", "~~~", "#", "<")):
            begun.append(bare)


def prose_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a module's docstrings and comments."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        # Texts after attributes are docstrings as well.
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                text = one.value.value
                if isinstance(text, str):
                    yield from paragraphs(text, one.lineno)
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, text = token.start[0], token.string.lstrip("#: ")
        if block and line != last + 1:
            yield from paragraphs("\n".join(block), last - len(block) + 1)
            block = []
        block.append("" if text.startswith(("noqa", "type: ", "!")) else text)
        last = line
    yield from paragraphs("\n".join(block), last - len(block) + 1)


def hits_of_prose(path: Path, prose: Iterator[tuple[int, str]]) -> Iterator[str]:
    """Yield the banned patterns of paragraphs, one line each."""
    for line, text in prose:
        for pattern, advice in BANNED:
            for found in re.finditer(pattern, text):
                yield f"{path.relative_to(ROOT)}:{line}: {found[0].strip()!r}: {advice}"


def told(found: list[str]) -> str:
    """Format the places for an assertion."""
    return "\n".join([f"{len(found)} places to be rewritten:", *found])


def test_comments_of_rust_are_plain_english() -> None:
    files = sorted(path for folder in SOURCES for path in folder.rglob("*.rs"))
    assert len(files) > 400
    found = [hit for path in files for hit in hits(path)]
    assert not found, told(found)


def test_comments_of_python_are_plain_english() -> None:
    files = sorted(path for folder in PYTHON for path in (ROOT / folder).rglob("*.py"))
    assert len(files) > 200
    found = [
        hit
        for path in files
        for hit in hits_of_prose(path, prose_of_python(path.read_text(encoding="utf-8")))
    ]
    assert not found, told(found)


def test_documents_are_plain_english() -> None:
    files = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
    assert len(files) > 60
    found = [
        hit
        for path in files
        for hit in hits_of_prose(path, paragraphs(path.read_text(encoding="utf-8"), 1))
    ]
    assert not found, told(found)


def test_prose_is_found_where_it_is() -> None:
    source = (
        '"""One.\n\n- Two\n  three.\n\n```\nno prose\n```\n"""\n'
        'class A:\n    b: int\n    """Four `code` is."""\n'
        "    # Five\n    # six.\n    c = 1  # noqa: E501\n"
    )
    assert list(prose_of_python(source)) == [
        (1, "One."),
        (3, "- Two three."),
        (12, "Four `code` is."),
        (13, "Five six."),
    ]
    page = "# Title\n\nA line,\nand `x y` more.\n\n| a | b |\n|---|---|\n\n1. One\n2. Two\n"
    assert list(paragraphs(page, 1)) == [
        (3, "A line, and `code` more."),
        (9, "1. One"),
        (10, "2. Two"),
    ]


def test_patterns_are_found_where_they_are() -> None:
    source = (
        "/// Whether it waits.\n///\n/// Of all none `says so`.\n#[inline]\nstruct A;\n"
        "/// What is lost is\n/// sent\n/// again.\nfn f() {}\n//! Right.\n"
        "/// ```\n/// for ever\n/// ```\n"
        "/// What.\n#[parameters]\nstruct B {\n    /// Who.\n    c: u8,\n}\n"
    )
    assert [(one.line, one.mark, one.first, one.text) for one in comments(source)] == [
        (1, "///", True, "Whether it waits."),
        (3, "///", False, "Of all none `code`."),
        (6, "///", True, "What is lost is sent again."),
        (10, "//!", True, "Right."),
        (14, "///", False, "What."),
        (17, "///", True, "Who."),
    ]
    assert descriptions(source) == set(range(11, 20))
