"""Congestion controls as Python classes, for prototypes with some hundred flows.

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

Each acknowledgement is a call into Python, which takes about 2 us. A mechanism in Rust has all
hooks and is much faster: `backwater new mechanism NAME` begins one.
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
    """The congestion control of one flow; each flow has its own object.

    Its hooks set `window_bytes` and `rate_bps`, which hold until a hook sets them again. Numbers
    among the public attributes of the class are its parameters; `Scenario.prototype` gives them
    other values. All runs of a scenario and seed call the hooks in the same order at the same
    times. For equal results, hooks must decide by their arguments, the attributes of the object,
    and `random` only.
    """

    window_bytes: float | None = None
    """Most payload in flight, in bytes. None: no limit; 0: the flow sends nothing."""
    rate_bps: float | None = None
    """Sending rate, in bit/s. None: the rate of the sender's link; 0: only the first packet."""

    now_ps: int
    """The simulated time, in ps."""
    sent_bytes: int
    """Payload sent at least once, in bytes."""
    src: int
    """Number of the sending host."""
    dst: int
    """Number of the receiving host."""
    payload_bytes: int
    """Most payload of a packet, in bytes."""
    frame_bytes: int
    """A packet with that payload and its headers, in bytes."""
    line_bps: int
    """Rate of the sender's link, in bit/s."""
    hops: int
    """Switches on the flow's path; 0 if the flow has no path at its start."""
    random: random.Random
    """The flow's own random numbers, equal in all runs of the same scenario and seed."""

    def on_start(self) -> None:
        """Called when the flow begins, after the attributes of the flow are set."""

    def on_ack(self, ack: Acknowledgement) -> None:
        """Called for each acknowledgement of a packet without a mark."""

    def on_mark(self, ack: Acknowledgement) -> None:
        """Called for each acknowledgement of a packet with a mark; by default it calls `on_ack`.

        A class that defines it needs a mechanism that marks, such as `ecn`.
        """
        self.on_ack(ack)

    def on_loss(self, kind: str) -> None:
        """Called when packets are lost and will be retransmitted.

        `kind` is `"gap"` (the receiver misses packets), `"trimmed"` (a switch trimmed one) or
        `"timeout"`. The call precedes the `on_ack` of the same acknowledgement, and may come once
        for each packet.
        """

    def on_timer(self, token: int) -> None:
        """Called when a timer expires that `arm` has set."""

    def arm(self, delay_ps: float, token: int = 0) -> None:
        """Set a timer that calls `on_timer` with `token` (0 to 65,535) in `delay_ps` ps.

        Both are whole numbers (`1e6` is one), and the delay is from 1 to 2^62; anything else raises
        `ValueError`. Timers alone do not keep a run alive: with nothing in flight, it ends at the
        first timer after which nothing is sent.
        """
        delay, number = _whole("delay_ps", delay_ps, 1, _LONGEST), _whole("token", token, 0, 65_535)
        self._timers.append((delay, number))

    _timers: list[tuple[int, int]]

    def _begin(
        self, parameters: Mapping[str, float], flow: tuple[int, int, int, int, int, int, int]
    ) -> None:
        """Set the attributes of a flow. The core calls it before `on_start`."""
        self._timers = []
        self.src, self.dst, self.payload_bytes, self.frame_bytes, self.line_bps, self.hops, seed = (
            flow
        )
        self.random = random.Random(seed)
        for name, value in parameters.items():
            whole = isinstance(getattr(type(self), name, None), int) and value.is_integer()
            setattr(self, name, int(value) if whole else value)


OFFERED: set[str] = set()
"""Controls whose classes this process has, by their names in results."""

_LONGEST = 2**62
"""Longest delay of a timer, in ps: fifty days."""


def _whole(name: str, value: object, least: int, most: int) -> int:
    """Return `value` as a whole number from `least` to `most`. Raises `ValueError`."""
    number = _number(value)
    if number is None or not number.is_integer() or not least <= number <= most:
        raise ValueError(f"arm: {name} = {value!r}: not a whole number from {least:,} to {most:,}")
    return int(number)


def _number(value: object) -> float | None:
    """Return a number of any library as a float; None for anything else, and for booleans."""
    if type(value) is bool or not isinstance(value, Real):
        return None
    return float(value)


def _written(control: type[Control]) -> list[type]:
    """Return the classes that the user wrote, the class itself first."""
    return [one for one in control.__mro__ if one is not Control and one.__module__ != "builtins"]


def parameters_of(control: type[Control]) -> dict[str, float]:
    """Return the parameters of a class: its public attributes that are numbers."""
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
    """Return whether a class defines `on_mark`."""
    return control.on_mark is not Control.on_mark


def name_of(control: type[Control]) -> str:
    """Return the name of a class with a digest of it, which identifies it in results.

    The digest covers its code and attributes, and the numbers, texts and functions that its
    functions take from enclosing functions and from their module.
    """
    seen: set[int] = set()
    content = [
        (name, _content(value, seen))
        for one in _written(control)
        for name, value in sorted(vars(one).items())
        if inspect.isfunction(value) or not name.startswith("__")
    ]
    digest = hashlib.sha256(repr(content).encode())
    return f"{control.__name__}-{digest.hexdigest()[:8]}"


def _content(value: object, seen: set[int]) -> object:
    """Return everything in a value that may affect a run, equal in every process."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if id(value) in seen:
        # A method that uses its own class would never end. The text is part of the digest.
        return "told already"
    seen.add(id(value))
    if (number := _number(value)) is not None:
        return repr(number)
    if isinstance(value, staticmethod | classmethod):
        return type(value).__name__, _content(value.__func__, seen)
    if isinstance(value, property):
        return [_content(one, seen) for one in (value.fget, value.fset)]
    if isinstance(value, CodeType):
        constants = [_content(one, seen) for one in value.co_consts]
        return value.co_code.hex(), value.co_names, value.co_varnames, constants
    if inspect.isfunction(value):
        taken = inspect.getclosurevars(value)
        around = sorted({**taken.nonlocals, **taken.globals}.items())
        used = [(name, _content(one, seen)) for name, one in around]
        return _content(value.__code__, seen), _content(value.__defaults__, seen), used
    if isinstance(value, list | tuple):
        return [_content(one, seen) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_content(one, seen)) for one in value)
    if isinstance(value, dict):
        return [(_content(key, seen), _content(one, seen)) for key, one in value.items()]
    return getattr(value, "__qualname__", None) or getattr(value, "__name__", type(value).__name__)


_HOOKS = {"on_start": "", "on_ack": "ack", "on_mark": "ack", "on_loss": "kind", "on_timer": "token"}
"""The hooks, each with the name of its argument."""


_LAZY = (
    inspect.isgeneratorfunction,
    inspect.iscoroutinefunction,
    inspect.isasyncgenfunction,
)


def _check_hooks(control: type[Control]) -> None:
    """Raise `InputError` for a hook that would never be called, or with other arguments."""
    name = control.__name__
    for own in (own for one in _written(control) for own in vars(one)):
        if re.match(r"on(_|[A-Z])", own) and own not in _HOOKS:
            near = difflib.get_close_matches(own.lower(), _HOOKS, n=1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise InputError(
                f"{name}.{own}: is not a hook, and nothing calls it",
                f"{meant}hooks are {', '.join(_HOOKS)}; give other methods other names",
            )
    for hook, argument in _HOOKS.items():
        written = inspect.getattr_static(control, hook)
        form = f"def {hook}(self, {argument})" if argument else f"def {hook}(self)"
        if not inspect.isfunction(written):
            raise InputError(f"{name}.{hook}: is not a plain method", f"write {form}")
        if any(kind(written) for kind in _LAZY):
            raise InputError(
                f"{name}.{hook}: is a generator or a coroutine, and its body would never run",
                f"write {form}, without `yield` and `async`",
            )
        try:
            inspect.signature(written).bind(*range(2 if argument else 1))
        except TypeError as error:
            raise InputError(
                f"{name}.{hook}: cannot be called as a hook: {error}", f"write {form}"
            ) from None


def check_control(control: object, given: Mapping[str, float]) -> type[Control]:
    """Return `control`, if it is a class from `Control` with sound hooks and these parameters.

    Raises `InputError` for anything else.
    """
    if not (isinstance(control, type) and issubclass(control, Control) and control is not Control):
        raise InputError(
            f"{control!r} is not a class derived from backwater.Control",
            "give the class itself, as in scenario.prototype(MyLaw)",
        )
    _check_hooks(control)
    known = parameters_of(control)
    for name, value in given.items():
        if name not in known:
            listed = ", ".join(known) or "none: a parameter is a number in the class itself"
            raise InputError(
                f"{control.__name__} has no parameter {name!r}", f"its parameters: {listed}"
            )
        number = _number(value)
        if number is None or not math.isfinite(number):
            raise InputError(
                f"{name} = {value!r}: not a finite number", "parameters of a control are numbers"
            )
    return control
