"""Runs ASTRA-sim's examples with its analytical network and with Backwater, and prints their times.

    python3 compare.py ASTRA_SIM ANALYTICAL BACKWATER_ASTRA_SIM [WORKING_DIRECTORY]

ASTRA_SIM is the checkout, the others are the two programs. If Python has the package `backwater`,
the same traces are also imported and run by it, on the same network. ASTRA-sim then has a system
whose collectives are those of the import: whole, without delays of endpoints and memory.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COLLECTIVES = ("all_gather", "all_reduce", "reduce_scatter", "all_to_all")
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 0,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 1,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-to-all-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 1000000000,
    "boost-mode": 0,
}


def run(words: list[str], directory: Path) -> tuple[int, str]:
    """Runs ASTRA-sim. Returns the last rank's time [ns] and the output."""
    try:
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(f"error: {words[0]} cannot be started: {error}")
    output = done.stdout + done.stderr
    ends = [int(end) for end in re.findall(r"finished, (\d+) cycles", output)]
    if done.returncode != 0 or not ends:
        sys.exit(f"error: {' '.join(words)}\n{output[-2000:]}")
    return max(ends), output


def checked(words: list[str]) -> str:
    """Runs a script. Returns its output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(words)}\n{done.stderr[-2000:]}")
    return done.stdout


def varint(value: int) -> bytes:
    """An integer of protobuf."""
    octets = bytearray()
    while value >= 0x80:
        octets.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*octets, value])


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of protobuf."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    octets = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(octets)) + octets


def node(
    number: int, name: str, kind: int, after: list[int], micros: int = 0, **attributes: int
) -> bytes:
    """A node of a trace, whose attributes are integers."""
    octets = field(1, number) + field(2, name) + field(3, kind)
    octets += b"".join(field(5, one) for one in after)
    octets += field(7, micros) if micros else b""
    octets += field(10, field(1, "is_cpu_op") + field(27, 0))
    for key, value in attributes.items():
        octets += field(10, field(1, key) + field(9, value))
    return varint(len(octets)) + octets


def pipeline(ranks: int, directory: Path) -> Path:
    """Traces of a pipeline: twice, each rank computes 5 us and sends 1 MiB to the next one.

    It computes again when it has sent, since ASTRA-sim sends one message of a rank at a time.
    """
    metadata = field(1, "0.0.4")
    for rank in range(ranks):
        octets, last = varint(len(metadata)) + metadata, []
        for batch in range(2):
            first = 10 * batch + 1
            comes = {
                "comm_src": rank - 1,
                "comm_dst": rank,
                "comm_tag": batch,
                "comm_size": 1 << 20,
            }
            goes = {"comm_src": rank, "comm_dst": rank + 1, "comm_tag": batch, "comm_size": 1 << 20}
            if rank > 0:
                octets += node(first, "receive", 6, last, **comes)
                last = [first]
            octets += node(first + 1, "compute", 4, last, 5)
            last = [first + 1]
            if rank + 1 < ranks:
                octets += node(first + 2, "send", 5, last, **goes)
                last = [first + 2]
        (directory / f"pipeline.{rank}.et").write_bytes(octets)
    return directory / "pipeline"


def imported(traces: Path, network: Path, directory: Path) -> int:
    """Imports traces and runs them. Returns the end of the job [ps]."""
    import backwater

    files = sorted(
        traces.parent.glob(f"{traces.name}.*.et"), key=lambda path: int(path.suffixes[-2][1:])
    )
    scenario = directory / "imported.toml"
    options = ["--fabric", str(network), "-o", str(scenario), "--force"]
    command = [sys.executable, "-m", "backwater", "import", *map(str, files), *options]
    checked(command)
    return max(backwater.load(scenario).run().jobs["end_ps"].to_pylist())


def main() -> None:
    """Runs everything."""
    if len(sys.argv) not in (4, 5):
        sys.exit("error: compare.py ASTRA_SIM ANALYTICAL BACKWATER_ASTRA_SIM [WORKING_DIRECTORY]")
    astra, analytical, ours = (Path(word).resolve() for word in sys.argv[1:4])
    directory = Path(sys.argv[4] if len(sys.argv) > 4 else "compare").resolve()
    for path, is_there in (
        (astra / "examples", Path.is_dir),
        (analytical, Path.is_file),
        (ours, Path.is_file),
    ):
        if not is_there(path):
            sys.exit(f"error: {path} is missing")
    directory.mkdir(parents=True, exist_ok=True)
    examples = astra / "examples"
    traces = examples / "workload" / "microbenchmarks"
    memory = examples / "remote_memory" / "analytical" / "no_memory_expansion.json"
    system = directory / "system.json"
    system.write_text(json.dumps(SYSTEM))

    def words(binary: Path, workload: Path, system: Path, network: Path, *more: str) -> list[str]:
        named = {
            "workload": workload,
            "system": system,
            "remote-memory": memory,
            "network": network,
        }
        return [
            str(binary),
            *(f"--{name}-configuration={path}" for name, path in named.items()),
            f"--logging-folder={directory / 'log'}",
            *more,
        ]

    def network(yml: Path, payload: int = 4096) -> Path:
        path = directory / f"{yml.stem}-{payload}.toml"
        command = [sys.executable, str(HERE / "network.py"), str(yml), str(payload)]
        path.write_text(checked(command))
        return path

    native = examples / "system" / "native_collectives"
    custom = examples / "system" / "custom_collectives" / "custom_collective.json"
    networks = examples / "network" / "analytical"
    cases = [
        (
            f"{kind} {ranks}",
            traces / kind / f"{ranks}npus_1MB" / kind,
            native / "Ring_4chunks.json",
            f"Ring_{ranks}npus.yml",
        )
        for kind in COLLECTIVES
        for ranks in (4, 8, 16)
    ]
    cases.append(
        (
            "all_reduce 8, custom",
            traces / "all_reduce" / "8npus_1MB" / "all_reduce",
            custom,
            "Ring_8npus.yml",
        )
    )
    hgx = native / "HGX-H100-validated.json"
    cases += [
        (f"{kind} 8, HGX", traces / kind / "8npus_1MB" / kind, hgx, "HGX-H100-validated.yml")
        for kind in COLLECTIVES
    ]
    print("| workload | analytical ns | Backwater ns | whole messages ns |")
    print("|---|---|---|---|")
    for name, workload, of_system, yml in cases:
        theirs, _ = run(words(analytical, workload, of_system, networks / yml), astra)
        end, _ = run(words(ours, workload, of_system, network(networks / yml)), astra)
        # The largest message of an example: its packets are whole messages.
        whole, _ = run(words(ours, workload, of_system, network(networks / yml, 262144)), astra)
        print(f"| {name} | {theirs} | {end} | {whole} |")

    if importlib.util.find_spec("backwater") is None:
        sys.exit("this Python has no package backwater: nothing is imported")
    print("\n| traces | through ASTRA-sim ps | imported ps |")
    print("|---|---|---|")
    same = [(f"pipeline {ranks}", pipeline(ranks, directory), ranks) for ranks in (4,)]
    same += [
        (f"{kind} {n}", traces / kind / f"{n}npus_1MB" / kind, n)
        for kind in COLLECTIVES[:3]
        for n in (4, 8, 16)
    ]
    for name, workload, ranks in same:
        fabric = network(networks / f"Ring_{ranks}npus.yml")
        _, output = run(words(ours, workload, system, fabric), astra)
        end = int(re.search(r"end at (\d+) ps", output)[1])
        print(f"| {name} | {end} | {imported(workload, fabric, directory)} |")


if __name__ == "__main__":
    main()
