"""Why a file of acmegen's cannot be read, and where in it: it is damaged, or something else wrote it."""

from __future__ import annotations

import os
from json import JSONDecodeError
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes


def unreadable(code: str, path: Path, error: Exception, help_text: str, what: str = "") -> DiagnosticError:
    """The error that `path` cannot be read.

    Args:
        code: of the diagnostic, unless the operating system permits nothing.
        path: the file.
        error: what reading it raised. The text of a plain ValueError is what is wrong; other errors that are none of
            JSON, of an encoding or of the operating system come from contents of an unexpected form.
        help_text: the way out.
        what: what the file is, where its path does not tell.
    """
    span = Span.of_file(path)
    if isinstance(error, JSONDecodeError):
        span = Span(path, error.lineno, error.colno, error.lineno, error.colno + 1)
        reason = f"it is no JSON: {lower_first(error.msg)}"
    elif isinstance(error, UnicodeDecodeError):
        reason = "it is not UTF-8 text"
    elif isinstance(error, ValueError):
        reason = lower_first(str(error))
    elif isinstance(error, OSError):
        reason = system_reason(error)
    else:
        reason = "it does not have the form that acmegen writes"
    if isinstance(error, PermissionError):
        code, help_text = codes.FILE_REFUSED, "allow yourself to read it and run the command again"
    message = f"cannot read {what or f'`{path}`'}: {reason}"
    return DiagnosticError([Diagnostic(code, message, span, help=help_text)])


def system_reason(error: OSError) -> str:
    """The words of the operating system."""
    return lower_first(error.strerror or (os.strerror(error.errno) if error.errno else str(error)))


def lower_first(text: str) -> str:
    """`text` as it stands behind a colon."""
    return text[:1].lower() + text[1:]
