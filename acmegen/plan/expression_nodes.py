"""The tree of a checked scalar expression: what a dialect prints.

Every node has one of two values: a *number* in the type that the operator computes in, or a *truth value*. Conversions
between the two are nodes of their own, so that a dialect never has to ask what a context wants.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Category(Enum):
    """What a dtype holds; the values are the names of the sets that manifests use."""

    BOOLEAN = "boolean"
    INTEGRAL = "integral"
    FLOATING = "floating"
    COMPLEX = "complex"


class Value(Enum):
    """What a node gives: a number of the computing type, or a truth value."""

    NUMBER = "number"
    TRUTH = "truth value"


@dataclass(frozen=True)
class Operand:
    """An element of a tensor argument, or the value of a scalar one."""

    name: str
    value: Value


@dataclass(frozen=True)
class Present:
    """Whether the optional argument `name` was given. The same for all elements."""

    name: str
    value: Value = Value.TRUTH


@dataclass(frozen=True)
class TextIs:
    """Whether the string argument `name` is `text`. The same for all elements."""

    name: str
    text: str
    value: Value = Value.TRUTH


@dataclass(frozen=True)
class Literal:
    """A number as written: `2` stays an integer; `pi`, `inf` and the like are floats."""

    number: int | float
    value: Value = Value.NUMBER


@dataclass(frozen=True)
class TruthLiteral:
    """`True` or `False` where a truth value is wanted."""

    truth: bool
    value: Value = Value.TRUTH


@dataclass(frozen=True)
class Convert:
    """`operand` as the other kind of value: 1 and 0 for a truth value, `!= 0` for a number."""

    operand: Node
    value: Value


@dataclass(frozen=True)
class Unary:
    """`-`, `~` on a number, `not` on a truth value."""

    operator: str
    operand: Node
    value: Value


@dataclass(frozen=True)
class Binary:
    """`+ - * / // % & | ^ << >>` on numbers, a comparison of numbers, `and` and `or` of truth values."""

    operator: str
    left: Node
    right: Node
    value: Value


@dataclass(frozen=True)
class Select:
    """`if_true if condition else if_false`."""

    condition: Node
    if_true: Node
    if_false: Node
    value: Value


@dataclass(frozen=True)
class Call:
    """A function of the table in `expression_functions`, on numbers."""

    function: str
    arguments: tuple[Node, ...]
    value: Value


Node = Operand | Present | TextIs | Literal | TruthLiteral | Convert | Unary | Binary | Select | Call


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below `node`, in the order in which they were written."""
    if isinstance(node, Convert | Unary):
        return (node.operand,)
    if isinstance(node, Binary):
        return (node.left, node.right)
    if isinstance(node, Select):
        return (node.if_true, node.condition, node.if_false)
    if isinstance(node, Call):
        return node.arguments
    return ()


def walk(node: Node) -> tuple[Node, ...]:
    """`node` and everything below it, in the order in which it was written."""
    return (node, *(deeper for child in children(node) for deeper in walk(child)))
