"""`backwater advise`: settings that mechanisms recommend.

The core lists the mechanisms that give advice, and their options (`_core.advice_forms`).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backwater import _core
from backwater.cli.advise_proof import PROOFS, Proving, answer_of, prove
from backwater.cli.arguments import AS_IT_IS, FORMS, Json, Selection, option_of
from backwater.cli.options import flat, given
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

Source = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help=f"Take the values of absent options from a scenario, {FORMS}.",
    ),
]
NO_PROOF = Proving()


def _facts(mechanism: str, source: str | None, selection: Selection) -> dict[str, Any] | None:
    if source is not None:
        facts, whole = answer_of(
            mechanism, source, selection, lambda case: case.advice_facts(mechanism)
        )
        # The scenario lacks the advised value, so the value in its place is no fact.
        return facts if whole else facts | {PROOFS[mechanism].key.rpartition(".")[2]: None}
    if given(selection):
        raise InputError(
            "--variant, --with and --set need a scenario", "name it with --scenario FILE"
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
        rows = advice["rows"]
        view.add_column("", [row["name"] for row in rows])
        view.add_column("value", [row["value"] for row in rows], justify="right")
        view.add_column("unit", [row["unit"] for row in rows])
        view.add_column("from", [row["formula"] for row in rows], overflow="fold")
        show(view, advice["title"], *summary)
    for caution in advice["cautions"]:
        message(f"caution: {caution}")
    for problem in advice["problems"]:
        message(f"not feasible: {problem}")
    return 0 if advice["feasible"] and (proof is None or proof["holds"]) else 1


def _option(option: dict[str, Any], *, default: bool) -> inspect.Parameter:
    flag = f"--{option['name'].replace('_', '-')}"
    info = typer.Option(flag, help=option["help"], min=1 if option["whole"] else None)
    kind = int if option["whole"] else str
    usual = option["default"] if default else None
    return _parameter(option["name"], Annotated[kind | None, info], usual)


def _parameter(name: str, kind: object, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _command(mechanism: str, form: dict[str, Any]) -> Callable[..., int]:
    """Return the command of a mechanism, with the options of its form."""

    def command(
        json: str | None,
        source: str | None = None,
        selection: Selection = AS_IT_IS,
        proving: Proving = NO_PROOF,
        **values: Any,  # noqa: ANN401 - as the form says
    ) -> int:
        facts = _facts(mechanism, source, selection)
        with option_of({name: f"--{name.replace('_', '-')}" for name in values}):
            advice = _core.advise(mechanism, values, facts, source or "")
        writable(json, Kind.JSON, source)
        proving.check()
        if not proving.prove:
            return _show(advice, json)
        found = prove(mechanism, values, advice, facts, source, selection, proving)
        return _show(advice, json, found)

    first, *options = (_option(one, default=not form["scenario"]) for one in form["options"])
    groups = []
    if form["scenario"]:
        groups += [_parameter("source", Source), _parameter("selection", Selection)]
    if mechanism in PROOFS:
        groups.append(_parameter("proving", Proving))
    parameters = [first, *groups, *options, _parameter("json", Json)]
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return flat(command)


for _mechanism, _form in _core.advice_forms():
    app.command(_mechanism, help=_form["about"])(_command(_mechanism, _form))
