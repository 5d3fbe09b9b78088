"""Helpers of the manifest tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span

BACKEND = "manifest: backend/v1\nname: nova\n"


def write_manifests(folder: Path, **files: str) -> Path:
    """Write manifests into `folder`: the keywords are file names without `.yaml`, with `__` for a slash."""
    for name, text in {"backend": BACKEND, **files}.items():
        path = folder / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def diagnostics_of(call: Callable[[], object]) -> tuple[Diagnostic, ...]:
    """The diagnostics that `call` raises."""
    with pytest.raises(DiagnosticError) as raised:
        call()
    return raised.value.diagnostics


def covered(span: Span | None, text: str) -> str:
    """The part of `text` that `span` covers, up to the end of its first line."""
    assert span is not None
    line = text.splitlines()[span.line - 1]
    return line[span.column - 1 : span.end_column - 1 if span.end_line == span.line else None]
