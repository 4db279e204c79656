"""Says in words where and when two runs first differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.naming import flow_name
from backwater.wording import us_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Rows of two runs, None where one has nothing more.
Pair = tuple["dict[str, Any] | None", "dict[str, Any] | None"]

# Differing values that are told one by one.
KEYS = 12


def divergence_words(found: dict[str, Any], names: tuple[str, str]) -> Iterator[str]:
    """Say where two runs first differ."""
    a, b = names
    yield "Where they part"
    if found["seeds"][0] != found["seeds"][1]:
        yield f"The seeds are {found['seeds'][0]} and {found['seeds'][1]}."
    yield from _keys(found["keys"], names)
    frames, control = found["frames"], found["control"]
    if frames is None and control is None:
        yield f"They do not: {found['same_frames']} frames and all control messages are the same."
        return
    if control is not None:
        yield from _sided("The first control message that they do not share", control, names, _said)
    if frames is None:
        yield f"All {found['same_frames']} frames are the same."
        return
    yield f"{found['same_frames']} frames left ports alike, in content and time."
    yield from _sided("The first that does not", frames, names, _left)
    yield _fired(frames, control, a, b)


def _keys(keys: list[dict[str, Any]], names: tuple[str, str]) -> Iterator[str]:
    """Say which values differ; a table that only one has is one line."""
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
        yield f"  ... and {len(lines) - KEYS} further ones"


def _absent(value: str | None) -> str:
    return "-" if value is None else value


def _sided(
    what: str, rows: Pair, names: tuple[str, str], say: Callable[[dict[str, Any]], str]
) -> Iterator[str]:
    yield f"{what}:"
    for name, row in zip(names, rows, strict=True):
        yield f"  {name}: {'nothing by then' if row is None else say(row)}"


def _said(row: dict[str, Any]) -> str:
    parts = [f"at {us_text(row['time_ps'])} {row['node']} sent {row['kind']}"]
    if row["to"] is not None:
        parts.append(f"to {row['to_host']}")
    if row["port"] is not None:
        parts.append(f"at port {row['port']} (to {row['peer']})")
    if row["class"] is not None:
        parts.append(f"class {row['class']}")
    return " ".join(parts)


def _left(row: dict[str, Any]) -> str:
    flow = "" if row["flow_id"] is None else f" of {flow_name(row)}"
    offset = "" if row["offset_bytes"] is None else f", byte {row['offset_bytes']} on"
    marked = ", marked (ECN)" if row["marked"] else ""
    where = f"{row['node']} port {row['port']} (to {row['peer']})"
    sent = f"{row['bytes']} B of {row['kind']}{flow}{offset}{marked}"
    return f"at {us_text(row['time_ps'])} {where} had sent {sent}"


def _fired(frames: Pair, control: Pair | None, a: str, b: str) -> str:
    at = min(row["time_ps"] for row in frames if row is not None)
    said = [row for row in control or () if row is not None and row["time_ps"] <= at]
    if said:
        first = min(said, key=lambda row: row["time_ps"])
        only = a if control is not None and control[0] is first else b
        when = f"at {us_text(first['time_ps'])} in {first['node']}"
        return f"So {first['kind']} fired first: {when}, in {only}."
    one, other = frames
    if one is not None and other is not None and one["marked"] != other["marked"]:
        where = one if one["marked"] else other
        return f"So a mark (ECN) came first: at {where['node']}, in {a if where is one else b}."
    return "No control message and no mark differs before: a node sends of itself what it did not."
