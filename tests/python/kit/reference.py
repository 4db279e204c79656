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
            "Written as `STATISTIC_QUANTITY` or `STATISTIC_QUANTITY:GROUP`, as in "
            f"`p99_fct:victim`. Statistics are {STATISTICS}.",
            (registry.FLOW,),
        ),
        (
            "Of the flows of a group together",
            "Written as `QUANTITY` or `QUANTITY:GROUP`, as in `fairness:incast`.",
            (registry.GROUP,),
        ),
        (
            "Of jobs",
            "Written as `STATISTIC_QUANTITY:JOB`, as in `max_jct:train`. Metrics of collectives "
            "can name a step, too: `max_cct:train/sum`.",
            (registry.JOB, registry.ROUND, registry.COLLECTIVE),
        ),
        (
            "Of queues",
            "Written as `STATISTIC_QUANTITY`, as in `p99_queue`, with the statistics of flows. "
            "`max_queue` is exact and takes no samples: the greatest `max_egress_bytes` of the "
            "table `ports`. The others are of the samples of a port, all of its queues together, "
            "every `output.interval` from the start of the run to the end of the last flow: a mean "
            "over time, and percentiles of time. They are those of the port where they are "
            "greatest, and need `output.queues`. They have no value if `output.nodes` leaves out a "
            "switch at which more may have waited.",
            (registry.QUEUE,),
        ),
        (
            "Of a priority",
            "Written as `QUANTITY` or `QUANTITY:CLASS`, as in `pause_frames:3`. Without a class, "
            "all classes count, and also pauses of the whole link.",
            (registry.CLASS,),
        ),
        (
            "Of messages",
            "Written as `QUANTITY` or `QUANTITY:KIND`, as in `control_messages:cnp`; the column "
            "`kind` of the [table control](results.md) names the kinds.",
            (registry.KIND,),
        ),
        ("Of the run", "One number, written by its name alone.", (registry.RUN,)),
    )
    text = (
        "# Reference: every metric\n\n"
        "Written from the code by `make reference`, not by hand. `backwater compare --metric` and "
        "sweeps take them\n([what a comparison says](compare-and-why.md#metrics), "
        "[goals of a sweep](sweeps.md#a-goal)). A metric with an empty column `better` is an "
        "amount: neither more nor less is better.\n"
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
        "\n## Of studies\n\nA measure of a [study](guide.md#what-a-study-measures) has a metric as "
        "its `kind`, or one of these, which take parameters.\n\n"
        f"{table(header, rows_)}"
    )


def parameters_of(one: Kind) -> str:
    return ", ".join(f"`{name}`" for name in one.parameters)
