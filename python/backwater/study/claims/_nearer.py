"""Nearer to the document: how often one model is closer than another to the published number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from backwater.study.claims.base import Finding, Numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

NEARER = 0.8
"""The share of the numbers at which the model has to be nearer."""


def nearer(
    n: Numbers, numbers: Sequence[tuple[str, str, float]], model: str, other: str, of: str
) -> Finding:
    """Return whether `model` is nearer than `other` at four of five numbers, or more.

    `numbers` has case, quantity and published number; `of` is what the text calls them. Nearer is
    by ratio: half of a number is as far from it as twice the number.
    """
    count = sum(
        abs(math.log(n.value(case, model, name) / value))
        < abs(math.log(n.value(case, other, name) / value))
        for case, name, value in numbers
    )
    return Finding(
        holds=count >= NEARER * len(numbers),
        value=count / len(numbers),
        unit="ratio",
        detail=f"nearer at {count} of {len(numbers)} {of}",
        cases=",".join(dict.fromkeys(case for case, _, _ in numbers)),
        mechanism=model,
    )
