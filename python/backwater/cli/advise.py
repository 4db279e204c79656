"""`backwater advise`: what mechanisms say of the settings that they should have.

Which mechanisms give advice, and what they may be asked, the core says (`_core.advice_forms`).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater import _core
from backwater.cli.advise_proof import HELP, PROOFS, asked_of
from backwater.cli.arguments import FORMS, Json, Out, Set, Variant, With, option_of
from backwater.cli.output import message, show, write_json
from backwater.cli.targets import Kind, writable
from backwater.cli.views import View
from backwater.errors import InputError
from backwater.wording import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(
    help="Work out thresholds, headroom and pause times from rates and delays.",
    no_args_is_help=True,
)

File = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help=f"Take what no option gives from a scenario, {FORMS}.",
    ),
]
SCENARIO = {"scenario": File, "settings": Set, "mechanisms": With, "variant": Variant}
PROVING = {
    "prove": Annotated[bool, typer.Option("--prove", help=HELP)],
    "seeds": Annotated[
        str | None,
        typer.Option("--seeds", metavar="N|A..B", help="Seeds of --prove; 5 by default."),
    ],
    "out": Out,
}
SEEDS = "5"
DEFAULTS = {"prove": False}


def _facts(
    mechanism: str,
    scenario: str | None,
    settings: list[str] | None,
    mechanisms: list[str] | None,
    variant: str | None,
) -> dict[str, Any] | None:
    if scenario is not None:
        asked: dict[str, Any] = {"scenario": scenario, "variant": variant, "settings": settings}
        asked["mechanisms"] = mechanisms
        facts, whole = asked_of(mechanism, asked, lambda case: case.advice_facts(mechanism))
        # The value in mind, which then is nobody's.
        return facts if whole else facts | {PROOFS[mechanism].key.rpartition(".")[2]: None}
    if variant is not None or settings or mechanisms:
        raise InputError(
            "--variant, --with and --set are about a scenario", "name it with --scenario FILE"
        )
    return None


def _show(advice: dict[str, Any], json: str | None, proof: dict[str, Any] | None = None) -> int:
    summary = advice.pop("summary")
    if proof is not None:
        summary = [*summary, *map(sentence, proof["words"])]
        advice["proof"] = {key: value for key, value in proof.items() if key != "words"}
    if json is not None:
        write_json(json, advice)
    if json != "-":
        view = View()
        view.add_column("")
        view.add_column("value", justify="right")
        view.add_column("unit")
        view.add_column("from", overflow="fold")
        for row in advice["rows"]:
            view.add_row(row["name"], row["value"], row["unit"], row["formula"])
        show(view, advice["title"], *summary)
    for caution in advice["cautions"]:
        message(f"caution: {caution}")
    for problem in advice["problems"]:
        message(f"not feasible: {problem}")
    return 0 if advice["feasible"] and (proof is None or proof["holds"]) else 1


def _option(option: dict[str, Any], *, default: bool) -> inspect.Parameter:
    flag = f"--{option['name'].replace('_', '-')}"
    said = typer.Option(flag, help=option["help"], min=1 if option["whole"] else None)
    kind = int if option["whole"] else str
    return inspect.Parameter(
        option["name"],
        inspect.Parameter.KEYWORD_ONLY,
        default=option["default"] if default else None,
        annotation=Annotated[kind | None, said],
    )


def _command(mechanism: str, form: dict[str, Any]) -> Callable[..., int]:
    """Give the command of a mechanism, with the options of its form."""

    def command(json: str | None, **values: Any) -> int:  # noqa: ANN401 - as the form says
        asked = {key: values.pop(key, None) for key in SCENARIO}
        scenario = asked["scenario"]
        proving = {key: values.pop(key, None) for key in PROVING}
        facts = _facts(mechanism, **asked)
        with option_of({name: f"--{name.replace('_', '-')}" for name in values}):
            advice = _core.advise(mechanism, values, facts, scenario or "")
        writable(json, Kind.JSON, scenario)
        if not proving["prove"]:
            for option in ("seeds", "out"):
                if proving[option] is not None:
                    raise InputError(f"--{option}: nothing is simulated", "--prove simulates")
            return _show(advice, json)
        from backwater.cli.advise_proof import prove

        many = proving["seeds"] or SEEDS
        found = prove(mechanism, values, advice, facts, asked, many, proving["out"])
        return _show(advice, json, found)

    options = [_option(option, default=not form["scenario"]) for option in form["options"]]
    more: dict[str, Any] = dict(SCENARIO) if form["scenario"] else {}
    if mechanism in PROOFS:
        more |= PROVING
    others = [
        inspect.Parameter(
            key, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(key), annotation=kind
        )
        for key, kind in (*more.items(), ("json", Json))
    ]
    parameters = [*options[:1], *others[:-1], *options[1:], others[-1]]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


for _mechanism, _form in _core.advice_forms():
    app.command(_mechanism, help=_form["about"])(_command(_mechanism, _form))
