"""Diagnostics: what a user is told about a mistake, where it is and how to put it right."""

from acmegen.diagnostics.codes import CANNOT_RUN, EXPLANATIONS, Explanation
from acmegen.diagnostics.diagnostic import Diagnostic, DiagnosticError, Note, Severity, Span
from acmegen.diagnostics.suggest import did_you_mean, nearest
from acmegen.diagnostics.text import format_text

__all__ = [
    "CANNOT_RUN",
    "EXPLANATIONS",
    "Diagnostic",
    "DiagnosticError",
    "Explanation",
    "Note",
    "Severity",
    "Span",
    "did_you_mean",
    "format_text",
    "nearest",
]
