"""Predicates for the claims of studies that have no number, one file for each study.

A predicate reads numbers through `Numbers` and returns a `Finding`. It judges the measured numbers
and, if the document has all that it needs, the published ones. The file has the name of the study,
with underscores; its `CLAIMS` has the predicates by the claims' ids.
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
    """Return the predicates of a study; empty if it has no file of claims."""
    own = module(__name__, study)
    claims = Claims() if own is None else own.CLAIMS
    if not isinstance(claims, Claims):
        raise InputError(f"{__name__}, {study}: CLAIMS is not a `Claims`")
    return claims
