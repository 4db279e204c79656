"""What runs have to say of themselves at their end, beside what the check said of their scenario.

A warning of a run is {kind, message, hint}; `failure` is true where the run has not done what its
scenario asked for. Those of the check have the kind `setting`, and key, value and reason, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SETTING = "setting"
"""The kind of what the check has to say."""


def failures(warnings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that say that a run has not done what was asked for."""
    return [one for one in warnings if one.get("failure")]


def remarks(warnings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that a run has found and that are no failure."""
    return [one for one in warnings if one["kind"] != SETTING and not one.get("failure")]


def headlines(warnings: Iterable[dict[str, Any]]) -> list[str]:
    """The failures of a run, as a summary begins with them."""
    return [f"{one['kind']}: {one['message']}" for one in failures(warnings)]


def ending(manifest: Mapping[str, Any]) -> str | None:
    """Say how a run ended, by its manifest, if it did not come to its end."""
    status = manifest["status"]
    if status == "done":
        return None
    if status == "running":
        return "the run is under way, or was killed"
    reason = str(manifest.get("error") or "").partition("\n")[0]
    return f"the run is {status}{f': {reason}' if reason else ''}"


def undone(manifest: Mapping[str, Any]) -> list[str]:
    """Say what a run has not done, by its manifest: it was cut short, or it has failures."""
    end = ending(manifest)
    if end is None:
        return headlines(manifest.get("warnings") or ())
    return [f"{end}: what it has closed by now" if manifest["status"] == "running" else end]


def hints(warnings: Iterable[dict[str, Any]]) -> list[str]:
    """What may help against failures, each said once."""
    return list(dict.fromkeys(one["hint"] for one in failures(warnings)))


def over_runs(runs: Sequence[tuple[int, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    """What several runs, named by their seeds, have found, one entry a kind and what it speaks of.

    The message is that of the first seed.
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
    # Failures first.
    return sorted(merged, key=lambda one: not one["failure"])
