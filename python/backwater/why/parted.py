"""Describes in words where and when two runs first differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.naming import flow_name
from backwater.wording import us_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A row of each run; None if a run has no further row.
Pair = tuple["dict[str, Any] | None", "dict[str, Any] | None"]

# The most differing values to list.
KEYS = 12


def divergence_words(found: dict[str, Any], names: tuple[str, str]) -> Iterator[str]:
    """Yield lines that describe where two runs first differ."""
    a, b = names
    yield "Where they part"
    if found["seeds"][0] != found["seeds"][1]:
        yield f"The seeds are {found['seeds'][0]} and {found['seeds'][1]}."
    yield from _keys(found["keys"], names)
    frames, control = found["frames"], found["control"]
    if frames is None and control is None:
        yield f"Nowhere: {found['same_frames']} frames and all control messages are the same."
        return
    if control is not None:
        yield from _sided("The first control message that differs", control, names, _message)
    if frames is None:
        yield f"All {found['same_frames']} frames are the same."
        return
    yield f"{found['same_frames']} frames have the same content and time."
    yield from _sided("The first frame that differs", frames, names, _frame)
    yield _fired(frames, control, a, b)


def _keys(keys: list[dict[str, Any]], names: tuple[str, str]) -> Iterator[str]:
    """Yield a line per differing value; a table that only one run has is one line."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for key in keys:
        tables.setdefault(key["key"].partition(".")[0], []).append(key)
    lines = []
    for name, of in tables.items():
        side = 0 if all(key["b"] is None for key in of) else 1
        if len(of) > 1 and all(key["ab"[1 - side]] is None for key in of):
            lines.append(f"  [{name}]: only in {names[side]}")
            continue
        lines += [f"  {key['key']}: {_absent(key['a'])} | {_absent(key['b'])}" for key in of]
    if lines:
        yield f"Values that differ ({names[0]} | {names[1]}):"
    yield from lines[:KEYS]
    if len(lines) > KEYS:
        yield f"  ... and {len(lines) - KEYS} more"


def _absent(value: str | None) -> str:
    return "-" if value is None else value


def _sided(
    what: str, rows: Pair, names: tuple[str, str], describe: Callable[[dict[str, Any]], str]
) -> Iterator[str]:
    yield f"{what}:"
    for name, row in zip(names, rows, strict=True):
        yield f"  {name}: {'nothing by then' if row is None else describe(row)}"


def _message(row: dict[str, Any]) -> str:
    parts = [f"at {us_text(row['time_ps'])} {row['node']} sent {row['kind']}"]
    if row["to"] is not None:
        parts.append(f"to {row['to_host']}")
    if row["port"] is not None:
        parts.append(f"at port {row['port']} (to {row['peer']})")
    if row["class"] is not None:
        parts.append(f"class {row['class']}")
    return " ".join(parts)


def _frame(row: dict[str, Any]) -> str:
    flow = "" if row["flow_id"] is None else f" of {flow_name(row)}"
    offset = "" if row["offset_bytes"] is None else f", byte {row['offset_bytes']} on"
    marked = ", marked (ECN)" if row["marked"] else ""
    where = f"{row['node']} port {row['port']} (to {row['peer']})"
    sent = f"{row['bytes']} B of {row['kind']}{flow}{offset}{marked}"
    return f"at {us_text(row['time_ps'])} {where} had sent {sent}"


def _fired(frames: Pair, control: Pair | None, a: str, b: str) -> str:
    at = min(row["time_ps"] for row in frames if row is not None)
    earlier = [row for row in control or () if row is not None and row["time_ps"] <= at]
    if earlier:
        first = min(earlier, key=lambda row: row["time_ps"])
        only = a if control is not None and control[0] is first else b
        when = f"at {us_text(first['time_ps'])} in {first['node']}"
        return f"So {first['kind']} fired first: {when}, in {only}."
    one, other = frames
    if one is not None and other is not None and one["marked"] != other["marked"]:
        where = one if one["marked"] else other
        return f"So a mark (ECN) came first: at {where['node']}, in {a if where is one else b}."
    return "No control message or mark differs before it: a node itself sends a different frame."
