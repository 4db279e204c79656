"""Small studies, and few seeds of large ones."""

from __future__ import annotations

from pathlib import Path

from backwater.study.measures import Observed, read
from kit.scenarios import bare, star

DROPPED_AS_IT_IS = """
[[measure]]
name = "drops"
kind = "drops"
unit = "frames"
text = "lost"
[[case]]
id = "a"
text = "as it is"
"""
"""A measure and a case of a study."""


RANDOM = f"""{star(3, rate="10 Gb/s", title="Two random senders")}
{bare("1500 B")}
[switch]
buffer = "6 KB"
buffer_per = "egress"
[[flow]]
label = "random"
from = [1, 2]
to = 0
arrivals = "bernoulli"
load = "40 %"
[stop]
at = "2 ms"
[output]
interval = "1 ms"
flows = true
[variant.larger]
switch.buffer = "60 KB"
"""
"""A scenario of random arrivals, and its variant with more memory."""
_RANDOM_STUDY = f"""
title = "Small"
scenario = "scenario.toml"
seeds = "1..6"
[mechanisms]
"plain" = ""
[[measure]]
name = "rate"
kind = "throughput"
groups = ["random"]
window = ["1 ms", "2 ms"]
unit = "Mb/s"
text = "received from 1 to 2 ms"
{DROPPED_AS_IT_IS}
[[case]]
id = "b"
text = "no number of it"
mechanisms = ["plain"]
seeds = "1..2"
[case.set]
"flow.random.load" = "20 %"
[[beside]]
id = "memory"
title = "More memory"
own = "6 KB"
own_text = "the table's"
cases = ["a"]
mechanisms = ["plain"]
seeds = "1..3"
[[beside.setup]]
id = "larger"
label = "60 KB"
text = "ten times as much"
variant = "larger"
"""
_RANDOM_PUBLISHED = """
document = "none"
[[row]]
case = "a"
mechanism = "plain"
band = 0.5
values = { rate = 8000 }
[[row]]
case = "a"
mechanism = "plain"
over = "max"
first = 4
band_factor = 2
values = { rate = 8000 }
[[row]]
case = "a"
mechanism = "plain"
over = "std"
first = 9
band_absolute = 1
required = false
values = { rate = 8000 }
"""


def write_study(base: Path, scenario: str, study_: str, published: str) -> Path:
    """Write the files of a study, and return its folder."""
    folder = base / "small-2026"
    folder.mkdir()
    for name, text in {
        "scenario.toml": scenario,
        "study.toml": study_,
        "published.toml": published,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_random_study(base: Path, scenario: str = RANDOM) -> Path:
    """Write a study of random arrivals: six seeds of a case, two of another, three beside it."""
    return write_study(base, scenario, _RANDOM_STUDY, _RANDOM_PUBLISHED)


def value(run: Observed, kind: str, **parameters: object) -> float:
    """Return a measure of a run."""
    reading = read(run, kind, parameters)
    assert reading.problem is None
    assert reading.value is not None
    return reading.value


def one_seed(own: tuple[int, ...], _: int) -> tuple[int, ...]:
    """Return only the first seed of a point of a study."""
    return own[:1]
