"""Builds the page: one file that contains its style, scripts, scenarios and the compiled core.

Usage: build.py CORE.wasm INTO. Equal sources produce equal bytes.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCENARIOS = HERE.parent / "scenarios"
STYLE = HERE.parent / "python" / "backwater" / "report" / "static" / "page.css"
FIRST = "incast-victim"


def scenarios() -> dict[str, str]:
    """Read the example scenarios, with that of the README first."""
    names = sorted(file.stem for file in SCENARIOS.glob("*.toml"))
    names.sort(key=lambda name: name != FIRST)
    return {name: (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8") for name in names}


def page(core: bytes) -> str:
    """Return the page with all its parts."""
    read = {
        name: (HERE / name).read_text(encoding="utf-8")
        for name in ("page.css", "play.js", "draw.js", "worker.js")
    }
    packed = base64.b64encode(gzip.compress(core, 9, mtime=0)).decode()
    # A `<` in a scenario must not end the element that holds it.
    examples = json.dumps(scenarios()).replace("<", "\\u003c")
    parts = {
        "STYLE": STYLE.read_text(encoding="utf-8") + read["page.css"],
        "WASM": packed,
        "SCENARIOS": examples,
        "WORKER": read["worker.js"],
        "SCRIPT": read["draw.js"] + read["play.js"],
    }
    text = (HERE / "page.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        assert "</script" not in part
        before, _, after = text.partition(f"@@{name}@@")
        text = before + part + after
    return text


if __name__ == "__main__":
    core, into = Path(sys.argv[1]), Path(sys.argv[2])
    into.mkdir(parents=True, exist_ok=True)
    target = into / "index.html"
    target.write_text(page(core.read_bytes()), encoding="utf-8")
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB")
