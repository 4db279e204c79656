"""Records: the results of a study's last complete run, kept in the study's own folder.

A study runs for minutes to an hour, too long to repeat it for each reader. The folder holds

    record.json   the summary and every row, with date, version, build and settings
    TABLE.md      the same for readers
    README.md     the page of the study; one paragraph is written from the record

`python -m backwater.study.record DIR` writes them from a directory of `reproduce --out`. The record
has the hashes of the study's files: it is out of date when one of them changes. Results of `--full`
are `record-full.json` and `TABLE-full.md`, those of one case (`--case X`) `record-X.json`, and
those of `--full --case X` `record-full-X.json`. The README's table is of the record of the whole
study.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.files import octets_of, text_of, write_text
from backwater.manifest import STUDY, read_manifest
from backwater.study.definition import STUDIES, toml
from backwater.study.outcome import open_study
from backwater.study.rows import Summary
from backwater.study.texts import (
    as_shown,
    band_text,
    compared,
    deviation_text,
    measured_text,
    null_text,
    prediction_text,
    spread_text,
    value_text,
    verdict_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.study.definition import Study
    from backwater.study.outcome import Outcome

HEADLINE = "headline"
"""The table of study.toml with words for lists; no run depends on it."""

OTHER_SEEDS = (
    "Run with other seeds than the study's own; the table has their number. Bands and verdicts are "
    "for the study's own seeds, and one seed has no spread."
)
"""The note of a record with other seeds than the study's."""

NOT_RECORDED = "not recorded yet"
"""The result of a study without a record, in the README's table."""

RESULT = re.compile(
    r"(<!-- result: written by `python -m backwater.study.record` -->\n)"
    r".*(<!-- end of result -->\n)",
    re.DOTALL,
)
"""The place of the result in the page of a study."""


def name(*, full: bool, case: str | None = None) -> str:
    """Return the file name of a record, for the default or full size, of all cases or one."""
    return f"record{_part(full, case)}.json"


def _part(full: bool, case: str | None) -> str:
    slug = None if case is None else re.sub(r"[^\w.]+", "-", case.replace("'", " prime")).strip("-")
    return "".join(f"-{word}" for word in ("full" if full else None, slug) if word)


def sources(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file that defines the runs of a study, by name."""
    text = {key: value for key, value in toml(folder / "study.toml").items() if key != HEADLINE}
    found = {"study.toml": json.dumps(text, sort_keys=True).encode()}
    scenarios = {text["scenario"]} | {c["scenario"] for c in text["case"] if "scenario" in c}
    tables = {path.relative_to(folder).as_posix() for path in folder.rglob("*.csv")}
    for one in sorted({"published.toml", *scenarios, *tables}):
        found[one] = octets_of(folder / one)
    return {one: hashlib.sha256(content).hexdigest() for one, content in found.items()}


def of(outcome: Outcome) -> dict[str, Any]:
    """Return the record of an unchanged reproduction of a study, or of one case of it.

    At full size other seeds than the study's are accepted, with a note, since a run takes up to an
    hour. Otherwise raises `InputError` for other seeds; raises it for other settings, too.
    """
    directory = outcome.directory
    if directory is None:
        raise InputError("results that were not kept cannot be recorded", "reproduce with --out")
    manifest = read_manifest(directory, STUDY)
    other_seeds = any(point["other_seeds"] for point in manifest["points"])
    if outcome.changes or (other_seeds and not _is_full(outcome.study)):
        raise InputError(
            f"{directory}: has other seeds or settings than the study",
            "reproduce it without --seeds, --set and --with",
        )
    ended = datetime.fromtimestamp((directory / "manifest.json").stat().st_mtime, UTC)
    return {
        "study": outcome.study.id,
        "size": outcome.study.size,
        "case": manifest["case"],
        "note": OTHER_SEEDS if other_seeds else None,
        "date": ended.date().isoformat(),
        "versions": manifest["versions"],
        "runs": len({run for point in manifest["points"] for run in point["runs"]}),
        "sources": sources(STUDIES / outcome.study.id),
        "summary": asdict(outcome.summary),
        "rows": [row.as_dict() for row in outcome.rows],
    }


def _is_full(study: Study) -> bool:
    """Return True if a study of two sizes has its published size here."""
    plain = toml(STUDIES / study.id / "study.toml")
    return "full" in plain and study.size == plain["full"].get("size")


def kept(study: str, *, full: bool = False, case: str | None = None) -> dict[str, Any] | None:
    """Return the record of a study or of one case of it; None if that size has no record."""
    path = STUDIES / study / name(full=full, case=case)
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(text_of(path))
    return found


def numbers_cell(summary: Summary) -> str:
    """Return the result of a study's numbers as the cell of a table."""
    if not summary.numbers:
        return "no number is published"
    rest = [f"{summary.agree} in band"]
    if summary.indiscriminate:
        of = f"{summary.tested} tested" if summary.tested else "them"
        rest.append(f"{summary.indiscriminate} of {of} do not discriminate")
    first = f"{summary.within} of {summary.spread}" if summary.spread else "not known"
    if summary.spread != summary.numbers:
        rest[0] = f"{summary.agree} of {summary.numbers} in band"
    if summary.rows:
        rest.append(f"{summary.rows_agree} of {summary.rows} rows in band")
    if summary.apart:
        rest.append(f"not counted {summary.apart} rows")
    return f"{first} ({', '.join(rest)})"


def claims_cell(summary: Summary) -> str:
    """Return the result of a study's claims as the cell of a table."""
    if not summary.claims:
        return "none"
    rest = {
        "with the mechanism off, too": summary.indiscriminate_claims,
        "by construction": summary.constructed,
        "not known": summary.unknown,
    }
    words = [f"{number} {words}" for words, number in rest.items() if number]
    if summary.own:
        words.append(f"our own: {summary.own_hold} of {summary.own}")
    return f"{summary.hold} of {summary.claims}" + (f" ({', '.join(words)})" if words else "")


def agreement(summary: Summary) -> str:
    """Return the result of a study in a few words, for the README's table."""
    parts = []
    if summary.spread:
        within = f"{summary.within} of {summary.spread} numbers lie within our spread"
        parts.append(f"{within}, {summary.agree} of {summary.numbers} in band")
    elif summary.numbers:
        parts.append(f"{summary.agree} of {summary.numbers} numbers lie in band")
    claims = []
    if summary.claims:
        claims.append(f"{summary.hold} of {summary.claims} published claims")
    if summary.own:
        claims.append(f"{summary.own_hold} of {summary.own} own claims")
    if claims:
        parts.append(f"{' and '.join(claims)} hold")
    return "; ".join(parts)


def readme_row(study: str) -> str:
    """Return a study's row in the README's table, from its record and its headline.

    The row of a study without a record has `NOT_RECORDED`.
    """
    record = kept(study)
    head = toml(STUDIES / study / "study.toml")[HEADLINE]
    cells = (
        f"[{study}](studies/{study}/README.md): {head['what']}",
        head["found"],
        NOT_RECORDED if record is None else agreement(Summary(**record["summary"])),
        head["size"],
    )
    return f"| {' | '.join(cells)} |"


def result(record: Mapping[str, Any]) -> str:
    """Return the paragraph of a study's page with its result."""
    sentences = " ".join(Summary(**record["summary"]).sentences)
    made = f"{record['date']}, {record['runs']} runs"
    return f"**Result** ([TABLE.md](TABLE.md), {made}): {sentences}\n"


def with_result(text: str, record: Mapping[str, Any]) -> str:
    """Return the page of a study with the result of a record in its place."""
    return RESULT.sub(lambda found: found[1] + result(record) + found[2], text)


def page(outcome: Outcome, record: dict[str, Any]) -> str:
    """Return the page of a record, in Markdown."""
    study = outcome.study
    made = record["versions"]
    lines = [
        f"# {study.title}: the table as it was last run",
        "",
        f"{record['date']}, backwater {made['backwater']} (build {made['build']}), "
        f"{record['runs']} runs. Written by `python -m backwater.study.record`; "
        "the README of this folder and the end of `reproduce` explain the columns.",
        "",
        *([f"Size: {study.size}.", ""] if study.size else []),
        *([f"Case {record['case']} alone.", ""] if record["case"] is not None else []),
        *([f"{record['note']}", ""] if record["note"] else []),
        *(line for sentence in outcome.summary.sentences for line in (sentence, "")),
    ]
    numbers = [row for row in outcome.rows if not row.is_claim]
    if numbers:
        lines += _table(
            (
                "case",
                "mechanism",
                study.column,
                "unit",
                "published",
                "measured, 95 % interval",
                "seeds",
                "deviation",
                "band",
                "verdict",
                "one more run would lie in",
                "spread",
                "null model",
            ),
            [
                (
                    row.case,
                    compared(row),
                    measure.label + (f", {row.over}" if row.over not in (None, "mean") else ""),
                    row.unit or "",
                    value_text(row.published, measure),
                    measured_text(row, measure),
                    str(row.seeds),
                    deviation_text(row),
                    band_text(row),
                    verdict_text(row),
                    prediction_text(row, measure),
                    spread_text(row),
                    null_text(row),
                )
                for row in numbers
                for measure in [as_shown(study.measure(row.quantity), row)]
            ],
        )
    claims = [row for row in outcome.rows if row.is_claim]
    if claims:
        lines += _table(
            ("claim", "verdict", "null model", "what was measured"),
            [(row.quantity, verdict_text(row), null_text(row), row.note or "") for row in claims],
        )
    return "\n".join(lines).rstrip() + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    bodies = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in bodies),
        "",
    ]


def write(directory: str) -> Path:
    """Write the record and the page of a reproduction; return the study's folder."""
    outcome = open_study(directory)
    return save(outcome, of(outcome))


def save(outcome: Outcome, record: dict[str, Any]) -> Path:
    """Write a record, its page and its result into the study's folder; return the folder."""
    folder = STUDIES / outcome.study.id
    part = _part(_is_full(outcome.study), record["case"])
    write_text(folder / f"record{part}.json", json.dumps(record, indent=1) + "\n")
    write_text(folder / f"TABLE{part}.md", page(outcome, record))
    readme = folder / "README.md"
    if not part and readme.is_file():
        write_text(readme, with_result(text_of(readme), record))
    return folder


if __name__ == "__main__":
    for place in sys.argv[1:]:
        print(write(place))
