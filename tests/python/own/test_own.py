"""Mechanisms of users: the crate that the command writes, and the core that replaces the default.

`make own-mechanism` builds such a crate and runs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from backwater import InputError
from backwater.own.crate import source_tree, write_crate
from kit.tree import ROOT


def test_everything_has_the_mechanisms_name(tmp_path: Path) -> None:
    files = write_crate("my_law", tmp_path / "crate", None)
    assert "src/mechanisms/my_law.rs" in files
    for path in files:
        assert "aimd" not in path.lower()
        assert "aimd" not in (tmp_path / "crate" / path).read_text(encoding="utf-8").lower()
    law = (tmp_path / "crate/src/mechanisms/my_law.rs").read_text(encoding="utf-8")
    assert 'const NAME: &\'static str = "my_law";' in law
    assert "impl Mechanism for MyLaw" in law


def test_crates_and_mechanisms_are_where_the_manifest_says(tmp_path: Path) -> None:
    write_crate("my_law", tmp_path, None)
    manifest = tomllib.loads((tmp_path / "Cargo.toml").read_text(encoding="utf-8"))
    ours = {k: v for k, v in manifest["dependencies"].items() if k.startswith("backwater-")}
    for name, where in ours.items():
        text = (Path(where["path"]) / "Cargo.toml").read_text(encoding="utf-8")
        assert tomllib.loads(text)["package"]["name"] == name
    config = tomllib.loads((tmp_path / ".cargo/config.toml").read_text(encoding="utf-8"))
    directory = config["env"]["BACKWATER_MECHANISMS"]
    assert directory["relative"]
    assert (tmp_path / directory["value"] / "my_law.rs").is_file()
    # The settings of the allocator in Backwater's own builds.
    ours = tomllib.loads((ROOT / ".cargo/config.toml").read_text(encoding="utf-8"))["env"]
    assert ours.items() <= config["env"].items()
    profile = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]
    assert manifest["profile"]["release"].items() <= profile["release"].items()


def test_a_repository_is_named_by_its_address(tmp_path: Path) -> None:
    write_crate("my_law", tmp_path, "https://example.org/backwater.git")
    manifest = tomllib.loads((tmp_path / "Cargo.toml").read_text(encoding="utf-8"))
    where = {"git": "https://example.org/backwater.git"}
    assert manifest["dependencies"]["backwater-net"] == where
    assert not (tmp_path / "Cargo.lock").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pfc", "pfc: a mechanism of Backwater has this name"),
        ("My_law", "My_law: cannot be the name of a mechanism"),
        ("2law", "2law: cannot be the name of a mechanism"),
        ("class", "class: cannot be the name of a mechanism: it is a keyword of Python"),
        ("../law", "../law: cannot be the name of a mechanism"),
    ],
)
def test_names_that_no_mechanism_can_have(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        write_crate(name, tmp_path, None)
    assert caught.value.reason == reason
    assert caught.value.hint
    assert not list(tmp_path.iterdir())


def test_nothing_is_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"README\.md: exists already"):
        write_crate("my_law", tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    write_crate("my_law", tmp_path, None, replace=True)
    assert "my_law" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_a_lock_file_of_the_users_is_kept(tmp_path: Path) -> None:
    """Earlier versions replaced it."""
    (tmp_path / "Cargo.lock").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"Cargo\.lock: exists already"):
        write_crate("my_law", tmp_path, None)
    assert [path.name for path in tmp_path.iterdir()] == ["Cargo.lock"]
    assert (tmp_path / "Cargo.lock").read_text(encoding="utf-8") == "mine"


def test_a_directory_without_backwaters_source(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not Backwater's source"):
        write_crate("my_law", tmp_path / "crate", str(tmp_path))
    assert source_tree() == ROOT


def python(code: str, tmp_path: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run code with a module `stand_in` that passes for a core."""
    (tmp_path / "stand_in.py").write_text("Simulation = 1\nname = 'stand-in'\n", encoding="utf-8")
    paths = os.pathsep.join(map(str, (tmp_path, ROOT / "python")))
    env = {**os.environ, "PYTHONPATH": paths, **more}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_a_core_is_taken_here_and_in_child_processes(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "from backwater.own import use\n"
        "use('stand_in')\n"
        "from backwater import _core\n"
        "child = 'import backwater._core as core; print(core.name)'\n"
        "said = subprocess.run([sys.executable, '-c', child], capture_output=True, text=True)\n"
        "print(_core.name, said.stdout)\n"
    )
    assert python(code, tmp_path).stdout.split() == ["stand-in", "stand-in"]


def test_a_core_that_is_not_there_is_told_without_a_traceback(tmp_path: Path) -> None:
    done = python("import backwater", tmp_path, BACKWATER_CORE="nowhere._core")
    assert done.returncode == 2
    assert done.stderr.startswith("error: BACKWATER_CORE = 'nowhere._core': No module named")
    assert "\nhint: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_that_is_no_core_and_a_core_that_comes_too_late(tmp_path: Path) -> None:
    done = python("import backwater.own; backwater.own.use('json')", tmp_path)
    assert "ImportError: json is not a core of Backwater: it has no Simulation" in done.stderr
    done = python("import backwater._core; import backwater.own as o; o.use('stand_in')", tmp_path)
    assert "RuntimeError: another core than stand_in is in use" in done.stderr
