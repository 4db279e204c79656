"""Writes docs/metrics.md from the list of metrics and the kinds of measures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backwater.numbers import registry
from backwater.numbers.metrics import STATISTICS
from backwater.study.measures import KINDS, Kind


def cell(text: str) -> str:
    """Return a text in the form of a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", r"\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([cell(one) for one in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def metrics() -> str:
    kinds = (
        (
            "Of flows",
            "The names are `STATISTIC_QUANTITY` or `STATISTIC_QUANTITY:GROUP`, for example "
            f"`p99_fct:victim`. Statistics are {STATISTICS}.",
            (registry.FLOW,),
        ),
        (
            "Of the flows of a group together",
            "The names are `QUANTITY` or `QUANTITY:GROUP`, for example `fairness:incast`.",
            (registry.GROUP,),
        ),
        (
            "Of jobs",
            "The names are `STATISTIC_QUANTITY:JOB`, for example `max_jct:train`. A metric of "
            "collectives may also name a step, for example `max_cct:train/sum`.",
            (registry.JOB, registry.ROUND, registry.COLLECTIVE),
        ),
        (
            "Of queues",
            "The names are `STATISTIC_QUANTITY`, for example `p99_queue`, with the statistics of "
            "flows. `max_queue` is exact: it is the greatest `max_egress_bytes` of the table "
            "`ports`. All other statistics need `output.queues`, which samples the bytes in all "
            "queues of each port. A sample is taken every `output.interval`, from the start of the "
            "run to the end of the last flow. The statistic is computed for each port over these "
            "samples, and the metric is the greatest of these values. The metric has no value if "
            "`output.nodes` leaves out a switch at which more bytes may have waited.",
            (registry.QUEUE,),
        ),
        (
            "Of a priority",
            "The names are `QUANTITY` or `QUANTITY:CLASS`, for example `pause_frames:3`. Without a "
            "class, the metric includes all classes, and pauses of the whole link.",
            (registry.CLASS,),
        ),
        (
            "Of messages",
            "The names are `QUANTITY` or `QUANTITY:KIND`, for example `control_messages:cnp`. The "
            "column `kind` of the [table control](results.md) has the kinds.",
            (registry.KIND,),
        ),
        ("Of the run", "A run has one value of each of these metrics.", (registry.RUN,)),
    )
    text = (
        "# Reference: every metric\n\n"
        "`make reference` writes this page from the code. `backwater compare --metric` and sweeps "
        "accept these metrics\n([what a comparison says](compare-and-why.md#metrics), "
        "[goals of a sweep](sweeps.md#a-goal)). If the column `better` is empty, neither more nor "
        "less is better.\n"
    )
    every = registry.QUANTITIES.values()
    assert {one.of for one in every} <= {of for _, _, some in kinds for of in some}
    for title, about, some in kinds:
        rows = [
            (f"`{one.name}`", one.unit, one.better or "", one.text)
            for one in every
            if one.of in some
        ]
        text += f"\n## {title}\n\n{about}\n\n{table(('metric', 'unit', 'better', 'is'), rows)}"
    header = ("kind", "unit", "better", "is", "takes")
    rows_ = [
        (f"`{one.name}`", one.unit, one.better or "", one.text, parameters_of(one))
        for one in KINDS.values()
    ]
    return text + (
        "\n## Of studies\n\n"
        "The `kind` of a measure of a [study](guide.md#what-a-study-measures) is a metric above, "
        "or a kind in this table. The last column has the parameters of the kind.\n\n"
        f"{table(header, rows_)}"
    )


def parameters_of(one: Kind) -> str:
    return ", ".join(f"`{name}`" for name in one.parameters)
