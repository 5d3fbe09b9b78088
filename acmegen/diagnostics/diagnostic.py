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
    """A piece of a text file. Lines and columns count from 1, columns in characters; the end column is exclusive.

    An empty one at the start of a file stands for the file as a whole.
    """

    path: Path
    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def of_file(cls, path: Path) -> Span:
        """The file as a whole."""
        return cls(path, 1, 1, 1, 1)

    @property
    def is_file(self) -> bool:
        """Whether it is the file as a whole."""
        return (self.line, self.column, self.end_line, self.end_column) == (1, 1, 1, 1)

    def __str__(self) -> str:
        return self.path.as_posix() if self.is_file else f"{self.path.as_posix()}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Note:
    """Another place that matters, with the few words that say why."""

    span: Span
    message: str


@dataclass(frozen=True)
class Edit:
    """A suggested change of a manifest's text: what stands at `span` becomes `replacement`, letter by letter."""

    span: Span
    replacement: str


@dataclass(frozen=True)
class Diagnostic:
    """One mistake.

    Attributes:
        code: `ACMEnnn`, one of `CODES`.
        message: what is wrong, in one line, without a full stop.
        span: where; None when no file is to blame.
        severity: error or warning.
        label: a few words beside the carets, such as "did you mean `dtypes`?".
        secondary: other places that matter, such as the first of two duplicates.
        notes: more facts, one line each.
        help: how to put it right; None points to the code's explanation.
        edits: the changes that put it right, all of them together, where there is one sure way, which
            `check --fix` then goes.
    """

    code: str
    message: str
    span: Span | None = None
    severity: Severity = field(default=Severity.ERROR, kw_only=True)
    label: str = field(default="", kw_only=True)
    secondary: tuple[Note, ...] = field(default=(), kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    help: str | None = field(default=None, kw_only=True)
    edits: tuple[Edit, ...] = field(default=(), kw_only=True)

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
