"""The study of UEC's simulator: its bands follow its rules, and its own claims can fail."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backwater.study.claims.base import NotKnownError
from backwater.study.claims.uec_2025 import CLAIMS, peer
from kit.tree import ROOT, load_file

FOLDER = ROOT / "studies" / "uec-2025"
BANDS = load_file(FOLDER / "bands.py")
ROWS: list[dict[str, Any]] = tomllib.loads((FOLDER / "published.toml").read_text(encoding="utf-8"))[
    "row"
]


def test_bands_are_those_of_the_rule() -> None:
    text = (FOLDER / "published.toml").read_text(encoding="utf-8")
    assert BANDS.written(text) == text


def test_every_published_row_is_there_with_its_three_numbers() -> None:
    published = BANDS.read("peer.csv")
    assert len(published) == 95
    places = [(row["case"], row["mechanism"], *row["values"]) for row in ROWS]
    wanted = [(p["case"], p["control"], q) for p in published for q in BANDS.QUANTITIES]
    assert places == wanted
    small = [p for p in published if "1024" not in p["case"]]
    assert len(small) == 39


def test_a_band_holds_what_the_program_gives_with_other_seeds() -> None:
    published = {(p["case"], p["control"]): p for p in BANDS.read("peer.csv")}
    for row in (row for row in ROWS if "band_range" in row and row.get("over") != "median"):
        ((quantity, value),) = row["values"].items()
        low, high = row["band_range"]
        peer_row = published[row["case"], row["mechanism"]]
        seeds = [float(peer_row[f"{quantity}_{end}"] or value) for end in ("low", "high")]
        assert low <= min(value, *seeds) <= max(value, *seeds) <= high


def test_only_what_chance_decides_is_not_held() -> None:
    """The least finish of NSCC's incasts, and of flows with one value of entropy."""
    apart = {(row["case"], row["mechanism"], *row["values"]) for row in ROWS if "apart" in row}
    incasts = {(f"incast-{n}", "nscc", "least") for n in (16, 128, 1024)}
    one_path = {("permutation-16-one-path", c, "least") for c in ("nscc", "rccc", "both")}
    assert apart == incasts | one_path


class Given:
    """Numbers of the only case of the claims."""

    def __init__(self, least: list[float], last: list[float]) -> None:
        self.given = {"least": least, "last": last}

    def samples(self, case: str, mechanism: str, quantity: str, setup: str = "") -> list[float]:
        assert (case, mechanism, setup) == ("permutation-16-one-path", "nscc", "")
        return self.given[quantity]

    def value(self, case: str, mechanism: str, quantity: str, setup: str = "") -> float:
        raise NotKnownError(case, mechanism, quantity, setup)

    def interval(
        self, case: str, mechanism: str, quantity: str, setup: str = ""
    ) -> tuple[float, float]:
        raise NotKnownError(case, mechanism, quantity, setup)


@pytest.mark.parametrize(("off", "holds"), [(1.0, True), (1.5, False)])
def test_a_distribution_that_lies_elsewhere_fails(off: float, *, holds: bool) -> None:
    least, last = (
        [value for value in peer("nscc", q) for _ in range(3)] for q in ("least", "last")
    )
    found = CLAIMS["one-path-nscc"](Given(least, [off * value for value in last]))
    assert found.holds is holds
    assert found.mechanism == "nscc"
