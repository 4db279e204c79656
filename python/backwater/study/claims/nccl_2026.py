"""The claims of the study nccl-2026: planned paths beside ECMP, and what two constants explain."""

from __future__ import annotations

import itertools
import re
from functools import cache

from backwater.numbers.repeats import Spread
from backwater.study.claims._nearer import nearer
from backwater.study.claims.base import Claims, Finding, NotMeasuredError, Numbers, with_interval
from backwater.study.definition import STUDIES, toml

ECMP, PLANNED, CELLS = "ecmp", "planned paths", "scheduled cells"
ALONE, HOSTS = "network alone", "host model"
BUSBW, TIME = "busbw", "time"

SMALL = "tolly-16MiB"
LARGE = ("tolly-512MiB", "tolly-1GiB", "tolly-8GiB", "tolly-16GiB")
PUBLISHED = (10.43, 22.76)
"""The least and the greatest published gain of planned paths over ECMP, in %."""
CLOSE = 5.0
"""The greatest gain, in %, at which two methods are close: our reading, before the first run."""

CLAIMS = Claims()


def gain(n: Numbers, case: str, mechanism: str = PLANNED) -> Spread:
    """Return by how many % the bus bandwidth is above ECMP's, over the seeds.

    Raises `NotMeasuredError` if ECMP has no bandwidth with some seed.
    """
    over, under = (n.samples(case, name, BUSBW) for name in (mechanism, ECMP))
    if not all(under):
        raise NotMeasuredError(f"{ECMP}: {BUSBW} is 0 with some seed")
    return Spread.of([100 * (a / b - 1) for a, b in zip(over, under, strict=True)])


def _gains(n: Numbers) -> tuple[list[Spread], str]:
    """Return the gains at the published sizes, and their text."""
    found = [gain(n, case) for case in LARGE]
    parts = [
        f"{case.removeprefix('tolly-')} {with_interval(one)}"
        for case, one in zip(LARGE, found, strict=True)
    ]
    return found, f"gain in %: {', '.join(parts)}"


@CLAIMS.claim("gain-grows")
def gain_grows(n: Numbers) -> Finding:
    """The mean gain over ECMP is greater at each larger published size."""
    found, words = _gains(n)
    means = [one.mean for one in found]
    return Finding(
        holds=all(a < b for a, b in itertools.pairwise(means)),
        value=means[-1] - means[0],
        unit="%",
        detail=words,
        cases=",".join(LARGE),
        mechanism=PLANNED,
    )


@CLAIMS.claim("close-when-small")
def close_when_small(n: Numbers) -> Finding:
    """At 16 MiB the mean gain over ECMP is at most 5 %."""
    found = gain(n, SMALL)
    return Finding(
        holds=abs(found.mean) <= CLOSE,
        value=found.mean,
        unit="%",
        detail=f"{with_interval(found, ' %')} at 16 MiB",
        cases=SMALL,
        mechanism=PLANNED,
    )


@CLAIMS.claim("loss-in-range")
def loss_in_range(n: Numbers) -> Finding:
    """The mean gain over ECMP lies within the published gains at every published size."""
    found, words = _gains(n)
    low, high = PUBLISHED
    return Finding(
        holds=all(low <= one.mean <= high for one in found),
        value=found[-1].mean,
        unit="%",
        detail=words,
        cases=",".join(LARGE),
        mechanism=PLANNED,
    )


@CLAIMS.claim("cells-as-planned")
def cells_as_planned(n: Numbers) -> Finding:
    """Scheduled cells reach the bus bandwidth of planned paths within 2 %."""
    cases = (LARGE[0], LARGE[-1])
    ratios = [n.value(case, CELLS, BUSBW) / n.value(case, PLANNED, BUSBW) for case in cases]
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    return Finding(
        holds=abs(worst - 1) <= 0.02,
        value=worst,
        unit="ratio",
        detail=", ".join(
            f"{case.removeprefix('tolly-')} {100 * (ratio - 1):+.2f} %"
            for case, ratio in zip(cases, ratios, strict=True)
        ),
        cases=",".join(cases),
        mechanism=CELLS,
    )


@cache
def judged() -> dict[str, tuple[str, float]]:
    """Return quantity and number of the cases of `HOSTS` that were not fitted, by case."""
    rows = toml(STUDIES / "nccl-2026" / "published.toml")["row"]
    return {
        row["case"]: next((name, float(value)) for name, value in row["values"].items())
        for row in rows
        if row["mechanism"] == HOSTS and "apart" not in row and _of_the_table(row["case"])
    }


def _of_the_table(case: str) -> bool:
    """Return True for the sizes that run by default, also where nothing was fitted to the rest."""
    size = re.fullmatch(r"(?:a2a|gather|b200)-(?:g\d-)?(\d+)([MG])iB", case)
    if size is None:
        return False
    doublings = int(size[1]).bit_length() - 1 + (10 if size[2] == "G" else 0)
    return doublings % 2 == (0 if case.startswith("b200") else 1)


@CLAIMS.claim("host-explains")
def host_explains(n: Numbers) -> Finding:
    """The host model is nearer to the published number at four of five sizes, or more."""
    numbers = [(case, *known) for case, known in judged().items()]
    return nearer(n, numbers, HOSTS, ALONE, "sizes")
