"""Standard output and standard error, whose readers may stop early."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


def escaped(text: str, encoding: str) -> str:
    """Return a text in which JSON escapes replace the characters that an encoding lacks."""

    def one(char: str) -> str:
        try:
            char.encode(encoding)
        except UnicodeEncodeError:
            units = char.encode("utf-16-be", "surrogatepass").hex()
            return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
        return char

    return "".join(map(one, text))


class Unheard:
    """A stream whose loss ends no work: `| head` and `2>&1 | grep -q` change neither work nor code.

    Once it is lost, output is discarded.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None
        """The error of its loss. A `BrokenPipeError`: its reader has stopped reading."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the stream has it
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, as a stream does."""
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:
            # JSON stays JSON this way if output is ASCII, as with PYTHONIOENCODING=ascii.
            return self._stream.write(escaped(text, self._stream.encoding))
        except OSError as error:
            self._lose(error)
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, as a stream does."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        """Discard all further output, also that in the stream's buffer."""
        self.lost = error
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._stream.fileno())
        os.close(null)
