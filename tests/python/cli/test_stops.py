"""A signal ends every wait, every reading ends, and a kill at any instant loses nothing."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import socket
import textwrap
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from backwater import files
from backwater.cli.streams import Unheard
from backwater.errors import InputError
from backwater.experiments import clusters
from backwater.own.crate import named
from backwater.stopping import Stop, StoppedError, waited
from kit.command import Command, run_apart, run_python
from kit.sweeping import HOT, run_here
from kit.tree import ROOT

SIZES = ("--vary", "flow.hot.size=1 KB,2 KB")


@pytest.fixture
def silent() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def stopped() -> Stop:
    stop = Stop()
    stop.signalled(signal.SIGTERM)
    return stop


def test_what_is_waited_for_is_given_up_at_a_stop() -> None:
    assert waited(Stop(), lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        waited(Stop(), lambda: 1 / 0)
    with pytest.raises(StoppedError):
        waited(stopped(), lambda: time.sleep(60))
    with pytest.raises(TimeoutError):
        waited(Stop(), lambda: time.sleep(60), 0.01)


def test_a_scheduler_that_says_nothing_is_not_waited_for(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoppedError), clusters.connected(silent, stopped()):
        pass
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 0.2)
    with (
        pytest.raises(InputError, match=f"--scheduler {silent}: does not answer within 0.2 s"),
        clusters.connected(silent, Stop()),
    ):
        pass


def test_a_signal_that_nobody_hears_ends_the_program(tmp_path: Path) -> None:
    """It takes less than a second, although the main thread waits without reading the stop."""
    program = """
        import os, signal, threading, time
        from backwater.__main__ import UNHEARD_SECONDS, _watch
        from backwater.files import temporary_directory
        from backwater.stopping import interruptible
        from pathlib import Path

        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _watch()
        with interruptible(), temporary_directory(".import-", Path()) as folder:
            (folder / "half").write_text("of it")
            began = time.monotonic()
            threading.Timer(UNHEARD_SECONDS + 5, os._exit, [9]).start()
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
    """
    done = run_python("-c", textwrap.dedent(program), cwd=tmp_path)
    assert (done.code, done.err) == (143, "stopped by SIGTERM\n")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def irregular(tmp_path: Path) -> list[str]:
    """Files without an end: a device, and a pipe without a writer."""
    os.mkfifo(tmp_path / "pipe")
    return ["/dev/zero", str(tmp_path / "pipe")]


def test_what_is_read_from_a_name_is_a_regular_file(irregular: list[str], tmp_path: Path) -> None:
    for name in irregular:
        for read in (files.regular, files.octets_of, files.text_of, files.digest):
            with pytest.raises(OSError, match="is not a regular file") as caught:
                read(Path(name))
            assert caught.value.filename == name
    (tmp_path / "large").write_bytes(b"12345")
    assert files.octets_of(tmp_path / "large", 5) == b"12345"
    with pytest.raises(OSError, match="is larger than 4 B"):
        files.octets_of(tmp_path / "large", 4)


@pytest.mark.parametrize(
    "entry",
    [
        "table = 'NAME'",
        "table = 'NAME.csv'",
        "table = 'NAME.parquet'",
        "pattern = 'matrix'\narrivals = 'poisson'\nmatrix = 'NAME'\nsize = '1 KB'\nload = '9 %'",
        "from = 1\nto = 2\narrivals = 'poisson'\nsizes = 'NAME'\nload = '9 %'",
    ],
)
def test_a_scenario_names_regular_files(
    entry: str, command: Command, irregular: list[str], tmp_path: Path
) -> None:
    for number, name in enumerate(irregular):
        for end in (".csv", ".parquet"):
            link = tmp_path / f"at-{number}{end}"
            if not link.is_symlink():
                link.symlink_to(name)
        link = tmp_path / f"at-{number}"
        if not link.is_symlink():
            link.symlink_to(name)
        text = f"{HOT}\n[[flow]]\nlabel = 'more'\n{entry.replace('NAME', link.name)}\n"
        (tmp_path / "s.toml").write_text(text, encoding="utf-8")
        for arguments in (("check",), ("run", "--out", "o"), ("sweep", *SIZES, "--out", "s")):
            said = command(arguments[0], "s.toml", *arguments[1:])
            assert (said.code, "at fault" in said.err) == (2, False), said.err
            assert "regular" in said.err or "there is no file" in said.err, said.err
    assert not (tmp_path / "o").exists()


def test_no_other_tool_s_file_leads_to_a_device(command: Command, tmp_path: Path) -> None:
    text = "TOPOLOGY_FILE /dev/zero\nFLOW_FILE /dev/zero\nSIMULATOR_STOP_TIME 1\nCC_MODE 3\n"
    (tmp_path / "config.txt").write_text(text, encoding="utf-8")
    said = command("import", "config.txt", "--out", "new.toml", code=2)
    assert (
        "config.txt:1: `/dev/zero`: TOPOLOGY_FILE names /dev/zero, which cannot be read" in said.err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["config.txt"]


READS = (r".read_text(", r".read_bytes(", '.open("rb")', "ParquetFile(", "read_schema(")
# The helpers themselves, files of the package, and streams.
OWN = {
    *("files.py", "examples.py", "own/crate.py", "report/page.py", "cli/targets.py"),
    *("experiments/builds.py", "plot/engine.py", "saved.py", "cli/pcap.py"),
    *("bench/definition.py", "bench/fabric.py"),
}


def test_every_file_is_read_by_what_sees_it_first() -> None:
    base = ROOT / "python" / "backwater"
    found = [
        f"{name}: {line.strip()}"
        for path in base.rglob("*.py")
        if (name := path.relative_to(base).as_posix()) not in OWN
        for line in path.read_text(encoding="utf-8").splitlines()
        if any(read in line for read in READS) and not re.search(r"(regular|_there)\(", line)
    ]
    assert found == []


@pytest.mark.parametrize(("force", "start"), [((), 10), (("--force",), 16)])
def test_a_sweep_that_is_killed_at_any_instant_of_its_start_goes_on(
    force: tuple[str, ...], start: int, tmp_path: Path
) -> None:
    """It is killed before each change below its directory, up to its first rows."""
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    script = ROOT / "tests" / "python" / "kit" / "instants.py"
    asked = ["sweep", "hot.toml", "--vary", "flow.hot.size=1 KB", "--out", "o", *force]
    other = ["sweep", "hot.toml", "--vary", "flow.hot.size=2 KB", "--out", "o"] if force else []
    done = run_python(str(script), json.dumps([other, asked]), str(start), cwd=tmp_path)
    assert done.code == 0, done.err[-2000:]
    told = json.loads(done.out.splitlines()[-1])
    assert told == {"instants": start, "wrong": []}


def test_a_linked_table_is_not_followed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(monkeypatch)
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    asked = ("sweep", "hot.toml", *SIZES, "--out", "o")
    command(*asked, code=0)
    (tmp_path / "o" / "points").rename(tmp_path / "kept")
    (tmp_path / "o" / "points").symlink_to(tmp_path / "kept")
    before = {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()}
    assert before
    for more in ((), ("--force",)):
        said = command(*asked, *more, code=2)
        assert "o/points: is a link" in said.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "kept").iterdir()} == before


def test_status_counts_what_is_there(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The progress file of a sweep is out of date if its disk is full."""
    run_here(monkeypatch)
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    command("sweep", "hot.toml", *SIZES, "--out", "o", code=0)
    progress = tmp_path / "o" / "progress.json"
    words = json.loads(progress.read_text(encoding="utf-8"))
    progress.write_text(json.dumps(words | {"done": 0, "failed": 1}), encoding="utf-8")
    said = command("status", "o", "--json", "-")
    told = json.loads(said.out)
    assert (said.code, told["done"], told["failed"]) == (0, 2, 0)


WRITES = (
    "copy points to 'WHERE/x.csv'",
    "copy points to 'PART'",
    "explain analyze copy points to 'PART'",
    "/* é */ copy (pivot points on seed using count(*)) to 'PART'",
    "attach 'WHERE/x.db'",
    "export database 'WHERE/x'",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "prepare p as copy points to 'PART'",
    "select 1; copy points to 'PART'",
)
READS_OTHERS = (
    "select * from read_csv('WHERE/hot.toml')",
    "select * from read_text('WHERE/hot.toml')",
    "select * from 'WHERE/hot.csv'",
    "select * from glob('WHERE/*')",
)


def test_a_query_reads_the_sweep_and_nothing_else(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(monkeypatch)
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    (tmp_path / "hot.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    command("sweep", "hot.toml", *SIZES, "--out", "o", code=0)
    (part,) = (tmp_path / "o" / "points").iterdir()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for sql in (*WRITES, *READS_OTHERS):
        asked = sql.replace("WHERE", str(tmp_path)).replace("PART", str(part))
        said = command("query", "o", asked)
        assert (said.code, said.out) == (2, ""), sql
        assert "hint: " in said.err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    for sql in (
        "explain analyze select count(*) from points",
        "/* é */ from points select count(*) as n",
        "with p as (pivot points on seed using count(*)) select * from p",
        "(select 1) union (select 2)",
        "describe points",
    ):
        command("query", "o", sql, code=0)


LONG = "n" * 300
NAMED = (
    *(("check", LONG), ("run", LONG), ("run", "hot.toml", "--out", LONG)),
    *(("run", "--from", LONG), ("run", "hot.toml", "--until", "1 us", "--save", LONG)),
    *(("run", "hot.toml", "--json", LONG), ("run", LONG, "--watch")),
    *(("compare", LONG), ("compare", "hot.toml", "--out", LONG), ("report", LONG)),
    *(("report", "r", "--out", LONG), ("why", LONG), ("deck", LONG), ("query", LONG, "select 1")),
    *(("status", LONG), ("sweep", LONG, *SIZES), ("sweep", "hot.toml", *SIZES, "--out", LONG)),
    *(("import", LONG, "--out", "x.toml"), ("import", "hot.toml", "--out", f"{LONG}.toml")),
    *(("pcap", "decode", LONG), ("pcap", "sample", LONG), ("new", LONG), ("export", LONG)),
    *(("reproduce", LONG), ("advise", "pfc", LONG), ("explain", LONG), ("jobs", LONG)),
    *(("new", "mechanism", "x", "--out", LONG), ("new", "mechanism", LONG)),
)


@pytest.mark.parametrize("arguments", NAMED, ids=lambda given: " ".join(given).replace(LONG, "N"))
def test_a_name_that_is_too_long_is_no_fault_of_ours(
    arguments: tuple[str, ...], command: Command, tmp_path: Path
) -> None:
    (tmp_path / "hot.toml").write_text(HOT, encoding="utf-8")
    said = command(*arguments)
    assert said.code in (1, 2)
    assert "at fault" not in said.err
    assert "hint: " in said.err or "error: " in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["hot.toml"]


@pytest.mark.parametrize("name", ["fn", "struct", "gen", "self", "crate", "option", "std", LONG])
def test_a_mechanism_has_a_name_that_rust_has_not(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: cannot be the name of a mechanism"):
        named(name)


def test_output_that_is_ascii_says_all() -> None:
    """JSON escapes replace characters that an encoding lacks: two surrogates beyond 16 bits."""
    octets = io.BytesIO()
    stream = Unheard(io.TextIOWrapper(octets, encoding="ascii", write_through=True))
    text = json.dumps("a · 𝄞", ensure_ascii=False)
    stream.write(text)
    assert octets.getvalue() == b'"a \\u00b7 \\ud834\\udd1e"'
    assert json.loads(octets.getvalue()) == "a · 𝄞"


def limited(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def test_memory_that_is_refused_is_said(tmp_path: Path) -> None:
    """The core reports it in a sentence, and the chart engine before it begins."""
    large = HOT.replace("hosts = 5", "hosts = 60000")
    (tmp_path / "large.toml").write_text(large, encoding="utf-8")
    at_once, later = (
        run_apart(
            "run", "large.toml", "--out", "o", cwd=tmp_path, preexec_fn=partial(limited, size)
        )
        for size in (400_000_000, 700_000_000)
    )
    # The core's allocator, which cannot return: its sentence is written without memory.
    said = r"error: out of memory: the system refuses \d+ B more\nhint: is there a limit"
    assert re.match(said, at_once.err)
    done = later
    assert done.code == 1
    assert "error: out of memory" in done.err
    assert "backtrace" not in done.err
    program = "from backwater.plot.engine import engine; engine()"
    done = run_python("-c", program, preexec_fn=lambda: limited(8_000_000_000))
    assert "ResultError: charts cannot be drawn: their engine needs more memory" in done.err
