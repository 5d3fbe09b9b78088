"""Write the actions to disk: the only module that changes a project."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from acmegen.output.compare import Action, ActionKind
from acmegen.output.lock import LOCK_NAME


def publish(project: Path, actions: Sequence[Action], lock_text: str) -> None:
    """Carry out `actions` in `project`, the lock last.

    All texts are first written to a staging folder on the same file system, so that a full disk or a failing encoder
    changes nothing; then each file is moved into place atomically. Files to keep are not touched, so their times stay.

    Raises:
        ValueError: an action is `refuse`; the caller reports those and does not publish.
        OSError: the disk is full, or a folder cannot be written.
    """
    if any(action.kind is ActionKind.REFUSE for action in actions):
        raise ValueError("a refused action cannot be published")
    project.mkdir(parents=True, exist_ok=True)
    texts = {action.path: action.text for action in actions if action.text is not None}
    lock = project / LOCK_NAME
    if not lock.is_file() or lock.read_text(encoding="utf-8") != lock_text:
        texts[LOCK_NAME] = lock_text
    if not texts and not any(action.kind is ActionKind.REMOVE for action in actions):
        return
    staging = Path(tempfile.mkdtemp(prefix=".acmegen-", dir=project))
    try:
        staged = {}
        for index, (path, text) in enumerate(texts.items()):
            staged[path] = staging / str(index)
            staged[path].write_text(text, encoding="utf-8", newline="\n")
        for path, source in staged.items():
            if path != LOCK_NAME:
                target = project / path
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)
        for action in actions:
            if action.kind is ActionKind.REMOVE:
                _remove(project, action.path)
        if LOCK_NAME in staged:
            staged[LOCK_NAME].replace(lock)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _remove(project: Path, path: str) -> None:
    """Remove a file and the folders that it leaves empty."""
    target = project / path
    target.unlink()
    for folder in target.parents:
        if folder == project or any(folder.iterdir()):
            return
        folder.rmdir()
