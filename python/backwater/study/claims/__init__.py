"""The claims of studies that have no number: each a predicate over numbers, a file a study.

A predicate sees numbers through `Numbers` and gives a `Finding`. The same function is asked about
the measured and, where it needs nothing else, about the published numbers. The file is called as
the study, with underscores; its `CLAIMS` holds the predicates by the claims' ids.
"""

from __future__ import annotations

import importlib

from backwater.errors import InputError
from backwater.study.claims.base import (
    Claims,
    Finding,
    NotKnownError,
    NotMeasuredError,
    Numbers,
    Predicate,
)

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
    name = f"{__name__}.{study.replace('-', '_')}"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return Claims()
    claims = module.CLAIMS
    if not isinstance(claims, Claims):
        raise InputError(f"{name}: CLAIMS is not a `Claims`")
    return claims
