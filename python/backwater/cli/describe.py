"""`backwater check`, `explain`, `list`, `new`, `schema`: the commands that simulate nothing."""

from __future__ import annotations

import dataclasses
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import _core
from backwater.cli import completing
from backwater.cli.arguments import (
    ABOUT_FILES,
    Force,
    Json,
    Selection,
    check_used,
    overrides,
    read,
    split_variant,
)
from backwater.cli.output import (
    listing,
    message,
    put,
    show,
    warn,
    write,
    write_json,
)
from backwater.cli.targets import Kind, replaced, writable
from backwater.cli.views import View
from backwater.errors import InputError, ResultError
from backwater.files import text_of
from backwater.wording import many, series


class Listable(StrEnum):
    """What `backwater list` can list."""

    MECHANISMS = "mechanisms"
    SILICON = "silicon"
    TOPOLOGIES = "topologies"
    WORKLOADS = "workloads"
    FORMATS = "formats"
    METRICS = "metrics"
    FAULTS = "faults"
    STUDIES = "studies"
    SCENARIOS = "scenarios"


# Columns of a list besides names and summaries; by default `source`.
_OTHERS = {Listable.SCENARIOS: ("variants",), Listable.METRICS: ("unit", "better")}


def check(
    files: Annotated[list[str], typer.Argument(help=ABOUT_FILES, metavar="FILE")],
    *,
    selection: Selection,
    json: Json = None,
) -> None:
    """Check a scenario and all its variants; show every value and its origin.

    For a file with a table `sweep`, count its points, and estimate time and disk by a pilot.
    """
    file, variant = split_variant(files[0], selection.variant)
    beside = files[1:]
    named = series([file, *beside])
    if not beside and _has_sweep(file):
        _check_sweep(file, dataclasses.replace(selection, variant=variant), json)
        return
    case = read(files[0], selection, beside=beside, where_on=variant is None)
    # The variants are checked, too: a mistake in one would otherwise appear only when it runs.
    others = {name: case.variant(name) for name in case.variants} if variant is None else {}
    several = "variants" if len(others) > 1 else "variant"
    checked = f"its {several} {series(list(others))}" if others else ""
    if variant is None:
        check_used(
            overrides(selection.settings),
            [case, *others.values()],
            f"{named} and {checked}" if checked else named,
        )
    warnings = case.check()
    for other in others.values():
        warnings += [one for one in other.check() if one not in warnings]
    writable(json, Kind.JSON, file, *beside)
    warn(warnings)
    for one in case.skipped:
        used = [
            name
            for name, other in others.items()
            if one["key"] not in (there["key"] for there in other.skipped)
        ]
        message(
            f"skipped: --set {one['key']}={one['value']}: {one['reason']}; "
            f"it applies to the variants {', '.join(used)}"
        )
    if json is not None:
        result = {
            "title": case.title,
            "values": case.values(),
            "warnings": warnings,
            "skipped": case.skipped,
            "controls": case.controls(),
        }
        write_json(json, result)
    if json != "-":
        rows = [(value["key"], value["value"], value["origin"]) for value in case.values()]
        listing(("key", "value", "from"), rows, case.title)
    for control, flows in case.controls().items():
        message(f"{control} controls the flows {flows}")
    noted = f", apart from {many(len(warnings), 'warning')}" if warnings else ""
    message(f"{named}: good{f', with {checked}' if checked else ''}{noted}")


def _has_sweep(file: str) -> bool:
    """Whether a regular file may have a table `[sweep]`, by a search of its text.

    A pipe, which can be read only once, is left to the reader of scenarios.
    """
    path = Path(file)
    try:
        return path.is_file() and "[sweep" in text_of(path)
    except (OSError, UnicodeDecodeError):
        return False


def _check_sweep(file: str, selection: Selection, json: str | None) -> None:
    from backwater.cli.sweep_estimate import foresee
    from backwater.cli.sweep_plan import PlanOptions, sweeping
    from backwater.experiments.clusters import processors

    options = PlanOptions(
        variants=None if selection.variant is None else [selection.variant],
        settings=selection.settings,
        mechanisms=selection.mechanisms,
    )
    asked = sweeping(file, options, None)
    writable(json, Kind.JSON, file)
    estimate = foresee(asked, processors(), force=True)
    if json is not None:
        write_json(json, estimate)
    message(f"{file}: good")


def explain(
    key: Annotated[
        str,
        typer.Argument(
            help="A dotted key of a scenario, for example pfc.xoff; without one, all tables.",
            metavar="[KEY]",
            autocompletion=completing.keys,
        ),
    ] = "",
    json: Json = None,
) -> None:
    """Explain one key of a scenario: meaning, unit, default, range, source."""
    facts = _core.explain(key)
    writable(json, Kind.JSON)
    if json is not None:
        write_json(json, facts)
    if json != "-":
        _show_facts(facts)


def _show_facts(facts: dict[str, Any]) -> None:
    children: dict[str, str] = facts["children"]
    # The children of a choice are its values, each with its meaning.
    choice = bool(children) and facts["range"] == ", ".join(children)
    put(facts["key"] or "The tables and keys of a scenario", style="bold")
    if facts["key"]:
        put(facts["meaning"])
    view = View(show_header=False)
    view.add_column(style="dim")
    view.add_column(overflow="fold")
    aliases = ", ".join(facts["aliases"])
    for name, value in {**facts, "also called": aliases}.items():
        shown = name in ("symbol", "default", "source", "also called")
        if (shown or (name in ("unit", "range") and not choice)) and value:
            view.add_row(name, value)
    if view.row_count:
        put("")
        put(view)
    if children:
        inner = View(show_header=False)
        inner.add_column("", [f"  {name}" for name in children], no_wrap=True)
        inner.add_column("", children.values(), overflow="fold")
        put("\nvalues" if choice else "\nkeys", style="dim")
        put(inner)


def list_items(
    what: Annotated[
        Listable,
        typer.Argument(
            help="mechanisms, silicon, topologies, workloads, formats, metrics, faults, studies or "
            "scenarios.",
            metavar="WHAT",
        ),
    ],
    json: Json = None,
) -> None:
    """List mechanisms, topologies or other items, with their sources."""
    writable(json, Kind.JSON)
    entries: list[dict[str, Any]]
    remarks: list[str] = []
    if what is Listable.STUDIES:
        from backwater.study import load, names

        studies = [load(name) for name in names()]
        entries = [
            {"name": study.id, "summary": study.title, "source": study.document}
            for study in studies
        ]
    elif what is Listable.SCENARIOS:
        from backwater import examples

        found = [examples.shipped(name) for name in examples.names()]
        entries = [
            {"name": one.name, "summary": one.title, "variants": list(one.variants)}
            for one in found
        ]
    elif what is Listable.FORMATS:
        entries = _core.formats()
    elif what is Listable.METRICS:
        from backwater.numbers.metrics import STATISTICS
        from backwater.numbers.registry import QUANTITIES

        remarks = [
            f"STATISTIC: {STATISTICS}. `compare --metric`, goals of sweeps and measures of studies "
            "take them."
        ]
        entries = [
            {
                "name": one.written,
                "summary": one.text,
                "unit": one.unit,
                "better": one.better,
            }
            for one in QUANTITIES.values()
        ]
    elif what is Listable.FAULTS:
        kind = _core.explain("fault.kind")
        entries = [
            {"name": name, "summary": " ".join(text.split()), "source": kind["source"]}
            for name, text in kind["children"].items()
        ]
    else:
        entries = _core.items(what.value)
    if json is not None:
        write_json(json, entries)
    if json == "-":
        return
    view = View()
    view.add_column(what.value, [entry["name"] for entry in entries], no_wrap=True)
    view.add_column("what it is", [entry["summary"] for entry in entries])
    for name in _OTHERS.get(what, ("source",)):
        cells = (entry[name] for entry in entries)
        texts = (", ".join(one) if isinstance(one, list) else one or "" for one in cells)
        view.add_column(name, texts)
    show(view, None, *remarks)


def new(
    file: Annotated[
        str | None,
        typer.Argument(
            help="File to write; - is stdout. With --from it may be left out. `mechanism` writes a "
            "crate with a mechanism of your own.",
            metavar="FILE",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(help="After `mechanism`: its name, as in my_law.", metavar="NAME"),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SCENARIO",
            help="Copy a scenario that comes with Backwater: `backwater list scenarios`.",
            autocompletion=completing.scenarios,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DIRECTORY",
            help="After `mechanism`: directory of its crate; by default one of its name.",
        ),
    ] = None,
    backwater: Annotated[
        str | None,
        typer.Option(
            "--backwater",
            metavar="SOURCE",
            help="After `mechanism`: a clone of Backwater, or the address of its repository; by "
            "default the clone of this command.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write a commented scenario to start from, or a crate with a mechanism of your own."""
    from backwater.examples import shipped

    if file == "mechanism" and (source is None or name is not None):
        _new_mechanism(name, to, backwater, force=force)
        return
    for key, given in (("NAME", name), ("--to", to), ("--backwater", backwater)):
        if given is not None:
            raise InputError(
                f"{key} {given}: only `backwater new mechanism` takes it",
                "`backwater new FILE` writes a scenario, `backwater new mechanism NAME` a crate",
            )
    if file is None and source is None:
        raise InputError("Missing argument 'FILE'.", "see `backwater new --help`")
    copied = None if source is None else shipped(source)
    file = f"{source}.toml" if file is None else file
    tables = {} if copied is None else copied.tables
    writable(file, Kind.SCENARIO)
    if file == "-":
        write(file, _core.new_scenario() if copied is None else copied.text)
        for name in tables:
            message(f"it reads {name}; `backwater new FILE --from {source}` also writes {name}")
        return
    folder = Path(file).parent
    for path in (Path(file), *(folder / name for name in tables)):
        if not force and replaced(path, Kind.SCENARIO):
            raise InputError(
                f"{path}: exists already", "give another name, or --force to replace it"
            )
    for name, content in tables.items():
        write(str(folder / name), content.decode("utf-8"))
    quoted = shlex.quote(file)
    # Commands in its comments name the copy.
    text = _core.new_scenario() if copied is None else copied.text
    write(file, text if source is None else text.replace(f"scenarios/{source}.toml", quoted))
    beside = f" with {series(list(tables))}" if tables else ""
    message(f"{file}: written{beside}; `backwater run {quoted}` runs it")


def _new_mechanism(name: str | None, to: str | None, backwater: str | None, *, force: bool) -> None:
    """Write a crate with a mechanism of this name."""
    from backwater.own.crate import named, write_crate

    if name is None:
        raise InputError(
            "Missing argument 'NAME'.",
            "`backwater new mechanism my_law`; `backwater new ./mechanism` writes a scenario",
        )
    named(name)
    folder = Path(name if to is None else to)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is not a directory", "give another --to")
    try:
        write_crate(name, folder, backwater, replace=force)
    except OSError as error:
        raise ResultError(f"{folder}: cannot be written: {error.strerror or error}") from None
    message(f"{folder}: written; its README.md shows how to test, build and run it")
    message(f"the mechanism is {folder}/src/mechanisms/{name}.rs, a working law to replace")


def schema(
    json: Annotated[
        str, typer.Option("--json", metavar="FILE", help="File to write; - is stdout.")
    ] = "-",
) -> None:
    """Write the JSON Schema of scenario files, for completion and checks in editors."""
    writable(json, Kind.JSON)
    write(json, _core.schema().rstrip("\n") + "\n")
