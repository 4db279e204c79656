"""Our own claims in the study uec-2025, on distributions that no single number represents."""

from __future__ import annotations

import csv
from functools import cache
from statistics import median

from backwater.study.claims.base import Claims, Finding, Numbers
from backwater.study.definition import STUDIES

CASE = "permutation-16-one-path"
LEVEL = 0.05
"""The level of a claim. Its two quantities share it: each is tested at half of it."""

CLAIMS = Claims()


@cache
def peer(control: str, quantity: str) -> tuple[float, ...]:
    """Return the results of UEC's own program under a control, one for each seed, in us."""
    path = STUDIES / "uec-2025" / "peer-one-path.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["control"] == control]
    return tuple(float(row[f"{quantity}_us"]) for row in rows)


def same_law(n: Numbers, control: str) -> Finding:
    """Test if the least and the last finish have the distribution of UEC's own program."""
    # Imported here, since the import takes half a second and no other study needs it.
    from scipy.stats import ks_2samp

    chances, details = [], []
    for quantity in ("least", "last"):
        ours, theirs = n.samples(CASE, control, quantity), peer(control, quantity)
        chance = float(ks_2samp(ours, theirs, method="exact").pvalue)
        chances.append(chance)
        details.append(
            f"{quantity}: p = {chance:.3f}, median {median(ours):.1f} us of {len(ours)} seeds, "
            f"{median(theirs):.1f} us of {len(theirs)}"
        )
    return Finding(
        holds=min(chances) > LEVEL / 2,
        value=min(chances),
        unit="",
        detail="; ".join(details),
        cases=CASE,
        mechanism=control,
    )


@CLAIMS.claim("one-path-nscc")
def one_path_nscc(n: Numbers) -> Finding:
    """The distributions are the same under NSCC."""
    return same_law(n, "nscc")


@CLAIMS.claim("one-path-rccc")
def one_path_rccc(n: Numbers) -> Finding:
    """The distributions are the same under RCCC."""
    return same_law(n, "rccc")


@CLAIMS.claim("one-path-both")
def one_path_both(n: Numbers) -> Finding:
    """The distributions are the same under NSCC with RCCC."""
    return same_law(n, "both")
