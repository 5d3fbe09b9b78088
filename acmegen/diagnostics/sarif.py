"""The `sarif` form of diagnostics: SARIF 2.1.0, the format of code scanning services."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from acmegen.diagnostics.diagnostic import Diagnostic, Edit, Span
from acmegen.diagnostics.explanation import explanation
from acmegen.diagnostics.places import shown_path

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def format_sarif(diagnostics: Sequence[Diagnostic], base: Path, tool_version: str) -> str:
    """The log file, in ASCII, with a final newline. Paths are relative to the working directory, `%SRCROOT%`."""
    codes = sorted({diagnostic.code for diagnostic in diagnostics})
    driver = {"name": "acmegen", "version": tool_version, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(diagnostic, codes.index(diagnostic.code), base) for diagnostic in diagnostics],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    explained = explanation(code)
    return {
        "id": code,
        "shortDescription": {"text": explained.title},
        "fullDescription": {"text": explained.text},
        "help": {"text": explained.text, "markdown": explained.markdown},
        "defaultConfiguration": {"level": "error"},
    }


def _result(diagnostic: Diagnostic, rule: int, base: Path) -> dict[str, Any]:
    lines = [f"{diagnostic.message}; {diagnostic.label}" if diagnostic.label else diagnostic.message]
    lines += [f"note: {note}" for note in diagnostic.notes]
    lines += [f"help: {diagnostic.help}"] if diagnostic.help else []
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": "\n".join(lines)},
    }
    if diagnostic.span is not None:
        result["locations"] = [{"physicalLocation": _location(diagnostic.span, base)}]
    if diagnostic.secondary:
        result["relatedLocations"] = [
            {"id": index, "message": {"text": note.message}, "physicalLocation": _location(note.span, base)}
            for index, note in enumerate(diagnostic.secondary)
        ]
    if diagnostic.edits:
        result["fixes"] = [{"artifactChanges": _changes(diagnostic.edits, base)}]
    return result


def _changes(edits: Sequence[Edit], base: Path) -> list[dict[str, Any]]:
    return [
        {
            "artifactLocation": _artifact(path, base),
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.replacement}}
                for edit in edits
                if edit.span.path == path
            ],
        }
        for path in dict.fromkeys(edit.span.path for edit in edits)
    ]


def _location(span: Span, base: Path) -> dict[str, Any]:
    location = {"artifactLocation": _artifact(span.path, base)}
    return location if span.is_file else {**location, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _artifact(path: Path, base: Path) -> dict[str, str]:
    shown = Path(shown_path(path, base))
    if shown.is_absolute():
        return {"uri": shown.as_uri()}
    return {"uri": quote(os.fsencode(shown.as_posix())), "uriBaseId": "%SRCROOT%"}
