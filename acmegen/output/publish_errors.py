"""What a user is told when a project cannot be changed."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes, command_for, shown_folder
from acmegen.output.unreadable import system_reason

_WAYS_ON = {
    errno.ENOSPC: "make room on the disk and run the command again",
    errno.EDQUOT: "make room in your quota and run the command again",
    errno.EROFS: "run the command where the project can be written",
    errno.EACCES: "allow yourself to write there and run the command again",
    errno.EPERM: "allow yourself to write there and run the command again",
}


def not_written(project: Path, path: str, error: OSError) -> DiagnosticError:
    """The operating system refused to change `path`, relative to `project`."""
    help_text = _WAYS_ON.get(error.errno or 0, "see to that and run the command again")
    if error.errno == errno.EXDEV:
        help_text = f"acmegen moves files into `{PurePosixPath(path).parent}`, so let it be no mount point"
    message = f"cannot change `{project / path}`: {system_reason(error)}"
    return DiagnosticError([Diagnostic(codes.NOT_WRITTEN, message, Span.of_file(project / path), help=help_text)])


def changed_meanwhile(project: Path, path: str) -> DiagnosticError:
    """Somebody else changed `path` while acmegen was running."""
    message = f"`{project / path}` was changed by something else while acmegen was running"
    place = Span.of_file(project / path)
    return DiagnosticError([Diagnostic(codes.CHANGED_MEANWHILE, message, place, help="run the command again")])


def read_only(project: Path, paths: Iterable[str]) -> DiagnosticError:
    """Files that have to change are read-only."""
    return DiagnosticError(
        Diagnostic(
            codes.READ_ONLY_FILE,
            f"`{project / path}` has to change and is read-only",
            Span.of_file(project / path),
            help=f"`chmod u+w {shlex.quote(str(project / path))}`, and run the command again",
        )
        for path in paths
    )


def not_tidied(project: Path, error: OSError) -> DiagnosticError:
    """All is done, but the journal could not be removed."""
    reason = system_reason(error)
    return _left(
        project, f"`{shown_folder(project)}` is up to date, but the journal of this run cannot be removed: {reason}"
    )


def not_undone(project: Path, error: OSError) -> DiagnosticError:
    """What an interrupted or failed run did could not be undone."""
    return _left(
        project, f"a run that did not finish left `{shown_folder(project)}` half changed: {system_reason(error)}"
    )


def _left(project: Path, message: str) -> DiagnosticError:
    help_text = f"see to that and run `{command_for('acmegen doctor', project)}`, which puts it in order"
    return DiagnosticError([Diagnostic(codes.JOURNAL_LEFT, message, help=help_text)])
