"""Slides of the messages in a capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from backwater import deck
from backwater.deck import Deck
from backwater.deck.model import Grid, Text
from backwater.errors import InputError
from kit.command import run_apart


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frame of each format."""
    place = tmp_path_factory.mktemp("capture")
    assert run_apart("pcap", "sample", "all.pcapng", cwd=place).code == 0
    return place / "all.pcapng"


def fields(slides: Deck, kind: str) -> dict[str, str]:
    return {row[0]: row[1] for row in rows(slides, f"Fields of {kind}")}


def rows(slides: Deck, title: str) -> list[tuple[str, ...]]:
    [slide] = [one for one in slides.slides if one.title == title]
    [grid] = [part for part in slide.parts if isinstance(part, Grid)]
    return list(grid.rows[1:])


def test_each_kind_has_its_fields(sample: Path) -> None:
    slides = deck.of(sample, only=("sfcm", "sfc_pause"))
    titles = [slide.title for slide in slides.slides]
    assert titles == [
        "Messages in all.pcapng",
        "Messages by format",
        "Fields of sfcm",
        "Fields of sfc_pause",
        "How to run it again",
    ]
    # The shipped message fills the least Ethernet frame, 64 octets with 4 of FCS.
    formats = rows(slides, "Messages by format")
    assert ("sfc_pause", "UDP port 1674 over IPv4", "60", "1") in formats
    assert {kind for kind, *_ in formats} == {"sfcm", "sfc_pause"}
    assert fields(slides, "sfc_pause")["duration us"] == "319"
    sfcm = fields(slides, "sfcm")
    assert (sfcm["stops"], sfcm["pause ns"], sfcm["by proxy"]) == ("class", "100001", "no")
    boxes = [part for part in slides.slides[1].parts if isinstance(part, Text)]
    texts = [text for box in boxes for text in box.paragraphs]
    assert "The shortest have 60 octets (sfc_pause), the longest 112 (sfcm)." in texts


def test_data_are_no_messages(sample: Path) -> None:
    kinds = {row[0] for row in rows(deck.of(sample), "Messages by format")}
    assert {"pause", "pfc", "cnp", "cnm", "cim", "sfcm", "bcn", "lldp"} <= kinds
    assert not kinds & {"data", "ack", "other"}


def test_a_capture_that_is_cut_off_says_so(sample: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(sample.read_bytes()[:-10])
    slides = deck.of(cut, only=("pfc",))
    assert any(text.startswith("Octet ") for text in slides.failed)
    with pytest.raises(InputError, match="--only broken: not in"):
        deck.of(cut, only=("broken",))


def test_a_kind_that_is_not_there_is_named(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--only sfc: not in .*all\.pcapng"):
        deck.of(sample, only=("sfc",))
    (tmp_path / "text.pcapng").write_text("no capture", encoding="utf-8")
    with pytest.raises(InputError, match="captures are pcapng or pcap files"):
        deck.of(tmp_path / "text.pcapng")
