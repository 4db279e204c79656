"""Reads and writes files: each read has an end, and no file is ever half written.

Only regular files are read, and only up to a limit if they are read whole. Both are checked before
the file is opened.

A regular file is replaced as a whole: its new content goes to a temporary file beside it, reaches
the disk, and takes the name. Any other file (a terminal, a pipe, /dev/null) is written to. Symbolic
links are followed: their target is replaced, and they stay.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from backwater.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _typeshed import ReadableBuffer

LARGEST_TEXT = 16 << 20
"""Longest text that is read whole, such as a scenario, in B; the core has the same limit."""
LARGEST = 4 << 30
"""Largest file that is read whole, in B."""

# Errors after which a file may still be written to: its directory takes no new file, or the file
# cannot be renamed over (another user's in a sticky directory, a mount point).
_NO_RENAME = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)

# Temporary files that this process is writing, and directories of them.
_being_written: set[Path] = set()

# Names of temporary files.
TEMPORARY = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.tmp")

# A temporary file that has not grown for this long is abandoned, in s.
_ABANDONED_S = 3600


def parted(file: str) -> tuple[str, str | None]:
    """Return file and variant of the name `FILE@VARIANT`; None as the variant of other names."""
    path, at, variant = file.rpartition("@")
    if not at or not Path(path).is_file() or Path(file).exists():
        return file, None
    return path, variant


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file: replace a regular one as a whole, and write to any other.

    A replaced file keeps its mode and, if permitted, its owner. Raises `OSError`.
    """
    place = Path(path)
    there = _status(place)
    if there is not None and (stream := own_stream(place, there)) is not None:
        sys.stdout.flush()
        # The reader of a stream of this process may stop before the end.
        with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(stream), "wb") as file:
            file.write(content)
    elif there is not None and not stat.S_ISREG(there.st_mode):
        with place.open("wb") as file:
            file.write(content)
    else:
        target = Path(os.path.realpath(place))
        try:
            with replacing(target, there) as file:
                file.write(content)
        except OSError as error:
            if there is None or error.errno not in _NO_RENAME:
                raise
            with target.open("wb") as file:
                file.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, as `write_file` does."""
    write_file(path, text.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def replacing(target: Path, there: os.stat_result | None = None) -> Iterator[IO[bytes]]:
    """Yield a temporary file that takes the name `target` at the end, once it is on the disk.

    After an error, `target` is unchanged. `there`: the status of an earlier file, whose mode and
    owner are kept.
    """
    temporary = target.with_name(f".{_short(target.name)}.{secrets.token_hex(4)}.tmp")
    # Not by `tempfile`, whose files only their owner can read.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    _being_written.add(temporary)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if there is not None:
                with contextlib.suppress(OSError):
                    os.fchown(file.fileno(), there.st_uid, there.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _being_written.discard(temporary)
    sync_directory(target.parent)


def _short(name: str) -> str:
    """Cut a name so that more fits behind it: names have 255 octets, characters up to four."""
    return os.fsdecode(os.fsencode(name)[:200].decode("utf-8", "ignore"))


def drop_left_behind(target: Path) -> None:
    """Remove temporary files of `target` that a killed process has left.

    Files that have not been written to for an hour count as left.
    """
    name = _short(target.name)
    for temporary in target.parent.glob(f".{glob.escape(name)}.*.tmp"):
        with contextlib.suppress(OSError):
            if (
                (found := TEMPORARY.fullmatch(temporary.name))
                and found["name"] == name
                and temporary not in _being_written
                and time.time() - temporary.lstat().st_mtime > _ABANDONED_S
            ):
                temporary.unlink()


@contextlib.contextmanager
def dropped(file: Path) -> Iterator[None]:
    """Let a signal that ends the process remove a file, which its maker removes otherwise."""
    _being_written.add(file)
    try:
        yield
    finally:
        _being_written.discard(file)


@contextlib.contextmanager
def temporary_directory(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Yield a new directory, which is removed at the end, also when a signal ends the process.

    It is in `place`; None: in the system's directory of temporary files.
    """
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        # Until the end of the process: a thread of a library may make it again after a stop.
        _being_written.add(folder)
        yield folder


# A thread of the core may be writing into a directory while it is removed.
_TRIES = 5


def drop_temporary_files() -> None:
    """Remove the temporary files that are being written, just before the process ends."""
    for temporary in list(_being_written):
        with contextlib.suppress(OSError):
            if not temporary.is_dir():
                temporary.unlink(missing_ok=True)
        for _ in range(_TRIES):
            if not temporary.is_dir():
                break
            shutil.rmtree(temporary, ignore_errors=True)


def sync_directory(path: Path) -> None:
    """Write the names in a directory to the disk, if its file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Hashing(io.RawIOBase):
    """Hashes octets that are written in order, and passes them on to a file, if any."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        super().__init__()
        self._file = file
        self._hash = hashlib.sha256()
        self._size = 0

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, octets: ReadableBuffer) -> int:
        """Hash octets and pass them on."""
        content = bytes(octets)
        self._hash.update(content)
        self._size += len(content)
        if self._file is not None:
            self._file.write(content)
        return len(content)

    def tell(self) -> int:
        """Return how much was written, in B."""
        return self._size

    def hexdigest(self) -> str:
        """Return the SHA-256 of all that was written."""
        return self._hash.hexdigest()


def regular(path: str | os.PathLike[str], most: int | None = None) -> Path:
    """Return the path of a regular file of at most `most` B. Raises `OSError` for any other.

    To open a pipe may take forever, and a device may have no end.
    """
    place = Path(path)
    about = place.stat()
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(place))
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file", str(place))
    if most is not None and about.st_size > most:
        raise OSError(errno.EFBIG, f"is larger than {most} B", str(place))
    return place


def octets_of(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """Return the content of a regular file of at most `most` B. Raises `OSError`."""
    with regular(path, most).open("rb") as file:
        return file.read(most)


def text_of(path: str | os.PathLike[str], most: int = LARGEST_TEXT) -> str:
    """Return the text of a regular file. Raises `OSError`, `UnicodeDecodeError`."""
    return octets_of(path, most).decode("utf-8")


def text_given(path: str | os.PathLike[str]) -> str:
    """Return the text of a file named on the command line, as the core reads a scenario.

    Other than `text_of`, it accepts an open pipe of this process, as from `<(...)` in a shell.
    Raises `OSError`, `UnicodeDecodeError`.
    """
    place = Path(path)
    if not (_is_given_open(place) and stat.S_ISFIFO(place.stat().st_mode)):
        regular(place)
    with place.open("rb") as file:
        octets = file.read(LARGEST_TEXT + 1)
    if len(octets) > LARGEST_TEXT:
        raise OSError(errno.EFBIG, f"is larger than {LARGEST_TEXT} B", str(path))
    return octets.decode("utf-8")


def _is_given_open(path: Path) -> bool:
    """Return whether a path names an open descriptor of this process."""
    return path == Path("/dev/stdin") or path.parent in (Path("/dev/fd"), Path("/proc/self/fd"))


def digest(path: Path) -> str:
    """Return the SHA-256 of a regular file, as `sha256sum` prints it. Raises `OSError`."""
    with regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a path, links followed; None: it does not exist."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def own_stream(path: Path, there: os.stat_result) -> int | None:
    """Return the descriptor of this process that a path is another name of; None: of none.

    `/dev/stdout` may lead to a regular file: to replace it would take it from its other writers.
    """
    named = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", str(path))
    for descriptor in (1, 2, *([int(named[1])] if named else [])):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), there):
                return descriptor
    return None


def json_text(value: object) -> str:
    """Return JSON with a line for each key of the top object, and each object in a list.

    With a line for everything, as with `indent`, a manifest would take ten times as long.
    """

    def lines(parts: Iterable[str], brackets: str, margin: str) -> str:
        inner = f",\n{margin}  ".join(parts)
        return f"{brackets[0]}\n{margin}  {inner}\n{margin}{brackets[1]}"

    def text(part: object, margin: str) -> str:
        if isinstance(part, list) and part and isinstance(part[0], dict):
            return lines(map(compact, part), "[]", margin)
        return compact(part)

    # One encoder for all: `json.dumps` would make one for each of hundreds of entries.
    compact = json.JSONEncoder(ensure_ascii=False).encode
    if isinstance(value, dict) and value:
        pairs = (f"{compact(str(key))}: {text(part, '  ')}" for key, part in value.items())
        whole = lines(pairs, "{}", "")
    else:
        whole = text(value, "")
    # Except for the ends of lines, JSON can have control characters only within its strings.
    return visible(whole) + "\n"
