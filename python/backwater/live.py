"""`Live`: a run to which a program sends messages while it is in progress."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from backwater.errors import InputError

if TYPE_CHECKING:
    import os
    from types import TracebackType
    from typing import Any

    from backwater.scenario import Scenario

# The largest message, in B; the largest time, in ps; bytes of a token's number in a saved state.
_LARGEST = 1 << 60
_LAST = (1 << 64) - 2
_NUMBER = 8


class Occurred(NamedTuple):
    """Something that has occurred."""

    at_ps: int
    """When, in ps: the time of the run."""
    token: object
    """The name that the message or the timer was given."""
    what: str
    """`sent`, `delivered`, `acknowledged`, `failed` or `timer`."""


class Live:
    """A run of a scenario that belongs to its caller, for a loop of its own.

        with backwater.Live(backwater.load("network.toml")) as live:
            live.send("h0", "h1", 1_000_000, token="first")
            while occurred := live.step():
                for one in occurred:
                    print(one.at_ps, one.token, one.what)

    Time passes in `step` only, which returns all that occurs at the next instant. An answer may
    start at that very instant. The same calls give the same picoseconds.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        *,
        label: str = "messages",
        keep_connections: bool = False,
        sent: bool = False,
        directory: str | os.PathLike[str] | None = None,
        saved: bytes | None = None,
    ) -> None:
        """Build the network of a scenario, which may have flows and jobs of its own, or none.

        `seed`: replaces the scenario's seed.
        `label`: of the group of the messages, by which mechanisms may be confined to it.
        `keep_connections`: all messages from one host to another follow each other on one
        connection, in the class of the first, which needs `transport.recovery`. By default each
        has its own.
        `sent`: `step` also tells when a sender's interface has taken the last byte of a message.
        `directory`: is created, for the run as `scenario.toml` with `messages.csv`. A run of that
        scenario is the same one, to the picosecond, with all results.
        `saved`: the state that `save` has returned, of a run with the same scenario and choices.
        Tokens are not part of a state: those from before are None.

        Raises `backwater.ScenarioError` for a scenario or a choice that cannot be.
        """
        place = None if directory is None else Path(directory)
        core = scenario.complete()
        # Numbers of tokens go on where they were, so that none of a state is one of this run.
        given, state = (b"", None) if saved is None else (saved[:_NUMBER], saved[_NUMBER:])
        self._core = core.live(seed, label, (keep_connections, sent), place, state)
        self._hosts = self._core.hosts
        self._tokens: dict[int, object] = {}
        self._given = int.from_bytes(given, "big")

    def __enter__(self) -> Live:
        """Return it, to be closed at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    @property
    def now_ps(self) -> int:
        """The time of the last step, in ps."""
        return self._core.now_ps

    @property
    def hosts(self) -> int:
        """The number of hosts. They are numbered from 0."""
        return self._hosts

    @property
    def messages(self) -> tuple[int, int]:
        """Messages sent so far, and those of them that have ended."""
        return self._core.counts

    @property
    def fingerprint(self) -> str:
        """A hash of all arrivals of frames so far: equal for equal runs."""
        return self._core.fingerprint

    @property
    def links(self) -> list[dict[str, Any]]:
        """The totals of every port so far, a dictionary each: both directions of every link.

        Keys: node, port, peer, rate_bps, tx_frames, tx_bytes, marked_frames, drop_frames,
        paused_ps, max_egress_bytes, as in the table `ports` of a run.
        """
        return self._core.links()

    def send(
        self,
        src: int | str,
        dst: int | str,
        size: int,
        token: object = None,
        *,
        delay_ps: int = 0,
        traffic_class: int = 3,
    ) -> int:
        """Send a message of `size` bytes, at least 1, and return its number, from 0.

        `src` and `dst`: hosts by name or number. `token`: a name for it, which `step` returns.
        `delay_ps`: the message starts so much later than now. `traffic_class`: 0 to 7.

        Raises `backwater.InputError` for a host or a number that cannot be,
        `backwater.ScenarioError` for a message that the scenario does not permit, and
        `backwater.RunError` if the run has ended.
        """
        ends = self._host(src, "src"), self._host(dst, "dst")
        whole = _whole(size, "size", _LARGEST), _whole(traffic_class, "traffic_class", 7)
        delay = _whole(delay_ps, "delay_ps", _LAST)
        number = self._core.send(ends, *whole, delay, self._given)
        self._tokens[self._given] = token
        self._given += 1
        return number

    def timer(self, at_ps: int, token: object = None) -> None:
        """Set a timer for a time that is not before now. `step` returns `token`.

        Raises `backwater.InputError` for a number that cannot be, `backwater.ScenarioError` for a
        time that has passed, and `backwater.RunError` if the run has ended.
        """
        self._core.timer(_whole(at_ps, "at_ps", _LAST), self._given)
        self._tokens[self._given] = token
        self._given += 1

    def step(self, until_ps: int | None = None) -> list[Occurred]:
        """Run to the next instant at which something occurs, and return all that occurs then.

        It runs at most to `until_ps`; None: without a limit. An empty list: the time is `until_ps`,
        or nothing will occur until a message is sent. Ctrl-C is handled within it.

        Raises `backwater.ScenarioError` for a time that has passed, and `backwater.RunError` if a
        promise of the scenario is broken, or the run has ended.
        """
        until = None if until_ps is None else _whole(until_ps, "until_ps", _LAST)
        told = self._core.step(until)
        at_ps = self._core.now_ps if told else 0
        return [Occurred(at_ps, self._token(token, what), what) for token, what in told]

    def save(self) -> bytes:
        """Return the state of the run, for `saved` of another one of the same scenario.

        Raises `backwater.ScenarioError` if it writes a directory.
        """
        return self._given.to_bytes(_NUMBER, "big") + self._core.save()

    def close(self) -> None:
        """End the run here. Messages in flight do not arrive. May be called again."""
        self._core.close()

    def _token(self, given: int, what: str) -> object:
        if what in {"acknowledged", "failed", "timer"}:
            return self._tokens.pop(given, None)
        return self._tokens.get(given)

    def _host(self, host: int | str, name: str) -> int:
        if isinstance(host, str):
            number = self._core.host(host)
            if number is None:
                raise InputError(f"{name}: there is no host {host!r}", "a host is a name or number")
            return number
        if not 0 <= host < self._hosts:
            raise InputError(
                f"{name}: there is no host {host}", f"hosts are 0 to {self._hosts - 1}"
            )
        return host


def _whole(value: object, name: str, most: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most:
        return value
    raise InputError(f"{name}: {value!r} is not possible", f"a whole number from 0 to {most}")
