"""Which options of a command have made a scenario bad, where the error lies at a place in its file.

What only a combination makes wrong, the core tells where it is found: `lossless` in the file, where
`--set flow.incast.class=4` has moved data to a class that nothing keeps from being dropped.
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

# To leave one out is to check the scenario once more, and of many nobody looks for one so.
_MOST = 16
_SET = "--set"


def blamed(error: Exception, given: Sequence[str]) -> str | None:
    """Say of which settings or mechanisms an error comes: without one of them it is not there.

    `given` are the words of the command. None: the error names one itself, or comes of none alone.
    """
    case: Scenario | None = getattr(error, "scenario", None)
    place = str(getattr(error, "file", None) or "")
    if case is None or place.startswith("--"):
        return None
    own = [one for one in case.changes if one[0] in ("with_set", "with_mechanism")][-_MOST:]
    left = [(one, _wrong(case, one)) for one in own]
    enough = [_named(one, given) for one, wrong in left if wrong is None]
    if enough:
        without = "that" if len(enough) == 1 else "one of them"
        return f"it comes of {series(enough)}: without {without} the scenario is good"
    # Of several errors one is told. What a mechanism leaves behind, its own settings, is no answer.
    reason = getattr(error, "reason", None)
    others = [_named(one, given) for one, wrong in left if one[0] == "with_set" and wrong != reason]
    return f"it comes of {series(others)}" if others else None


def _wrong(case: Scenario, change: Change) -> str | None:
    """Say what is wrong with a scenario without one of its changes; None: nothing."""
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
    # What a file's name has, as in `compare FILE,KEY=VALUE`, or --vary, has no such option.
    words = [word for before, word in pairwise(given) if before == _SET]
    words += [word.removeprefix(f"{_SET}=") for word in given if word.startswith(f"{_SET}=")]
    pairs = (word.partition("=") for word in words)
    of_set = any((one.strip(), value.strip()) == (key, text) for one, _, value in pairs)
    return f"{f'{_SET} ' if of_set else ''}{key}={text}"
