"""Diagnostics: what a user is told about a mistake, where it is and how to put it right."""

from acmegen.diagnostics.codes import CANNOT_RUN, CODES
from acmegen.diagnostics.diagnostic import Diagnostic, DiagnosticError, Edit, Note, Severity, Span
from acmegen.diagnostics.edits import apply_edits, compatible_edits, text_at
from acmegen.diagnostics.explanation import Explanation, explanation
from acmegen.diagnostics.json_document import diagnostics_schema
from acmegen.diagnostics.places import command_for, shown_folder, shown_path, shown_place
from acmegen.diagnostics.printers import DOCUMENTS, FORMATS, TEXT, format_document
from acmegen.diagnostics.suggest import did_you_mean, nearest, quote, sure_fix
from acmegen.diagnostics.text import format_text, format_texts

__all__ = [
    "CANNOT_RUN",
    "CODES",
    "DOCUMENTS",
    "FORMATS",
    "TEXT",
    "Diagnostic",
    "DiagnosticError",
    "Edit",
    "Explanation",
    "Note",
    "Severity",
    "Span",
    "apply_edits",
    "command_for",
    "compatible_edits",
    "diagnostics_schema",
    "did_you_mean",
    "explanation",
    "format_document",
    "format_text",
    "format_texts",
    "nearest",
    "quote",
    "shown_folder",
    "shown_path",
    "shown_place",
    "sure_fix",
    "text_at",
]
