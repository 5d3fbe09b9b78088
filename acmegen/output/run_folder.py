"""`.acmegen/run` in a project: what lies there only while a run changes it, and is never committed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes
from acmegen.output import files
from acmegen.output.unreadable import unreadable

RUN_FOLDER = ".acmegen/run"


def run_folder(project: Path) -> Path:
    """The folder `.acmegen/run` of `project`, whether it exists or not.

    Raises:
        DiagnosticError: a link or a file is in its place, in that of `.acmegen`, or in that of the journal below it; or
            one of these may not be entered.
    """
    folder = project / RUN_FOLDER
    for path in (folder.parent, folder, folder / "journal"):
        try:
            path.lstat()
        except PermissionError as error:
            raise unreadable(codes.FILE_REFUSED, path.parent, error, "") from None
        except OSError:
            continue
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise DiagnosticError(
                [
                    Diagnostic(
                        codes.RUN_FOLDER_BLOCKED,
                        f"`{path}` is not a folder, and acmegen keeps its journal there",
                        Span.of_file(path),
                        help="move it away and run the command again",
                    )
                ]
            )
    return folder


def remove_run_folder(project: Path) -> None:
    """Remove `.acmegen/run` and `.acmegen`, if they are empty."""
    folder = run_folder(project)
    # Who may not remove a folder from the project did not make it. Linux says so even of a folder that is not empty.
    with suppress(PermissionError):
        files.remove_folders((folder.parent, folder))
