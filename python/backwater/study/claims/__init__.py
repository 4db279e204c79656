"""The claims of studies that have no number: each a predicate over numbers, a file a study.

A predicate sees numbers through `Numbers` and gives a `Finding`. The same function is asked about
the measured and, where it needs nothing else, about the published numbers. The file is called as
the study, with underscores; its `CLAIMS` holds the predicates by the claims' ids.
"""

from __future__ import annotations

from backwater.errors import InputError
from backwater.study.claims.base import (
    Claims,
    Finding,
    NotKnownError,
    NotMeasuredError,
    Numbers,
    Predicate,
)
from backwater.study.own import module

__all__ = [
    "Claims",
    "Finding",
    "NotKnownError",
    "NotMeasuredError",
    "Numbers",
    "Predicate",
    "predicates",
]


def predicates(study: str) -> Claims:
    """Give the predicates of a study, none if it has no file of claims."""
    own = module(__name__, study)
    if own is None:
        return Claims()
    claims = own.CLAIMS
    if not isinstance(claims, Claims):
        raise InputError(f"{own.__name__}: CLAIMS is not a `Claims`")
    return claims
