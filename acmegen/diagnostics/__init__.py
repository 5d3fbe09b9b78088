"""Diagnostics: what a user is told about a mistake, where it is and how to put it right."""

from acmegen.diagnostics.codes import CANNOT_RUN, Explanation
from acmegen.diagnostics.codes import EXPLANATIONS as _EXPLANATIONS
from acmegen.diagnostics.diagnostic import Diagnostic, DiagnosticError, Note, Severity, Span
from acmegen.diagnostics.output_explanations import OUTPUT_EXPLANATIONS
from acmegen.diagnostics.suggest import did_you_mean, nearest
from acmegen.diagnostics.text import format_text

EXPLANATIONS = {**_EXPLANATIONS, **OUTPUT_EXPLANATIONS}

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
