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


def number_of(text: str, key: str) -> float:
    """The only element of a list of the file, a number that is not below 0."""
    word = value(text, key)
    if re.fullmatch(r"\d+(\.\d*)?([eE][+-]?\d+)?", word) is None:
        sys.exit(f"error: {key}: {word} is not a number from 0")
    return float(word)


def scenario(text: str, payload: int) -> str:
    """The scenario of a network."""
    kind, number = value(text, "topology"), round(number_of(text, "npus_count"))
    rate = f"{round(number_of(text, 'bandwidth') * 2**30 * 8)} b/s"
    delay = f"{round(number_of(text, 'latency') * 1000)} ps"
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


def main() -> None:
    """Prints the scenario of the file that the command line names."""
    words = sys.argv[1:]
    if len(words) not in (1, 2) or not (words[1:] or ["1"])[0].isdecimal():
        sys.exit("error: network.py FILE.yml [PAYLOAD], the octets of a packet")
    try:
        text = Path(words[0]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"error: {words[0]} cannot be read: {error}")
    payload = int(words[1]) if len(words) > 1 else 4096
    if payload == 0:
        sys.exit("error: a packet has at least one octet")
    print(scenario(text, payload))


if __name__ == "__main__":
    main()
