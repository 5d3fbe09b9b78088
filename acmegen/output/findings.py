"""What `check` finds in a project, as diagnostics: one for each file that differs from what the manifests give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from acmegen.diagnostics import Diagnostic, Span, codes
from acmegen.output.compare import Action, ActionKind
from acmegen.output.lock import LOCK_NAME

_REGEN = "`acmegen regen` brings the project up to date"
_FINDINGS: dict[ActionKind, tuple[str, str, str]] = {
    ActionKind.CREATE: (codes.FILE_MISSING, "is missing", _REGEN),
    ActionKind.REPLACE: (codes.FILE_STALE, "is not up to date", _REGEN),
    ActionKind.REMOVE: (codes.FILE_LEFT_OVER, "is left over", "`acmegen regen` removes it"),
    ActionKind.REFUSE: (
        codes.FILE_NOT_OURS,
        "cannot be written",
        "undo the edits, or `acmegen regen --force` overwrites them; bodies of your own belong in csrc/kernels/",
    ),
}


def findings(actions: Iterable[Action], project: Path) -> Iterator[Diagnostic]:
    """A diagnostic for each action that changes something, at its file."""
    for action in actions:
        if action.changes:
            code, what, remedy = _FINDINGS[action.kind]
            message = f"`{action.path}` {what}" + (f": {action.reason}" if action.reason else "")
            yield Diagnostic(code, message, Span.of_file(project / action.path), help=remedy)


def stale_lock(project: Path) -> Diagnostic:
    """The lock is missing, or differs from what it should be."""
    message = f"`{LOCK_NAME}` is not up to date"
    return Diagnostic(codes.LOCK_STALE, message, Span.of_file(project / LOCK_NAME), help="`acmegen regen` writes it")
