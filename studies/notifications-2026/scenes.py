"""Write the scenarios of this study: each scene with every scheme as a variant.

    python studies/notifications-2026/scenes.py

Network, most scenes and most schemes are those of controls-2026, whose script writes them here,
too. A test compares the files with this script's output.
"""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CONTROLS = HERE.parent / "controls-2026"


def _controls() -> Any:  # noqa: ANN401 - a module that only its path names
    spec = importlib.util.spec_from_file_location("controls_scenes", CONTROLS / "scenes.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{CONTROLS} has no scenes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHARED = _controls()

OUTPUT = """\
# Of a sender that shares no congested link but the receiver's: when it begins to send less.
[output]
interval = "500 ns"
links = true
nodes = ["h16"]

"""

FAILED = """
# ECMP leaves it out: leaf0 has seven uplinks for its eight hosts.
[[link.at]]
between = ["leaf0", "spine0"]
down = true
"""

DISPATCH = """\
# Eight servers of eight GPUs, a leaf each. Sizes are those of DeepEP in moe-2026; 128 tokens a GPU,
# as its kernels for low latency have.
[[job]]
label = "moe"
ranks = 64
ranks_per_server = 8

[[job.step]]
label = "dispatch"
kind = "dispatch"
tokens = 128
experts = 256
top_k = 8
size = "7392 B"
"""


def scenes() -> dict[str, dict[str, str]]:
    """Return title, remark, topology and flows of each scene by the name of its file."""
    shared, failed = SHARED.SCENES, SHARED.SCENES["failed"]
    own = "Cases 1 to 3 of sfc-aidc-2025, as in controls-2026."
    return {
        "scenario": {
            **shared["scenario"],
            "about": own,
            "flows": OUTPUT + shared["scenario"]["flows"],
        },
        "mixed": {
            **shared["mixed"],
            "about": "What sfc-proxy mixes, as in controls-2026: incasts of 16 senders.",
        },
        "failed": {
            "title": "Permutation beside a failed link",
            "about": "One link of leaf0 to a spine is down.",
            "topology": SHARED.CLOS + FAILED,
            "flows": failed["flows"],
        },
        "dispatch": {
            "title": "Dispatch of 64 GPUs to the experts of a mixture",
            "about": "Each GPU sends each of its tokens to eight experts of all servers.",
            "topology": SHARED.CLOS,
            "flows": DISPATCH,
        },
    }


def parameters() -> dict[str, Any]:
    """Return blocks and schemes: those taken from controls-2026, and this study's."""
    own = tomllib.loads((HERE / "parameters.toml").read_text(encoding="utf-8"))
    shared = SHARED.parameters()
    named = {scheme["name"]: scheme for scheme in shared["scheme"]}
    schemes = [*(named[name] for name in own["from"]), *own["scheme"]]
    return {"block": shared["block"], "scheme": schemes}


def files() -> dict[str, str]:
    """Return each scenario of the study by the name of its file."""
    text = parameters()

    def scene(of: dict[str, str]) -> str:
        variants = (SHARED.variant(one, text["block"]) for one in text["scheme"])
        return "\n".join([SHARED.HEAD.format(**of), *variants])

    return {f"{name}.toml": scene(of) for name, of in scenes().items()}


if __name__ == "__main__":
    for name, written in files().items():
        (HERE / name).write_text(written, encoding="utf-8")
