"""Undo a run from its journal: each step is looked at by itself, so it does not matter where the run stopped.

What somebody did to a file since then is kept. Undoing may itself be interrupted at any point, and done again.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from acmegen.output import files
from acmegen.output.journal import Journal
from acmegen.output.obstacles import obstacle
from acmegen.output.run_folder import RUN_FOLDER

SAVED_FOLDER = f"{RUN_FOLDER}/saved"


def undo(journal: Journal) -> dict[str, str]:
    """Bring back what was there before the run.

    A file that is neither as it was before the run nor as the run left it is somebody else's work, and stays.

    Returns:
        for such files, by their path, where the text that was there before the run is now; relative to the project.
    """
    saved = {}
    written = [index for index, step in enumerate(journal.steps) if step.new is not None]
    removed = [index for index, step in enumerate(journal.steps) if step.new is None]
    for index in reversed(written):
        if place := _undo_step(journal, index):
            saved[journal.steps[index].path] = place
    files.remove_folders(journal.project / folder for folder in journal.folders)
    for index in removed:
        if place := _undo_step(journal, index):
            saved[journal.steps[index].path] = place
    return saved


def _undo_step(journal: Journal, index: int) -> str | None:
    """Undo one step; where the text from before it was saved, if it could not be brought back."""
    step, backup = journal.steps[index], journal.backup(index)
    target = journal.project / step.path
    found, kept = files.fingerprint(target), files.fingerprint(backup)
    if found == step.old:
        return None
    if step.old is None:
        if found == step.new:
            files.unlink(target)
        return None
    if kept is None:  # the step was never taken
        return None
    if found in (step.new, None) and not obstacle(journal.project, step.path):
        files.make_folders(target.parent)
        files.replace(backup, target)
        return None
    return _save(journal, index) if kept != found else None


def _save(journal: Journal, index: int) -> str:
    """Move the backup of a step to a place of its own."""
    path = PurePosixPath(SAVED_FOLDER) / journal.steps[index].path
    count = 1
    while (journal.project / path).exists():
        count += 1
        path = path.with_name(f"{PurePosixPath(journal.steps[index].path).name}.{count}")
    files.make_folders((journal.project / path).parent)
    files.replace(journal.backup(index), journal.project / path)
    return path.as_posix()
