"""Formats numbers and words for people, on the terminal and in reports alike."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Characters that affect a terminal's cursor, colours or reading order: C0 except line feed and
# tabulator, DEL, C1, the bidirectional controls of Unicode (UAX #9), and line separators. Also
# surrogates, which no terminal accepts, and which a file name that is not UTF-8 has.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)

MANY_NAMES = 15
"""Names that one hint lists."""


def visible(text: str) -> str:
    r"""Escape control characters as JSON does (`\u001b`), so that a terminal shows them."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def meant(name: str, known: Sequence[str], otherwise: str, most: int = 1) -> str:
    """Return a hint for an unknown name: up to `most` similar names, or else the known ones.

    `otherwise` introduces the known ones, as in "the studies are". Only the first of many are
    listed.
    """
    import difflib

    near = difflib.get_close_matches(name, known, n=most) if most else []
    if near:
        return f"did you mean {' or '.join(near)}?"
    more = len(known) - MANY_NAMES
    some = f" and {more} more" if more > 0 else ""
    return f"{otherwise} {', '.join(known[:MANY_NAMES])}{some}"


def labelled(text: str) -> str:
    """Return an error's text with `error: ` before it."""
    return text if text.lstrip().startswith("error") else f"error: {text}"


def series(names: Sequence[str]) -> str:
    """Join names for a sentence: `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def sentence(text: str) -> str:
    """Return a text with a full stop, and a capital if it begins with a word.

    A key, an option, or a command in `backticks` stays as it is.
    """
    if not text:
        return ""
    first = text.partition(" ")[0].rstrip(",:;")
    capital = text[0].upper() if first.replace("-", "").isalpha() else text[0]
    return f"{capital}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def us(value: float | None) -> str:
    """Format a number of us: two decimals below 10,000, else one."""
    if value is None:
        return "-"
    return f"{value:.2f}" if abs(value) < 10_000 else f"{value:.1f}"


def us_of(time_ps: int | None) -> str:
    """Format a time in ps as us with three decimals, without the unit."""
    return "-" if time_ps is None else f"{time_ps / 1e6:,.3f}"


def us_text(time_ps: int) -> str:
    """Format a time in ps as us with three decimals, and with the unit."""
    return f"{us_of(time_ps)} us"


def figure(value: float | None) -> str:
    """Format a number to at most six digits, without trailing zeros."""
    if value is None:
        return "-"
    if isinstance(value, int) or float(value).is_integer():
        return str(int(value))
    if not math.isfinite(value):
        return str(value)
    digits = max(0, 5 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 12)}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"


def difference(mean: float, half: float | None) -> str:
    """Format a difference with its sign to four digits, and half of its interval to two."""
    signed = f"{'+' if mean > 0 else ''}{digits(mean, 4)}"
    return f"{signed} ±{digits(half, 2)}" if half else signed


def digits(value: float | None, count: int) -> str:
    """Format a number to `count` digits, never with an exponent."""
    return "-" if value is None else figure(float(f"{value:.{count}g}"))


def share_text(ratio: float) -> str:
    """Format a ratio as a percentage with one decimal."""
    return f"{100 * ratio:.1f} %"


def percent(value: float | None, *, signed: bool = True) -> str:
    """Format a ratio as a percentage: one decimal and a sign, or with `signed` false neither."""
    if value is None:
        return "-"
    return f"{100 * value:+.1f} %" if signed else f"{100 * value:.0f} %"


def prefixed(value: float) -> str:
    """Format a number to four digits, with a decimal prefix from a million on: `12.35 M`."""
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= factor:
            return f"{digits(value / factor, 4)} {prefix}"
    return digits(value, 4)


def three(value: float) -> str:
    """Format a number to three digits, never with an exponent."""
    return digits(value, 3)


def places(value: float | None, count: int) -> str:
    """Format a number to at most `count` decimals, without trailing zeros."""
    return "-" if value is None else figure(round(float(value), count))


def chance(p: float | None) -> str:
    """Format the p-value of a test to two digits."""
    return "-" if p is None else f"{p:.2g}"


def short(value: float | None) -> str:
    """Format a number for labels and captions: about three digits, with thousands separated."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def unit_beside(name: str, unit: str) -> str:
    """Return the unit to write beside a metric's name; empty if the name contains it."""
    return "" if unit in name.partition(":")[0].split("_") else unit


def with_unit(name: str, unit: str) -> str:
    """Return a metric's name with its unit, unless the name contains it: `mean_fct:a (us)`."""
    beside = unit_beside(name, unit)
    return f"{name} ({beside})" if beside else name


def many(count: int, what: str) -> str:
    """Format a number of things, with thousands separated: `1 switch`, `4,000 switches`."""
    plural = "es" if what.endswith(("ch", "s", "x")) else "s"
    return f"{count:,} {what}{'' if count == 1 else plural}"


def sent_again(flows: Mapping[str, Any]) -> str:
    """Return the counted reasons of retransmissions: empty, or such as `, after 8 timeouts`.

    Losses that a receiver or a switch reported are in neither count.
    """
    inferred, timeouts = flows["inferred_lost"], flows["timeouts"]
    found = [
        *([many(inferred, "inferred loss")] if inferred else []),
        *([many(timeouts, "timeout")] if timeouts else []),
    ]
    return f", after {series(found)}" if found else ""


def count(value: float, unit: str) -> str:
    """Format a large number with a decimal prefix and a unit: `3.2 M hops/s`."""
    return _suited(value, [(1e9, f"G {unit}"), (1e6, f"M {unit}"), (1e3, f"k {unit}")], unit, ".1f")


_TIMES = ((1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def time_text(time_ps: float, form: str = ".4g") -> str:
    """Format a time in ps in a unit that suits it."""
    return _suited(time_ps, _TIMES, "ps", form)


def simulated(time_ps: float) -> str:
    """Format a simulated time in ps in a unit that suits it, always with three decimals."""
    return time_text(time_ps, ".3f")


def size(octets: float, form: str = ".6g") -> str:
    """Format a size in a unit that suits it; a KB is 1000 B."""
    return _suited(octets, _SIZES, "B", form)


def _suited(value: float, units: Sequence[tuple[float, str]], base: str, form: str) -> str:
    for factor, unit in units:
        if value >= factor:
            return f"{value / factor:{form}} {unit}"
    return f"{value:.0f} {base}"


def duration(seconds: float) -> str:
    """Format a wall time: `42 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


GIVEN_UP = 4
"""Most ports with queues given up by a watchdog that a text names."""


def given_up(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines on the queues that watchdogs gave up, and on what became of the frames."""
    lines = []
    for one in found[:GIVEN_UP]:
        number = f", {many(one['times'], 'time')}, first" if one["times"] > 1 else ""
        flushed = one["flushed_frames"]
        frames = f"{many(flushed, 'frame')} dropped" if flushed else "frames were forwarded"
        lines.append(
            f"the watchdog gave up {one['node']} -> {one['peer']} (class "
            f"{', '.join(map(str, one['classes']))}){number} at {simulated(one['first_ps'])}: "
            f"{frames}"
        )
    more = found[GIVEN_UP:]
    if more:
        frames = many(sum(one["flushed_frames"] for one in more), "frame")
        lines.append(f"watchdogs gave up {many(len(more), 'further port')}: {frames} dropped there")
    return lines


def given_up_ports(ports: Sequence[str]) -> str:
    """Return a text that names the ports with queues given up by watchdogs, in several runs."""
    more = len(ports) - GIVEN_UP
    some = [*ports[:GIVEN_UP], *([f"{more} more"] if more > 0 else [])]
    return f"watchdogs gave up queues of {series(some)}"


def offered(one: Mapping[str, Any]) -> str:
    """Return a sentence on the load that a group of flows offered, from the summary of a run."""
    bytes_ = "" if one["counts"] == "wire" else " of payload"
    links = "its sources' links" if one["of"] == "sources" else "all hosts' links"
    shares = f"{one['offered']:.2%}{bytes_} of {links} (asked: {one['asked']:.2%})"
    return f"{one['group']} offered {shares}."
