"""Names and hints as people read them."""

from __future__ import annotations

from pathlib import Path

from backwater.wording import (
    MANY_NAMES,
    digits,
    meant,
    sentence,
    series,
    short,
    simulated,
    size,
    time_text,
    unit_beside,
    us_of,
    with_unit,
)
from kit.command import Command


def test_a_hint_lists_no_hundred_names() -> None:
    names = [f"case-{number}" for number in range(100)]
    said = meant("nope", names, "its cases are")
    assert said.startswith("its cases are case-0, case-1, ")
    assert said.endswith(f" and {100 - MANY_NAMES} more")
    assert meant("case-77", [*names, "other"], "its cases are") == "did you mean case-77?"
    assert meant("nope", ["this", "that"], "there are") == "there are this, that"


def test_names_in_a_sentence() -> None:
    assert series(["a"]) == "a"
    assert series(["a", "b", "c"]) == "a, b and c"


def test_numbers_in_the_unit_that_suits() -> None:
    assert [time_text(ps) for ps in (999, 1500, 2_000_000, 3.25e9)] == [
        *("999 ps", "1.5 ns", "2 us", "3.25 ms"),
    ]
    assert simulated(1.5e12) == "1.500 s"
    assert [size(octets) for octets in (999, 1500, 1_234_567)] == ["999 B", "1.5 KB", "1.23457 MB"]
    assert size(1_234_567, ".1f") == "1.2 MB"
    assert [us_of(1_234_567_890), us_of(None)] == ["1,234.568", "-"]
    assert [digits(1_234_567.0, 3), digits(0.00123456, 3), digits(None, 3)] == [
        *("1230000", "0.00123", "-"),
    ]
    assert [short(1234.5), short(99.44), short(0), short(None)] == ["1,234", "99.4", "0", "-"]


def test_a_unit_is_left_out_where_it_is_a_word_of_the_name() -> None:
    assert with_unit("mean_fct:cluster", "us") == "mean_fct:cluster (us)"
    assert with_unit("fault_losses", "frames") == "fault_losses (frames)"
    assert with_unit("marked_frames", "frames") == "marked_frames"
    assert with_unit("over_bound", "") == "over_bound"
    assert [unit_beside("pauses", "pauses"), unit_beside("busbw:a/us", "us")] == ["", "us"]


def test_a_sentence_leaves_keys_and_commands_as_they_are() -> None:
    assert sentence("lower xoff, or not") == "Lower xoff, or not."
    assert sentence("lower: xoff") == "Lower: xoff."
    for text in ("pfc.xoff is too high", "--set it", "`backwater check` says it", "2 of 5 runs"):
        assert sentence(text) == f"{text}."
    assert sentence("did you mean it?") == "Did you mean it?"


def test_a_case_that_is_not_there(command: Command) -> None:
    said = command("reproduce", "sfc-buffer", "--case", "nope", code=2)
    assert " more" in said.err
    assert len(said.err) < 500


def test_check_names_the_variants_that_it_has_checked(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "new.toml"
    command("new", str(file), code=0)
    said = command("check", str(file))
    assert said.err.endswith(f"{file}: good, with its variants sfc, dcqcn, voq and endless\n")
    warned = command("check", str(file), "--variant", "sfc", "--set", "sfc.isolation_threshold=1KB")
    assert warned.err.endswith(f"{file}: good, apart from 1 warning\n")
