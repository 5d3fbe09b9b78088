"""Host C++: a checked expression becomes a C++20 lambda over the computing type `T`.

What is the same for all elements (scalars, questions about strings and optional arguments) becomes an init-capture, so
that it is converted and decided once per launch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from acmegen.plan.expression_nodes import (
    Binary,
    Convert,
    Literal,
    Node,
    Operand,
    Present,
    Select,
    TextIs,
    TruthLiteral,
    Unary,
    Value,
)
from acmegen.plan.expressions import ArgumentKind, Expression, ExpressionArgument

# The functions of `math::` are in Functions.h: they are defined for integers too, or are not in the standard library.
# They take `T` explicitly, because C++ promotes the arithmetic of narrow integers to `int`.
FUNCTIONS: Mapping[str, str] = {
    **{
        name: f"std::{name}"
        for name in (
            *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt"),
            *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "copysign"),
        )
    },
    "pow": "math::power<T>",
    "rsqrt": "math::reciprocal_square_root<T>",
    "sigmoid": "math::sigmoid<T>",
    "floor": "math::floor<T>",
    "ceil": "math::ceil<T>",
    "round": "math::round<T>",
    "trunc": "math::trunc<T>",
    "frac": "math::fraction<T>",
    "floor_div": "math::floor_divide<T>",
    "trunc_div": "math::truncated_divide<T>",
    "remainder": "math::remainder<T>",
    "fmod": "math::fmod<T>",
    "abs": "math::absolute<T>",
    "sign": "math::sign<T>",
    "min": "math::minimum<T>",
    "max": "math::maximum<T>",
    "fmin": "math::fmin<T>",
    "fmax": "math::fmax<T>",
    "isnan": "math::is_nan<T>",
    "isinf": "math::is_infinite<T>",
    "isfinite": "std::isfinite",
    "signbit": "math::sign_bit<T>",
}

# C++ computes these in `int`.
_NARROW = frozenset({"bool", "uint8", "int8", "int16"})

_SHIFTS = {"<<": "math::shift_left<T>", ">>": "math::shift_right<T>"}
_SPELLED = {"and": "&&", "or": "||"}
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_BITWISE = frozenset({"|", "^", "&"})

# How strongly C++ binds, weakest first.
_SELECT, _OR, _AND, _BITS, _COMPARE, _ADD, _MULTIPLY, _UNARY, _PRIMARY = range(1, 10)
_LEVELS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(_BITWISE, _BITS),
    **dict.fromkeys(_COMPARISONS, _COMPARE),
    **dict.fromkeys(("+", "-"), _ADD),
    **dict.fromkeys(("*", "/"), _MULTIPLY),
}


@dataclass(frozen=True)
class Capture:
    """One init-capture: `name = initializer`."""

    name: str
    initializer: str


@dataclass(frozen=True)
class Parameter:
    """One parameter of the lambda: an element, as `T` or as `bool`."""

    name: str
    type: str


@dataclass(frozen=True)
class HostLambda:
    """A lambda in C++, in its parts. `T` is the computing type."""

    captures: tuple[Capture, ...]
    parameters: tuple[Parameter, ...]
    result_type: str
    body: str


def _literal(number: int | float) -> str:
    if isinstance(number, int):
        return f"T({number})"
    if math.isnan(number):
        return "std::numeric_limits<T>::quiet_NaN()"
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}std::numeric_limits<T>::infinity()"
    return f"T({number!r})"


class _Printer:
    def __init__(self, names: Mapping[str, str], conditions: Mapping[Node, str], dtypes: Collection[str]) -> None:
        self.names = names
        self.conditions = conditions
        self.boolean = "bool" in dtypes
        self.narrow = not _NARROW.isdisjoint(dtypes)

    def print(self, node: Node, level: int = _SELECT) -> str:
        """`node`, in parentheses if it binds more weakly than `level`."""
        text, own = self._print(node)
        return text if own >= level else f"({text})"

    def exact(self, node: Node, level: int) -> str:
        """`node`, cut to the width of `T` where C++ would have computed in `int`."""
        wide = self.narrow and isinstance(node, Binary | Unary | Select) and node.value is Value.NUMBER
        return f"T({self.print(node)})" if wide else self.print(node, level)

    def _print(self, node: Node) -> tuple[str, int]:
        if isinstance(node, Operand):
            return self.names[node.name], _PRIMARY
        if isinstance(node, Present | TextIs):
            return self.conditions[node], _PRIMARY
        if isinstance(node, Literal):
            return _literal(node.number), _PRIMARY
        if isinstance(node, TruthLiteral):
            return ("true" if node.truth else "false"), _PRIMARY
        if isinstance(node, Convert):
            if node.value is Value.NUMBER:
                return f"T({self.print(node.operand)})", _PRIMARY
            return f"{self.exact(node.operand, _COMPARE + 1)} != T(0)", _COMPARE
        if isinstance(node, Unary):
            return self._unary(node)
        if isinstance(node, Binary):
            return self._binary(node)
        if isinstance(node, Select):
            condition = self.print(node.condition, _SELECT + 1)
            return f"{condition} ? {self.print(node.if_true)} : {self.print(node.if_false)}", _SELECT
        arguments = ", ".join(self.print(argument) for argument in node.arguments)
        return f"{FUNCTIONS[node.function]}({arguments})", _PRIMARY

    def _unary(self, node: Unary) -> tuple[str, int]:
        if node.operator == "~":
            return f"math::invert<T>({self.print(node.operand)})", _PRIMARY
        return ("!" if node.operator == "not" else "-") + self.print(node.operand, _UNARY + 1), _UNARY

    def _binary(self, node: Binary) -> tuple[str, int]:
        if node.operator in _SHIFTS:
            return f"{_SHIFTS[node.operator]}({self.print(node.left)}, {self.print(node.right)})", _PRIMARY
        if node.operator == "*" and self.boolean:
            return f"math::multiply<T>({self.print(node.left)}, {self.print(node.right)})", _PRIMARY
        level = _LEVELS[node.operator]
        if node.operator in _COMPARISONS:
            left, right = self.exact(node.left, level + 1), self.exact(node.right, level + 1)
        elif node.operator in _BITWISE:
            left, right = self.exact(node.left, _UNARY), self.exact(node.right, _UNARY)
        elif node.operator in _SPELLED:
            # Compilers warn about `&&` below `||` without parentheses.
            left, right = (
                self.print(side, level if isinstance(side, Binary) and side.operator == node.operator else _COMPARE)
                for side in (node.left, node.right)
            )
        else:
            left, right = self.print(node.left, level), self.print(node.right, level + 1)
        return f"{left} {_SPELLED.get(node.operator, node.operator)} {right}", level


def _condition_names(expression: Expression, names: Mapping[str, str]) -> dict[Node, str]:
    """A variable for each question that is answered once per launch; no two alike."""
    taken = set(names.values())
    result: dict[Node, str] = {}
    for condition in expression.conditions:
        if isinstance(condition, Present):
            name = f"has_{names[condition.name]}"
        else:
            name = f"{names[condition.name]}_is_{re.sub('[^a-zA-Z0-9]+', '_', condition.text).strip('_') or 'empty'}"
        while name in taken:
            name += "_"
        taken.add(name)
        result[condition] = name
    return result


def _capture_scalar(name: str, argument: ExpressionArgument) -> Capture:
    if argument.kind is ArgumentKind.TRUTH:
        return Capture(name, f"{name}.value_or(false)" if argument.optional else name)
    return Capture(name, f"scalar<T>({name})")


def _escape(text: str) -> str:
    """`text` as a C++ string literal. Characters outside of ASCII are written as the bytes of UTF-8, in octal."""
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return '"' + "".join(plain) + '"'


def host_lambda(
    expression: Expression,
    arguments: Mapping[str, ExpressionArgument],
    names: Mapping[str, str],
    dtypes: Collection[str],
) -> HostLambda:
    """Print `expression`.

    Args:
        arguments: the operator's arguments, as the expression was checked with.
        names: the C++ name of each argument.
        dtypes: the dtypes that it is computed in, as it was checked with.
    """
    conditions = _condition_names(expression, names)
    asked = (
        Capture(
            conditions[condition],
            f"{names[condition.name]}.has_value()"
            if isinstance(condition, Present)
            else f"{names[condition.name]} == {_escape(condition.text)}",
        )
        for condition in expression.conditions
    )
    return HostLambda(
        captures=(*asked, *(_capture_scalar(names[name], arguments[name]) for name in expression.scalars)),
        parameters=tuple(
            Parameter(names[name], "bool" if name in expression.truth_tensors else "T") for name in expression.tensors
        ),
        result_type="bool" if expression.root.value is Value.TRUTH else "T",
        body=_Printer(names, conditions, dtypes).print(expression.root),
    )
