"""Finds the options of a command that made a scenario bad, if the error names a place in its file.

The core reports a wrong combination where it finds it: at `lossless` in the file, if
`--set flow.incast.class=4` moved data to a class whose frames may be dropped.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from backwater import _core
from backwater.errors import InputError
from backwater.wording import series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.scenario import Change, Scenario

# Each change that is left out takes a check of the scenario, so only the last changes are tried.
_MOST = 16
_SET = "--set"


def blamed(error: Exception, given: Sequence[str]) -> str | None:
    """Return a sentence that names the settings or mechanisms without which an error disappears.

    `given` are the words of the command. None if the error names one itself, or no single one
    causes it.
    """
    case: Scenario | None = getattr(error, "scenario", None)
    place = str(getattr(error, "file", None) or "")
    if case is None or place.startswith("--"):
        return None
    own = [one for one in case.changes if one[0] in ("with_set", "with_mechanism")][-_MOST:]
    left = [(one, _wrong(case, one)) for one in own]
    enough = [_named(one, given) for one, wrong in left if wrong is None]
    if enough:
        without = "it" if len(enough) == 1 else "one of them"
        return f"caused by {series(enough)}: without {without} the scenario is good"
    # Only one of several errors is reported. A mechanism that is left out leaves its own settings
    # behind, so only settings count here.
    reason = getattr(error, "reason", None)
    others = [_named(one, given) for one, wrong in left if one[0] == "with_set" and wrong != reason]
    return f"caused by {series(others)}" if others else None


def _wrong(case: Scenario, change: Change) -> str | None:
    """Return what is wrong with a scenario without one of its changes; None if it is good."""
    try:
        case.without(change).check()
    except (_core.ScenarioError, InputError) as error:
        return error.reason
    return None


def _named(change: Change, given: Sequence[str]) -> str:
    method, arguments, _ = change
    if method == "with_mechanism":
        return f"--with {arguments[0]}"
    key, text = arguments[:2]
    # A change in `compare FILE,KEY=VALUE` or of --vary is not an option --set.
    words = [word for before, word in pairwise(given) if before == _SET]
    words += [word.removeprefix(f"{_SET}=") for word in given if word.startswith(f"{_SET}=")]
    pairs = (word.partition("=") for word in words)
    of_set = any((one.strip(), value.strip()) == (key, text) for one, _, value in pairs)
    return f"{f'{_SET} ' if of_set else ''}{key}={text}"
