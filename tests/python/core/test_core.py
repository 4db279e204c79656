"""The binding keeps the contract of `_core.pyi`: names, types, errors, Arrow, threads."""

from __future__ import annotations

import ast
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import backwater
from backwater import _core
from backwater.results import TABLES
from kit.scenarios import star

STUB = Path(_core.__file__).with_name("_core.pyi")

ROWS = {
    "id": [0, 1, 2],
    "src": [0, 1, 2],
    "dst": [3, 3, 3],
    "bytes": [100_000, 200_000, 300_000],
    "start_ps": [0, 5, 10],
    "class": [3, 3, 3],
}

SCENARIO = f"""{star(4, link_delay="100 ns")}
"""


def scenario() -> _core.Scenario:
    return _core.Scenario.from_text(SCENARIO).with_flows(pa.table(ROWS), "rows")


def finish(simulation: _core.Simulation) -> dict[str, list[pa.RecordBatch]]:
    tables: dict[str, list[pa.RecordBatch]] = {}
    done = False
    while not done:
        done = simulation.advance(50).done
        for table, batch in simulation.batches():
            tables.setdefault(table, []).append(pa.record_batch(batch))
    return tables


def test_everything_in_the_stub_exists() -> None:
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            owner: Any = getattr(_core, node.name)
            methods = [entry for entry in node.body if isinstance(entry, ast.FunctionDef)]
            assert [method.name for method in methods if not hasattr(owner, method.name)] == []
        elif isinstance(node, ast.FunctionDef):
            assert callable(getattr(_core, node.name))


def test_a_run_hands_out_described_tables() -> None:
    simulation = scenario().start(1)
    tables = finish(simulation)
    assert set(tables) == set(TABLES)
    flows = pa.Table.from_batches(tables["flows"])
    assert flows.sort_by("flow_id")["bytes"].to_pylist() == ROWS["bytes"]
    assert set(flows["state"].to_pylist()) == {"complete"}
    for table, batches in tables.items():
        for batch in batches:
            batch.validate(full=True)
        schema = batches[0].schema
        assert b"description" in (schema.metadata or {}), table
        assert all(b"description" in (field.metadata or {}) for field in schema), table
    summary = simulation.summary()
    assert summary["flows_done"] == summary["flows"] == 3
    assert len(summary["fingerprint"]) == 16


def test_the_same_seed_gives_the_same_fingerprint() -> None:
    def fingerprint(seed: int, wall_ms: int) -> str:
        simulation = scenario().start(seed)
        while not simulation.advance(wall_ms).done:
            pass
        return str(simulation.summary()["fingerprint"])

    assert fingerprint(1, 1) == fingerprint(1, 1000)


@pytest.mark.parametrize("frame", [pa.table, pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("path", [None, ["s0", "", None], [["s0"], [], None]])
def test_flow_tables_of_every_library(frame: Any, path: list[Any] | None) -> None:  # noqa: ANN401
    table = frame(ROWS if path is None else ROWS | {"path": path})
    status = _core.Scenario.from_text(SCENARIO).with_flows(table, "rows").start(1).advance(5000)
    assert status.done
    assert status.flows_done == status.flows_total == len(ROWS["id"])


def test_acknowledgements_take_the_way_of_their_column(tmp_path: Path) -> None:
    fabric = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
rate = "10 Gb/s"
link_delay = "100 ns"
"""
    row = {"id": 0, "src": 0, "dst": 1, "bytes": 4096 * 25, "start_ps": 0}
    paths = {"path": "leaf0 spine0 leaf1", "ack_path": "leaf1 spine1 leaf0"}
    table = pa.Table.from_pylist([row | paths])
    pq.write_table(table, tmp_path / "jobs.parquet")
    file = tmp_path / "case.toml"
    file.write_text(fabric + '[[flow]]\ntable = "jobs.parquet"\n', "utf-8")
    for run in (backwater.load(file).run(), backwater.parse(fabric).flows(table, "rows").run()):
        frames = {(row["node"], row["peer"]): row["tx_frames"] for row in run.ports.to_pylist()}
        there, back = ("leaf0", "spine0", "leaf1"), ("leaf1", "spine1", "leaf0")
        assert all(frames[hop] == 25 for way in (there, back) for hop in pairwise(way))
        assert all(frames[hop[::-1]] == 0 for way in (there, back) for hop in pairwise(way))
    numbers = table.set_column(6, "ack_path", pa.array([7]))
    with pytest.raises(backwater.ScenarioError, match="ack_path"):
        backwater.parse(fabric).flows(numbers, "rows")


@pytest.mark.parametrize("start", ["start", "start_ps"])
def test_a_parquet_table_beside_the_scenario(start: str, tmp_path: Path) -> None:
    table = pa.table(ROWS).rename_columns(["id", "src", "dst", "bytes", start, "class"])
    pq.write_table(table, tmp_path / "jobs.parquet")
    file = tmp_path / "case.toml"
    file.write_text(SCENARIO + '[[flow]]\nlabel = "jobs"\ntable = "jobs.parquet"\n', "utf-8")
    flows = backwater.load(file).run().flows.sort_by("flow_id")
    assert flows["start_ps"].to_pylist() == ROWS["start_ps"]
    assert set(flows["group"].to_pylist()) == {"jobs"}


@pytest.mark.parametrize(
    ("table", "classes"),
    [
        (pa.table({name: ROWS[name] for name in ROWS if name != "class"}), [3, 3, 3]),
        (pa.table(ROWS | {"class": pa.nulls(3)}), [3, 3, 3]),
        (pa.table(ROWS | {"class": pa.array([None, 5, None], pa.int8())}), [3, 5, 3]),
        (pl.DataFrame(ROWS | {"class": [None, 5, None]}), [3, 5, 3]),
        (pd.DataFrame(ROWS | {"class": [None, 5, None]}), [3, 5, 3]),
    ],
    ids=["missing", "nulls", "null int8", "polars", "pandas"],
)
def test_a_class_may_be_left_out(table: Any, classes: list[int]) -> None:  # noqa: ANN401
    run = backwater.parse(SCENARIO).flows(table, "rows").run()
    assert run.flows.sort_by("flow_id")["class"].to_pylist() == classes


def test_any_number_of_tables_in_either_format(tmp_path: Path) -> None:
    """Two files with one name, one file for two groups, and CSV; in the file and its variants."""
    for folder, size in (("a", 1_000), ("b", 2_000), ("c", 4_000)):
        (tmp_path / folder).mkdir()
        table = pa.table(ROWS | {"bytes": [size] * 3}).drop_columns(["class"])
        pq.write_table(table, tmp_path / folder / "jobs.parquet")
    (tmp_path / "jobs.csv").write_text("id,src,dst,bytes,start\n7,0,3,8000,0\n", "utf-8")
    groups = {
        "one": "a/jobs.parquet",
        "two": "b/jobs.parquet",
        "again": "a/jobs.parquet",
        "text": "jobs.csv",
    }
    flow = "".join(
        f'[[flow]]\nlabel = "{label}"\ntable = "{file}"\nclass = {number}\n'
        for number, (label, file) in enumerate(groups.items())
    )
    drawn = '[[flow]]\nlabel = "drawn"\nfrom = 1\nto = 0\nsize = "16000 B"\n'
    variants = (
        '[variant.other.flow.one]\ntable = "c/jobs.parquet"\n'
        '[variant.text.flow.two]\ntable = "jobs.csv"\n'
    )
    file = tmp_path / "case.toml"
    file.write_text(SCENARIO + flow + drawn + variants, "utf-8")

    def sums(case: backwater.Scenario) -> dict[str, tuple[int, list[int]]]:
        found: dict[str, tuple[int, list[int]]] = {}
        for row in case.run().flows.to_pylist():
            total, classes = found.get(row["group"], (0, []))
            found[row["group"]] = (total + row["bytes"], sorted({*classes, row["class"]}))
        return found

    plain = {
        "one": (3_000, [0]),
        "two": (6_000, [1]),
        "again": (3_000, [2]),
        "text": (8_000, [3]),
        "drawn": (16_000, [3]),
    }
    case = backwater.load(file).set("transport.recovery", "go-back-n")
    assert case.check() == []
    assert sums(case) == plain
    assert sums(case.variant("other")) == plain | {"one": (12_000, [0])}
    assert sums(case.variant("text")) == plain | {"two": (8_000, [1])}
    assert sums(case.set("flow.again.table", "b/jobs.parquet")) == plain | {"again": (6_000, [2])}
    with_rows = sums(case.flows(pa.table(ROWS), "jobs"))
    assert with_rows == plain | {"jobs": (sum(ROWS["bytes"]), [3])}


def test_rows_of_a_filtered_frame() -> None:
    frame = pd.DataFrame(ROWS)
    table = frame[frame["bytes"] > ROWS["bytes"][0]]
    status = _core.Scenario.from_text(SCENARIO).with_flows(table, "rows").start(1).advance(5000)
    assert status.flows_done == len(table)


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        ({"src": [0, 1, 4]}, "src", "there is no host 4"),
        ({"src": [0, 1, -4]}, "src", "below 0"),
        ({"dst": [3, 1, 3]}, "dst", "host 1 sends to itself"),
        ({"bytes": [1, 0, 1]}, "bytes", "at least 1 byte"),
        ({"bytes": [1, None, 1]}, "bytes", "null"),
        ({"class": [3, 8, 3]}, "class", "class from 0 to 7"),
        ({"class": [3, -1, 3]}, "class", "class from 0 to 7"),
        ({"class": [3, 3.5, None]}, "class", "class from 0 to 7"),
        ({"class": ["a", "b", "c"]}, "class", "not whole numbers"),
        ({"start_ps": [0, None, 0]}, "start_ps", "null"),
        ({"id": ["a", "b", "c"]}, "id", "not whole numbers"),
        ({"id": [1, 1, 2]}, "id", "two flows have the id 1"),
        ({"path": ["s1", None, None]}, "path", "`s1`, which does not exist"),
        ({"weight": [1, 2, 3]}, "weight", "not a column"),
    ],
)
def test_bad_flow_tables(change: dict[str, list[Any]], key: str, message: str) -> None:
    with pytest.raises(_core.ScenarioError, match=message) as caught:
        _core.Scenario.from_text(SCENARIO).with_flows(pa.table(ROWS | change), "rows").check()
    assert (caught.value.key or "").endswith(key)


def test_what_is_no_table() -> None:
    with pytest.raises(TypeError, match="int is not a table"):
        _core.Scenario.from_text(SCENARIO).with_flows(5, "rows")


def test_scenario_errors_tell_where() -> None:
    with pytest.raises(_core.ScenarioError) as caught:
        _core.Scenario.from_text(SCENARIO.replace('"100 Gb/s"', '"100 GB/s"'), "net.toml").check()
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.file, error.line, error.key) == ("net.toml", 4, "topology.rate")
    assert error.value is not None
    assert "100 GB/s" in error.value
    assert str(error).startswith("net.toml:4:")
    assert "hint: " in str(error)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "x"])
def test_seeds_are_whole_numbers(seed: Any) -> None:  # noqa: ANN401
    with pytest.raises(_core.ScenarioError, match="whole number") as caught:
        scenario().start(seed)
    assert caught.value.key == "seed"


def test_a_stopped_run_keeps_its_rows() -> None:
    simulation = scenario().start(1)
    simulation.stop()
    tables = dict(simulation.batches())
    assert len(pa.record_batch(tables["ports"])) > 0
    assert simulation.advance(1).done
    assert simulation.batches() == []
    simulation.stop()


def test_two_threads_on_one_simulation_are_told() -> None:
    rows = 200_000
    many = {name: values[:1] * rows for name, values in ROWS.items()} | {"id": list(range(rows))}
    simulation = _core.Scenario.from_text(SCENARIO).with_flows(pa.table(many), "rows").start(1)
    worker = threading.Thread(target=simulation.advance, args=(300,))
    worker.start()
    said = ""
    while worker.is_alive() and not said:
        try:
            simulation.batches()
        except RuntimeError as error:
            said = str(error)
    worker.join()
    assert "another thread" in said


def test_an_export_that_nobody_takes_is_freed() -> None:
    simulation = scenario().start(1)
    simulation.stop()
    for _, batch in simulation.batches():
        batch.__arrow_c_array__()
        schema, array = batch.__arrow_c_array__()
        del schema, array
        # pyarrow's stubs lack objects that export a schema.
        assert pa.schema(batch) == pa.record_batch(batch).schema  # type: ignore[arg-type]


def test_the_starting_scenario_has_the_fingerprint_that_the_rust_tests_know() -> None:
    run = backwater.parse(_core.new_scenario()).run(seed=1)
    assert run.fingerprint == "c171737a3029a49a"


def test_20_000_switches_written_out_are_built() -> None:
    """Return a ring with hosts at two of its switches."""
    switches = 20_000
    fields = 'rate = "100 Gb/s"\ndelay = "1 us"\n'
    ends = [(f"s{n}", f"s{(n + 1) % switches}") for n in range(switches)]
    ends += [("h0", "s0"), ("h1", "s5")]
    nodes = [f'[[topology.node]]\nname = "s{n}"\nkind = "switch"\n' for n in range(switches)]
    nodes += [f'[[topology.node]]\nname = "h{n}"\nkind = "host"\n' for n in range(2)]
    links = [f'[[topology.link]]\na = "{a}"\nb = "{b}"\n{fields}' for a, b in ends]
    text = '[topology]\nkind = "explicit"\n' + "".join(nodes + links)
    flow = '[[flow]]\nfrom = "h0"\nto = "h1"\nsize = "4 KB"\n[switch]\nbuffer_per = "none"\n'
    simulation = _core.Scenario.from_text(text + flow).start()
    while not simulation.advance(100).done:
        pass
    simulation.stop()
    summary = simulation.summary()
    # A packet and its acknowledgement cross five links between switches and two to hosts.
    assert summary["hops"] == 2 * 7


@pytest.mark.parametrize("slots", ["together", "apart"])
def test_slots_of_bernoulli_streams_begin_together_or_apart(slots: str) -> None:
    """Each source sends one packet: a full load, and no packet after the first slot of 1200 ns."""
    hosts = 60
    scenario = backwater.build(
        {
            "topology": {
                "kind": "star",
                "hosts": 2 * hosts,
                "rate": "10 Gb/s",
                "link_delay": "500 ns",
            },
            "packet": {"payload": "1500 B", "header": "0 B", "gap": "0 B"},
            "ack": {"enabled": False},
            "flow": [
                {
                    "label": f"f{one}",
                    "from": one,
                    "to": hosts + one,
                    "arrivals": "bernoulli",
                    "load": "100 %",
                    "until": "1200 ns",
                    "slots": slots,
                }
                for one in range(hosts)
            ],
            "stop": {"at": "1 ms"},
        }
    )
    flows = scenario.run().flows
    assert flows["received"].to_pylist() == [1500] * hosts
    times = [time or 0 for time in flows["fct_last_byte_ps"].to_pylist()]
    begins = [time - min(times) for time in times]
    if slots == "together":
        assert begins == [0] * hosts
        return
    assert len(set(begins)) == hosts
    assert max(begins) < 1_200_000
    # Uniform: half a slot on average, within four standard errors of slot / sqrt(12 n).
    error = 1_200_000 / (12 * hosts) ** 0.5
    assert sum(begins) / hosts == pytest.approx(600_000, abs=4 * error)
    again = scenario.run().flows["fct_last_byte_ps"].to_pylist()
    assert again == times
    assert scenario.run(seed=2).flows["fct_last_byte_ps"].to_pylist() != times


def test_a_load_over_unlike_links_is_warned_of() -> None:
    """10 % of 400 Gb/s and 3.6 Tb/s together are the full rate of the network's link."""
    gpus = {
        "kind": "leaf-spine",
        "leaves": 8,
        "spines": 2,
        "hosts_per_leaf": 4,
        "rails": 8,
        "rate": "400 Gb/s",
        "link_delay": "150 ns",
        "nvlink": {"gpus": 8, "rate": "3.6 Tb/s", "delay": "100 ns"},
    }
    poisson = {"pattern": "random", "size": "1 MB", "arrivals": "poisson", "until": "10 us"}

    def warned(topology: dict[str, object], load: str) -> list[str]:
        case = backwater.build({"topology": topology, "flow": [poisson | {"load": load}]})
        return [one["reason"] for one in case.check() if one["key"] == "flow.0.load"]

    [reason] = warned(gpus, "10 %")
    assert "from 400 Gb/s to 3.6 Tb/s: 400 Gb/s is 100 % of the slowest" in reason
    del gpus["nvlink"]
    assert warned(gpus, "10 %") == []
