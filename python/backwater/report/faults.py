"""Drawn faults of a run: links that fail or change their rate, and hosts that pause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from backwater.naming import host_names
from backwater.numbers.units import rate_bps, time_ps
from backwater.plot.theme import VERMILLION
from backwater.wording import time_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.report.layout import Layout


@dataclass(frozen=True)
class Outage:
    """A fault of a drawn link or host, with the time that it lasts."""

    ends: tuple[int, ...]
    """Numbers of the two blocks of a link, or of the block of a host."""
    begin_ps: int
    end_ps: int | None
    """None if it lasts to the end of the run."""
    text: str
    """Description of the fault, with its time."""
    sign: str
    """SVG of its sign, a key of `EXPLAINED`."""

    @property
    def of_host(self) -> bool:
        """True for a fault of a host, False for one of a link."""
        return len(self.ends) == 1

    def lasts(self, time: int) -> bool:
        """Return True if the fault lasts at a time, in ps."""
        return self.begin_ps <= time and (self.end_ps is None or time < self.end_ps)


def outages(scenario: Mapping[str, Any], layout: Layout) -> list[Outage]:
    """Return the faults of a scenario that are drawn, in the order in which they begin."""
    found = _hosts(scenario, layout)
    begun: dict[tuple[str, str, str, object], tuple[_Link, int, str | None]] = {}
    faults = [one for one in scenario.get("fault", []) if one.get("kind") in _KINDS]
    for one in sorted(faults, key=_at):
        a, b = str(one.get("a") or one.get("from")), str(one.get("b") or one.get("to"))
        slow, number = one["kind"] == "rate-change", one.get("number")
        link = _Link(a, b, number)
        key = ("rate", a, b, number) if slow else ("down", min(a, b), max(a, b), number)
        earlier = begun.pop(key, None)
        if earlier is not None:
            found += _outage(layout, *earlier, _at(one))
        if one["kind"] != "link-up" and not (slow and _own_rate(layout, a, b, str(one["rate"]))):
            begun[key] = (link, _at(one), str(one["rate"]) if slow else None)
    for earlier in begun.values():
        found += _outage(layout, *earlier, None)
    for one in scenario.get("fault", []):
        if one.get("kind") == "link-flap":
            found += _flap(layout, one)
    return sorted(found, key=lambda one: (one.begin_ps, one.ends))


_KINDS = ("link-down", "link-up", "rate-change")


def pausing(scenario: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each fault in which a host pauses its neighbours."""
    return [f"Fault: {_pausing(one, _host(scenario, one))}." for one in _pauses(scenario)]


def _pauses(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [one for one in scenario.get("fault", []) if one.get("kind") in _PAUSING]
    return sorted(found, key=_at)


def _hosts(scenario: Mapping[str, Any], layout: Layout) -> list[Outage]:
    found = []
    for one in _pauses(scenario):
        name, until = _host(scenario, one), one.get("until")
        if name in layout.names:
            end = None if until is None else time_ps(str(until))
            block = layout.of[layout.names[name]]
            said = _pausing(one, name)
            found.append(Outage((block,), _at(one), end, said, _PAUSING[one["kind"]]))
    return found


def _host(scenario: Mapping[str, Any], fault: Mapping[str, Any]) -> str:
    host = fault["host"]
    return host if isinstance(host, str) else host_names(scenario)(host)


def _pausing(fault: Mapping[str, Any], name: str) -> str:
    slow = fault["kind"] == "slow-receiver"
    classes = fault.get("classes") or ([fault.get("class", 3)] if slow else [])
    if fault.get("link"):
        what = "its link" if slow else "its links"
    elif not classes or len(classes) == _CLASSES:
        what = "all classes of its links"
    else:
        named = ", ".join(map(str, classes))
        what = f"{'class' if len(classes) == 1 else 'classes'} {named} of its links"
    begin = f"from {time_text(_at(fault))}" if _at(fault) else "from the start"
    until = fault.get("until")
    when = begin if until is None else f"{begin} until {time_text(time_ps(str(until)))}"
    if slow:
        at = f"takes frames at only {fault['rate']} {when}"
        return f"{name} {at}, and pauses {what} while its buffer is full"
    return f"{name} pauses {what} {when} (a pause storm)"


_CLASSES = 8


def _at(fault: Mapping[str, Any]) -> int:
    at = fault.get("at")
    return 0 if at is None else time_ps(str(at))


def _own_rate(layout: Layout, a: str, b: str, rate: str) -> bool:
    """Return True if a rate is the one that the link is drawn with."""
    ends = sorted(layout.of[layout.names[end]] for end in (a, b) if end in layout.names)
    return len(ends) == 2 and layout.rates.get((ends[0], ends[1])) == rate_bps(rate)


@dataclass(frozen=True)
class _Link:
    """The links from one node to another, or the one of a number."""

    a: str
    b: str
    number: int | None

    def named(self, between: str) -> str:
        """Return its name, with a word between its ends."""
        which = "" if self.number is None else f"link {self.number} from "
        return f"{which}{self.a} {between} {self.b}"


def _outage(
    layout: Layout, link: _Link, begin: int, rate: str | None, end: int | None
) -> list[Outage]:
    a, b = link.a, link.b
    if a not in layout.names or b not in layout.names:
        return []
    ends = layout.of[layout.names[a]], layout.of[layout.names[b]]
    if ends[0] == ends[1]:
        return []
    what, sign = (
        (f"{link.named('to')} carries nothing", CROSS)
        if rate is None
        else (f"{link.named('→')} sends at {rate}", SLOW)
    )
    until = "" if end is None else f" until {time_text(end)}"
    return [Outage(ends, begin, end, f"{what} from {time_text(begin)}{until}", sign)]


def _flap(layout: Layout, fault: Mapping[str, Any]) -> list[Outage]:
    """Return a link that flaps as one outage, from its first failure until it stays up."""
    down, up = time_ps(str(fault["down"])), time_ps(str(fault["up"]))
    times = int(fault.get("times", 1))
    end = _at(fault) + times * down + (times - 1) * up
    link = _Link(str(fault["a"]), str(fault["b"]), fault.get("number"))
    found = _outage(layout, link, _at(fault), None, end)
    often = f", {times} times {time_text(down)} each" if times > 1 else ""
    return [replace(one, text=f"{one.text}{often}") for one in found]


def failed(
    layout: Layout, every: Sequence[Outage], time: int | None = None, *, hosts: bool = False
) -> str:
    """Draw faults of links, as a dashed line with a sign at its middle, or with `hosts` of hosts.

    Faults that do not last at `time`, in ps, are hidden. Those of hosts are drawn above nodes.
    """
    parts = []
    for number, one in enumerate(every):
        if one.of_host != hosts:
            continue
        a, b = layout.blocks[one.ends[0]], layout.blocks[one.ends[-1]]
        x, y = (a.x + b.x) / 2, (a.y + b.y) / 2
        hidden = "" if time is None or one.lasts(time) else ' visibility="hidden"'
        line = f"M{a.x:.1f} {a.y:.1f}L{b.x:.1f} {b.y:.1f}"
        dashes = (
            f'<path d="{line}" stroke="white" stroke-width="5"/>'
            f'<path d="{line}" stroke="{VERMILLION}" stroke-width="2.2" stroke-dasharray="5 4"/>'
        )
        parts.append(
            f'<g data-f="{number}"{hidden}><title>{escape(one.text)}</title>'
            f"{'' if hosts else dashes}"
            f'<g transform="translate({x:.1f} {y:.1f})">{one.sign}</g></g>'
        )
    return f'<g class="faults">{"".join(parts)}</g>' if parts else ""


_PAPER = f'<circle r="8" fill="white" stroke="{VERMILLION}" stroke-width="1.6"/>'
_STROKE = f'fill="none" stroke="{VERMILLION}" stroke-width="2"'
CROSS = f'{_PAPER}<path d="M-3.4 -3.4L3.4 3.4M-3.4 3.4L3.4 -3.4" {_STROKE}/>'
SLOW = f'{_PAPER}<path d="M0 -4V3M-3 0L0 4L3 0" {_STROKE}/>'
_FULL = f'<circle r="8" fill="{VERMILLION}" stroke="white" stroke-width="1.6"/>'
_IN_WHITE = 'fill="none" stroke="white" stroke-width="2"'
STORM = f'{_FULL}<path d="M-2.4 -3.6V3.6M2.4 -3.6V3.6" {_IN_WHITE}/>'
SLOW_HOST = f'{_FULL}<path d="M0 -4V3M-3 0L0 4L3 0" {_IN_WHITE}/>'
EXPLAINED = {
    CROSS: "link that has failed",
    SLOW: "link at another rate",
    STORM: "host with a pause storm",
    SLOW_HOST: "host that receives slowly",
}
_PAUSING = {"slow-receiver": SLOW_HOST, "pause-storm": STORM}
