"""The `github` form of diagnostics: workflow commands, which GitHub Actions shows on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acmegen.diagnostics.diagnostic import Diagnostic
from acmegen.diagnostics.explanation import explanation
from acmegen.diagnostics.places import shown_path, shown_place


def format_github(diagnostics: Sequence[Diagnostic], base: Path) -> str:
    """One command a line, with a final newline; empty when nothing is wrong.

    An annotation has one place, so other places stand in its text.
    """
    return "".join(f"{_command(diagnostic, base)}\n" for diagnostic in diagnostics)


def _command(diagnostic: Diagnostic, base: Path) -> str:
    properties: dict[str, str | int] = {}
    if (span := diagnostic.span) is not None:
        properties |= {"file": shown_path(span.path, base), "line": span.line}
        if not span.is_file:
            properties["endLine"] = span.end_line
            if span.line == span.end_line:  # GitHub ignores the columns of longer ones
                properties |= {"col": span.column, "endColumn": max(span.column, span.end_column - 1)}
    properties["title"] = f"{diagnostic.code}: {explanation(diagnostic.code).title}"
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{diagnostic.severity.value} {listed}::{_data(_message(diagnostic, base))}"


def _message(diagnostic: Diagnostic, base: Path) -> str:
    lines = [f"{diagnostic.message}; {diagnostic.label}" if diagnostic.label else diagnostic.message]
    lines += [f"{shown_place(note.span, base)}: {note.message}" for note in diagnostic.secondary]
    lines += [f"note: {note}" for note in diagnostic.notes]
    lines.append(f"help: {diagnostic.help or f'`acmegen explain {diagnostic.code}`'}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
