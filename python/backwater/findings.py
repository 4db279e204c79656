"""Selects and merges the warnings of runs: findings at their end, and warnings of the check.

A warning is {kind, message, hint}. A finding of a run also has `failure`: true if the run did not
do what its scenario asked for. Warnings of the check have the kind `setting`, and also key, value
and reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SETTING = "setting"
"""The kind of the check's warnings."""


def failures(warnings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the warnings that a run did not do what its scenario asked for."""
    return [one for one in warnings if one.get("failure")]


def remarks(warnings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings of a run that are not failures."""
    return [one for one in warnings if one["kind"] != SETTING and not one.get("failure")]


def headlines(warnings: Iterable[dict[str, Any]]) -> list[str]:
    """Return the failures of a run, as lines at the top of a summary."""
    return [f"{one['kind']}: {one['message']}" for one in failures(warnings)]


def ending(manifest: Mapping[str, Any]) -> str | None:
    """Return why a run is not complete, from its manifest; None: it is done."""
    status = manifest["status"]
    if status == "done":
        return None
    if status == "running":
        return "the run is in progress, or was killed"
    reason = str(manifest.get("error") or "").partition("\n")[0]
    return f"the run is {status}{f': {reason}' if reason else ''}"


def undone(manifest: Mapping[str, Any]) -> list[str]:
    """Return, from its manifest, what a run did not do: why it was cut short, or its failures."""
    end = ending(manifest)
    if end is None:
        return headlines(manifest.get("warnings") or ())
    return [f"{end}: rows written so far" if manifest["status"] == "running" else end]


def hints(warnings: Iterable[dict[str, Any]]) -> list[str]:
    """Return the hints of failures, each once."""
    return list(dict.fromkeys(one["hint"] for one in failures(warnings)))


def over_runs(runs: Sequence[tuple[int, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """Return the findings of several (seed, warnings), merged by kind and mechanism.

    The message of an entry is that of the first seed. Failures come first.
    """
    found: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
    for seed, warnings in runs:
        for one in failures(warnings) + remarks(warnings):
            found.setdefault((one["kind"], one.get("mechanism", "")), []).append((seed, one))
    merged = []
    for same in found.values():
        seed, first = same[0]
        message = f"{len(same)} of {len(runs)} runs; seed {seed}: {first['message']}"
        merged.append({**first, "message": message, "seeds": [seed for seed, _ in same]})
    return sorted(merged, key=lambda one: not one["failure"])
