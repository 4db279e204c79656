"""How numbers are written for people, on the terminal and in reports alike."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What moves a terminal's cursor, colours, or the order in which text is read: C0 but for line feed
# and tabulator, DEL, C1, the bidirectional controls of Unicode (UAX #9), separators of lines; and
# halves of characters, which no terminal takes: a file name that is no UTF-8 has them.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

MANY_NAMES = 15
"""Names that one hint lists."""


def visible(text: str) -> str:
    r"""Write out control characters as JSON does (`\u001b`), so that a terminal shows them."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def meant(name: str, known: Sequence[str], otherwise: str, most: int = 1) -> str:
    """Hint at what may be meant by a name that is not known; at what there is, if nothing is near.

    `otherwise` is said before that, as in "the studies are". Of many names some are said.
    """
    import difflib

    near = difflib.get_close_matches(name, known, n=most) if most else []
    if near:
        return f"did you mean {' or '.join(near)}?"
    more = len(known) - MANY_NAMES
    some = f" and {more} more" if more > 0 else ""
    return f"{otherwise} {', '.join(known[:MANY_NAMES])}{some}"


def labelled(text: str) -> str:
    """An error's text as the command says it."""
    return text if text.lstrip().startswith("error") else f"error: {text}"


def series(names: Sequence[str]) -> str:
    """Names as a sentence has them: `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def sentence(text: str) -> str:
    """A text as a sentence: with a full stop, and a capital where it begins with a word.

    A key, an option or a command in `backticks` stays as it is written.
    """
    if not text:
        return ""
    first = text.partition(" ")[0].rstrip(",:;")
    capital = text[0].upper() if first.replace("-", "").isalpha() else text[0]
    return f"{capital}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def us(value: float | None) -> str:
    """A time in microseconds to the digits that matter, without its unit."""
    if value is None:
        return "-"
    return f"{value:.2f}" if abs(value) < 10_000 else f"{value:.1f}"


def us_of(time_ps: int | None) -> str:
    """A time in microseconds to the nanosecond, without its unit."""
    return "-" if time_ps is None else f"{time_ps / 1e6:,.3f}"


def us_text(time_ps: int) -> str:
    """A time in microseconds to the nanosecond."""
    return f"{us_of(time_ps)} us"


def figure(value: float | None) -> str:
    """A number of any unit to the digits that matter: six, and no more than it has."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return str(int(value))
    if not math.isfinite(value):
        return str(value)
    digits = max(0, 5 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 12)}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"


def difference(mean: float, half: float | None) -> str:
    """A difference with its sign, and half of its interval: four digits, and two; no exponent."""
    told = f"{'+' if mean > 0 else ''}{digits(mean, 4)}"
    return f"{told} ±{digits(half, 2)}" if half else told


def digits(value: float | None, count: int) -> str:
    """A number to so many digits, never as a power of ten."""
    return "-" if value is None else figure(float(f"{value:.{count}g}"))


def share_text(ratio: float) -> str:
    """A ratio as a percentage, to a tenth."""
    return f"{100 * ratio:.1f} %"


def percent(value: float | None, *, signed: bool = True) -> str:
    """A ratio as a percentage, with its sign."""
    if value is None:
        return "-"
    return f"{100 * value:+.1f} %" if signed else f"{100 * value:.0f} %"


def prefixed(value: float) -> str:
    """A large number to four digits, with a decimal prefix: `12.35 M`, never a power of ten."""
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= factor:
            return f"{digits(value / factor, 4)} {prefix}"
    return digits(value, 4)


def three(value: float) -> str:
    """A number to three digits, never as a power of ten."""
    return digits(value, 3)


def places(value: float | None, count: int) -> str:
    """A number to so many places behind the point, and no more than it has."""
    return "-" if value is None else figure(round(float(value), count))


def chance(p: float | None) -> str:
    """The p of a test, to two digits."""
    return "-" if p is None else f"{p:.2g}"


def short(value: float | None) -> str:
    """A number to three digits or so, with thousands apart, as labels and captions have it."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def unit_beside(name: str, unit: str) -> str:
    """The unit of a metric beside its name; empty where it is a word of the name."""
    return "" if unit in name.partition(":")[0].split("_") else unit


def with_unit(name: str, unit: str) -> str:
    """The name of a metric with its unit, where that is no word of it: `mean_fct:a (us)`."""
    beside = unit_beside(name, unit)
    return f"{name} ({beside})" if beside else name


def many(count: int, what: str) -> str:
    """A number of things, with thousands apart: `1 switch`, `4,000 switches`."""
    plural = "es" if what.endswith(("ch", "s", "x")) else "s"
    return f"{count:,} {what}{'' if count == 1 else plural}"


def sent_again(flows: Mapping[str, Any]) -> str:
    """Why data packets were retransmitted, as far as is counted: empty, or `, after 8 timeouts`.

    A packet that a receiver or a switch has told of is in neither count.
    """
    inferred, timeouts = flows["inferred_lost"], flows["timeouts"]
    found = [
        *([many(inferred, "inferred loss")] if inferred else []),
        *([many(timeouts, "timeout")] if timeouts else []),
    ]
    return f", after {series(found)}" if found else ""


def count(value: float, unit: str) -> str:
    """A large number with a decimal prefix: `3.2 M hops/s`."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.1f} {prefix} {unit}"
    return f"{value:.0f} {unit}"


_TIMES = ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def time_text(time_ps: float, form: str = ".4g") -> str:
    """A time in the unit that suits it."""
    return _suited(time_ps, _TIMES, "ps", form)


def simulated(time_ps: float) -> str:
    """When a run is, in the unit that suits it: with all places, as that goes on."""
    return time_text(time_ps, ".3f")


def size(octets: float, form: str = ".6g") -> str:
    """A size in the unit that suits it, KB being 1000 B."""
    return _suited(octets, _SIZES, "B", form)


def _suited(value: float, units: Sequence[tuple[float, str]], base: str, form: str) -> str:
    for factor, unit in units:
        if value >= factor:
            return f"{value / factor:{form}} {unit}"
    return f"{value:.0f} {base}"


def duration(seconds: float) -> str:
    """A wall time for people: `42 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


GIVEN_UP = 4
"""Ports that are named of those of which a watchdog gave up queues."""


def given_up(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say of which queues watchdogs gave up waiting, and what became of the frames."""
    told = []
    for one in found[:GIVEN_UP]:
        number = f", {many(one['times'], 'time')}, first" if one["times"] > 1 else ""
        flushed = one["flushed_frames"]
        frames = f"{many(flushed, 'frame')} dropped" if flushed else "frames were forwarded"
        told.append(
            f"the watchdog gave up {one['node']} -> {one['peer']} (class "
            f"{', '.join(map(str, one['classes']))}){number} at {simulated(one['first_ps'])}: "
            f"{frames}"
        )
    more = found[GIVEN_UP:]
    if more:
        frames = many(sum(one["flushed_frames"] for one in more), "frame")
        told.append(f"watchdogs gave up {many(len(more), 'further port')}: {frames} dropped there")
    return told


def given_up_ports(ports: Sequence[str]) -> str:
    """Name the ports of which watchdogs gave up queues, in any of several runs."""
    more = len(ports) - GIVEN_UP
    some = [*ports[:GIVEN_UP], *([f"{more} more"] if more > 0 else [])]
    return f"watchdogs gave up queues of {series(some)}"


def offered(one: Mapping[str, Any]) -> str:
    """What a group of flows with a load offered, as the summary of a run has it, in a sentence."""
    bytes_ = "" if one["counts"] == "wire" else " of payload"
    links = "its sources' links" if one["of"] == "sources" else "all hosts' links"
    shares = f"{one['offered']:.2%}{bytes_} of {links} (asked: {one['asked']:.2%})"
    return f"{one['group']} offered {shares}."
