"""Writes the crate of `backwater new mechanism`, from the one in `template`."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from backwater import _core
from backwater.errors import InputError
from backwater.files import write_text

TEMPLATE = Path(__file__).parent / "template"
# The template's mechanism, as a module, as a type, and in documentation.
MODEL, TYPE, SHOUTED = "aimd", "Aimd", "AIMD"
# Longest name, in letters: it becomes part of the names of files.
LONGEST = 60
# Files of the template, with their places in the crate. Archives of packages leave out directories
# that begin with a dot.
PLACES = {"cargo-config.toml": ".cargo/config.toml"}

# Names that Rust has already: keywords, also reserved ones, the standard crates, and what is in
# scope everywhere (The Rust Reference, "Keywords"; std::prelude), in small letters.
_TAKEN = """
abstract as async await become box break const continue crate do dyn else enum extern
false final fn for gen if impl in let loop macro match mod move mut override priv pub raw
ref return safe self static struct super trait true try type typeof union unsafe unsized
use virtual where while yield macro_rules alloc core proc_macro std test clone copy debug
default drop eq err extend from hash into iterator none ok option ord result send sized
some string sync to_owned to_string unpin vec bool char str u8 u16 u32 u64 u128 usize i8
i16 i32 i64 i128 isize f32 f64
"""


def source_tree() -> Path | None:
    """Return Backwater's source tree, if this package runs from one."""
    root = Path(__file__).resolve().parents[3]
    return root if is_tree(root) else None


def is_tree(path: Path) -> bool:
    """Return whether a directory is Backwater's source tree."""
    return (path / "crates/backwater-binding/Cargo.toml").is_file()


def is_address(where: str) -> bool:
    """Return whether `where` is the address of a repository, not a directory."""
    return "://" in where or where.startswith("git@")


def named(name: str) -> str:
    """Return the name of a mechanism's type. Raises `InputError` for an unusable name."""
    if not re.fullmatch(rf"[a-z][a-z0-9_]{{0,{LONGEST - 1}}}", name):
        raise InputError(
            f"{name}: cannot be the name of a mechanism",
            f"at most {LONGEST} small letters, digits and `_`, a letter first; such as `my_law`",
        )
    if name in _TAKEN.split():
        raise InputError(
            f"{name}: cannot be the name of a mechanism: Rust uses it for something else",
            "choose a name such as `my_law`",
        )
    if keyword.iskeyword(name):
        raise InputError(
            f"{name}: cannot be the name of a mechanism: it is a keyword of Python",
            "choose a name such as `my_law`",
        )
    if any(item["name"] == name for item in _core.items("mechanisms")):
        raise InputError(
            f"{name}: a mechanism of Backwater has this name",
            "choose another; `backwater list mechanisms` lists them",
        )
    return "".join(word.capitalize() for word in name.split("_"))


def dependency(krate: str, where: str) -> str:
    """Return the entry of a Cargo.toml for a crate of Backwater: its path or its repository."""
    if is_address(where):
        return f'git = "{where}"'
    return f'path = "{Path(where).resolve() / "crates" / krate}"'


def contents(name: str, where: str) -> dict[str, str]:
    """Return the files of the crate for a mechanism of this name, by their paths in the crate."""
    of_type = named(name)

    def renamed(text: str) -> str:
        return text.replace(MODEL, name).replace(TYPE, of_type).replace(SHOUTED, of_type)

    files = {}
    for path in sorted(TEMPLATE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            text = renamed(path.read_text(encoding="utf-8"))
            place = path.relative_to(TEMPLATE).as_posix()
            if place == "Cargo.toml":
                text = re.sub(
                    r"^(backwater-\w+) = \{ BACKWATER \}$",
                    lambda line: f"{line[1]} = {{ {dependency(line[1], where)} }}",
                    text,
                    flags=re.MULTILINE,
                )
            files[PLACES.get(place, renamed(place))] = text
    return files


def write_crate(name: str, to: Path, where: str | None, *, replace: bool = False) -> list[str]:
    """Write a crate with a mechanism of this name into `to`, and return the paths of its files.

    `where`: Backwater's source, a directory or the address of a repository; by default the tree
    that this package runs from. Raises `InputError` if the source is unknown, the name is unusable,
    or a file exists already and `replace` is false.
    """
    tree = source_tree()
    if where is None and tree is None:
        raise InputError(
            "Backwater's source is not known: this package was not installed from a clone",
            "--backwater DIRECTORY names a clone, --backwater ADDRESS a repository",
        )
    where = str(tree) if where is None else where
    if not is_address(where) and not is_tree(Path(where)):
        raise InputError(
            f"{where}: is not Backwater's source",
            "--backwater takes the directory of a clone, or the address of a repository",
        )
    files = contents(name, where)
    lock = Path(where) / "Cargo.lock"
    if lock.is_file():
        # The versions of other crates that Backwater is tested with.
        files["Cargo.lock"] = lock.read_text(encoding="utf-8")
    there = [path for path in files if (to / path).exists()]
    if there and not replace:
        raise InputError(
            f"{to / there[0]}: exists already", "give another --to, or --force to replace it"
        )
    for path, text in files.items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        write_text(to / path, text)
    return list(files)
