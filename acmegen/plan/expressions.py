"""The language of `expr` entries: scalar expressions that are parsed and checked here, and printed by a dialect.

An expression is written in Python's syntax. It knows names (the operator's arguments), numbers, `True`, `False`, `pi`,
`e`, `inf`, `nan`, the operators `+ - * / // % & | ^ ~ << >>`, comparisons, `and`, `or`, `not`, `x if c else y`, the
functions of `expression_functions`, `present(argument)` for an optional argument, and comparisons of a string argument
with a literal. Everything else is an error with the place where it stands.

All numbers have one type, the one that the operator computes in; which dtypes that can be is known when the expression
is checked, so `sqrt` over integers or `2.5` over `int64` is found out when generating.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acmegen.plan.expression_checker import CATEGORIES, ArgumentKind, Checker, ExpressionArgument
from acmegen.plan.expression_nodes import Node, Operand, Present, TextIs, Value, walk
from acmegen.plan.expression_source import ExpressionError, Source, parse_expression

__all__ = ["CATEGORIES", "ArgumentKind", "Expression", "ExpressionArgument", "ExpressionError", "check_expression"]


@dataclass(frozen=True)
class Expression:
    """A checked expression.

    Attributes:
        text: as written, with line breaks as spaces.
        root: its tree.
        tensors: the tensor arguments it uses, in the order of the operator's arguments.
        truth_tensors: those of them that serve as truth values only, and so are read as `bool` whatever their dtype.
        scalars: the number and truth value arguments it uses, in that order.
        conditions: what is decided once per launch, in the order of first use.
    """

    text: str
    root: Node
    tensors: tuple[str, ...]
    truth_tensors: frozenset[str]
    scalars: tuple[str, ...]
    conditions: tuple[Present | TextIs, ...]


def check_expression(
    text: str,
    arguments: Mapping[str, ExpressionArgument],
    dtypes: Sequence[str],
    aliases: Mapping[str, str] | None = None,
) -> Expression:
    """Parse and check `text`.

    Args:
        text: the expression.
        arguments: the operator's arguments by name, in its order.
        dtypes: torch's names of the dtypes that it must be able to compute in.
        aliases: other names for arguments; an argument's own name wins.

    Raises:
        ExpressionError: the text is not an expression, uses what it may not use, or uses no tensor.
    """
    source, tree = parse_expression(text)
    try:
        return _check(source, tree, arguments, dtypes, aliases or {})
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply", 0, len(text)) from None


def _check(
    source: Source,
    tree: ast.expr,
    arguments: Mapping[str, ExpressionArgument],
    dtypes: Sequence[str],
    aliases: Mapping[str, str],
) -> Expression:
    aliases = {alias: name for alias, name in aliases.items() if alias not in arguments}
    first = Checker(source, arguments, aliases, dtypes, frozenset())
    first.check(tree, None)
    if first.errors:
        error, *further = sorted(first.errors.values(), key=lambda error: error.offset)
        error.further = tuple(further)
        raise error
    truth = frozenset(name for name, wanted in first.wanted.items() if wanted == {Value.TRUTH})
    if not first.wanted:
        raise source.error("the expression uses no tensor argument", tree)
    root = Checker(source, arguments, aliases, dtypes, truth).check(tree, None)
    nodes = dict.fromkeys(walk(root))
    names = {node.name for node in nodes if isinstance(node, Operand)}
    return Expression(
        text=source.text,
        root=root,
        tensors=tuple(name for name in arguments if name in first.wanted),
        truth_tensors=truth,
        scalars=tuple(name for name in arguments if name in names and name not in first.wanted),
        conditions=tuple(node for node in nodes if isinstance(node, Present | TextIs)),
    )
