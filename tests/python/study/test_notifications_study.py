"""The study notifications-2026: its files, and its schemes in every case."""

from __future__ import annotations

from backwater.study import load
from backwater.study.execute import Changes, plan
from kit.tree import ROOT, load_file

FOLDER = ROOT / "studies" / "notifications-2026"
SCENES = load_file(FOLDER / "scenes.py")


def test_scenarios_are_what_the_script_writes_from_both_files_of_parameters() -> None:
    written = SCENES.files()
    others = {"parameters.toml", "study.toml", "published.toml", "figures.toml"}
    assert set(written) == {path.name for path in FOLDER.glob("*.toml")} - others
    for name, text in written.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"run scenes.py: {name}"


def test_every_scheme_runs_in_every_case_on_three_switches_or_is_refused() -> None:
    study = load("notifications-2026")
    schemes = {scheme["name"] for scheme in SCENES.parameters()["scheme"]}
    planned = plan(study, None, Changes(), None)
    for case in ("1", "2", "3", "mixed", "dispatch", "failed"):
        there = {key.mechanism for key in planned.points if (key.case, key.setup) == (case, "")}
        assert there == schemes, case
    for setup in ("voq", "shared-memory"):
        assert {key.mechanism for key in planned.points if key.setup == setup} == schemes, setup
    trimmed = {(case, scheme) for case in ("1", "2", "3") for scheme in ("nscc", "nscc-back")}
    assert {(key.case, key.mechanism) for key in planned.refused} == trimmed
    assert all(key.setup == "shared-memory" for key in planned.refused)


def test_cases_change_no_scheme_but_the_loss_of_its_messages() -> None:
    for case in load("notifications-2026").cases:
        assert all(set(changes) == {"fault"} for changes in case.set_for.values())
        assert all(key.startswith("flow.") for key in case.set)
