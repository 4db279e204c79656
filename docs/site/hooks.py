"""Brings the documents of the tree into the site, with the paths that they have in the tree.

Relative links between them then hold as they are. A file that a document links to and that is no
document (a source, a scenario) becomes a page that shows it; a directory becomes a list of its
files. What browsers would load from elsewhere fails the build.
"""

from __future__ import annotations

import functools
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from loads import outside
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from pymdownx.slugs import slugify

if TYPE_CHECKING:
    from collections.abc import Callable

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("*.md", "benches/*.md", "docs/**/*.md", "studies/*/*.md", "crates/*/src/**/README.md")
PICTURES = ("docs/*.svg",)
COLUMNS = "docs/columns.md"
LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".cff": "yaml", ".csv": "text"}

FENCE = re.compile(r"^(`{3,})(\w+)((?: \S+)*)$", re.MULTILINE)
FENCED = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n.*?^ *\1 *$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()([^()\s#]+)(?=[)#])")
# A list within a list has three blanks on GitHub and four in Python-Markdown.
NESTED = re.compile(r"^ {3}(?=(?:\d+\.|[-*]) )", re.MULTILINE)
log = logging.getLogger("mkdocs.hooks.backwater")


def documents() -> list[Path]:
    """All documents of the tree but those that are the site's own."""
    found = [path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if Path(__file__).parent not in path.parents]


def linked(document: Path) -> list[Path]:
    """Files and directories of the tree that a document links to and that are no documents."""
    found = []
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            path = (document.parent / target).resolve()
            if path.suffix not in (".md", ".svg") and path.exists() and ROOT in path.parents:
                found.append(path)
    return found


def page_of(path: Path) -> str:
    """The place in the site of a page that shows a file or a directory."""
    name = path.relative_to(ROOT).as_posix()
    return f"{name}/index.md" if path.is_dir() else f"{name}.md"


def shown(path: Path) -> str:
    """The page that shows a file, or the files of a directory."""
    name = path.relative_to(ROOT).as_posix()
    head = f"---\nsearch:\n  exclude: true\nhide: [navigation]\n---\n\n# {name}\n\n"
    if not path.is_dir():
        text = path.read_text(encoding="utf-8").rstrip("\n")
        return f"{head}````{LANGUAGES.get(path.suffix, 'text')}\n{text}\n````\n"
    entries = sorted(one for one in path.iterdir() if not one.name.startswith("."))
    lines = []
    for one in entries:
        inside = f"{one.name}/README.md" if one.is_dir() else f"{one.name}.md"
        if one.is_dir() and not (one / "README.md").exists():
            continue
        lines.append(f"- [{one.name}]({inside})\n")
    return head + "".join(lines)


@functools.cache
def pages() -> dict[str, Path]:
    """The pages that show what is no document, by their places."""
    found = {path for document in documents() for path in linked(document)}
    for path in [one for one in found if one.is_dir()]:
        found.update(one for one in path.iterdir() if one.is_file() and one.suffix != ".md")
    return {page_of(path): path for path in sorted(found)}


def columns() -> str:
    """The columns of results as a page of their own, from where the code writes them."""
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    written = re.search(r"<!-- columns: .*?<!-- end of columns -->", text, re.DOTALL)
    if written is None:
        raise PluginError("docs/results.md has no columns")
    about = "[What a result directory holds](results.md) says more."
    return f"# Reference: every column of results\n\n{about}\n\n{written[0]}\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name headings as GitHub does: links to them are made for it."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents, their pictures and the pages for what they link to."""
    for path in [*documents(), *(one for pattern in PICTURES for one in ROOT.glob(pattern))]:
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    files.append(File.generated(config, COLUMNS, content=columns()))
    for name, path in pages().items():
        file = File.generated(config, name, content=shown(path))
        file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    for file in files.documentation_pages():
        if re.fullmatch(r"crates/.+|studies/.+/(?!README)[\w-]+\.md", file.src_uri):
            file.inclusion = file.inclusion.NOT_IN_NAV
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Turn what GitHub reads into what Python-Markdown reads."""
    here = ROOT / page.file.src_uri
    found = pages()

    def led(match: re.Match[str]) -> str:
        target = match[1]
        path = (here.parent / target).resolve()
        if re.match(r"[a-z]+:", target) or ROOT not in path.parents or path.suffix == ".md":
            return target
        if path.is_dir():
            return f"{target.rstrip('/')}/index.md"
        return f"{target}.md" if page_of(path) in found else target

    def fence(match: re.Match[str]) -> str:
        words = match[3].split()
        named = next((word[5:] for word in words if word.startswith("name=")), None)
        return f'{match[1]}{match[2]} title="{named}"' if named else match[1] + match[2]

    if page.file.src_uri in found:
        return markdown
    if page.file.src_uri == "docs/reference.md":
        # Its tables have seven columns.
        page.meta["hide"] = ["navigation"]
    parts, last = [], 0
    for block in FENCED.finditer(markdown):
        parts += [prose(markdown[last : block.start()], led), FENCE.sub(fence, block[0], count=1)]
        last = block.end()
    return "".join([*parts, prose(markdown[last:], led)])


def prose(text: str, led: Callable[[re.Match[str]], str]) -> str:
    """What lies outside fences: links lead to pages, comments of generators are gone."""
    return LINK.sub(led, NESTED.sub("    ", COMMENT.sub("", text)))


def on_post_build(config: MkDocsConfig) -> None:
    """Fail if a page would load anything from the network."""
    site = Path(config.site_dir)
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        if found := outside(path.read_text(encoding="utf-8")):
            raise PluginError(f"{path.relative_to(site)} loads from the network: {found[0]}")
    count = len(list(site.rglob("*.html")))
    log.info("%d pages, none loads anything from the network", count)
