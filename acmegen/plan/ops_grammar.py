"""The small checked language of `library` entries: what an argument, a condition or an output's shape is.

Its syntax is that of a Python expression; nothing is evaluated, each node is checked and printed as C++.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from acmegen.cpp_keywords import CPP_KEYWORDS
from acmegen.plan.expression_source import COMPARISONS, ExpressionError, parse_expression
from acmegen.plan.scalar_types import SCALAR_TYPES


class Kind(Enum):
    """What a value is; the member's value is what messages call it."""

    TENSOR = "a tensor"
    INT = "an integer"
    FLOAT = "a floating-point number"
    BOOL = "a truth value"
    SCALAR = "a Scalar"
    SHAPE = "a list of integers"
    OPTIONAL_SHAPE = "an optional list of integers"
    DTYPE = "a dtype"
    OPTIONAL_DTYPE = "an optional dtype"
    BOOLS = "a list of truth values"
    STREAM = "the stream"
    CONSTANT = "a constant of the library"


@dataclass(frozen=True)
class Value:
    """A checked expression: its kind and its C++."""

    kind: Kind
    cpp: str


@dataclass(frozen=True)
class Operand:
    """A tensor that expressions may name.

    Attributes:
        given: C++ of the tensor as the caller gave it (undefined when an optional one is missing).
        laid_out: C++ of the tensor in the layout that the library gets.
        writable: whether the library writes to it.
        optional: whether it may be undefined.
    """

    given: str
    laid_out: str
    writable: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use: tensors, and the other arguments."""

    tensors: Mapping[str, Operand]
    values: Mapping[str, Value]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, for suggestions."""
        return (*self.tensors, *self.values, *RESERVED)


_ARITHMETIC: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/"}
_CONSTANT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*")
_KEYWORD_CONSTANTS = ("nullptr", "true", "false")
_NUMBERS = (Kind.INT, Kind.FLOAT)

MAX_DEPTH = 64
RESERVED = ("stream", "true", "false")
"""The names that mean something by themselves."""


def tensor_names(text: str, scope: Scope) -> frozenset[str]:
    """The tensors that `text` names; none when it does not parse."""
    return frozenset(node.id for node in _nodes(text) if isinstance(node, ast.Name) and node.id in scope.tensors)


def dtype_names(text: str) -> tuple[str, ...]:
    """The tensors whose dtype `text` speaks of, in the form `dtype(name)`; none when it does not parse."""
    return tuple(
        node.args[0].id
        for node in _nodes(text)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "dtype"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name)
    )


def _nodes(text: str) -> tuple[ast.AST, ...]:
    try:
        return tuple(ast.walk(parse_expression(text)[1]))
    except ExpressionError:
        return ()


def compile_argument(text: str, scope: Scope) -> str:
    """The C++ of an argument of a library call. A tensor becomes its address, a list of integers that of its first.

    Raises:
        ExpressionError: `text` is not such an expression.
    """
    checker = _Checker(text, scope)
    if isinstance(checker.tree, ast.Name) and checker.tree.id in scope.tensors:
        operand = scope.tensors[checker.tree.id]
        if operand.optional:
            return f"{'writable_' if operand.writable else ''}address_or_null({operand.laid_out})"
        return f"{operand.laid_out}.{'mutable' if operand.writable else 'const'}_data_ptr()"
    value = checker.value(checker.tree)
    match value.kind:
        case Kind.SHAPE:
            return f"{value.cpp}.data()"
        case Kind.DTYPE:
            return f"library_dtype({value.cpp})"
        case Kind.SCALAR:
            raise checker.error(checker.tree, f"say which number `{text}` is: `double({text})` or `int({text})`")
        case Kind.OPTIONAL_SHAPE | Kind.OPTIONAL_DTYPE | Kind.BOOLS:
            raise checker.error(checker.tree, f"{value.kind.value} cannot be passed to the library")
    return value.cpp


def compile_condition(text: str, scope: Scope) -> str:
    """The C++ of a condition on the arguments; one on an optional tensor that is missing holds.

    Raises:
        ExpressionError: `text` is not a condition.
    """
    cpp = _Checker(text, scope).expect(Kind.BOOL)
    missing = [scope.tensors[name].given for name in sorted(tensor_names(text, scope)) if scope.tensors[name].optional]
    return f"({' || '.join([*(f'!{tensor}.defined()' for tensor in missing), cpp])})" if missing else cpp


def compile_size(text: str, scope: Scope) -> Value:
    """An element of a shape: one size, or a list of sizes that is spliced in.

    Raises:
        ExpressionError: `text` is neither.
    """
    checker = _Checker(text, scope)
    value = checker.value(checker.tree)
    if value.kind not in (Kind.INT, Kind.SHAPE):
        raise checker.error(checker.tree, f"a size is an integer or a list of integers, not {value.kind.value}")
    return value


def compile_dtype(text: str, scope: Scope) -> str:
    """The C++ of a dtype: `dtype(x)`, `accumulate(x)`, or an argument that is a dtype; `x` alone means `dtype(x)`.

    Raises:
        ExpressionError: `text` is not a dtype.
    """
    checker = _Checker(text, scope)
    if isinstance(checker.tree, ast.Name) and checker.tree.id in scope.tensors:
        return f"{scope.tensors[checker.tree.id].given}.scalar_type()"
    return checker.expect(Kind.DTYPE)


class _Checker:
    """Checks one expression and prints it as C++."""

    def __init__(self, text: str, scope: Scope) -> None:
        self.scope = scope
        self.source, self.tree = parse_expression(text)
        self.depth = 0

    def error(self, node: ast.expr, message: str) -> ExpressionError:
        return self.source.error(message, node)

    def expect(self, *kinds: Kind, node: ast.expr | None = None) -> str:
        node = self.tree if node is None else node
        value = self.value(node)
        if value.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            raise self.error(node, f"expected {wanted}, this is {value.kind.value}")
        return value.cpp

    def value(self, node: ast.expr) -> Value:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(node, "the expression is nested too deeply")
        try:
            return self._value(node)
        finally:
            self.depth -= 1

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return self._literal(node)
            case ast.Name():
                return self._name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp(op=ast.USub()):
                inner = self.value(node.operand)
                if inner.kind not in _NUMBERS:
                    raise self.error(node.operand, f"cannot negate {inner.kind.value}")
                return Value(inner.kind, f"-({inner.cpp})" if inner.cpp.startswith("-") else f"-{inner.cpp}")
            case ast.UnaryOp(op=ast.Not()):
                return Value(Kind.BOOL, f"!{self.expect(Kind.BOOL, node=node.operand)}")
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                left, right = (self.expect(Kind.INT, node=side) for side in (node.left, node.right))
                return Value(Kind.INT, f"({left} {_ARITHMETIC[type(node.op)]} {right})")
            case ast.BoolOp():
                joint = " && " if isinstance(node.op, ast.And) else " || "
                return Value(Kind.BOOL, f"({joint.join(self.expect(Kind.BOOL, node=part) for part in node.values)})")
            case ast.Compare(ops=[operator], comparators=[right_node]) if type(operator) in COMPARISONS:
                left_value, right_value = self.value(node.left), self.value(right_node)
                if not _comparable(left_value.kind, right_value.kind):
                    raise self.error(node, f"cannot compare {left_value.kind.value} with {right_value.kind.value}")
                return Value(Kind.BOOL, f"({left_value.cpp} {COMPARISONS[type(operator)]} {right_value.cpp})")
        raise self.error(node, "this form of expression is not part of the language")

    def _literal(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, bool):
            raise self.error(node, f"write `{str(value).lower()}`")
        if isinstance(value, int):
            if value >= 2**63:
                raise self.error(node, "larger than any 64-bit integer")
            return Value(Kind.INT, str(value))
        if not isinstance(value, float) or not math.isfinite(value):
            raise self.error(node, "larger than any floating-point number")
        return Value(Kind.FLOAT, repr(value))

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.scope.tensors:
            return Value(Kind.TENSOR, self.scope.tensors[name].given)
        if name in self.scope.values:
            return self.scope.values[name]
        if name in SCALAR_TYPES:
            return Value(Kind.DTYPE, f"c10::ScalarType::{SCALAR_TYPES[name]}")
        if name in ("true", "false"):
            return Value(Kind.BOOL, name)
        if name == "stream":
            return Value(Kind.STREAM, "stream.stream()")
        if _CONSTANT.fullmatch(name) and any(character.isupper() for character in name):
            return Value(Kind.CONSTANT, name)
        help = f'a constant of the library is written `constant("{name}")`'
        raise self.source.unknown(f"there is no argument `{name}`", node, self.scope.names, help)

    def _tensor(self, node: ast.expr) -> Operand:
        if isinstance(node, ast.Name) and node.id in self.scope.tensors:
            return self.scope.tensors[node.id]
        if isinstance(node, ast.Name):
            self._name(node)
        raise self.error(node, "expected the name of a tensor")

    def _attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id in self.scope.tensors:
            operand = self.scope.tensors[node.value.id]
            match node.attr:
                case "sizes":
                    return Value(Kind.SHAPE, f"{operand.given}.sizes()")
                case "strides":
                    return Value(Kind.SHAPE, f"{operand.laid_out}.strides()")
                case "numel" | "dim":
                    return Value(Kind.INT, f"{operand.given}.{node.attr}()")
            message = f"a tensor has `sizes`, `strides`, `numel` and `dim`, not `{node.attr}`"
            raise self.source.unknown_attribute(message, node, ["sizes", "strides", "numel", "dim"])
        shape = self.expect(Kind.SHAPE, node=node.value)
        if node.attr != "size":
            message = f"a list of integers has `size`, not `{node.attr}`"
            raise self.source.unknown_attribute(message, node, ["size"])
        return Value(Kind.INT, f"static_cast<int64_t>({shape}.size())")

    def _call(self, node: ast.Call) -> Value:
        if node.keywords:
            raise self.error(node, "arguments have no names here")
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
            known = ", ".join(f"`{name}`" for name in sorted(_FUNCTIONS))
            raise self.error(node.func, f"not a function of the language, which has {known}")
        count, function = _FUNCTIONS[node.func.id]
        self._count(node, count)
        return function(self, *node.args)

    def _count(self, node: ast.Call, count: int) -> None:
        if len(node.args) != count:
            raise self.error(node, f"takes {count} argument{'s' if count != 1 else ''}, not {len(node.args)}")

    def _method(self, node: ast.Call, method: ast.Attribute) -> Value:
        operand = self._tensor(method.value)
        known = ("size", "stride", "outer", "inner")
        if method.attr not in known:
            message = f"a tensor has the functions `size`, `stride`, `outer` and `inner`, not `{method.attr}`"
            raise self.source.unknown_attribute(message, method, known)
        self._count(node, 1)
        index = self.expect(Kind.INT, node=node.args[0])
        match method.attr:
            case "size":
                return Value(Kind.INT, f"extent({operand.given}, {index})")
            case "stride":
                return Value(Kind.INT, f"{operand.laid_out}.stride({index})")
            case "outer":
                return Value(Kind.INT, f"outer_extent({operand.given}, {index})")
        return Value(Kind.INT, f"inner_extent({operand.given}, {index})")

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            if value.kind is not Kind.SHAPE or node.slice.step is not None:
                raise self.error(node, "only a list of integers has slices, and they have no step")
            start = "0" if node.slice.lower is None else self.expect(Kind.INT, node=node.slice.lower)
            if node.slice.upper is None:
                return Value(Kind.SHAPE, f"slice({value.cpp}, {start})")
            return Value(Kind.SHAPE, f"slice({value.cpp}, {start}, {self.expect(Kind.INT, node=node.slice.upper)})")
        index = node.slice
        if value.kind is Kind.BOOLS and isinstance(index, ast.Constant) and type(index.value) is int:
            return Value(Kind.BOOL, f"{value.cpp}[{index.value}]")
        if value.kind is Kind.SHAPE:
            return Value(Kind.INT, f"element({value.cpp}, {self.expect(Kind.INT, node=index)})")
        raise self.error(node, f"{value.kind.value} has no elements to choose from")

    # The functions of the language.

    def dtype(self, tensor: ast.expr) -> Value:
        return Value(Kind.DTYPE, f"{self._tensor(tensor).given}.scalar_type()")

    def accumulate(self, tensor: ast.expr) -> Value:
        return Value(Kind.DTYPE, f"accumulate_dtype({self._tensor(tensor).given}.scalar_type())")

    def floating(self, tensor: ast.expr) -> Value:
        return Value(Kind.BOOL, f"c10::isFloatingType({self._tensor(tensor).given}.scalar_type())")

    def product(self, shape: ast.expr) -> Value:
        return Value(Kind.INT, f"c10::multiply_integers({self.expect(Kind.SHAPE, node=shape)})")

    def ones(self, count: ast.expr) -> Value:
        return Value(Kind.SHAPE, f"at::IntArrayRef(at::DimVector({self.expect(Kind.INT, node=count)}, 1))")

    def reduced_mask(self, dim: ast.expr, tensor: ast.expr) -> Value:
        dims = self.expect(Kind.INT, Kind.SHAPE, Kind.OPTIONAL_SHAPE, node=dim)
        return Value(Kind.INT, f"reduced_mask({dims}, {self._tensor(tensor).given})")

    def double(self, scalar: ast.expr) -> Value:
        value = self.value(scalar)
        if value.kind is Kind.SCALAR:
            return Value(Kind.FLOAT, f"{value.cpp}.toDouble()")
        return Value(Kind.FLOAT, f"static_cast<double>({self.expect(*_NUMBERS, node=scalar)})")

    def int(self, scalar: ast.expr) -> Value:
        value = self.value(scalar)
        if value.kind is Kind.SCALAR:
            return Value(Kind.INT, f"{value.cpp}.toLong()")
        return Value(Kind.INT, f"static_cast<int64_t>({self.expect(*_NUMBERS, Kind.BOOL, node=scalar)})")

    def constant(self, name: ast.expr) -> Value:
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and _CONSTANT.fullmatch(name.value):
            for part in name.value.split("::"):
                if part in CPP_KEYWORDS and name.value not in _KEYWORD_CONSTANTS:
                    raise self.error(name, f"`{part}` is a keyword of C++")
            return Value(Kind.CONSTANT, name.value)
        raise self.error(name, 'expected a C++ name in quotes, as in `constant("vendor::kTranspose")`')


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Value]]] = {
    "dtype": (1, _Checker.dtype),
    "accumulate": (1, _Checker.accumulate),
    "floating": (1, _Checker.floating),
    "product": (1, _Checker.product),
    "ones": (1, _Checker.ones),
    "reduced_mask": (2, _Checker.reduced_mask),
    "double": (1, _Checker.double),
    "int": (1, _Checker.int),
    "constant": (1, _Checker.constant),
}


def _comparable(left: Kind, right: Kind) -> bool:
    if left in _NUMBERS and right in _NUMBERS:
        return True
    return left is right and left in (Kind.BOOL, Kind.DTYPE, Kind.SHAPE)
