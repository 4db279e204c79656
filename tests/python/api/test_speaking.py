"""Texts of the Python API: `help` and `dir`, and errors that name methods, not options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import backwater
from backwater import Scenario
from kit.command import Command, run_python
from kit.sweeping import HOT


def test_whatever_is_public_says_what_it_is() -> None:
    for name in backwater.__all__:
        said = inspect.getdoc(getattr(backwater, name))
        assert said, name
    assert "switch.buffer" in (inspect.getdoc(backwater.explain) or "")
    assert "`within`" in (inspect.getdoc(backwater.Run) or "")


def test_nothing_that_is_shown_is_an_import_of_our_own() -> None:
    # In a separate process, in which no other test has imported a module of the package.
    code = "import backwater; print(*(n for n in dir(backwater) if not n.startswith('_')))"
    ran = run_python("-c", code, check=True)
    assert ran.out.split() == sorted(backwater.__all__)


ERRORS: dict[str, tuple[Callable[[Scenario], object], str]] = {
    "unknown key": (
        lambda case: case.set("topology.rat", "3"),
        '.set("topology.rat", "3"): topology.rat: unknown key `rat`\nhint: did you mean `rate`?',
    ),
    "no unit": (
        lambda case: case.set("topology.rate", 3),
        '.set("topology.rate", "3"): topology.rate: `3` has no unit\nhint: units of a rate: b/s',
    ),
    "with blanks": (
        lambda case: case.set("topology.rate", "3 X"),
        '.set("topology.rate", "3 X"): topology.rate: `X` is not a unit of a rate\nhint: units',
    ),
    "off": (
        lambda case: case.set("sfc.pause", "3 us").check(),
        '.set("sfc.pause", "3 us"): sfc.pause: `sfc` is off, and a setting does not switch it on\n'
        'hint: .enable("sfc") switches it on',
    ),
    "switched off": (
        lambda case: case.variant("pfc").set("pfc", False).set("pfc.xoff", "3 KB").run(),
        '.set("pfc.xoff", "3 KB"): pfc.xoff: `pfc` is off, by .set, and a setting does not switch '
        'it on\nhint: leave out .set("pfc", "false")',
    ),
    "no mechanism": (
        lambda case: case.enable("x"),
        '.enable("x"): `x` is no mechanism\nhint: there are: ',
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_an_error_names_what_python_was_given(what: str) -> None:
    wrong, said = ERRORS[what]
    with pytest.raises(backwater.ScenarioError) as error:
        wrong(backwater.parse(HOT))
    assert str(error.value).startswith(said)
    assert "--" not in str(error.value)
    assert error.value.file is not None
    assert said.startswith(error.value.file)
    assert "--" not in f"{error.value.reason} {error.value.hint}"


def test_a_resumed_run_s_error_names_it_too(tmp_path: Path) -> None:
    backwater.parse(HOT).save(tmp_path / "saved", "5 us")
    with pytest.raises(backwater.ScenarioError) as error:
        backwater.resume(tmp_path / "saved").set("pfc.xof", "3 KB").run()
    assert str(error.value).startswith('.set("pfc.xof", "3 KB"): ')


def test_a_command_names_options(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(HOT, encoding="utf-8")
    said = command("run", "a.toml", "--set", "sfc.pause=3 us")
    assert said.err.startswith("error: --set sfc.pause=3 us: sfc.pause: `sfc` is off")
    assert "hint: --with sfc switches it on" in said.err
