"""Slides of the messages in a capture: all formats in a table, and the fields of each kind."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.captures import PLAIN, read
from backwater.deck import layout
from backwater.deck.content import Talk, commands_slides
from backwater.deck.model import EPOCH
from backwater.errors import InputError
from backwater.report.page import Table, header
from backwater.report.run import made_by
from backwater.wording import many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MOST_PROBLEMS = 3
"""Most places where a capture could not be read that the first slide names."""
Form = tuple[str, str, int]
"""A kind, what carries it, and its length in octets."""


def of_capture(file: Path, only: Sequence[str] = ()) -> Talk:
    """Return the content of a deck of a capture, with a slide for each kind of message.

    `only`: these kinds, in this order; by default all but data, acknowledgements and UET. Raises
    `InputError` for a kind that the capture does not have.
    """
    first: dict[Form, dict[str, Any]] = {}
    forms: Counter[Form] = Counter()
    kinds: Counter[str] = Counter()
    problems: list[str] = []

    def take(frame: dict[str, Any]) -> None:
        if "kind" not in frame:
            problems.append(f"Octet {frame['offset']}: {frame['reason']}.")
            return
        kind = frame["kind"]
        kinds[kind] += 1
        if kind in only or (not only and kind not in (*PLAIN, "uet", "broken")):
            form = (kind, _carrier(frame), frame["length_bytes"])
            forms[form] += 1
            first.setdefault(form, frame)

    read(str(file), take)
    for name in only:
        if name not in kinds:
            there = ", ".join(kinds) or "nothing"
            raise InputError(f"--only {name}: not in {file}", f"the capture has {there}")
    wanted = only or list(dict.fromkeys(form[0] for form in forms))
    if not wanted:
        raise InputError(f"{file}: has no message", "its frames are data and acknowledgements")
    ordered = sorted(forms, key=lambda form: (wanted.index(form[0]), form[2]))
    slides = layout.table("table", "Messages by format", _formats(ordered, forms), _lead(ordered))
    for name in wanted:
        own = (form for form in ordered if form[0] == name)
        form = max(own, key=lambda form: (len(first[form]["fields"]), form[2]))
        lead = f"{form[2]} octets, carried by {form[1]}: the form with most fields."
        slides += layout.table("table", f"Fields of {name}", _fields(first[form]), lead)
    names = "".join(f" --only {name}" for name in only)
    place = shlex.quote(str(file))
    slides += commands_slides(
        [f"backwater deck {place}{names} -o talk.pptx", f"backwater pcap show {place}"],
        ["pcap show --json writes every field of all frames."],
    )
    facts = [f"{many(kinds.total(), 'frame')}; {many(sum(forms.values()), 'message')} shown."]
    made = made_by(_core.version())
    title = f"Messages in {file.name}"
    return Talk(title, facts, slides, made, EPOCH, False, problems[:MOST_PROBLEMS])


def _carrier(frame: Mapping[str, Any]) -> str:
    """Return what carries a message: an EtherType, or a UDP port over a version of IP."""
    if "udp_destination" in frame:
        version = "IPv6" if ":" in frame["ip_source"] else "IPv4"
        return f"UDP port {frame['udp_destination']} over {version}"
    return f"EtherType 0x{frame['ether_type']:04X}"


def _formats(ordered: Sequence[Form], forms: Mapping[Form, int]) -> Table:
    columns = header(["message", "carried by"], ["octets without FCS", "frames"])
    rows = [[kind, by, str(size), str(forms[kind, by, size])] for kind, by, size in ordered]
    return Table(columns, rows)


def _lead(ordered: Sequence[Form]) -> str:
    """Return the sentence that compares the lengths."""
    shortest, longest = (of(ordered, key=lambda form: form[2]) for of in (min, max))
    if shortest[2] == longest[2]:
        return f"All messages have {longest[2]} octets."
    least, most = shortest[2], longest[2]
    return (
        f"The shortest have {least} octets ({_kinds_of(ordered, least)}), the longest "
        f"{most} ({_kinds_of(ordered, most)})."
    )


def _kinds_of(ordered: Sequence[Form], octets: int) -> str:
    """Return the kinds that have a form of this length."""
    return ", ".join(dict.fromkeys(kind for kind, _, size in ordered if size == octets))


def _fields(frame: Mapping[str, Any]) -> Table:
    above = {name: frame[name] for name in _HEADER if name in frame}
    every = {**above, **frame["fields"]}
    rows = [[name.replace("_", " "), _text(value)] for name, value in every.items()]
    return Table(header(["field", "value"]), rows)


_HEADER = ("source", "destination", "ip_source", "ip_destination", "ip_dscp", "ip_ecn")


def _text(value: Any) -> str:  # noqa: ANN401 - as read
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(_text(one) for one in value)
    return "-" if value is None else str(value)
