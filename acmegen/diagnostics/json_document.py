"""The `json` form of diagnostics: one document for other programs. Its schema is `DIAGNOSTICS_SCHEMA`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acmegen.diagnostics.diagnostic import Diagnostic, Severity, Span
from acmegen.diagnostics.explanation import explanation
from acmegen.diagnostics.places import shown_path

VERSION = 1
"""Raised when a field goes away or changes its meaning; readers have to accept new fields."""


def format_json(diagnostics: Sequence[Diagnostic], base: Path, tool_version: str) -> str:
    """The document, in ASCII so that it is valid whatever the encoding of the output, with a final newline."""
    document = {
        "version": VERSION,
        "acmegen": tool_version,
        "errors": sum(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics),
        "warnings": sum(diagnostic.severity is Severity.WARNING for diagnostic in diagnostics),
        "diagnostics": [_diagnostic(diagnostic, base) for diagnostic in diagnostics],
    }
    return json.dumps(document, indent=2) + "\n"


def diagnostics_schema() -> str:
    """The text of the JSON Schema, with a final newline."""
    return json.dumps(DIAGNOSTICS_SCHEMA, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic, base: Path) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "title": explanation(diagnostic.code).title,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "label": diagnostic.label or None,
        "span": _span(diagnostic.span, base) if diagnostic.span else None,
        "secondary": [{"message": note.message, "span": _span(note.span, base)} for note in diagnostic.secondary],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
        "edits": [{"span": _span(edit.span, base), "replacement": edit.replacement} for edit in diagnostic.edits],
    }


def _span(span: Span, base: Path) -> dict[str, Any]:
    return {
        "file": shown_path(span.path, base),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def _object(description: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "required": list(properties),
        "properties": properties,
    }


def _described(description: str, **schema: Any) -> dict[str, Any]:
    return {**schema, "description": description}


_POSITION = {"type": "integer", "minimum": 1}
_COUNT = {"type": "integer", "minimum": 0}
_SPAN = {"$ref": "#/$defs/span"}

DIAGNOSTICS_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "What `acmegen --format json` prints",
    **_object(
        "All that is wrong. Later versions may add fields; `version` is raised when one changes or goes away.",
        version=_described("The version of this form.", const=VERSION),
        acmegen=_described("The version of acmegen.", type="string"),
        errors=_described("How many of the diagnostics are errors.", **_COUNT),
        warnings=_described("How many of the diagnostics are warnings.", **_COUNT),
        diagnostics=_described("Sorted by place.", type="array", items={"$ref": "#/$defs/diagnostic"}),
    ),
    "$defs": {
        "diagnostic": _object(
            "One mistake.",
            code=_described("`acmegen explain CODE` says what it means.", type="string", pattern="^ACME[0-9]{3}$"),
            title=_described("What the code stands for.", type="string"),
            severity={"enum": [severity.value for severity in Severity]},
            message=_described("What is wrong.", type="string"),
            label=_described("A few words on the place.", type=["string", "null"]),
            span={"anyOf": [_SPAN, {"type": "null"}], "description": "Where; null when no file is to blame."},
            secondary=_described("Other places that matter.", type="array", items={"$ref": "#/$defs/note"}),
            notes=_described("More facts.", type="array", items={"type": "string"}),
            help=_described("How to put it right.", type=["string", "null"]),
            edits=_described(
                "The changes that put it right, all of them together; empty where there is not one sure way.",
                type="array",
                items={"$ref": "#/$defs/edit"},
            ),
        ),
        "note": _object("Another place.", message={"type": "string"}, span=_SPAN),
        "edit": _object(
            "A change of a file's text.",
            span=_SPAN,
            replacement=_described("What to write there instead, letter by letter.", type="string"),
        ),
        "span": _object(
            "A piece of a file. An empty one at its start stands for the file as a whole.",
            file=_described(
                "Relative to the working directory, with forward slashes; absolute if not below it.", type="string"
            ),
            line=_described("Counts from 1.", **_POSITION),
            column=_described("In characters (Unicode code points), counts from 1.", **_POSITION),
            end_line=_described("The line of the end.", **_POSITION),
            end_column=_described("The column behind the last character.", **_POSITION),
        ),
    },
}
