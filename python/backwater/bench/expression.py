"""Arithmetic in the files of the suite: `hosts - 1`, `8e3 * size / gbps`, `hosts >= 4`.

It has numbers, names, `+ - * / // %`, comparisons, `and`, `min`, `max`, `ceil` and `floor`, and
nothing else. A string with `{EXPRESSION}` in it is a template.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Number = int | float
_TWO: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
}
_PART = re.compile(r"\{([^{}]+)\}")


def value(text: str, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a number or a truth
    """Return the value of an expression.

    Raises `ValueError` for anything but such an expression, `KeyError` for an unknown name, and
    `ZeroDivisionError`.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no expression: {error.msg}") from None

    def of(node: ast.AST) -> Any:  # noqa: ANN401 - as above
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name):
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -of(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _TWO:
                return _TWO[type(op)](of(left), of(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _TWO:
                return _TWO[type(op)](of(left), of(right))
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(of(part) for part in parts)
            case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]) if name in _CALLS:
                return _CALLS[name](*(of(part) for part in parts))
        raise ValueError(f"{text!r} has a part that no expression has: {ast.unparse(node)}")

    return of(tree.body)


def filled(content: Any, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any part of a scenario
    """Return a part of a scenario with the templates in its strings filled.

    A string that is one template becomes its value; in others values are written as text.
    """
    if isinstance(content, dict):
        return {key: filled(one, names) for key, one in content.items()}
    if isinstance(content, list):
        return [filled(one, names) for one in content]
    if not isinstance(content, str):
        return content
    if (whole := _PART.fullmatch(content)) is not None:
        return value(whole[1], names)
    return _PART.sub(lambda part: written(value(part[1], names)), content)


def written(number: Any) -> str:  # noqa: ANN401 - a number or a text
    """Return a value as text, a whole number without a fraction."""
    if isinstance(number, float):
        return str(int(number)) if number.is_integer() else repr(round(number, 9))
    return str(number)


def said(setting: Iterable[tuple[str, Any]]) -> str:
    """Return a setting for people: `senders = 4, queue_pairs = 16`."""
    return ", ".join(f"{name} = {written(one)}" for name, one in setting)
