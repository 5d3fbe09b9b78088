"""The text of an expression, and errors that know their place in it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from acmegen.diagnostics import did_you_mean
from acmegen.plan.text_error import TextError

MAX_LENGTH = 4000

_BEFORE_COMMENT = re.compile(r"""([^#'"]|'([^'\\]|\\.)*'|"([^"\\]|\\.)*")*#""")

COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
"""The comparisons of both languages, as Python and C++ write them."""


class ExpressionError(TextError):
    """A mistake in an expression."""


@dataclass(frozen=True)
class Source:
    """The text, and where the nodes of Python's parser stand in it."""

    text: str
    skipped: int

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Offset and length of `node` in characters. Python counts in bytes of UTF-8."""
        encoded = self.text.encode()
        start = len(encoded[: node.col_offset].decode(errors="ignore"))
        end = len(encoded[: node.end_col_offset or node.col_offset].decode(errors="ignore"))
        return self.skipped + start, end - start

    def error(self, message: str, node: ast.expr, help: str | None = None) -> ExpressionError:
        """An error that marks `node`."""
        offset, length = self.span(node)
        return ExpressionError(message, offset, length, help)

    def unknown(self, message: str, node: ast.Name, known: Collection[str], help: str | None = None) -> ExpressionError:
        """An error that marks a name that is none of `known`; `help` is for when it resembles none of them."""
        offset, length = self.span(node)
        near = did_you_mean(node.id, known)
        return ExpressionError(message, offset, length, None if near else help, wrong=node.id, known=known)

    def unknown_attribute(self, message: str, node: ast.Attribute, known: Collection[str]) -> ExpressionError:
        """An error that marks what stands behind the dot, which is none of `known`."""
        offset, length = self.span(node)
        name = node.attr
        return ExpressionError(message, offset + length - len(name), len(name), wrong=name, known=known)

    def quote(self, node: ast.expr) -> str:
        """The text of `node`."""
        offset, length = self.span(node)
        return self.text[offset - self.skipped :][:length]


def _comment(text: str) -> int:
    """Where the text behind a `#` that is not in quotes starts; 0 without one. It would hide all that follows."""
    match = _BEFORE_COMMENT.match(text)
    return match.end() if match else 0


def parse_expression(text: str) -> tuple[Source, ast.expr]:
    """Parse `text`; line breaks and tabs count as spaces.

    Raises:
        ExpressionError: Python would not parse it.
    """
    flat = text.replace("\r", " ").replace("\n", " ").replace("\t", " ")
    stripped = flat.lstrip()
    source = Source(stripped.rstrip(), len(flat) - len(stripped))
    if not source.text:
        raise ExpressionError("the expression is empty", 0, len(text))
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"the expression is longer than {MAX_LENGTH} characters", MAX_LENGTH, len(text) - MAX_LENGTH
        )
    if comment := _comment(source.text):
        place = source.skipped + comment - 1
        raise ExpressionError("an expression has no comments; write them as comments of YAML", place, len(source.text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return source, ast.parse(source.text, mode="eval").body
    except SyntaxError as error:
        offset = min(max((error.offset or 1) - 1, 0), len(source.text) - 1)
        raise ExpressionError(f"not an expression: {error.msg}", source.skipped + offset, 1) from None
    except ValueError as error:
        raise ExpressionError(f"not an expression: {error}", 0, len(text)) from None
    except (MemoryError, RecursionError):
        raise ExpressionError("the expression is nested too deeply", 0, len(text)) from None
