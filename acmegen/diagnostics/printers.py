"""The forms that diagnostics can be printed in, by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acmegen.diagnostics.diagnostic import Diagnostic
from acmegen.diagnostics.github import format_github
from acmegen.diagnostics.json_document import format_json
from acmegen.diagnostics.sarif import format_sarif

TEXT = "text"
DOCUMENTS = ("json", "github", "sarif")
FORMATS = (TEXT, *DOCUMENTS)


def format_document(form: str, diagnostics: Sequence[Diagnostic], base: Path, tool_version: str) -> str:
    """What to print on stdout for programs to read; an empty `diagnostics` is a document too.

    Args:
        form: one of `DOCUMENTS`.
        diagnostics: sorted by place.
        base: the working directory, to which paths are relative.
        tool_version: acmegen's.
    """
    if form == "json":
        return format_json(diagnostics, base, tool_version)
    if form == "sarif":
        return format_sarif(diagnostics, base, tool_version)
    return format_github(diagnostics, base)
