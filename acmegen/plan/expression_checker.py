"""Python's tree of an expression -> ours, with all that is wrong in it."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from acmegen.manifest.dtypes import SETS
from acmegen.plan.expression_functions import FUNCTIONS, OPERATOR_CATEGORIES
from acmegen.plan.expression_nodes import (
    Binary,
    Call,
    Category,
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
from acmegen.plan.expression_source import COMPARISONS, ExpressionError, Source

CATEGORIES: Mapping[str, Category] = {dtype: category for category in Category for dtype in SETS[category.value]}

_RANGES: Mapping[str, tuple[int, int]] = {
    "bool": (0, 1),
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}

_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}

_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


class ArgumentKind(Enum):
    """What an argument of the operator is to an expression."""

    TENSOR = "a tensor"
    NUMBER = "a number"
    TRUTH = "a truth value"
    TEXT = "a string"
    OTHER = "of a type that expressions don't know"


@dataclass(frozen=True)
class ExpressionArgument:
    """One argument: what it is, and whether it can be absent."""

    kind: ArgumentKind
    optional: bool = False


def _converted(node: Node, want: Value) -> Node:
    return node if node.value is want else Convert(node, want)


def _list(words: Collection[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


# Stands for a part that is wrong; it fits anywhere, so that nothing around it looks wrong.
_HOLE = Literal(0)
_MAX_MISTAKES = 20  # of one expression; more are not looked for


class Checker:
    """Turns Python's tree into ours; `wanted` collects what each tensor is used as, and `errors` what is wrong."""

    def __init__(
        self,
        source: Source,
        arguments: Mapping[str, ExpressionArgument],
        aliases: Mapping[str, str],
        dtypes: Sequence[str],
        truth_tensors: frozenset[str],
    ) -> None:
        self.source = source
        self.arguments = arguments
        self.aliases = aliases
        self.dtypes = dtypes
        self.truth_tensors = truth_tensors
        self.wanted: dict[str, set[Value]] = {}
        self.errors: dict[tuple[int, str], ExpressionError] = {}  # by place and message: some parts are seen twice
        self._refused: set[str] = set()  # the dtypes that have been found not to fit

    def check(self, node: ast.expr, want: Value | None) -> Node:
        """`node`, converted to `want` unless that is None."""
        checked = self._check(node, want)
        return checked if want is None else _converted(checked, want)

    def _number(self, node: ast.expr) -> Node:
        return self.check(node, Value.NUMBER)

    def _truth(self, node: ast.expr) -> Node:
        return self.check(node, Value.TRUTH)

    def _check(self, node: ast.expr, want: Value | None) -> Node:
        if len(self.errors) >= _MAX_MISTAKES:
            return _HOLE
        try:
            return self._node(node, want)
        except ExpressionError as error:
            return self._report(error)

    def _report(self, error: ExpressionError) -> Node:
        self.errors.setdefault((error.offset, error.message), error)
        return _HOLE

    def _node(self, node: ast.expr, want: Value | None) -> Node:
        if isinstance(node, ast.Name):
            return self._name(node, want)
        if isinstance(node, ast.Constant):
            return self._constant(node, want)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            return self._logical(node)
        if isinstance(node, ast.IfExp):
            return self._select(node, want)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self.source.error(
            f"`{self.source.quote(node)}` is not part of the expression language",
            node,
            "an expression has names, numbers, operators, `x if c else y` and calls of functions",
        )

    def _require(self, what: str, categories: frozenset[Category], node: ast.expr) -> None:
        refused = [dtype for dtype in self.dtypes if CATEGORIES[dtype] not in categories]
        if not self._refused.issuperset(refused):
            self._refused.update(refused)
            served = [category.value for category in Category if category in categories]
            self._report(
                self.source.error(
                    f"{what} is not defined for {_list(refused)}",
                    node,
                    f"`dtypes` are those after torch's promotion; this is for `dtypes: [{', '.join(served)}]`",
                )
            )

    def _resolve(self, node: ast.Name) -> tuple[str, ExpressionArgument]:
        name = self.aliases.get(node.id, node.id)
        argument = self.arguments.get(name)
        if argument is None and node.id in self.aliases:
            help = f"the arguments are {_list(self.arguments)}"
            raise self.source.error(f"`{node.id}` stands for `{name}`, which is no argument", node, help)
        if argument is None:
            known = [*self.arguments, *self.aliases, *_CONSTANTS]
            if node.id in FUNCTIONS:
                help = f"`{node.id}` is a function: write `{node.id}(…)`"
                raise self.source.error(f"unknown name `{node.id}`", node, help)
            help = f"the arguments are {_list(self.arguments)}"
            raise self.source.unknown(f"unknown name `{node.id}`", node, known, help)
        return name, argument

    def _name(self, node: ast.Name, want: Value | None) -> Node:
        if node.id in _CONSTANTS and node.id not in self.arguments and node.id not in self.aliases:
            return self._literal(_CONSTANTS[node.id], node)
        name, argument = self._resolve(node)
        if argument.kind is ArgumentKind.TEXT:
            raise self.source.error(
                f"`{name}` is a string", node, f'compare it with a literal, as in `{name} == "none"`'
            )
        if argument.kind is ArgumentKind.OTHER:
            raise self.source.error(f"`{name}` is {argument.kind.value}", node)
        if argument.kind is ArgumentKind.TENSOR:
            self.wanted.setdefault(name, set()).add(want or Value.NUMBER)
            return Operand(name, Value.TRUTH if name in self.truth_tensors else Value.NUMBER)
        return Operand(name, Value.TRUTH if argument.kind is ArgumentKind.TRUTH else Value.NUMBER)

    def _literal(self, number: int | float, node: ast.expr) -> Literal:
        for dtype in self.dtypes:
            if dtype not in _RANGES or dtype in self._refused:
                continue
            low, high = _RANGES[dtype]
            if isinstance(number, float) or not low <= number <= high:
                self._refused.add(dtype)
                raise self.source.error(
                    f"`{self.source.quote(node)}` is not a value of `{dtype}`",
                    node,
                    f"remove `{dtype}` from the entry's `dtypes`",
                )
        if isinstance(number, int) and abs(number) >= 2**63:
            raise self.source.error(f"`{self.source.quote(node)}` does not fit into 64 bits", node)
        return Literal(number)

    def _constant(self, node: ast.Constant, want: Value | None) -> Node:
        if isinstance(node.value, bool):
            return Literal(int(node.value)) if want is Value.NUMBER else TruthLiteral(node.value)
        if isinstance(node.value, int | float):
            return self._literal(node.value, node)
        if isinstance(node.value, str):
            raise self.source.error("a string can only be compared with a string argument", node)
        if node.value is None:
            raise self.source.error("`None` is not a value", node, "ask with `present(argument)`")
        raise self.source.error(f"`{self.source.quote(node)}` is not a number of the expression language", node)

    def _unary(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.op, ast.Not):
            return Unary("not", self._truth(node.operand), Value.TRUTH)
        if isinstance(node.op, ast.UAdd):
            return self._number(node.operand)
        operator = "-" if isinstance(node.op, ast.USub) else "~"
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if operator == "-" and isinstance(number, int | float) and not isinstance(number, bool):
            return self._literal(-number, node)
        self._require(f"`{operator}`", OPERATOR_CATEGORIES[operator], node)
        return Unary(operator, self._number(node.operand), Value.NUMBER)

    def _binary(self, node: ast.BinOp) -> Node:
        if isinstance(node.op, ast.Pow):
            self._require("`**`", FUNCTIONS["pow"].categories, node)
            return Call("pow", (self._number(node.left), self._number(node.right)), Value.NUMBER)
        operator = _BINARY.get(type(node.op))
        if operator is None:
            self._number(node.left)
            self._number(node.right)
            raise self.source.error("matrix multiplication is not a scalar operation", node)
        self._require(f"`{operator}`", OPERATOR_CATEGORIES.get(operator, frozenset(Category)), node)
        left, right = self._number(node.left), self._number(node.right)
        if operator in ("//", "%"):
            return Call("floor_div" if operator == "//" else "remainder", (left, right), Value.NUMBER)
        return Binary(operator, left, right, Value.NUMBER)

    def _compare(self, node: ast.Compare) -> Node:
        operands = [node.left, *node.comparators]
        parts = [
            self._comparison(node, operator, left, right)
            for operator, left, right in zip(node.ops, operands, operands[1:], strict=False)
        ]
        result = parts[0]
        for part in parts[1:]:
            result = Binary("and", result, part, Value.TRUTH)
        return result

    def _comparison(self, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr) -> Node:
        spelled = COMPARISONS.get(type(operator))
        if spelled is None:
            raise self.source.error(
                "`is` and `in` are not part of the expression language", node, "ask with `==` or `present(argument)`"
            )
        text = self._text_comparison(node, spelled, left, right)
        if text is not None:
            return text
        self._require(f"`{spelled}`", OPERATOR_CATEGORIES.get(spelled, frozenset(Category)), node)
        return Binary(spelled, self._number(left), self._number(right), Value.TRUTH)

    def _text_comparison(self, node: ast.Compare, spelled: str, left: ast.expr, right: ast.expr) -> Node | None:
        if isinstance(left, ast.Constant) and isinstance(left.value, str):
            left, right = right, left
        if not isinstance(right, ast.Constant) or not isinstance(right.value, str):
            return None
        name, argument = self._resolve(left) if isinstance(left, ast.Name) else ("", None)
        if argument is None or argument.kind is not ArgumentKind.TEXT or spelled not in ("==", "!="):
            raise self.source.error("a string literal can only be compared for equality with a string argument", node)
        equal = TextIs(name, right.value)
        return equal if spelled == "==" else Unary("not", equal, Value.TRUTH)

    def _logical(self, node: ast.BoolOp) -> Node:
        operator = "and" if isinstance(node.op, ast.And) else "or"
        result, *others = (self._truth(value) for value in node.values)
        for other in others:
            result = Binary(operator, result, other, Value.TRUTH)
        return result

    def _select(self, node: ast.IfExp, want: Value | None) -> Node:
        condition = self._truth(node.test)
        if_true, if_false = self._check(node.body, want), self._check(node.orelse, want)
        value = want
        if value is None:
            value = Value.TRUTH if if_true.value is if_false.value is Value.TRUTH else Value.NUMBER
        return Select(condition, _converted(if_true, value), _converted(if_false, value), value)

    def _call(self, node: ast.Call) -> Node:
        if not isinstance(node.func, ast.Name):
            raise self.source.error(f"`{self.source.quote(node.func)}` is not a function", node.func)
        name = node.func.id
        if name == "present":
            return self._present(node)
        error = self._error_of_call(name, node.func, node)
        if error is None:
            self._require(f"`{name}`", FUNCTIONS[name].categories, node)
        arguments = tuple(self._number(argument) for argument in node.args if not isinstance(argument, ast.Starred))
        if error is not None:
            raise error
        return Call(name, arguments, FUNCTIONS[name].value)

    def _error_of_call(self, name: str, function: ast.Name, node: ast.Call) -> ExpressionError | None:
        """What is wrong with a call itself, whatever its arguments are."""
        if name not in FUNCTIONS:
            return self.source.unknown(f"unknown function `{name}`", function, [*FUNCTIONS, "present"])
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            return self.source.error(f"`{name}` takes its arguments by position", node)
        arity = FUNCTIONS[name].arity
        if len(node.args) == arity:
            return None
        takes = "1 argument" if arity == 1 else f"{arity} arguments"
        return self.source.error(f"`{name}` takes {takes}, not {len(node.args)}", node)

    def _present(self, node: ast.Call) -> Present:
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Name):
            raise self.source.error("`present` takes the name of an optional argument", node)
        name, argument = self._resolve(node.args[0])
        if not argument.optional:
            raise self.source.error(f"`{name}` is not optional: it is always present", node)
        return Present(name)
