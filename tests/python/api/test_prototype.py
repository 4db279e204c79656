"""Congestion controls as Python classes, compared with the same algorithms in Rust.

The two algorithms are those of RFC 8257 and Swift, as in their mechanisms. Results must be equal to
the picosecond, since a prototype gets the same calls as a mechanism.
"""

# Hooks have arguments that they may not use.
# ruff: noqa: ARG002

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars
import pytest

import backwater
from backwater import Acknowledgement, Control, InputError, RunError, Scenario, ScenarioError
from backwater.scenario import Value
from kit.command import Command
from kit.scenarios import flow, star

INCAST = f"""{star(9, title="Incast")}
[switch]
buffer = "{{buffer}}"
[transport]
recovery = "go-back-n"
[ecn]
kmin = "60 KB"
kmax = "60 KB"
{flow("1..8", 0, "600 KB", "incast")}
"""


class Idle(Control):
    """Has no limits."""


class Dctcp(Control):
    """RFC 8257, with a window in whole packets."""

    g = 1 / 16
    initial_window = 10
    min_window = 2

    def on_start(self) -> None:
        self.smss = float(self.payload_bytes)
        self.cwnd, self.ssthresh = self.initial_window * self.smss, math.inf
        self.alpha = 1.0
        self.acked = self.of_window = self.marked = self.window_end = self.cut_until = 0
        self.set_window()

    def on_ack(self, ack: Acknowledgement) -> None:
        acked = max(ack.received_bytes - self.acked, 0)
        in_use = 2 * self.flight() >= self.cwnd
        self.acked += acked
        self.of_window += acked
        if ack.marked:
            self.marked += acked
        if self.acked > self.window_end:
            if self.of_window:
                share = self.marked / self.of_window
                self.alpha = self.alpha * (1.0 - self.g) + self.g * share
            self.window_end, self.of_window, self.marked = self.sent_bytes, 0, 0
        may_cut = self.acked >= self.cut_until
        if ack.marked and may_cut:
            self.ssthresh = max(self.cwnd * (1.0 - self.alpha / 2.0), self.least())
            self.cut(self.ssthresh)
        elif in_use and may_cut:
            slow_start = self.cwnd < self.ssthresh
            self.cwnd += acked if slow_start else self.smss * acked / self.cwnd
        self.set_window()

    def on_loss(self, kind: str) -> None:
        timeout = kind == "timeout"
        if timeout or self.acked >= self.cut_until:
            self.ssthresh = max(self.flight() / 2, self.least(), 2 * self.smss)
            self.cut(self.smss if timeout else self.ssthresh)
            self.set_window()

    def least(self) -> float:
        return self.min_window * self.smss

    def flight(self) -> int:
        return max(self.sent_bytes - self.acked, 0)

    def cut(self, to: float) -> None:
        self.cwnd, self.cut_until = to, self.sent_bytes

    def set_window(self) -> None:
        self.window_bytes = int(max(self.cwnd / self.smss, 1.0)) * self.payload_bytes


class Swift(Control):
    """Kumar et al., SIGCOMM 2020, algorithm 1, with a window of at least one packet."""

    base_target_us = 5.0
    hop_us = 1.0
    ai, beta, max_mdf = 1.0, 0.8, 0.5
    initial_cwnd = 10.0

    def on_start(self) -> None:
        self.target_ps = self.base_target_us * 1e6 + self.hop_us * 1e6 * self.hops
        self.cwnd = self.initial_cwnd
        self.acked = self.rtt_ps = 0
        self.last_ps: int | None = None
        self.set_window()

    def on_ack(self, ack: Acknowledgement) -> None:
        num_acked = max(ack.received_bytes - self.acked, 0) / self.payload_bytes
        self.acked = max(self.acked, ack.received_bytes)
        self.rtt_ps = ack.rtt_ps
        if ack.rtt_ps < self.target_ps:
            self.cwnd = min(self.cwnd + self.ai / self.cwnd * num_acked, 1000.0)
        else:
            over = self.beta * (ack.rtt_ps - self.target_ps) / ack.rtt_ps
            self.decrease(max(1.0 - over, 1.0 - self.max_mdf))
        self.set_window()

    def on_loss(self, kind: str) -> None:
        self.decrease(1.0 - self.max_mdf)
        self.set_window()

    def decrease(self, share: float) -> None:
        if self.last_ps is None or self.now_ps - self.last_ps >= self.rtt_ps:
            narrower = max(share * self.cwnd, 1.0)
            if narrower < self.cwnd:
                self.cwnd, self.last_ps = narrower, self.now_ps

    def set_window(self) -> None:
        self.window_bytes = int(max(self.cwnd, 1.0)) * self.payload_bytes


class Fixed(Control):
    """A constant window."""

    packets = 4

    def on_start(self) -> None:
        self.window_bytes = self.packets * self.payload_bytes


def incast(buffer: str = "4 MB") -> Scenario:
    return backwater.parse(INCAST.format(buffer=buffer))


def ends(scenario: Scenario) -> tuple[str | None, list[int | None]]:
    """Return the fingerprint of a run and the completion time of each flow."""
    run = scenario.run()
    assert run.summary["flows_done"] == 8
    return run.fingerprint, run.flows.column("fct_last_ack_ps").to_pylist()


@pytest.mark.parametrize("buffer", ["4 MB", "150 KB"])
def test_dctcp_ends_when_the_mechanism_does(buffer: str) -> None:
    """With marks only, and with losses."""
    run = incast(buffer).prototype(Dctcp).run()
    assert (run.summary["drops"] > 0) == (buffer == "150 KB")
    assert ends(incast(buffer).prototype(Dctcp)) == ends(incast(buffer).enable("dctcp"))


@pytest.mark.parametrize("buffer", ["4 MB", "150 KB"])
def test_swift_ends_when_the_mechanism_does(buffer: str) -> None:
    built_in = incast(buffer).enable("swift")
    settings: dict[str, Value] = {
        "swift.base_target": "5 us",
        "swift.hop": "1 us",
        "swift.fs_range": "0 s",
        "swift.min_cwnd": 1.0,
        "swift.retx_reset_threshold": 100_000,
    }
    for key, value in settings.items():
        built_in = built_in.set(key, value)
    assert ends(incast(buffer).prototype(Swift)) == ends(built_in)


def test_a_parameter_is_the_class_attribute_unless_it_is_given() -> None:
    """Four packets take as long as with a window of four, two as long as with the NIC's window."""
    for packets, scenario in (
        (4, incast().prototype(Fixed)),
        (2, incast().prototype(Fixed, packets=2)),
        (2, incast().prototype(Fixed).set("prototype.parameters.packets", 2)),
    ):
        payload = 4096
        built_in = incast().set("transport.window", f"{packets * payload} B")
        assert ends(scenario) == ends(built_in)


def test_a_rate_holds_until_it_is_set_again() -> None:
    class Paced(Control):
        def on_start(self) -> None:
            self.rate_bps = 10e9
            self.arm(20_000_000, 3)

        def on_timer(self, token: int) -> None:
            assert (token, self.now_ps) == (3, 20_000_000)
            self.rate_bps = None

    alone = incast().set("flow.incast.from", "1")
    run = alone.prototype(Paced).run()
    # Frames with their headers: 20 us at 10 Gb/s, and the rest at 100 Gb/s.
    (time,) = run.flows.column("fct_last_ack_ps").to_pylist()
    (fast,) = alone.run().flows.column("fct_last_ack_ps").to_pylist()
    assert time is not None
    assert fast is not None
    slower = 20_000_000 * 0.9
    assert abs(time - fast - slower) < 4_200 * 8 * 100, "a packet at 10 Gb/s"


def test_random_numbers_are_those_of_the_seed() -> None:
    class Dicing(Control):
        def on_start(self) -> None:
            self.window_bytes = self.random.randint(2, 40) * self.payload_bytes

    scenario = incast().prototype(Dicing)
    first, again = scenario.run(seed=1), scenario.run(seed=1)
    assert first.fingerprint == again.fingerprint
    assert scenario.run(seed=2).fingerprint != first.fingerprint


def test_a_run_has_one_thread_and_says_why() -> None:
    run = incast().prototype(Fixed).run(threads=2)
    assert run.summary["threads"] == 1
    assert "prototype" in run.summary["one_thread_because"]


def test_it_says_that_it_is_slow() -> None:
    (warning,) = incast().prototype(Fixed).check()
    assert "Python" in warning["message"]
    assert "backwater new mechanism" in warning["hint"]


def test_results_are_known_by_the_source() -> None:
    """Two classes with the same name are two controls, and each scenario keeps its own."""

    def made(packets: int) -> type[Control]:
        class Law(Control):
            share = float(packets)

            def on_start(self) -> None:
                self.window_bytes = self.share * self.payload_bytes

        return Law

    class Law(Control):
        share = 9.0

        def on_start(self) -> None:
            self.window_bytes = self.share * self.payload_bytes

    first, second = incast().prototype(made(3)), incast().prototype(Law)
    names = [one.facts["set"]["prototype.control"] for one in (first, second)]
    assert names[0] != names[1]
    assert all(name.startswith("Law-") for name in names)
    assert ends(first) == ends(incast().set("transport.window", f"{3 * 4096} B"))


def test_a_class_is_known_by_what_it_takes_from_around_it() -> None:
    """A function makes two classes with different values: two controls from one source."""

    def made(packets: int) -> type[Control]:
        class Around(Control):
            def on_start(self) -> None:
                self.window_bytes = packets * self.payload_bytes

        return Around

    first, second = incast().prototype(made(3)), incast().prototype(made(9))
    assert ends(first) == ends(incast().set("transport.window", f"{3 * 4096} B"))
    assert ends(second) == ends(incast().set("transport.window", f"{9 * 4096} B"))
    assert ends(incast().prototype(made(3))) == ends(first)


def test_an_exception_says_where_it_was_raised(tmp_path: Path) -> None:
    class Faulty(Fixed):
        def on_mark(self, ack: Acknowledgement) -> None:
            raise ZeroDivisionError("by hand")

        packets = 100

    with pytest.raises(RunError) as caught:
        incast().prototype(Faulty).run(out=tmp_path / "run")
    text = str(caught.value)
    assert "control `Faulty` of a flow from host" in text
    assert "failed in on_mark: ZeroDivisionError: by hand" in text
    assert "test_prototype.py, line" in text
    assert "defect" not in text
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert backwater.open_run(tmp_path / "run").manifest["status"] == "failed"


def test_a_hook_that_would_do_nothing_is_refused() -> None:
    """A call of a generator does not run its body."""

    class Lazy(Control):
        def on_ack(self, ack: Acknowledgement) -> Iterator[None]:  # type: ignore[override]
            self.window_bytes = 1.0
            yield

    class Later(Control):
        async def on_start(self) -> None:  # type: ignore[override]
            self.window_bytes = 1.0

    for law, hook in ((Lazy, "on_ack"), (Later, "on_start")):
        with pytest.raises(InputError, match=rf"{law.__name__}.{hook}: is a generator or a corout"):
            incast().prototype(law)

    def wrapped(self: Control, ack: Acknowledgement) -> Iterator[None]:
        del self, ack
        yield

    class Wrapped(Control):
        def on_ack(self, ack: Acknowledgement) -> None:
            return wrapped(self, ack)  # type: ignore[return-value]

    with pytest.raises(RunError, match=r"failed in on_ack: .*it gave a generator"):
        incast().prototype(Wrapped).run()


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "10 KB", True, np.True_])
def test_a_window_that_is_no_number_is_refused(value: object) -> None:
    class Odd(Control):
        def on_start(self) -> None:
            self.window_bytes = value  # type: ignore[assignment]

    with pytest.raises(RunError, match=r"window_bytes = .*: not a number from 0 up, nor None"):
        incast().prototype(Odd).run()


@pytest.mark.parametrize(
    ("delay_ps", "token", "reason"),
    [
        (0, 0, "delay_ps = 0"),
        (0.5, 0, "delay_ps = 0.5"),
        (1, 70_000, "token = 70000"),
        ("10 us", 0, "delay_ps = '10 us'"),
        (10**30, 0, "delay_ps = 10"),
        (1, 0.5, "token = 0.5"),
    ],
)
def test_a_timer_that_cannot_be_is_refused(delay_ps: float, token: int, reason: str) -> None:
    class Timed(Control):
        def on_start(self) -> None:
            self.arm(delay_ps, token)

    with pytest.raises(RunError, match=reason) as caught:
        incast().prototype(Timed).run()
    assert "test_prototype.py, line" in str(caught.value)


def test_a_timer_may_open_a_window_of_nothing() -> None:
    """Nothing is sent before the timer: the flow ends 2 us later than with an initial window."""

    class Late(Control):
        packets = 10

        def on_start(self) -> None:
            self.window_bytes = 0
            self.arm(2e6)

        def on_timer(self, token: int) -> None:
            self.window_bytes = self.packets * self.payload_bytes

    run = incast().prototype(Late).run()
    assert run.complete
    begun = incast().prototype(Fixed, packets=10).run()
    late, early = (polars.Series(one.flows["fct_last_ack_ps"]) for one in (run, begun))
    assert (late - early).to_list() == [2_000_000] * 8


@pytest.mark.parametrize(
    ("name", "hook", "said"),
    [
        ("on_akc", lambda *_: None, "did you mean on_ack"),
        ("onLoss", lambda *_: None, "did you mean on_loss"),
        ("on_ack", lambda _: None, r"write def on_ack\(self, ack\)"),
        ("on_ack", staticmethod(lambda _: None), "is not a plain method"),
        ("on_start", 5, r"write def on_start\(self\)"),
    ],
)
def test_a_hook_that_nothing_would_call_is_refused(name: str, hook: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        incast().prototype(type("Mistyped", (Fixed,), {name: hook}))


WIDE = 3


def test_a_class_is_known_by_all_that_decides_about_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closures, globals, attributes, and constants of interactive code are part of the name."""

    def made(law: object) -> type[Control]:
        class Taken(Control):
            def on_start(self) -> None:
                self.window_bytes = law(WIDE) * self.payload_bytes  # type: ignore[operator]

        return Taken

    def name(control: type[Control]) -> str:
        settings: dict[str, str] = incast().prototype(control).facts["set"]
        return settings["prototype.control"]

    names = [name(made(law)) for law in (lambda n: n, lambda n: 3 * n)]
    with monkeypatch.context() as other:
        other.setitem(globals(), "WIDE", 9)
        names.append(name(made(lambda n: n)))
    typed: dict[str, type[Control]] = {}
    for text in ("window_bytes = 5e4", "rate_bps = 5e4"):
        exec(f"class Typed(Control):\n def on_start(self):\n  self.{text}", globals(), typed)
        names.append(name(typed["Typed"]))
    listed = type("Listed", (Fixed,), {"table": [1]})
    names += [name(listed), name(type("Listed", (Fixed,), {"table": [9]}))]
    assert len(set(names)) == len(names)
    assert name(made(lambda n: n)) == names[0]


def test_parameters_are_the_class_s_own_and_all_are_told() -> None:
    class Counted(Control):
        packets = 3
        share = 0.5

        def on_start(self) -> None:
            self.window_bytes = sum(1 for _ in range(self.packets)) * self.payload_bytes

    scenario = incast().prototype(Counted, packets=2)
    values = {one["key"]: one["value"] for one in scenario.values()}
    assert values["prototype.parameters.packets"] == "2.0"
    assert values["prototype.parameters.share"] == "0.5"
    assert ends(scenario) == ends(incast().prototype(Fixed, packets=2))
    with pytest.raises(InputError, match="has a prototype already"):
        scenario.prototype(Fixed)


def test_a_window_from_the_start_counts_as_acting() -> None:
    told = [warning["message"] for warning in incast().prototype(Fixed).run().warnings]
    assert not any("never" in one for one in told)
    idle = [warning["message"] for warning in incast().prototype(Idle).run().warnings]
    assert any("`prototype` never bounded a window" in one for one in idle)


def test_an_inherited_hook_is_called_by_its_name() -> None:
    class Inherited(Fixed):
        def on_ack(self, ack: Acknowledgement) -> None:
            if ack.marked:
                raise ValueError("by hand")

        packets = 100

    with pytest.raises(RunError, match="failed in on_ack: ValueError"):
        incast().prototype(Inherited).run()


def test_ctrl_c_in_a_hook_is_ctrl_c() -> None:
    class Stopped(Control):
        def on_ack(self, ack: Acknowledgement) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        incast().prototype(Stopped).run()


def test_what_is_no_control_is_refused() -> None:
    for wrong in (Control, Fixed(), dict, "Fixed"):
        with pytest.raises(InputError, match=r"is not a class derived from backwater\.Control"):
            incast().prototype(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Fixed has no parameter 'size'"):
        incast().prototype(Fixed, size=3)
    with pytest.raises(InputError, match="not a finite number"):
        incast().prototype(Fixed, packets="3")  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match="has no parameter `size`"):
        incast().prototype(Fixed).set("prototype.parameters.size", 3).check()


def test_marks_need_somebody_who_marks() -> None:
    class Marked(Fixed):
        def on_mark(self, ack: Acknowledgement) -> None:
            """Hear it."""

    unmarked = incast().set("ecn", False)
    assert len(unmarked.prototype(Fixed).check()) == 1
    said = [warning["message"] for warning in unmarked.prototype(Marked).check()]
    assert len(said) == 2
    assert any("mark" in one for one in said)


def test_it_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises((InputError, ScenarioError), match="nobody knows what a control"):
        incast().prototype(Fixed).save(tmp_path / "saved", until="5 us")


def test_a_scenario_takes_its_class_to_another_process() -> None:
    """As for points of a sweep: the class is pickled by its name."""
    scenario = incast().prototype(Fixed, packets=3)
    again = pickle.loads(pickle.dumps(scenario))
    assert ends(again) == ends(scenario)


def test_the_command_says_that_it_runs_from_python(tmp_path: Path, command: Command) -> None:
    incast().prototype(Fixed).run(out=tmp_path / "run")
    kept = tmp_path / "run" / "scenario.toml"
    text = kept.read_text(encoding="utf-8").replace("Fixed-", "Other-")
    (tmp_path / "other.toml").write_text(text, encoding="utf-8")
    done = command("run", "other.toml", code=2)
    assert "no control `Other-" in done.err
    assert "backwater.load(FILE).prototype(CLASS).run()" in done.err


def test_why_and_compare_read_its_results(tmp_path: Path, command: Command) -> None:
    incast().prototype(Fixed).run(out=tmp_path / "a")
    incast().prototype(Fixed, packets=2).run(out=tmp_path / "b")
    command("compare", "a", "b", code=0)
    command("why", "a", code=0)
