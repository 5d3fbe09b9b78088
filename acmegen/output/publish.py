"""Write the actions to disk: the only module that changes a project."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from acmegen.output.compare import Action, ActionKind
from acmegen.output.lock import LOCK_NAME


def publish(project: Path, actions: Sequence[Action], lock_text: str) -> None:
    """Carry out `actions` in `project`, the lock last.

    All texts are first written to a staging folder on the same file system, and all folders made, so that a full disk
    or a folder that cannot be written to changes nothing; then each file is moved into place atomically. Files to keep
    are not touched, so their times stay.

    Raises:
        ValueError: an action is `refuse`; the caller reports those and does not publish.
        OSError: the disk is full, or a folder cannot be written.
    """
    if any(action.kind is ActionKind.REFUSE for action in actions):
        raise ValueError("a refused action cannot be published")
    texts = {action.path: action.text for action in actions if action.text is not None}
    lock = project / LOCK_NAME
    if not lock.is_file() or lock.read_text(encoding="utf-8") != lock_text:
        texts[LOCK_NAME] = lock_text
    removed = [action.path for action in actions if action.kind is ActionKind.REMOVE]
    if not texts and not removed:
        return
    made: list[Path] = []
    try:
        _make_folder(project, made)
        staging = Path(tempfile.mkdtemp(prefix=".acmegen-", dir=project))
        try:
            staged = {path: staging / str(index) for index, path in enumerate(texts)}
            for path, text in texts.items():
                staged[path].write_text(text, encoding="utf-8", newline="\n")
                _make_folder((project / path).parent, made)
            for folder in {(project / path).parent for path in (*texts, *removed)}:
                if not os.access(folder, os.W_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
            for path, source in staged.items():
                if path != LOCK_NAME:
                    source.replace(project / path)
            for path in removed:
                _remove(project, path)
            if LOCK_NAME in staged:
                staged[LOCK_NAME].replace(lock)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    except BaseException:
        for folder in reversed(made):
            with suppress(OSError):  # it is not empty
                folder.rmdir()
        raise


def _make_folder(folder: Path, made: list[Path]) -> None:
    """Make `folder` and what is missing above it; note in `made` what was, outermost first."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        made.append(parent)


def _remove(project: Path, path: str) -> None:
    """Remove a file and the folders that it leaves empty."""
    target = project / path
    target.unlink()
    for folder in target.parents:
        if folder == project or any(folder.iterdir()):
            return
        folder.rmdir()
