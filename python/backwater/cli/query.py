"""`backwater query` and `backwater status`: results of runs, and the progress of a sweep."""

from __future__ import annotations

import json as json_
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater.cli.arguments import Json
from backwater.cli.output import listing, put, write_json
from backwater.cli.targets import Kind, writable
from backwater.directory import PROGRESS, writer
from backwater.files import text_of
from backwater.wording import duration, figure, three

Results = Annotated[str, typer.Argument(help="A directory of results.", metavar="DIR")]
# A sweep whose progress file is older than this was killed.
SILENT_SECONDS = 10


def query(
    directory: Results,
    sql: Annotated[
        str | None, typer.Argument(help="SQL, as DuckDB takes it.", metavar="[SQL]")
    ] = None,
    json: Json = None,
) -> None:
    """Query a sweep, a series, a comparison or a study by SQL; without SQL, list its columns.

    A row of points is a point of a sweep, or a run. Views are points, metrics, failed and columns.
    A sweep adds timings, and flows if they were kept; runs add all their tables. Columns have plain
    names: sfc.threshold is sfc_threshold, p99_fct:victim is p99_fct_victim. Parameters are in base
    units (B, ps, b/s), and metrics in the unit that `columns` names.
    """
    from backwater.experiments.points import points_of

    opened = points_of(directory)
    writable(json, Kind.JSON)
    if sql is None:
        columns = [
            {"column": one.sql, "name": one.name, "unit": one.unit, "about": one.about}
            for one in opened.columns
        ]
        if json is not None:
            write_json(json, {"views": opened.views, "columns": columns})
        if json != "-":
            listing(("view", "what it is"), list(opened.views.items()), "")
            put("")
            rows = [tuple(one.values()) for one in columns]
            listing(("column of points", "name", "unit", "what it is"), rows, "")
        return
    answer = opened.query(sql)
    rows_ = answer.to_pylist()
    if json is not None:
        write_json(json, [_plain(row) for row in rows_])
    if json != "-":
        names = _different(answer.column_names)
        listing(names, [tuple(_cell(value) for value in row.values()) for row in rows_], "")


def _different(names: list[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name} {n}" for n, name in enumerate(names)]


def _cell(value: Any) -> str:  # noqa: ANN401 - whatever a table holds
    if value is None:
        return "-"
    if isinstance(value, float | int) and not isinstance(value, bool):
        return figure(value)
    return "; ".join(map(_cell, value)) if isinstance(value, list) else str(value)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a table holds
    """Return a value that JSON can hold: a number, or else a text."""
    if isinstance(value, Decimal):
        # DuckDB's sum of whole numbers is a Decimal.
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    # A `MonthDayNano`, a length of time, is a subclass of tuple, and becomes a text.
    if isinstance(value, list) or type(value) is tuple:
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def status(directory: Results, json: Json = None) -> int:
    """Show the progress of a sweep, series, comparison, study or benchmark, also of one elsewhere.

    For a sweep it counts the points of all commands that used the directory, not only of the last.
    Ends with 0 if all is done, 3 if points or runs are missing, 1 if some have failed.
    """
    from backwater.experiments import counting
    from backwater.manifest import BENCH, COMPARISON, SEEDS, STUDY, SWEEP, read_manifest
    from backwater.sweep import store

    path = Path(directory)
    manifest = read_manifest(path, SWEEP, SEEDS, COMPARISON, STUDY, BENCH)
    writable(json, Kind.JSON)
    facts: dict[str, Any] = {"status": manifest["status"]}
    if manifest["kind"] == SWEEP:
        # The progress file is out of date if the sweep was killed or its disk is full.
        facts |= {"points": manifest["points"]} | _progress(path / PROGRESS) | store.counts(path)
        state = _sweep_status(facts)
    else:
        facts |= counting.counts(path, manifest)
        state = _run_status(facts, writer(path))
    facts["unfinished_goals"] = [one["goal"] for one in manifest.get("unfinished") or ()]
    facts["heard"] = state
    if json is not None:
        write_json(json, facts)
    if json != "-":
        put(f"{manifest.get('title') or directory}: {state}")
        _show(facts, directory, "points" if manifest["kind"] == SWEEP else "runs")
    if facts["failed"]:
        return 1
    whole = facts["done"] == facts["points"] and not facts["unfinished_goals"]
    return 0 if whole and facts["status"] == "done" else 3


def _show(facts: dict[str, Any], directory: str, what: str) -> None:
    over = facts["done"] + facts["failed"]
    share = 100 * over // max(1, facts["points"])
    put(f"{share} % · {facts['done']} of {facts['points']} {what} done")
    if facts["failed"]:
        put(
            f"{facts['failed']} {what} have failed; `backwater query {directory} "
            '"select * from failed"` shows why'
        )
    for goal in facts["unfinished_goals"]:
        put(f"a search did not end: {goal}")
    if facts["heard"] == "running" and "host" in facts:
        left = facts["seconds_left"]
        put(
            f"{facts['running']} points with {facts['workers']} workers of the sweep on "
            f"{facts['host']}, {three(facts['points_per_s'])} points/s"
            + ("" if left is None else f", {duration(left)} left")
        )


def _progress(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json_.loads(text_of(path))
    except (OSError, ValueError):
        return {}
    return found


def _run_status(facts: dict[str, Any], holder: str | None) -> str:
    """Return the status of runs, which are in progress only while a process writes them."""
    if facts["status"] != "running":
        return str(facts["status"])
    return "killed" if holder is None else f"running, {holder}"


def _sweep_status(facts: dict[str, Any]) -> str:
    """Return the status of a sweep, which is in progress only with a recent progress file."""
    if facts["status"] != "running":
        return str(facts["status"])
    if "updated" not in facts:
        return "running"
    age = (datetime.now(UTC) - datetime.fromisoformat(facts["updated"])).total_seconds()
    if age <= SILENT_SECONDS:
        return "running"
    return f"no progress for {duration(age)}: killed, or its disk is slow"
