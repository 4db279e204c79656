"""Write the scenarios of this study: each scene with every scheme of parameters.toml as a variant.

    python studies/controls-2026/scenes.py

A scheme is the same text in every scene. A test compares the files with this script's output.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

HEAD = """\
# Written by scenes.py from parameters.toml: change those and run it again.
# {about}
title = "{title}"
seed = 1
lossless = true

{topology}
# Packets, acknowledgements, interfaces, switches and PFC are those of sfc-aidc-2025, which says
# why each value is what it is.
[packet]
payload = "4000 B"
header = "64 B"
gap = "0 B"

[ack]
size = "64 B"
path = "reverse"

[nic]
store_and_forward = true

[switch]
architecture = "output-queued"
latency = "300 ns"
latency_at = "fabric"
release_at = "end"
buffer = "400 KB"
buffer_per = "ingress"

[pfc]
xoff = "380 KB"
xon = "240 KB"
signal = "ideal"

{flows}"""

CLOS = """\
[topology]
kind = "leaf-spine"
leaves = 16
spines = 8
hosts_per_leaf = 8
rate = "200 Gb/s"
link_delay = "150 ns"
"""

RAILS = """\
[topology]
kind = "leaf-spine"
leaves = 8
spines = 8
hosts_per_leaf = 8
rails = 8
rate = "200 Gb/s"
link_delay = "150 ns"
"""

PERMUTATION = """\
# Every host sends to one and receives from one; ECMP chooses one way for each flow. The seed draws
# both.
[[flow]]
label = "flows"
pattern = "permutation"
from = "all"
size = "2 MB"
"""

SCENES: dict[str, dict[str, str]] = {
    "scenario": {
        "title": "Incast and victim in a 128-host leaf-spine network",
        "about": "Cases 1 to 3 of sfc-aidc-2025; study.toml has what cases 2 and 3 change.",
        "topology": CLOS,
        "flows": """\
# Hosts are numbered leaf by leaf. Paths are pinned: nothing depends on a hash.
[[flow]]
label = "incast"
from = ["h8", "h16", "h24"]
to = "h0"
size = "2 MB"
via = [["spine0"], ["spine1"], ["spine2"]]

# Shares the first sender's uplink, its spine, and the link down to the receiver's leaf.
[[flow]]
label = "victim"
from = "h9"
to = "h1"
size = "5 MB"
via = ["spine0"]
""",
    },
    "permutation": {
        "title": "Permutation in a 128-host leaf-spine network",
        "about": "The same network; ECMP hashes flows to the links between switches.",
        "topology": CLOS,
        "flows": PERMUTATION,
    },
    "failed": {
        "title": "Permutation beside a slow link",
        "about": "With --full: one link of leaf0 to a spine has a quarter of its rate.",
        "topology": CLOS
        + """
[[link.at]]
from = "leaf0"
to = "spine0"
rate = "50 Gb/s"
""",
        "flows": PERMUTATION,
    },
    "rails": {
        "title": "All-to-all of 64 accelerators on rails",
        "about": "With --full: eight servers of eight interfaces each, one to a rail.",
        "topology": RAILS,
        "flows": """\
[[job]]
label = "experts"
ranks = 64

[[job.step]]
label = "exchange"
kind = "all-to-all"
algorithm = "direct"
size = "128 KB"
""",
    },
    "mixed": {
        "title": "Remote procedure calls and incast events on the same hosts",
        "about": "With --full: what sfc-proxy mixes, in this network: incasts of 16 senders.",
        "topology": CLOS,
        "flows": """\
[[flow]]
label = "background"
pattern = "random"
from = "all"
to = "all"
sizes = "google-rpc"
arrivals = "poisson"
load = "30 %"
until = "200 us"

[[flow]]
label = "incast"
pattern = "incast"
from = "all"
to = "all"
fan_in = 16
size = "256 KB"
arrivals = "poisson"
load = "8 %"
load_of = "network"
until = "200 us"
""",
    },
}

ROCE_AND_TCP = """\
# RoCE in class 3 and TCP in class 0 meet at h0; the queues of a port take turns. Only class 3 is
# lossless.
[transport]
recovery = "selective-repeat"
retries = "unlimited"

# One curve marks both classes, each by the length of its own queue.
[ecn]
kmin = "200 KB"
kmax = "200 KB"
pmax = 1.0
mark_at = "dequeue"
count_departing = true

[dctcp.flows]
classes = [0]

[[flow]]
label = "incast"
from = ["h8", "h16", "h24"]
to = "h0"
size = "20 MB"
class = 3
via = [["spine0"], ["spine1"], ["spine2"]]

[[flow]]
label = "victim"
from = "h9"
to = "h1"
size = "20 MB"
class = 3
via = ["spine0"]

[[flow]]
label = "flows"
from = ["h32", "h40", "h48"]
to = "h0"
size = "20 MB"
class = 0
via = [["spine3"], ["spine4"], ["spine5"]]
"""
"""Flows of the scene; the group `flows` is TCP."""

BESIDE_TCP = ("pfc", "sfc", "sfc-proxy", "sfc-isolation", "dcqcn", "hpcc", "timely")
"""Schemes for class 3: those over PFC that do not affect another class."""

CONTROLS = ("dcqcn", "hpcc", "timely")
"""Controls that need the key `flows` to control class 3 only."""


def variant(scheme: dict[str, Any], blocks: dict[str, str]) -> str:
    """Return a scheme as a variant of a scenario."""
    parts = [blocks[name] for name in scheme.get("with", [])] + [scheme["values"]]
    body = "".join(part.lstrip("\n") for part in parts)
    return f"# {scheme['text']}. Source: {scheme['source']}.\n[variant.{scheme['name']}]\n{body}"


def scene(name: str, text: dict[str, Any]) -> str:
    """Return a scene with all schemes."""
    head = HEAD.format(**SCENES[name])
    return "\n".join([head, *(variant(one, text["block"]) for one in text["scheme"])])


def beside_tcp(text: dict[str, Any]) -> str:
    """Return the scene in which a scheme controls class 3, and DCTCP class 0."""
    head = HEAD.format(
        title="RoCE beside TCP",
        about="With --full: incast and victim in class 3, an incast of DCTCP in class 0.",
        topology=CLOS,
        flows=ROCE_AND_TCP,
    )
    head = head.replace("lossless = true", "lossless = false")
    head = head.replace('signal = "ideal"', 'signal = "ideal"\nclasses = [3]')
    head = head.replace(
        'buffer_per = "ingress"', 'buffer_per = "ingress"\nweights = [1, 0, 0, 1, 0, 0, 0, 0]'
    )
    parts = [head]
    for scheme in text["scheme"]:
        if scheme["name"] in BESIDE_TCP:
            values = scheme["values"]
            if scheme["name"] in CONTROLS:
                values = values.replace(" }\n", ", flows = { classes = [3] } }\n")
            parts.append(variant({**scheme, "with": [], "values": values}, {}))
    return "\n".join(parts)


def files() -> dict[str, str]:
    """Return each scenario of the study by the name of its file."""
    text = parameters()
    written = {f"{name}.toml": scene(name, text) for name in SCENES}
    return {**written, "roce-and-tcp.toml": beside_tcp(text)}


def parameters() -> dict[str, Any]:
    """Read the schemes."""
    return tomllib.loads((HERE / "parameters.toml").read_text(encoding="utf-8"))


if __name__ == "__main__":
    for name, written in files().items():
        (HERE / name).write_text(written, encoding="utf-8")
