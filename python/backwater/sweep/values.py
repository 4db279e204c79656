"""Values of a varied key: lists, ranges with units, intervals to draw samples from.

The text `100 KB..300 KB step 20 KB` is a range with both ends. `1 us..9 us in 5` has five evenly
spaced values (`in 5 log`: on a logarithmic scale). `100 KB..300 KB` is an interval, from which only
samples and searches draw. Any other text is one value. Commas separate them. The number in the base
unit (B, ps, b/s) identifies a quantity, so `3 us` and `3000 ns` are one value.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 1_000_000
"""The most values of a key, and the most points of a sweep."""

# Base unit of each kind of quantity, and the units for writing its values.
_UNITS = {
    "size": ("B", (("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("B", 1))),
    "time": ("ps", (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1))),
    "rate": ("b/s", (("Gb/s", 10**9), ("Mb/s", 10**6), ("Kb/s", 10**3), ("b/s", 1))),
}
_RANGE = re.compile(
    r"(?P<low>.+?)\.\.(?P<high>.+?)(?:\s+step\s+(?P<step>.+)|\s+in\s+(?P<count>\d+)|)"
    r"(?P<log>\s+log)?"
)


@dataclass(frozen=True)
class Kind:
    """The kind of a key's values."""

    key: str
    name: str
    """`size`, `time`, `rate`, `share`, `number`, `whole` or `text`."""

    @staticmethod
    def of(key: str) -> Kind:
        """Return the kind of a key. Raises `backwater.ScenarioError` for an unknown key."""
        said = str(_core.explain(key)["unit"] or "text")
        first = said.split()[0]
        if first in _UNITS or first == "share":
            return Kind(key, first)
        numbers = {"a number": "number", "a whole number": "whole"}
        return Kind(key, numbers.get(said, "text"))

    @property
    def unit(self) -> str | None:
        """The unit of the numbers; empty: no unit; None: the values are texts."""
        if self.name in _UNITS:
            return _UNITS[self.name][0]
        return {"share": "%", "text": None}.get(self.name, "")

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return self.name in _UNITS or self.name == "whole"

    def number(self, text: str, given: str) -> Decimal | None:
        """Parse a number; None for a word, such as `auto`. Errors begin with `given`."""
        text = text.strip()
        if self.unit is None or not re.match(r"[-+.]?\d", text):
            return None
        if self.name in _UNITS:
            try:
                return Decimal(_core.base_units(self.name, text, self.key))
            except _core.ScenarioError as error:
                raise InputError(f"{given}: {error.reason}", error.hint) from None
        bare = text.removesuffix("%").strip() if self.name == "share" else text
        try:
            found = Decimal(bare)
        except InvalidOperation:
            hint = f"`backwater explain {self.key}` says what it takes"
            raise InputError(f"{given}: `{text}` is not a number", hint) from None
        if self.name == "whole" and found != found.to_integral_value():
            hint = f"`backwater explain {self.key}` says what it takes"
            raise InputError(f"{given}: `{text}` is not a whole number", hint)
        return found

    def value(self, number: Decimal) -> Value:
        """Return the value of a number in the base unit."""
        if self.name in _UNITS:
            exact = int(number)
            unit, factor = next(
                (unit, factor)
                for unit, factor in _UNITS[self.name][1]
                if factor == 1 or (exact and exact % factor == 0)
            )
            return Value(f"{exact // factor} {unit}", exact)
        if self.name == "whole":
            return Value(str(int(number)), int(number))
        text = f"{number.normalize():f}"
        return Value(f"{text} %" if self.name == "share" else text, float(number))


@dataclass(frozen=True)
class Value:
    """One value of a key."""

    text: str
    """The text in the scenario; equal values have equal texts."""
    number: float | None = None
    """The number in the unit of its kind; None: no number."""


@dataclass(frozen=True)
class Interval:
    """The range of a key's samples: uniform from `low` to `high`, or on a logarithmic scale."""

    kind: Kind
    low: Decimal
    high: Decimal
    log: bool

    def at(self, share: float) -> Value:
        """Return the value at a share of the interval, from 0 to 1."""
        low, high = float(self.low), float(self.high)
        number = low * (high / low) ** share if self.log else low + share * (high - low)
        exact = Decimal(round(number)) if self.kind.whole else Decimal(f"{number:.9g}")
        return self.kind.value(min(max(exact, self.low), self.high))


def text_of(key: str, value: object) -> str:
    """Format a value of a table of points, a number in base units, as the key takes it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Kind.of(key).value(Decimal(str(value))).text
    return str(value)


def shown(key: str, value: object, digits: int = 9) -> str:
    """Format a value of a key for people, in a suitable unit and with this many digits.

    `value`: a number in the key's base unit, or a text as the key takes it. Words do not change.
    """
    kind = Kind.of(key)
    if isinstance(value, str):
        number = kind.number(value, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = Decimal(str(value))
    else:
        number = None
    if number is None:
        return str(value)
    unit, factor = {"share": "%", "number": "", "whole": ""}.get(kind.name, ""), Decimal(1)
    if kind.name in _UNITS:
        units = _UNITS[kind.name][1]
        unit, most = next((one for one in units if abs(number) >= one[1]), units[-1])
        factor = Decimal(most)
    scaled = Context(prec=digits).divide(number, factor).normalize()
    return f"{scaled:f} {unit}".rstrip()


@dataclass(frozen=True)
class Axis:
    """A key and its values."""

    key: str
    unit: str | None
    """The unit of the numbers; empty: no unit; None: the values are texts."""
    values: tuple[Value, ...]
    interval: Interval | None = None
    """The interval to draw samples from; `values` are then its two ends."""

    def share(self, part: float) -> Value:
        """Return the value at a share of the range or list, from 0 to 1."""
        if self.interval is not None:
            return self.interval.at(part)
        return self.values[min(int(part * len(self.values)), len(self.values) - 1)]


def axis(key: str, given: object, option: str = "--vary") -> Axis:
    """Parse the values of a key: a text, or a list from TOML.

    Raises `InputError` for an unknown key or invalid values.
    """
    key = key.strip()
    try:
        kind = Kind.of(key)
    except _core.ScenarioError as error:
        raise InputError(f"{option} {key}: {error.reason}", error.hint) from None
    texts = [_text(one) for one in given] if isinstance(given, list) else [*split(_text(given))]
    if not texts:
        raise InputError(
            f"{option} {key}: has no value", f'{option} "{key}=VALUE,VALUE", or a range A..B step C'
        )
    found: list[Value] = []
    for text in texts:
        source = f"{option} {key}={text}"
        interval, values = _read(kind, text, source)
        if interval is not None:
            if len(texts) > 1:
                raise InputError(
                    f"{source}: is an interval, beside other values",
                    "give it a step, as in `A..B step C`, or remove the other values for samples",
                )
            return Axis(key, kind.unit, tuple(values), interval)
        found += values
        if len(found) > MOST:
            raise _too_many(source, len(found))
    counts = Counter(value.text for value in found)
    twice = next((text for text, many in counts.items() if many > 1), None)
    if twice is not None:
        raise InputError(
            f"{option} {key}={', '.join(texts)}: has {twice} more than once",
            "ranges include both ends and must not overlap",
        )
    words = any(value.number is None for value in found)
    return Axis(key, None if words else kind.unit, tuple(found))


def _text(given: object) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def split(text: str) -> Iterator[str]:
    """Split values at commas, except those within brackets, braces or quotes."""
    depth, quote, begin = 0, "", 0
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and not depth:
            yield text[begin:at].strip()
            begin = at + 1
    if text.strip() or begin:
        yield text[begin:].strip()


def _read(kind: Kind, text: str, source: str) -> tuple[Interval | None, list[Value]]:
    """Parse the text between commas: a value, a range, or an interval with its two ends."""
    if not text:
        raise InputError(f"{source}: a value is empty", "are there two commas, or one at the end?")
    match = None if kind.unit is None else _RANGE.fullmatch(text)
    if match is None:
        number = kind.number(text, source)
        return None, [Value(text) if number is None else kind.value(number)]
    low, high = (_end(kind, match[name], source) for name in ("low", "high"))
    if low > high:
        raise InputError(
            f"{source}: is empty, {match['low'].strip()} is more than {match['high'].strip()}",
            "a range goes from its least value to its greatest",
        )
    if match["log"] and low <= 0:
        raise InputError(
            f"{source}: a logarithmic scale cannot begin at {match['low'].strip()}",
            "begin above 0",
        )
    if match["step"] is not None:
        if match["log"]:
            raise InputError(f"{source}: step and log exclude each other", "`A..B in N log`")
        return None, _steps(kind, low, high, _end(kind, match["step"], source), source)
    if match["count"] is not None:
        return None, _evenly(kind, (low, high), int(match["count"]), source, log=bool(match["log"]))
    interval = Interval(kind, low, high, bool(match["log"]))
    return interval, [kind.value(low), kind.value(high)]


def _end(kind: Kind, text: str, source: str) -> Decimal:
    number = kind.number(text, source)
    if number is None:
        raise InputError(
            f"{source}: `{text.strip()}` is not a number, and a range needs numbers",
            "as in `100 KB..300 KB step 20 KB`",
        )
    return number


def _steps(kind: Kind, low: Decimal, high: Decimal, step: Decimal, source: str) -> list[Value]:
    if step <= 0:
        raise InputError(f"{source}: the step is not above 0", "`A..B step C` goes up from A to B")
    many = int((high - low) / step) + 1
    if many > MOST:
        raise _too_many(source, many)
    return [kind.value(low + step * number) for number in range(many)]


def _evenly(
    kind: Kind, ends: tuple[Decimal, Decimal], many: int, source: str, *, log: bool
) -> list[Value]:
    if many < 2:
        raise InputError(f"{source}: a range has at least its two ends", "`A..B in 2`, or more")
    if many > MOST:
        raise _too_many(source, many)
    interval = Interval(kind, *ends, log)
    return [interval.at(number / (many - 1)) for number in range(many)]


def _too_many(source: str, many: float) -> InputError:
    count = many if math.isfinite(many) and many < 10**15 else f"{many:.0e}"
    return InputError(f"{source}: {count} values, more than {MOST}", "give it a larger step")


def plain(key: str) -> str:
    """Return the name of a column in SQL: `switch_buffer` for `switch.buffer`."""
    name = re.sub(r"\W+", "_", key, flags=re.ASCII).strip("_").lower()
    return f"_{name}" if name[:1].isdigit() else name or "_"
