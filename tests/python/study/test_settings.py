"""Settings switch no mechanism on, and a changed model is not judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backwater
from backwater import study
from backwater.cli.subjects import subjects
from backwater.errors import InputError
from backwater.study import definition, verdict
from backwater.study.claims import Claims, Finding, Numbers
from backwater.study.execute import Changes, plan
from kit.command import Command
from kit.scenarios import flow, star
from kit.studies import write_study
from kit.tree import ROOT

AIDC = str(ROOT / "studies" / "sfc-aidc-2025" / "scenario.toml")
THRESHOLD = "sfc.threshold=150 KB"
OFF = "`sfc` is off"
SKIPPED = {"key": "sfc.threshold", "value": "150 KB", "mechanism": "sfc", "reason": OFF}


def told(path: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    return json.loads(Path(path).read_text(encoding="utf-8"))


def test_compare_leaves_the_baseline_alone(command: Command) -> None:
    names = [f"{AIDC}@pfc", f"{AIDC}@pfc-sfc"]
    metric = ("--metric", "mean_fct:victim")
    asked = (*names, "--set", THRESHOLD, "--seeds", "5", *metric, "--json", "c.json")
    said = command("compare", *asked, code=0)
    document = told("c.json")
    [row] = document["rows"]
    assert row["winners"] == [names[1]]
    # Each mechanism by itself, as `run` has it.
    command("compare", *names, "--seeds", "5", *metric, "--json", "d.json", code=0)
    baseline = told("d.json")["rows"][0]["scenarios"][0]["mean"]
    pfc, sfc = row["scenarios"]
    assert pfc["mean"] == baseline
    assert sfc["difference"]["mean"] == pytest.approx(-67, abs=1)
    assert [one["skipped"] for one in document["scenarios"]] == [[SKIPPED], []]
    assert [one["set"] for one in document["scenarios"]] == [{}, {"sfc.threshold": "150 KB"}]
    for text in (said.out.replace("\n", " "), said.err):
        assert f"{names[0]}: skipped --set {THRESHOLD}: `sfc` is off" in text.replace("  ", " ")
    run = backwater.open_run(document["scenarios"][1]["directory"], backwater.Series).runs[0]
    assert run.manifest["set"] == {"sfc.threshold": "150 KB"}


def test_numbers_and_arrays_of_numpy_are_values_as_pythons() -> None:
    scenario = backwater.parse(backwater.new_scenario())
    weights = np.array([2, 1, 1, 1, 1, 1, 1, 1])
    mine = scenario.set("seed", np.int64(3)).set("switch.weights", weights)
    assert mine.values() == scenario.set("seed", 3).set("switch.weights", [2, *[1] * 7]).values()
    with pytest.raises(InputError, match="no value of type object"):
        scenario.set("seed", object())  # type: ignore[arg-type]


def test_a_run_is_written_in_a_line() -> None:
    run = backwater.parse(backwater.new_scenario()).run(seed=3)
    assert repr(run) == f"<backwater.Run {run.manifest['title']!r}, seed 3, done, in memory>"


def test_compare_sets_a_value_for_one_scenario(command: Command) -> None:
    names = [f"{AIDC}@pfc-sfc", f"{AIDC}@pfc-sfc,sfc.threshold=150KB,sfc.pause=8us"]
    command("compare", *names, "--seeds", "1", "--json", "c.json", code=0)
    first, second = told("c.json")["scenarios"]
    assert (first["set"], first["skipped"]) == ({}, [])
    assert second["set"] == {"sfc.threshold": "150KB", "sfc.pause": "8us"}
    values = {}
    for one in (first, second):
        run = backwater.open_run(Path(one["directory"], "seed-1"))
        values[one["scenario"]] = run.scenario["sfc"]["threshold"]
    assert values == {names[0]: "200 KB", names[1]: "150 KB"}


def test_compare_switches_a_mechanism_on_for_one_scenario(command: Command, small: Path) -> None:
    both = "+ecn+dcqcn,dcqcn.preset=paper,ecn.kmin=50KB,ecn.kmax=100KB"
    command(
        "compare", "small.toml", f"small.toml{both}", "--seeds", "1", "--json", "c.json", code=0
    )
    plain, changed = told("c.json")["scenarios"]
    assert (plain["with"], changed["with"]) == ([], ["ecn", "dcqcn"])
    run = backwater.open_run(Path(changed["directory"], "seed-1"))
    assert run.scenario["ecn"]["kmax"] == "100 KB"
    assert sum(port["marked_frames"] for port in run.ports.to_pylist()) > 0
    assert small.is_file()


@pytest.mark.parametrize(
    ("text", "variant", "mechanisms", "settings"),
    [
        ("s.toml", None, [], {}),
        ("s.toml@sfc", "sfc", [], {}),
        ("s.toml@sfc+ecn", "sfc", ["ecn"], {}),
        ("s.toml+ecn+dcqcn", None, ["ecn", "dcqcn"], {}),
        ("s.toml@sfc,sfc.threshold=150KB", "sfc", [], {"sfc.threshold": "150KB"}),
        ("s.toml,flow.incast.to=h2,title=a+b@c", None, [], None),
        (
            's.toml,flow.incast.from=["h4", "h8", "h9"],'
            'switch.at=[{ tier = "leaf", buffer = "1 MB" }]',
            None,
            [],
            {
                "flow.incast.from": '["h4", "h8", "h9"]',
                "switch.at": '[{ tier = "leaf", buffer = "1 MB" }]',
            },
        ),
        ('s.toml,title="a, b",seed=3', None, [], {"title": '"a, b"', "seed": "3"}),
        ("a@b+c,d=e.toml@sfc,seed=3", "sfc", [], {"seed": "3"}),
        ("a@b+c,d=e.toml", None, [], {}),
        ("s.toml@odd+name,seed=3", "odd+name", [], {"seed": "3"}),
    ],
)
def test_how_a_scenario_is_named(
    text: str,
    variant: str | None,
    mechanisms: list[str],
    settings: dict[str, str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = backwater.new_scenario() + '\n[variant."odd+name"]\nseed = 2\n'
    for name in ("s.toml", "a@b+c,d=e.toml"):
        Path(name).write_text(scenario, encoding="utf-8")
    [one] = subjects([text])
    facts = one.scenario.facts
    assert (facts.get("variant"), facts["with"]) == (variant, mechanisms)
    expected = {"flow.incast.to": "h2", "title": "a+b@c"} if settings is None else settings
    assert facts["set"] == expected
    one.scenario.resolved()


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("s.toml,sfc.threshold=1KB", "`sfc` is off", "s.toml+sfc,sfc.threshold=1KB"),
        ("s.toml@endless,pfc.xoff=1KB", "`pfc` is off, by variant endless", "s.toml@endless+pfc,"),
        ("s.toml+sfc@voq", "the variant comes before mechanisms", "FILE@VARIANT"),
        ("s.toml,seed", "seed after a comma, which is not of the form KEY=VALUE", "+MECHANISM"),
        ("s.toml,", "nothing after a comma", "+MECHANISM"),
        ("t.toml@sfc", "no such file", "+MECHANISM"),
        ("s.toml.sfc", "no such file", "+MECHANISM"),
        ("s.toml@sfc,seed=3", "the seed of one scenario", "--set seed=N, for all"),
    ],
)
def test_how_a_scenario_cannot_be_named(
    text: str, reason: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(backwater.new_scenario(), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        subjects([text, "s.toml"])
    assert str(caught.value).startswith(text)
    assert reason in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize("words", [("run",), ("check",), ("advise", "sfc", "--scenario")])
def test_a_variant_stands_behind_its_file(
    words: tuple[str, ...], command: Command, small: Path
) -> None:
    said = command(*words, f"{small.name}@sfc", code=0)
    option = command(*words, small.name, "--variant", "sfc")
    # `advise` names what it read.
    assert (option.code, option.out.split()) == (0, said.out.replace("@sfc", "").split())
    # A file may have this name.
    small.rename(small.with_name(f"{small.name}@sfc"))
    command("check", f"{small.name}@sfc", code=0)


@pytest.mark.parametrize("name", ["run", "why"])
@pytest.mark.parametrize("set_", ["seed=7", " seed = 7 "])
def test_a_seed_is_given_once(name: str, set_: str, command: Command, small: Path) -> None:
    said = command(name, small.name, "--seed", "5", "--set", set_)
    assert (said.code, said.out) == (2, "")
    assert said.err == "error: --seed and --set seed exclude each other\nhint: give one of them\n"


def test_seeds_are_given_once(command: Command, small: Path) -> None:
    """A number of seeds counts from the set seed; a range names all seeds."""
    said = command("why", f"{small.name},seed=7", "--seed", "5")
    assert (said.code, said.out) == (2, "")
    assert "error: --seed and --set seed exclude each other" in said.err
    for many, seeds in (("2", [7, 8]), ("1..2", [1, 2])):
        command("run", small.name, "--seeds", many, "--set", "seed=7", "--out", many, code=0)
        assert [run.seed for run in backwater.open_run(many, backwater.Series).runs] == seeds


@pytest.mark.parametrize("name", ["run", "check", "why", "compare"])
def test_a_mechanism_is_not_switched_on_and_off(name: str, command: Command, small: Path) -> None:
    other = [f"{small.name}@sfc"] if name == "compare" else []
    for setting in ("ecn=false", "ecn = false"):
        said = command(name, small.name, *other, "--with", "ecn", "--set", setting)
        assert (said.code, said.out) == (2, "")
        assert "error: --with ecn and --set ecn=false exclude each other" in said.err
        assert "hint: leave one of them out" in said.err


def test_unknown_names_after_a_scenario(command: Command, small: Path) -> None:
    said = command("compare", small.name, f"{small.name}+sfcc", code=2)
    assert "`sfcc` is no mechanism" in said.err
    said = command("compare", small.name, f"{small.name}@sfcc,seed=3", code=2)
    assert "there is no variant `sfcc`" in said.err


NOWHERE = {
    "run": ["run", AIDC, "--variant", "pfc", "--set", THRESHOLD],
    "check": ["check", AIDC, "--variant", "pfc", "--set", THRESHOLD],
    "check of all": ["check", AIDC, "--set", "swift.target=1 us"],
    "compare": ["compare", AIDC, f"{AIDC}@pfc", "--set", THRESHOLD],
    "why": ["why", f"{AIDC}@pfc", "--set", THRESHOLD],
    "advise": ["advise", "sfc", "--scenario", AIDC, "--set", THRESHOLD],
    "reproduce": ["reproduce", "sfc-aidc-2025", "--case", "1", "--set", "bcn.oversampling=2"],
}


@pytest.mark.parametrize("name", NOWHERE)
def test_a_mechanism_that_is_on_nowhere_is_an_error(name: str, command: Command) -> None:
    arguments = NOWHERE[name]
    mechanism = arguments[-1].partition(".")[0]
    if name == "check of all":
        arguments = [*arguments[:-1], "swift.beta=0.5"]
    said = command(*arguments, code=2)
    assert f"`{mechanism}` is off" in said.err
    assert f"hint: --with {mechanism} switches it on" in said.err
    assert not Path("results").exists()


def test_a_setting_skips_the_setups_whose_mechanism_is_off(command: Command) -> None:
    # QCN and PFC with DCQCN run beside BCN, and the null model has no BCN either.
    case = ("--case", "single-500us", "--seeds", "1", "--set", "stop.at=100 ms")
    said = command("reproduce", "bcn-delay-2007", *case, "--set", "bcn.oversampling=1", code=0)
    assert "Skipped: --set bcn.oversampling=1 in bcn, where `bcn` is off" in " ".join(
        said.out.split()
    )


def test_with_switches_a_mechanism_on(command: Command, small: Path) -> None:
    said = command("run", small.name, "--set", "sfc.pause=8us", "--with", "sfc", code=2)
    assert "--with sfc: sfc.threshold: is missing" in said.err
    values = ("--with", "sfc", "--set", "sfc.threshold=150KB", "--set", "sfc.pause=7us")
    command("run", small.name, *values, "--json", "r.json", code=0)
    report = told("r.json")
    assert (report["with"], report["skipped"]) == (["sfc"], [])
    assert report["directory"] == "results/small+sfc"
    variant = backwater.load(small).variant("sfc").run()
    assert report["fingerprint"] == variant.fingerprint, "as the variant of the same values"
    command("why", "results/small+sfc", code=0)
    for arguments in (["check", small.name, *values], ["why", small.name, *values]):
        command(*arguments, code=0)
    advice = command("advise", "sfc", "--scenario", small.name, *values)
    assert "150" in advice.out


def test_check_says_where_a_setting_applies(command: Command, small: Path) -> None:
    said = command("check", small.name, "--set", "sfc.threshold=150 KB", "--json", "c.json", code=0)
    assert f"skipped: --set {THRESHOLD}: `sfc` is off; it applies to the variants sfc" in said.err
    assert told("c.json")["skipped"] == [SKIPPED]
    said = command("check", small.name, "--set", "sfc.threshold=1 MB")
    assert said.code == 2, "in the variant it is above the buffer"


def test_python_says_the_same(small: Path) -> None:
    scenario = backwater.load(small)
    changed = scenario.set("sfc.threshold", "150 KB")
    with pytest.raises(backwater.ScenarioError, match="`sfc` is off") as caught:
        changed.check()
    assert '.enable("sfc")' in (caught.value.hint or "")
    assert changed.enable("sfc").set("sfc.pause", "6 us").facts["skipped"] == []
    assert changed.variant("sfc").check() == scenario.variant("sfc").check()
    skipping = scenario.set("sfc.threshold", "150 KB", where_on=True)
    assert skipping.skipped == [SKIPPED]
    run = skipping.run()
    assert run.fingerprint == scenario.run().fingerprint
    assert (run.manifest["set"], run.manifest["skipped"]) == ({}, [SKIPPED])
    assert skipping.set("sfc", True).skipped == []
    with pytest.raises(backwater.ScenarioError, match=r"`pfc` is off, by \.set"):
        scenario.set("pfc", False).set("pfc.xoff", "300 KB").check()


# A sender, a receiver behind it and a victim: PFC alone, and with SFC.
SCENARIO = f"""
title = "Small"
lossless = true
{star(4)}
[switch]
buffer = "300 KB"
buffer_per = "ingress"
[pfc]
xoff = "200 KB"
{flow("1..3", "h0", "1 MB", "incast")}
[variant.sfc.sfc]
threshold = "100 KB"
pause = "10 us"
"""
STUDY = """
title = "Small"
scenario = "scenario.toml"
[mechanisms]
"pfc" = ""
"pfc+sfc" = "sfc"
[[measure]]
name = "fct"
kind = "fct"
group = "incast"
unit = "us"
text = "mean completion time"
[[measure]]
name = "messages"
kind = "control_messages"
message = "sfc-pause"
unit = "messages"
text = "SFC messages that asked for a pause"
[[case]]
id = "a"
text = "as it is"
[[case]]
id = "b"
text = "longer pauses"
like = "a"
[case.set_for."pfc+sfc"]
"sfc.pause" = "12 us"
"""
# Three flows of 1 MB share 100 Gb/s: the last is complete after 240 us and some.
PUBLISHED = """
document = "none"
[[row]]
case = "a"
mechanism = "pfc"
band = 0.5
values = { fct = 240 }
[[row]]
case = "a"
mechanism = "pfc+sfc"
band = 0.5
values = { fct = 240 }
[[row]]
case = "a"
mechanism = "pfc+sfc"
against = "pfc"
band_absolute = 100
values = { fct = 0 }
[[row]]
case = "b"
mechanism = "pfc+sfc"
band = 0.5
values = { fct = 240 }
[[claim]]
id = "messages"
text = "SFC speaks"
predicate = "messages > 0"
[[claim]]
id = "pause"
text = "PFC alone says nothing of SFC"
predicate = "messages == 0"
"""


@pytest.fixture
def small_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> definition.Study:
    folder = write_study(tmp_path, SCENARIO, STUDY, PUBLISHED)
    claims = Claims()

    @claims.claim("messages")
    def _messages(numbers: Numbers) -> Finding:
        value = numbers.value("a", "pfc+sfc", "messages")
        return Finding(value > 0, value, "messages", f"{value:.0f} messages", "a", "pfc+sfc")

    @claims.claim("pause")
    def _pause(numbers: Numbers) -> Finding:
        value = numbers.value("a", "pfc", "messages")
        return Finding(value == 0, value, "messages", f"{value:.0f} messages", "a", "pfc")

    monkeypatch.setattr(definition, "STUDIES", tmp_path)
    monkeypatch.setattr(verdict, "predicates", lambda _: claims)
    return definition.read(folder)


def verdicts(rows: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    return [(row["mechanism"], row["verdict"], row["against"] is not None) for row in rows]


@pytest.mark.usefixtures("undrawn")
def test_a_study_judges_only_models_that_are_as_they_were(
    command: Command, small_study: definition.Study
) -> None:
    asked = ("reproduce", small_study.id)
    command(*asked, "--json", "b.json", "--out", "b", code=0)
    before = told("b.json")
    assert {row["verdict"] for row in before} == {"agrees", "holds"}
    said = command(*asked, "--set", "sfc.threshold=50 KB", "--json", "c.json", "--out", "o", code=0)
    rows = told("c.json")
    assert verdicts(rows) == [
        ("pfc", "agrees", False),
        ("pfc+sfc", "not judged", False),
        ("pfc+sfc", "not judged", True),
        ("pfc+sfc", "not judged", False),
        ("pfc+sfc", "not judged", False),
        ("pfc", "holds", False),
    ]
    for was, row in zip(before, rows, strict=True):
        if row["mechanism"] == "pfc":
            skipped = [
                {"key": "sfc.threshold", "value": "50 KB", "mechanism": "sfc", "reason": OFF}
            ]
            assert row == was | {"skipped": skipped}
        else:
            assert row["changed"] == ["--set sfc.threshold=50 KB"]
    text = said.out.replace("\n", " ")
    assert "Changed: --set sfc.threshold=50 KB. Claims and bands are for the study's own" in text
    assert "Skipped: --set sfc.threshold=50 KB in pfc, where `sfc` is off." in text
    assert "1 of 1 numbers agree" in text
    assert "1 of 1 claims of the document hold. 4 numbers and claims are not judged" in text
    points = {(one["case"], one["mechanism"]): one for one in told("o/manifest.json")["points"]}
    assert points["a", "pfc"]["skipped"][0]["reason"] == OFF
    assert points["a", "pfc+sfc"]["changed"] == ["--set sfc.threshold=50 KB"]
    again = study.open_study("o")
    assert [row.as_dict() for row in again.rows] == rows
    assert again.summary.not_judged == 4
    command("report", "o", "-o", "report.html", code=0)
    page = Path("report.html").read_text(encoding="utf-8")
    assert "a model that was changed is not judged" in page
    assert "not judged" in page


def test_a_study_with_a_mechanism_more_is_not_judged(
    command: Command, small_study: definition.Study
) -> None:
    said = command(
        "reproduce", small_study.id, "--with", "ecn", "--json", "c.json", "--out", "o", code=0
    )
    assert {row["verdict"] for row in told("c.json")} == {"not judged"}
    assert told("o/manifest.json")["with"] == ["ecn"]
    assert not any(word in said.out for word in ("agrees", "holds", "differs", "fails"))


def test_what_the_study_says_already_changes_nothing(small_study: definition.Study) -> None:
    same = study.reproduce(small_study, overrides=[("sfc.threshold", "100 KB")])
    assert [row.verdict for row in same.rows] == ["agrees"] * 4 + ["holds"] * 2
    # The pause of case b is the study's own change.
    other = study.reproduce(small_study, overrides=[("sfc.pause", "12 us")])
    numbers = {(row.case, row.mechanism, row.against): row.verdict for row in other.rows[:4]}
    assert numbers["a", "pfc+sfc", None] == "not judged"
    assert numbers["b", "pfc+sfc", None] == "agrees"


def test_a_study_s_mechanism_may_be_switched_off(small_study: definition.Study) -> None:
    outcome = study.reproduce(small_study, overrides=[("sfc", "false")])
    plain = {row.quantity: row for row in outcome.rows if row.case == "a" and not row.against}
    assert {row.verdict for row in outcome.rows if "sfc" in row.mechanism} == {"not judged"}
    fct = {row.mechanism: row.measured for row in outcome.rows[:2]}
    assert fct["pfc"] == fct["pfc+sfc"]
    assert plain["pause"].verdict == "holds"


def test_a_study_with_other_seeds_says_so(command: Command, small_study: definition.Study) -> None:
    case = ("reproduce", small_study.id, "--json", "c.json")
    said = command(*case, "--out", "own")
    assert "Other seeds" not in said.out
    assert not any(row["other_seeds"] for row in told("c.json"))
    said = command(*case, "--seeds", "7..8", "--out", "others")
    assert "Other seeds than the study's: claims and bands are for its own" in said.out
    rows = told("c.json")
    assert len(rows) == 6
    assert all(row["other_seeds"] for row in rows)
    assert all(one["other_seeds"] for one in told("others/manifest.json")["points"])
    same = command(*case, "--seeds", "1..1", "--out", "same")
    assert "Other seeds" not in same.out
    assert not any(row["other_seeds"] for row in told("c.json"))


def test_the_published_study_leaves_pfc_alone() -> None:
    """The document's 3738 us of the victim in case 2 under PFC alone, not SFC's 2848.46."""
    known = study.load("sfc-aidc-2025")
    plain = plan(known, "2", Changes(), None)
    planned = plan(known, "2", Changes((("sfc.threshold", "150 KB"),)), None)
    for key, runs in planned.points.items():
        before = plain.jobs[plain.points[key][0]].prepared.resolved
        after = planned.jobs[runs[0]].prepared.resolved
        with_sfc = key.mechanism == "pfc+sfc"
        assert (before != after) == with_sfc
        assert bool(planned.changed.get(key)) == with_sfc
        assert bool(planned.skipped[key]) == (not with_sfc)


def test_isolation_settings_leave_models_without_it_alone() -> None:
    known = study.load("ci-qcz-2018")
    planned = plan(known, "main", Changes((("ci.ce_marking", "local"),)), None)
    changed = {key.mechanism for key, words in planned.changed.items() if words}
    skipped = {key.mechanism for key, found in planned.skipped.items() if found}
    assert changed == {"local", "isolation", "local, equal", "isolation, equal"}
    assert skipped == {"none"}
    for key, runs in planned.points.items():
        scenario = planned.jobs[runs[0]].prepared.resolved
        assert ("[ci]" in scenario) == (key.mechanism != "none")


@pytest.mark.parametrize("name", study.names())
def test_a_study_s_own_settings_all_apply(name: str) -> None:
    planned = plan(study.load(name), None, Changes(), None)
    assert not any(planned.skipped.values())


SEVERAL = (
    *("switch.latency=1 us..3 us step 1 us", "switch.buffer=10KB..20KB", "pfc.xoff=10KB,20 KB"),
    *("pfc.xoff=10 KB, 20 KB,30 KB", "topology.rate=1 Gb/s..4 Gb/s in 4", "ecn.pmax=0.1..0.9"),
    *("ecn.pmax=0.1,0.2", "ecn.pmax=0..1 in 5"),
)


@pytest.mark.parametrize("given", SEVERAL)
def test_several_values_of_a_key_are_sent_to_vary(given: str, command: Command) -> None:
    for words in (("run",), ("check",), ("why",), ("compare", AIDC), ("advise", "pfc")):
        option = ("--scenario",) if words[0] == "advise" else ()
        said = command(*words, *option, f"{AIDC}@pfc", "--set", given)
        assert (said.code, said.out) == (2, "")
        assert f"error: --set {given}: takes one value, not several" in said.err
        assert f'hint: `backwater sweep` takes several: --vary "{given}"' in said.err
    own = command("compare", AIDC, f"{AIDC}@pfc,{given}", "--plan", code=2)
    if ".." in given:
        assert f'hint: `backwater sweep` takes several: --vary "{given}"' in own.err


@pytest.mark.parametrize("given", ["1..3", "1,2,3"])
def test_several_seeds_are_sent_to_seeds(given: str, command: Command) -> None:
    said = command("run", AIDC, "--set", f"seed={given}", code=2)
    assert "hint: --seeds A..B runs several" in said.err


def test_sets_of_hosts_and_titles_are_no_ranges(command: Command, hot: Path) -> None:
    for given in ("title=1 us..3 us, 10 KB,20 KB", "flow.hot.from=2..4"):
        said = command("check", hot.name, "--set", given)
        assert "takes one value" not in said.err
        assert said.code == 0
    said = command("check", hot.name, "--set", "flow.hot.from=0..999", code=2)
    assert "sweep" not in said.err
