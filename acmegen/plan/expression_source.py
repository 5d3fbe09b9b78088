"""The text of an expression, and errors that know their place in it."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

MAX_LENGTH = 4000


class ExpressionError(Exception):
    """A mistake in an expression.

    Attributes:
        message: what is wrong, one line.
        offset: where it starts, in characters of the expression's text.
        length: how many characters it spans, at least 1.
        help: what to do about it, or None.
    """

    def __init__(self, message: str, offset: int, length: int, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.length = max(length, 1)
        self.help = help


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

    def quote(self, node: ast.expr) -> str:
        """The text of `node`."""
        offset, length = self.span(node)
        return self.text[offset - self.skipped :][:length]


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
