"""Writes the network of ASTRA-sim's analytical backend as a scenario.

    python3 network.py Ring_16npus.yml [PAYLOAD] > ring.toml

One dimension of Ring, FullyConnected or Switch. What the analytical model leaves out is left out:
headers, gaps, acknowledgements, and buffers. Its GB is 2^30 octets. Its messages are whole; here
they are packets of PAYLOAD octets (4096), which a switch stores and forwards one by one.
"""

import re
import sys
from pathlib import Path


def value(text: str, key: str) -> str:
    """The only element of a list of the file."""
    found = re.search(rf"^{key}:\s*\[\s*([^\],]+?)\s*\]", text, re.MULTILINE)
    if found is None:
        sys.exit(f"error: {key} has not one element: only one dimension can be written")
    return found.group(1)


def scenario(text: str, payload: int) -> str:
    """The scenario of a network."""
    kind, number = value(text, "topology"), int(value(text, "npus_count"))
    rate = f"{round(float(value(text, 'bandwidth')) * 2**30 * 8)} b/s"
    delay = f"{round(float(value(text, 'latency')) * 1000)} ps"
    pairs = {
        "Ring": [(at, (at + 1) % number) for at in range(number if number > 2 else 1)],
        "FullyConnected": [(a, b) for a in range(number) for b in range(a + 1, number)],
        "Switch": [],
    }
    if kind not in pairs:
        sys.exit(f"error: there is no topology {kind}; there are {', '.join(pairs)}")
    lines = ["[topology]"]
    if kind == "Switch":
        lines += [
            'kind = "star"',
            f"hosts = {number}",
            f'rate = "{rate}"',
            f'link_delay = "{delay}"',
        ]
    else:
        lines += ['kind = "explicit"', "node = ["]
        lines += [f'    {{ name = "h{at}", kind = "host" }},' for at in range(number)]
        lines += ["]", "link = ["]
        lines += [
            f'    {{ a = "h{a}", b = "h{b}", rate = "{rate}", delay = "{delay}" }},'
            for a, b in pairs[kind]
        ]
        lines += ["]"]
    lines += [
        "",
        "[packet]",
        f'payload = "{payload} B"',
        'header = "0 B"',
        'gap = "0 B"',
        "",
        "[ack]",
        "enabled = false",
    ]
    lines += ["", "[switch]", 'latency = "0 ns"', 'buffer_per = "none"']
    lines += [f'staging = "{4 * payload} B"'] if kind == "Switch" else []
    return "\n".join(lines)


if __name__ == "__main__":
    octets = int(sys.argv[2]) if len(sys.argv) > 2 else 4096
    print(scenario(Path(sys.argv[1]).read_text(encoding="utf-8"), octets))
