"""A congestion control as a Python class, for prototypes of some hundred flows.

    import backwater

    class Halving(backwater.Control):
        share = 0.5                                     # a parameter

        def on_start(self):
            self.window_bytes = 10 * self.payload_bytes

        def on_ack(self, ack):
            self.window_bytes += self.payload_bytes**2 / self.window_bytes

        def on_mark(self, ack):
            self.window_bytes = max(self.share * self.window_bytes, self.payload_bytes)

    run = backwater.load("scenario.toml").prototype(Halving, share=0.7).run()

Each acknowledgement is a call into Python, of some 2 us. A mechanism in Rust has all hooks, and is
much faster: `backwater new mechanism NAME` begins one.
"""

from __future__ import annotations

import hashlib
import inspect
import random
from typing import TYPE_CHECKING

from backwater.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backwater._core import Acknowledgement


class Control:
    """The congestion control of one flow; each flow has an object of its own.

    Its hooks set `window_bytes` and `rate_bps`. Both hold until a hook sets them again. Numbers
    that the class itself has as public attributes are its parameters; `Scenario.prototype` gives
    them other values. Every simulated run calls the hooks in the same order at the same times: what
    they decide by must be only what they are told, and `random`.
    """

    window_bytes: float | None = None
    """Most bytes of payload that are not acknowledged. None: no bound; 0: nothing is sent."""
    rate_bps: float | None = None
    """Rate of sending, in bit/s. None: that of the line; 0: nothing is sent."""

    now_ps: int
    """The simulated time, in ps."""
    sent_bytes: int
    """Payload that has been sent at least once, in bytes."""
    src: int
    """Number of the sending host."""
    dst: int
    """Number of the receiving host."""
    payload_bytes: int
    """Most payload of a packet, in bytes."""
    frame_bytes: int
    """Such a packet with its headers, in bytes."""
    line_bps: int
    """Rate of the sender's link, in bit/s."""
    hops: int
    """Switches on the flow's way; 0 where it has none at its start."""
    random: random.Random
    """Random numbers of the flow's own: the same in each run of the same scenario and seed."""

    def on_start(self) -> None:
        """Be told that the flow begins. The attributes that tell of it are set."""

    def on_ack(self, ack: Acknowledgement) -> None:
        """Be told of an acknowledgement of a packet that was not marked."""

    def on_mark(self, ack: Acknowledgement) -> None:
        """Be told of an acknowledgement of a packet that was marked. As `on_ack`, unless defined.

        A class that defines it needs a mechanism that marks, such as `ecn`.
        """
        self.on_ack(ack)

    def on_loss(self, kind: str) -> None:
        """Be told that packets are lost, and will be sent again.

        The kind is `"gap"` (the receiver misses some), `"trimmed"` (a switch has cut one) or
        `"timeout"`. It comes before the `on_ack` of what told it, maybe once for each packet.
        """

    def on_timer(self, token: int) -> None:
        """Be told that a timer has run out that `arm` has set."""

    def arm(self, delay_ps: int, token: int = 0) -> None:
        """Have `on_timer` called with this token (0 to 65,535) after so many ps, at least 1."""
        if delay_ps < 1 or delay_ps != int(delay_ps):
            raise ValueError(f"arm: delay_ps = {delay_ps}: not a whole number of ps, at least 1")
        if not 0 <= token < 2**16:
            raise ValueError(f"arm: token = {token}: not from 0 to 65,535")
        self._timers.append((int(delay_ps), token))

    _timers: list[tuple[int, int]]

    def _begin(
        self, parameters: Mapping[str, float], flow: tuple[int, int, int, int, int, int, int]
    ) -> None:
        """Take the values of a flow, before `on_start`. Called by the core."""
        self._timers = []
        self.src, self.dst, self.payload_bytes, self.frame_bytes, self.line_bps, self.hops, seed = (
            flow
        )
        self.random = random.Random(seed)
        for name, value in parameters.items():
            setattr(self, name, value)


def _written(control: type[Control]) -> tuple[type, ...]:
    """Give the classes that the user has written, the class itself first."""
    return control.__mro__[: control.__mro__.index(Control)]


def parameters_of(control: type[Control]) -> dict[str, float]:
    """Give the parameters of a class: its public attributes that are numbers."""
    found: dict[str, float] = {}
    for one in reversed(_written(control)):
        for name, value in vars(one).items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if number and not name.startswith("_") and name not in Control.__annotations__:
                found[name] = float(value)
    return found


def hears_marks(control: type[Control]) -> bool:
    """Say whether a class has a hook of its own for marks."""
    return control.on_mark is not Control.on_mark


def name_of(control: type[Control]) -> str:
    """Give the name of a class with a digest of it: results are known by it.

    In the digest are its source, its parameters, and what its functions take from around them.
    """
    digest = hashlib.sha256(repr(parameters_of(control)).encode())
    for one in _written(control):
        hooks = [hook for hook in vars(one).values() if inspect.isfunction(hook)]
        try:
            digest.update(inspect.getsource(one).encode())
        except (OSError, TypeError):
            # Typed in, so that no file has it.
            made = [(hook.__name__, hook.__code__) for hook in hooks]
            codes = [(name, code.co_code, code.co_consts) for name, code in made]
            digest.update(repr((one.__name__, codes)).encode())
        # The text of a function has its address, which no other process has.
        told = [
            [(name, getattr(value, "__qualname__", repr(value))) for name, value in taken.items()]
            for taken in (inspect.getclosurevars(hook).nonlocals for hook in hooks)
        ]
        digest.update(repr(told).encode())
    return f"{control.__name__}-{digest.hexdigest()[:8]}"


def see(control: object, given: Mapping[str, float]) -> type[Control]:
    """Refuse what is no class of a control, or has no such parameters."""
    if not (isinstance(control, type) and issubclass(control, Control) and control is not Control):
        raise InputError(
            f"{control!r} is not a class derived from backwater.Control",
            "give the class itself, as in scenario.prototype(MyLaw)",
        )
    known = parameters_of(control)
    for name, value in given.items():
        if name not in known:
            listed = ", ".join(known) or "none: a parameter is a number that the class itself has"
            raise InputError(
                f"{control.__name__} has no parameter {name!r}", f"its parameters: {listed}"
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(
                f"{name} = {value!r}: not a number", "parameters of a control are numbers"
            )
    return control
