"""Standard output and standard error, which nobody has to read to their end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


def escaped(text: str, encoding: str) -> str:
    """Give a text with what an encoding lacks as JSON escapes it."""

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

    After it is lost, what is written goes nowhere.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None
        """Why it takes no more. A `BrokenPipeError`: its reader has heard enough."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the stream has it
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, as a stream does."""
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:
            # Where output is ASCII, as with PYTHONIOENCODING=ascii, JSON stays JSON this way.
            return self._stream.write(escaped(text, self._stream.encoding))
        except OSError as error:
            self._lose(error)
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, as a stream does."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Have all that was written go where it goes to."""
        try:
            self._stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        """Let what is left, in the stream's buffer too, go nowhere."""
        self.lost = error
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._stream.fileno())
        os.close(null)
