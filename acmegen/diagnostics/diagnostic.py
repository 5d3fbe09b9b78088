"""What a diagnostic is. Printing is elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Severity(str, Enum):
    """How bad it is: an error stops the command, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Span:
    """A piece of a text file. Lines and columns count from 1, columns in characters; the end column is exclusive."""

    path: Path
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.path.as_posix()}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Note:
    """Another place that matters, with the few words that say why."""

    span: Span
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """One mistake.

    Attributes:
        code: `ACMEnnn`, a key of `EXPLANATIONS`.
        message: what is wrong, in one line, without a full stop.
        span: where; None when no file is to blame.
        severity: error or warning.
        label: a few words beside the carets, such as "did you mean `dtypes`?".
        secondary: other places that matter, such as the first of two duplicates.
        notes: more facts, one line each.
        help: how to put it right; None points to the code's explanation.
    """

    code: str
    message: str
    span: Span | None = None
    severity: Severity = field(default=Severity.ERROR, kw_only=True)
    label: str = field(default="", kw_only=True)
    secondary: tuple[Note, ...] = field(default=(), kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    help: str | None = field(default=None, kw_only=True)

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        return f"{place}{self.severity.value}[{self.code}]: {self.message}"

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The order in which diagnostics are shown: by file, then by place."""
        if self.span is None:
            return ("", 0, 0, self.code, self.message)
        return (self.span.path.as_posix(), self.span.line, self.span.column, self.code, self.message)


class DiagnosticError(Exception):
    """The command cannot go on; `diagnostics` holds every reason, sorted by place, each once."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(
            sorted(dict.fromkeys(diagnostics), key=lambda diagnostic: diagnostic.sort_key)
        )
        super().__init__("\n".join(map(str, self.diagnostics)))
