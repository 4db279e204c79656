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

import difflib
import hashlib
import inspect
import math
import random
import re
from numbers import Real
from types import CodeType
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
    """Rate of sending, in bit/s. None: that of the line; 0: nothing after a flow's first packet."""

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
        """Be told that packets are lost, and will be retransmitted.

        The kind is `"gap"` (the receiver misses some), `"trimmed"` (a switch has cut one) or
        `"timeout"`. It comes before the `on_ack` of what told it, maybe once for each packet.
        """

    def on_timer(self, token: int) -> None:
        """Be told that a timer has run out that `arm` has set."""

    def arm(self, delay_ps: float, token: int = 0) -> None:
        """Have `on_timer` called with this token (0 to 65,535) after so many ps, at least 1.

        Both are whole numbers; `1e6` is one. Timers alone do not keep a run alive: where nothing
        is under way, it ends with the next that lets nothing go.
        """
        delay, number = _whole("delay_ps", delay_ps, 1, _LONGEST), _whole("token", token, 0, 65_535)
        self._timers.append((delay, number))

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
            whole = isinstance(getattr(type(self), name, None), int) and value.is_integer()
            setattr(self, name, int(value) if whole else value)


OFFERED: set[str] = set()
"""Controls that this process has, by the names that results keep."""

_LONGEST = 2**62
"""Of timers, in ps: fifty days."""


def _whole(name: str, value: object, least: int, most: int) -> int:
    """Give a whole number within bounds. Raises `ValueError`."""
    number = _number(value)
    if number is None or not number.is_integer() or not least <= number <= most:
        raise ValueError(f"arm: {name} = {value!r}: not a whole number from {least:,} to {most:,}")
    return int(number)


def _number(value: object) -> float | None:
    """Give a number, of whichever library it is; None of what is none."""
    if type(value) is bool or not isinstance(value, Real):
        return None
    return float(value)


def _written(control: type[Control]) -> list[type]:
    """Give the classes that the user has written, the class itself first."""
    return [one for one in control.__mro__ if one is not Control and one.__module__ != "builtins"]


def parameters_of(control: type[Control]) -> dict[str, float]:
    """Give the parameters of a class: its public attributes that are numbers."""
    names = dict.fromkeys(name for one in reversed(_written(control)) for name in vars(one))
    found: dict[str, float] = {}
    for name in names:
        value = inspect.getattr_static(control, name)
        number = _number(value)
        public = not name.startswith("_") and name not in Control.__annotations__
        if public and number is not None:
            found[name] = number
    return found


def hears_marks(control: type[Control]) -> bool:
    """Say whether a class has a hook of its own for marks."""
    return control.on_mark is not Control.on_mark


def name_of(control: type[Control]) -> str:
    """Give the name of a class with a digest of it: results are known by it.

    In the digest are its code and attributes, and what its functions take from around them and
    from their module: numbers, texts, and functions with all of theirs.
    """
    seen: set[int] = set()
    told = [
        (name, _told(value, seen))
        for one in _written(control)
        for name, value in sorted(vars(one).items())
        if inspect.isfunction(value) or not name.startswith("__")
    ]
    digest = hashlib.sha256(repr(told).encode())
    return f"{control.__name__}-{digest.hexdigest()[:8]}"


def _told(value: object, seen: set[int]) -> object:
    """Tell a value by what decides about a run, the same in every process."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if id(value) in seen:
        return "told already"
    seen.add(id(value))
    if (number := _number(value)) is not None:
        return repr(number)
    if isinstance(value, staticmethod | classmethod):
        return type(value).__name__, _told(value.__func__, seen)
    if isinstance(value, property):
        return [_told(one, seen) for one in (value.fget, value.fset)]
    if isinstance(value, CodeType):
        constants = [_told(one, seen) for one in value.co_consts]
        return value.co_code.hex(), value.co_names, value.co_varnames, constants
    if inspect.isfunction(value):
        # A method that takes its own class from around it would tell itself for ever.
        taken = inspect.getclosurevars(value)
        around = sorted({**taken.nonlocals, **taken.globals}.items())
        told = [(name, _told(one, seen)) for name, one in around]
        return _told(value.__code__, seen), _told(value.__defaults__, seen), told
    if isinstance(value, list | tuple):
        return [_told(one, seen) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_told(one, seen)) for one in value)
    if isinstance(value, dict):
        return [(_told(key, seen), _told(one, seen)) for key, one in value.items()]
    return getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__name__)


_HOOKS = {"on_start": "", "on_ack": "ack", "on_mark": "ack", "on_loss": "kind", "on_timer": "token"}
"""Hooks, and what each is called with beside the control."""


_LAZY = (
    inspect.isgeneratorfunction,
    inspect.iscoroutinefunction,
    inspect.isasyncgenfunction,
)


def _check_hooks(control: type[Control]) -> None:
    """Refuse hooks that would never be called, or not as they are written."""
    name = control.__name__
    for own in (own for one in _written(control) for own in vars(one)):
        if re.match(r"on(_|[A-Z])", own) and own not in _HOOKS:
            near = difflib.get_close_matches(own.lower(), _HOOKS, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise InputError(
                f"{name}.{own}: is no hook, and nothing calls it",
                f"{meant}hooks are {', '.join(_HOOKS)}; other methods have other names",
            )
    for hook, argument in _HOOKS.items():
        written = inspect.getattr_static(control, hook)
        told = f"def {hook}(self, {argument})" if argument else f"def {hook}(self)"
        if not inspect.isfunction(written):
            raise InputError(f"{name}.{hook}: is no plain method", f"write {told}")
        if any(kind(written) for kind in _LAZY):
            raise InputError(
                f"{name}.{hook}: is a generator or a coroutine, and nothing in it would be done",
                f"write {told}, without `yield` and `async`",
            )
        try:
            inspect.signature(written).bind(*range(2 if argument else 1))
        except TypeError as error:
            raise InputError(
                f"{name}.{hook}: is not what is called: {error}", f"write {told}"
            ) from None


def see(control: object, given: Mapping[str, float]) -> type[Control]:
    """Refuse what is no class of a control, or has no such parameters."""
    if not (isinstance(control, type) and issubclass(control, Control) and control is not Control):
        raise InputError(
            f"{control!r} is not a class derived from backwater.Control",
            "give the class itself, as in scenario.prototype(MyLaw)",
        )
    _check_hooks(control)
    known = parameters_of(control)
    for name, value in given.items():
        if name not in known:
            listed = ", ".join(known) or "none: a parameter is a number that the class itself has"
            raise InputError(
                f"{control.__name__} has no parameter {name!r}", f"its parameters: {listed}"
            )
        number = _number(value)
        if number is None or not math.isfinite(number):
            raise InputError(
                f"{name} = {value!r}: not a finite number", "parameters of a control are numbers"
            )
    return control
