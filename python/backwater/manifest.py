"""The manifest of a directory of results: its content, and the checks of it and of the files.

Every directory of results has one: of a run, a series (`seeds`), a study, a comparison, a sweep
or a benchmark.
Its entry `sha256` is the hash of the rest, and reveals damage and edits. It lists each file of
results with its SHA-256.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import RunError, ScenarioError, version
from backwater.errors import InputError, OtherBuildWarning, ResultError
from backwater.files import digest, json_text, octets_of, parted, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MANIFEST = "manifest.json"

RUN, SEEDS, STUDY, COMPARISON = "run", "seeds", "study", "comparison"
SWEEP, BENCH = "sweep", "bench"
NAMES = {
    RUN: "run",
    SEEDS: "series of runs",
    STUDY: "study",
    COMPARISON: "comparison",
    SWEEP: "sweep",
    BENCH: "benchmark",
}
FORMATS = {RUN: 2, SEEDS: 3, STUDY: 3, COMPARISON: 4, SWEEP: 1, BENCH: 1}
"""Formats of result directories. 1 had no hashes; in 2, runs of a series had directories; in 3,
rows of comparisons lacked the number of flows of their values."""
COMMANDS = {
    RUN: "backwater run --out",
    SEEDS: "backwater run --seeds --out",
    STUDY: "backwater reproduce --out",
    COMPARISON: "backwater compare --out",
    SWEEP: "backwater sweep --out",
    BENCH: "backwater bench --out",
}
# Largest manifest, in B: that of the largest runs has some megabytes.
LARGEST = 256 << 20

STATUSES = ("running", "done", "interrupted", "failed")
AGAIN = "run it again, with --force"

# Types of the entries of a manifest that this version uses. Each may be absent; others may be
# anything.
_ENTRY = {"key": str, "value": str, "origin": str}
_WARNING = {"kind": str, "message": str, "hint": str}
_COMMON = {"status": str, "versions": {str: str}, "files": {str: str}, "set": {str: str}}
_TABLES = {str: {"parts": int, "rows": int, "sha256": [str]}}
_SHARED = {
    "title": str,
    "scenario": str,
    "origins": [_ENTRY],
    "warnings": [_WARNING],
    "inputs": {str: str},
    "versions": {str: str},
    "set": {str: str},
}
_RUN = _SHARED | {
    "seed": int,
    "started": str,
    "tables": _TABLES,
    "summary": {"time_ps": int, "flows": int, "flows_done": int, "drops": int, "fingerprint": str},
}
_AXIS = {"key": str}
_PROBE = {"settings": [[str]], "scenario": str, "inputs": {str: str}}
_POINT = {"case": str, "mechanism": str, "runs": [str]}
SHAPES: dict[str, dict[str, Any]] = {
    RUN: _COMMON | _RUN,
    SEEDS: _COMMON | {"runs": [str], "warnings": [_WARNING], "run": _SHARED},
    STUDY: _COMMON | {"study": str, "points": [_POINT]},
    COMPARISON: _COMMON
    | {"with": [str], "seeds": [int], "scenarios": [{"scenario": str, "directory": str}]},
    BENCH: _COMMON | {"fabric": str, "seeds": [int], "points": [_POINT]},
    SWEEP: _COMMON
    | {
        "axes": [_AXIS],
        "probes": {str: _PROBE},
        "metrics": [str],
        "keep": [str],
        "code": {str: str},
        "points": int,
        "beside": [str],
        "unfinished": [{"goal": str}],
    },
}
NEEDED = {
    RUN: ("seed",),
    SEEDS: ("runs", "run"),
    STUDY: ("study",),
    COMPARISON: ("scenarios",),
    BENCH: ("fabric", "points"),
    SWEEP: ("axes", "probes", "metrics", "keep", "code", "points"),
}


def write_manifest(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest with its hash; on return it is on the disk. Raises `OSError`."""
    write_text(directory / MANIFEST, json_text({**manifest, "sha256": _seal(manifest)}))


def check_no_file(path: Path, *kinds: str) -> None:
    """Raise `ResultError` if `path` is a file: results are directories.

    For a scenario, the hint names the command that makes results of `kinds`.
    """
    file, variant = parted(str(path))
    if not Path(file).is_file():
        return
    hint = "name the directory that `backwater run --out` or `backwater reproduce --out` wrote"
    if not file.endswith(".toml"):
        raise ResultError(f"{path}: is a file, not a result directory", hint)
    name = Path(file).stem if variant is None else f"{Path(file).stem}-{variant}"
    # Some commands take sweeps, and no runs.
    command = "sweep" if SWEEP in kinds and RUN not in kinds else "run"
    place = Path("results") / name
    raise ResultError(
        f"{path}: is a scenario, not a result directory",
        f"run it first: `backwater {command} {shlex.quote(str(path))} "
        f"--out {shlex.quote(str(place))}`, then name {shlex.quote(str(place))}",
    )


def read_manifest(directory: Path, *kinds: str) -> dict[str, Any]:
    """Return the manifest of a directory of results of one of `kinds` (none given: of any).

    Raises `ResultError` with place, reason and hint if the manifest is missing, damaged, or of
    another kind or format.
    """
    path = directory / MANIFEST
    wanted = kinds or tuple(NAMES)
    name = f"name a directory that {' or '.join(f'`{COMMANDS[kind]}`' for kind in wanted)} wrote"
    try:
        manifest: dict[str, Any] = json.loads(octets_of(path, LARGEST))
    except (FileNotFoundError, NotADirectoryError):
        check_no_file(directory, *kinds)
        raise ResultError(
            f"{directory}: not a result directory, it has no {MANIFEST}", name
        ) from None
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: is damaged: octet {error.start} is not text", AGAIN) from None
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise ResultError(f"{place}: is damaged: {error.msg}", AGAIN) from None
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise ResultError(f"{path}: is too large for a manifest", name) from None
        raise ResultError(f"{path}: cannot be read: {error}", AGAIN) from None
    if not _ours(manifest):
        raise ResultError(f"{path}: is not a manifest of Backwater's results", name)
    kind = manifest["kind"]
    if manifest["format"] != FORMATS[kind]:
        raise ResultError(
            f"{path}: is of format {manifest['format']}, and this version reads {FORMATS[kind]}",
            "read it with the version that wrote it, or run it again, with --force",
        )
    if kind not in wanted:
        of = " or ".join(NAMES[one] for one in wanted)
        if kind == SEEDS and RUN in wanted:
            name = f"its runs are {directory}/seed-N: name one of them"
        raise ResultError(f"{directory}: holds a {NAMES[kind]}, not a {of}", name)
    for key in ("status", *NEEDED[kind]):
        if manifest.get(key) is None:
            raise ResultError(f"{path}: is damaged: it has no `{key}`", AGAIN)
    if manifest["status"] not in STATUSES:
        raise ResultError(f"{path}: status: {manifest['status']!r} is unknown", AGAIN)
    _check(path, "", manifest, SHAPES[kind])
    if kind == RUN and not 0 <= manifest["seed"] < 1 << 64:
        raise ResultError(f"{path}: seed: {manifest['seed']} is out of range", AGAIN)
    return {key: value for key, value in manifest.items() if key != "sha256"}


def kind_of(directory: Path) -> str | None:
    """Return the kind of results that a directory holds; None: it holds no results."""
    try:
        manifest = json.loads(octets_of(directory / MANIFEST, LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return str(manifest["kind"]) if _ours(manifest) else None


def mark_unfinished(directory: Path) -> None:
    """Mark results as incomplete in their manifest, before they are removed."""
    kind = kind_of(directory)
    if kind is not None:
        content = json.loads(octets_of(directory / MANIFEST, LARGEST))
        gone = ("sha256", "tables", "summary", "files")
        left = {key: value for key, value in content.items() if key not in gone}
        if kind in (RUN, SEEDS):
            # The hash of the scenario shows whether somebody has edited it.
            files = content.get("files") or {}
            left["files"] = {name: files[name] for name in files if name == "scenario.toml"}
        write_manifest(directory, left | {"status": "running"})


def _ours(manifest: object) -> bool:
    """Return whether Backwater wrote a manifest, by its kind and format."""
    if not isinstance(manifest, dict):
        return False
    form = manifest.get("format")
    known = isinstance(form, int) and not isinstance(form, bool) and form >= 1
    made = manifest.get("versions")
    by_us = made is None or (isinstance(made, dict) and "backwater" in made)
    return by_us and known and isinstance(kind := manifest.get("kind"), str) and kind in NAMES


def _check(path: Path, place: str, value: Any, shape: Any) -> None:  # noqa: ANN401 - JSON
    """Raise `ResultError` if a part of a manifest has other types than `shape`, except null."""
    if value is None and place:
        return
    kind = dict if isinstance(shape, dict) else list if isinstance(shape, list) else shape
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {str: "a text", int: "a whole number", list: "a list", dict: "an object"}
        raise ResultError(f"{path}: {place}: {json.dumps(value)[:60]} is not {names[kind]}", AGAIN)
    if isinstance(value, list):
        for number, one in enumerate(value):
            _required(path, f"{place}.{number}", one)
            _check(path, f"{place}.{number}", one, shape[0])
    elif isinstance(value, dict):
        if str in shape:
            shape = dict.fromkeys(value, shape[str])
        elif shape in (_ENTRY, _WARNING, _POINT, _AXIS, _PROBE):
            for key in shape:
                _required(path, f"{place}.{key}", value.get(key))
        for key, inner in shape.items():
            if key in value:
                _check(path, f"{place}.{key}".lstrip("."), value[key], inner)


def _required(path: Path, place: str, value: object) -> None:
    if value is None:
        raise ResultError(f"{path}: {place}: is missing", AGAIN)


def _seal(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def sealed(directory: Path) -> bool:
    """Return whether the manifest of a directory matches its hash."""
    try:
        content = json.loads(octets_of(directory / MANIFEST, LARGEST))
        return bool(content.pop("sha256", None) == _seal(content))
    except (OSError, ValueError, RecursionError, AttributeError):
        return False


def say_build(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Warn (`OtherBuildWarning`) if another version or build made the results."""
    made, here = manifest.get("versions"), version()
    if made and made != here:
        of = " ".join(f"{name} {value}" for name, value in made.items())
        this = " ".join(f"{name} {value}" for name, value in here.items())
        text = f"{directory}: made by another version or build: {of}; this is {this}"
        warnings.warn(text, OtherBuildWarning, stacklevel=3)


def check_file(path: Path, wanted: str) -> None:
    """Compare a file with its hash in the manifest. Raises `ResultError`."""
    try:
        found = digest(path)
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror or error}", AGAIN) from None
    if found != wanted:
        raise ResultError(
            f"{path}: has changed since it was written: its SHA-256 is {found[:12]}…, and was "
            f"{wanted[:12]}…",
            f"it is damaged; {AGAIN}",
        )


def check_files(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Compare the files that a manifest lists (not parts of tables) with their hashes."""
    for name, wanted in (manifest.get("files") or {}).items():
        if Path(name).name != name:
            raise ResultError(f"{directory / MANIFEST}: files: {name!r} is not a file name")
        check_file(directory / name, wanted)


@contextlib.contextmanager
def judging(*places: Path | None) -> Iterator[None]:
    """Blame untrustworthy results, not the program, for an unexpected error.

    Untrustworthy are a manifest that was edited, and the tables of a run that was killed: the error
    becomes a `ResultError`. With sound results it is passed on as it is.
    """
    try:
        yield
    except (InputError, ResultError, ScenarioError, RunError, MemoryError):
        raise
    except Exception as error:
        for place in places:
            if place is not None and (doubt := _doubt(place)) is not None:
                what = f"{type(error).__name__}: {error}"
                raise ResultError(f"{doubt} ({what})", AGAIN) from error
        raise


def _doubt(place: Path) -> str | None:
    """Return why results in a directory, or below it, cannot be trusted; None: they can."""
    # A run of a series has no directory, only a name in that of the series.
    place = place if place.is_dir() else place.parent
    for path in sorted(place.rglob(MANIFEST)):
        try:
            manifest = read_manifest(path.parent)
        except ResultError as error:
            return error.reason
        if not sealed(path.parent):
            return f"{path}: was changed since it was written, and cannot be used"
        if manifest["status"] == "running":
            return f"{path.parent}: the run was killed, and its results cannot be used"
    return None
