"""Carry out actions: wherever a run stops, the project is as it was or as it shall be. `journal.py` says how."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path, PurePosixPath

from acmegen.diagnostics import DiagnosticError
from acmegen.output import files
from acmegen.output.compare import Action, ActionKind
from acmegen.output.journal import JOURNAL_FOLDER, Journal, State, Step, left_journal, read_journal
from acmegen.output.lock import LOCK_NAME, digest
from acmegen.output.obstacles import obstacle
from acmegen.output.publish_errors import changed_meanwhile, not_tidied, not_undone, not_written, read_only
from acmegen.output.run_folder import run_folder
from acmegen.output.undo import undo


class Outcome(Enum):
    """What became of an interrupted run."""

    UNDONE = "undone"
    FINISHED = "finished"


@dataclass(frozen=True)
class Recovery:
    """An interrupted run that was put in order.

    Attributes:
        outcome: whether the project is as before that run, or as that run was to leave it.
        saved: files that somebody changed since then, and where the text from before the run is; both relative to the
            project.
    """

    outcome: Outcome
    saved: Mapping[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each of `saved`."""
        return tuple(
            f"`{path}` was changed meanwhile and is kept; what was there before is in `{place}`"
            for path, place in sorted(self.saved.items())
        )


@dataclass(frozen=True)
class _Change:
    """One path: the new text (None to remove the file), and the digest of what is there now."""

    path: str
    data: bytes | None
    old: str | None


def publish(project: Path, actions: Sequence[Action], lock_text: str) -> None:
    """Carry out `actions` in `project`, the lock last; the caller holds the project and has recovered it.

    Files to keep are not touched, so their times stay. A failure or an exception undoes all that was done.

    Raises:
        ValueError: an action is `refuse`, or an interrupted run was not recovered: both are faults of the caller.
        DiagnosticError: the disk is full, a file is read-only or was changed meanwhile, and so on.
    """
    if any(action.kind is ActionKind.REFUSE for action in actions):
        raise ValueError("a refused action cannot be published")
    if left_journal(project):
        raise ValueError("an interrupted run is to be recovered first")
    changes = _changes(project, actions, lock_text)
    if not changes:
        return
    if locked := [change.path for change in changes if _is_read_only(_mode(project, change))]:
        raise read_only(project, locked)
    try:
        journal = _stage(project, changes)
        _carry_out(journal)
        with _changing(project, JOURNAL_FOLDER):
            journal.complete()
    except BaseException as error:
        _give_up(project, error)
        raise
    try:
        journal.remove()
    except OSError as error:
        raise not_tidied(project, error) from error


def recover(project: Path) -> Recovery | None:
    """Undo or finish an interrupted run; None when there is none. The caller holds the project.

    Raises:
        DiagnosticError: the journal cannot be read, or the project cannot be written.
    """
    journal = read_journal(project)
    if journal is None:
        return None
    try:
        is_empty = journal.is_empty()
        saved = undo(journal) if journal.state is State.CHANGING else {}
        journal.remove()
    except OSError as error:
        raise not_undone(project, error) from error
    return None if is_empty else Recovery(Outcome.FINISHED if journal.state is State.DONE else Outcome.UNDONE, saved)


def _give_up(project: Path, error: BaseException) -> None:
    """Undo a run that failed with `error`, and say so if that is for the user."""
    mine = error.diagnostics if isinstance(error, DiagnosticError) else ()
    try:
        recovery = recover(project)
    except DiagnosticError as failure:
        raise DiagnosticError((*mine, *failure.diagnostics)) from error
    if mine:
        notes = (*(recovery.notes if recovery else ()), "nothing else was changed")
        raise DiagnosticError(replace(diagnostic, notes=(*diagnostic.notes, *notes)) for diagnostic in mine) from error


def _changes(project: Path, actions: Iterable[Action], lock_text: str) -> tuple[_Change, ...]:
    """What changes, removals first, since they make room; the lock last."""
    removed, written = [], []
    for action in actions:
        if action.kind is ActionKind.REMOVE:
            removed.append(_Change(action.path, None, _found(project, action)))
        elif action.text is not None:
            written.append(_Change(action.path, action.text.encode(errors="surrogateescape"), _found(project, action)))
    lock = lock_text.encode()
    with _changing(project, LOCK_NAME):
        found = files.fingerprint(project / LOCK_NAME)
    if found != digest(lock):
        written.append(_Change(LOCK_NAME, lock, found))
    return (*removed, *written)


def _found(project: Path, action: Action) -> str | None:
    """The digest of what is to be replaced or removed: what was there when that was decided, if the action says so."""
    if action.kind is ActionKind.CREATE or action.found is not None:
        return action.found
    with _changing(project, action.path):
        return files.fingerprint(project / action.path)


def _mode(project: Path, change: _Change) -> int | None:
    """The permissions of the file that is replaced or removed; None when there is none."""
    if change.old is None:
        return None
    try:
        return stat.S_IMODE((project / change.path).lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_read_only(mode: int | None) -> bool:
    """Whether nobody may write to a file: for the superuser too, that is somebody's decision."""
    return mode is not None and mode & 0o222 == 0


def _stage(project: Path, changes: Sequence[_Change]) -> Journal:
    """Write all that will be needed, and the list: afterwards only names change."""
    steps = [Step(change.path, change.old, None if change.data is None else digest(change.data)) for change in changes]
    journal = Journal(project, tuple(steps), _missing_folders(project, changes))
    with _changing(project, JOURNAL_FOLDER):
        for folder in (run_folder(project).parent, run_folder(project), journal.folder):
            files.make_folder(folder)
    staged = []
    for index, change in enumerate(changes):
        if change.data is not None:
            with _changing(project, change.path):
                files.write(journal.staged(index), change.data, _mode(project, change))
            staged.append(journal.staged(index))
    with _changing(project, JOURNAL_FOLDER):
        files.sync(staged)
        journal.start()
    return journal


def _missing_folders(project: Path, changes: Iterable[_Change]) -> tuple[str, ...]:
    """The folders that have to be made, outermost first."""
    parents = {folder for change in changes if change.data is not None for folder in PurePosixPath(change.path).parents}
    missing = sorted(folder.as_posix() for folder in parents if not (project / folder).is_dir())
    return tuple(folder for folder in missing if folder != ".")


def _carry_out(journal: Journal) -> None:
    """Take all steps, and make sure that nobody else changed a file meanwhile."""
    project = journal.project
    for index, step in enumerate(journal.steps):
        if step.new is None:
            with _changing(project, step.path):
                _check(journal, step)
                files.replace(project / step.path, journal.backup(index))
    _remove_emptied(journal)
    for folder in journal.folders:
        with _changing(project, folder):
            files.make_folder(project / folder)
    for index, step in enumerate(journal.steps):
        if step.new is not None:
            with _changing(project, step.path):
                _check(journal, step)
                if step.old is not None:
                    files.back_up(project / step.path, journal.backup(index))
                files.replace(journal.staged(index), project / step.path)
    for index, step in enumerate(journal.steps):
        # Whoever had opened the file before could still write to it; that would be in the backup now.
        with _changing(project, step.path):
            if step.old is not None and files.fingerprint(journal.backup(index)) != step.old:
                raise changed_meanwhile(project, step.path)
    folders = {project / folder for step in journal.steps for folder in PurePosixPath(step.path).parents}
    with _changing(project, "."):
        files.sync(sorted(folder for folder in folders if folder.is_dir()))


def _check(journal: Journal, step: Step) -> None:
    """Raise a DiagnosticError if a file is not any more what it was when the actions were decided on."""
    if obstacle(journal.project, step.path) or files.fingerprint(journal.project / step.path) != step.old:
        raise changed_meanwhile(journal.project, step.path)


def _remove_emptied(journal: Journal) -> None:
    """Remove the folders that the removed files leave empty, except where new files come."""
    written = [step.path for step in journal.steps if step.new is not None]
    needed = {folder for path in written for folder in PurePosixPath(path).parents} | {PurePosixPath()}
    for step in journal.steps:
        for folder in PurePosixPath(step.path).parents if step.new is None else ():
            if folder in needed:
                break
            with _changing(journal.project, step.path):
                if not files.remove_folder(journal.project / folder):
                    break


@contextmanager
def _changing(project: Path, path: str) -> Iterator[None]:
    """Tell errors of the operating system inside in terms of `path`, relative to `project`."""
    try:
        yield
    except OSError as error:
        raise not_written(project, path, error) from error
