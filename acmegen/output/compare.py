"""Compare a tree with the lock and the disk: one list of actions, which `regen` carries out and `check` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath

from acmegen.output.lock import Lock, LockedFile, digest
from acmegen.render.outputs import Owner
from acmegen.render.tree import Tree


class ActionKind(str, Enum):
    """What happens to one path."""

    CREATE = "create"
    REPLACE = "replace"
    KEEP = "keep"
    REMOVE = "remove"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Action:
    """One path, what happens to it, and why where that is not plain.

    `text` is what will be written; None unless the kind is `create` or `replace`.
    """

    kind: ActionKind
    path: str
    text: str | None = None
    reason: str = ""

    @property
    def changes(self) -> bool:
        """Whether the disk differs from what it should be."""
        return self.kind is not ActionKind.KEEP


def _on_disk(project: Path, path: str) -> bytes | None:
    try:
        return (project / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _obstacle(project: Path, path: str) -> str:
    """Why nothing can be written to `path`; empty when it can. Following a link would write somebody else's file."""
    try:
        if not (project / path).resolve().is_relative_to(project.resolve()):
            return "a symbolic link leads it out of the project"
    except (OSError, RuntimeError):  # before Python 3.13, a loop is a RuntimeError
        return "symbolic links lead it in a circle"
    if (project / path).is_dir():
        return "a folder is in its place"
    for folder in PurePosixPath(path).parents:
        if (project / folder).exists() and not (project / folder).is_dir():
            return f"`{folder}` is not a folder"
    return ""


def _owned(path: str, text: str, locked: LockedFile | None, disk: bytes | None, force: bool) -> Action:
    if disk is None:
        return Action(ActionKind.CREATE, path, text)
    if disk == text.encode():
        return Action(ActionKind.KEEP, path)
    if force or (locked is not None and digest(disk) == locked.sha256):
        return Action(ActionKind.REPLACE, path, text)
    reason = "it was edited" if locked is not None else "a file that acmegen did not write is in its place"
    return Action(ActionKind.REFUSE, path, reason=reason)


def _once(path: str, text: str, locked: LockedFile | None, disk: bytes | None) -> Action:
    if disk is not None or locked is not None:
        return Action(ActionKind.KEEP, path)
    return Action(ActionKind.CREATE, path, text)


def compare(tree: Tree, lock: Lock | None, project: Path, force: bool = False) -> tuple[Action, ...]:
    """The actions that make `project` equal to `tree`, sorted by path.

    A once file is written only if it neither exists nor ever did. An owned file that somebody edited is refused,
    unless `force`. A file that the lock lists and the tree lacks is removed if it is owned and unedited.
    """
    locked: Mapping[str, LockedFile] = lock.files if lock is not None else {}
    actions = []
    for path, file in tree.items():
        if obstacle := _obstacle(project, path):
            actions.append(Action(ActionKind.REFUSE, path, reason=obstacle))
            continue
        entry, disk = locked.get(path), _on_disk(project, path)
        if file.owner is Owner.ONCE:
            actions.append(_once(path, file.text, entry, disk))
        else:
            actions.append(_owned(path, file.text, entry, disk, force))
    for path, entry in locked.items():
        if path in tree or entry.owner == Owner.ONCE.value or _obstacle(project, path):
            continue
        disk = _on_disk(project, path)
        if disk is None:
            continue
        if force or digest(disk) == entry.sha256:
            actions.append(Action(ActionKind.REMOVE, path, reason="no manifest asks for it any more"))
        else:
            actions.append(Action(ActionKind.REFUSE, path, reason="edited, and no manifest asks for it any more"))
    return tuple(sorted(actions, key=lambda action: action.path))
