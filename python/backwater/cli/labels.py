"""The labels of groups and jobs in scenarios, which metrics may name."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater.errors import InputError
from backwater.numbers.registry import CLASS, COLLECTIVE, KIND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.numbers.metrics import Metric

# Ends a label that stands for all labels with this beginning: operations in a separate table.
ANY = "…"


def check_labels(wanted: Sequence[Metric], scenarios: Sequence[str]) -> None:
    """Refuse metrics that have no value in any scenario, given as TOML with every value.

    Raises `InputError`.
    """
    labels = [_Labels.of(scenario) for scenario in scenarios]
    for metric in wanted:
        if metric.needs_samples and not any(one.sampled for one in labels):
            raise InputError(
                f"--metric {metric.name}: no queue is sampled",
                'add --set "output.interval=1 us" --set output.queues=true; max_queue needs no '
                "samples",
            )
        if metric.quantity.lacking is not None:
            reasons = {metric.quantity.lacking(one) for one in map(tomllib.loads, scenarios)}
            if reasons and None not in reasons:
                raise InputError(
                    f"--metric {metric.name}: has no value: {'; '.join(map(str, reasons))}",
                    "marked_frames counts marked frames",
                )
        if metric.group is None or metric.quantity.of in (CLASS, KIND):
            continue
        known = list(dict.fromkeys(label for one in labels for label in one.known(metric)))
        if not any(_named(metric.group, label) for label in known):
            what = _what(metric)
            raise InputError(
                f"--metric {metric.name}: no {what} is called {metric.group}",
                f"there are {', '.join(known)}" if known else f"the scenario has no {what}",
            )


@dataclass(frozen=True)
class _Labels:
    """The labels of a scenario that have metrics."""

    groups: list[str]
    jobs: list[str]
    steps: list[str]
    sampled: bool
    """Whether queues are sampled."""

    @staticmethod
    def of(scenario: str) -> _Labels:
        content = tomllib.loads(scenario)
        jobs = content.get("job", [])
        steps = [f"{one['label']}/{step['label']}" for one in jobs for step in one.get("step", [])]
        graphs = [f"{one['label']}/{ANY}" for one in jobs if not one.get("step")]
        flows = [str(flow["label"]) for flow in content.get("flow", [])]
        sampled = bool(content.get("output", {}).get("queues"))
        labels = [str(one["label"]) for one in jobs]
        return _Labels([*flows, *steps, *graphs], labels, steps, sampled)

    def known(self, metric: Metric) -> list[str]:
        """Return the labels that a metric may name."""
        if not metric.quantity.of_jobs:
            return self.groups
        of_steps = metric.quantity.of == COLLECTIVE
        return [*self.jobs, *self.steps] if of_steps else self.jobs


def _named(given: str, label: str) -> bool:
    return given.startswith(label.removesuffix(ANY)) if label.endswith(ANY) else given == label


def _what(metric: Metric) -> str:
    if not metric.quantity.of_jobs:
        return "group of flows"
    return "job or step" if metric.quantity.of == COLLECTIVE else "job"
