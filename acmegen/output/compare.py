"""Compare a tree with the lock and the disk: one list of actions, which `regen` carries out and `check` prints."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from acmegen.output.files import read_file
from acmegen.output.lock import Lock, LockedFile, digest, is_text_of
from acmegen.output.obstacles import CANNOT_READ, closed_folder, obstacle, same_file
from acmegen.output.pristine import PRISTINE_TEMPLATE, is_pristine, locked_by_pristine, pristine_path, read_pristine
from acmegen.render.header import has_header
from acmegen.render.outputs import Owner
from acmegen.render.tree import GeneratedFile, Tree

EDITED = "it was edited"
FOREIGN = "a file that acmegen did not write is in its place"
UNLOCKED = "it differs from what is generated, and there is no lock that says who changed it"
UNMARKED = "there is no lock, and it has no line that says that acmegen wrote it"
NOW_GENERATED = "it is yours, and acmegen generates it from now on"
LOST = "it is not the text that acmegen wrote, so there is no base for merges"
STALE = "no manifest asks for it any more"
EDITED_STALE = f"{EDITED}, and {STALE}"


class ActionKind(str, Enum):
    """What happens to one path."""

    CREATE = "create"
    REPLACE = "replace"
    MERGE = "merge"
    KEEP = "keep"
    REMOVE = "remove"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Action:
    """One path and what happens to it.

    Attributes:
        kind: what happens.
        path: relative to the project, with forward slashes.
        text: what will be written; None unless the kind is `create`, `replace` or `merge`.
        reason: why, where that is not plain.
        conflicts: whether a merged text has conflict markers.
        record: what the lock says of the path afterwards; None when it does not list it.
        found: the digest of what is there, where that is replaced or removed; if it is another by then, it stays.
    """

    kind: ActionKind
    path: str
    text: str | None = None
    reason: str = ""
    conflicts: bool = False
    record: LockedFile | None = None
    found: str | None = None

    @property
    def changes(self) -> bool:
        """Whether the disk differs from what it should be."""
        return self.kind is not ActionKind.KEEP


def locked_files(actions: Iterable[Action]) -> dict[str, LockedFile]:
    """What the lock lists once `actions` have been carried out."""
    return {action.path: action.record for action in actions if action.record is not None}


def compare(
    tree: Tree, lock: Lock | None, project: Path, force: bool = False, upgrade: bool = False
) -> tuple[Action, ...]:
    """The actions that make `project` equal to `tree`, sorted by path; each also says what the lock records.

    An owned file is written unless somebody edited it; then it is refused, or overwritten with `force`. Without a lock,
    one that differs counts as edited if it begins as acmegen's files do, and else is somebody else's. A once file is
    written only if it neither exists nor ever did. An owned file that was adopted is the user's like a once file. The
    pristine text of a file that is the user's stays that of the time when it was written, and becomes that of `tree`
    with `upgrade`, for which a lock is needed. A file that the lock lists and the tree lacks is removed if it is owned
    and unedited, and stays if it is the user's.

    Removals make room: a file may become a folder, and a folder whose files are all removed may become a file.
    """
    comparison = _Comparison(tree, lock, project, force, upgrade)
    return tuple(sorted(comparison.actions(), key=lambda action: action.path))


def owned_action(
    project: Path,
    path: str,
    text: str,
    template: str,
    entry: LockedFile | None,
    force: bool = False,
    removed: Collection[str] = (),
) -> Action:
    """What happens to one file of acmegen's that shall hold `text`.

    Args:
        project: the project's folder.
        path: the file's, relative to it.
        text: what it shall hold.
        template: where that comes from, for the lock.
        entry: what the lock says of the file by now.
        force: whether a file that somebody else wrote, or edited, is replaced; one that was the user's never is.
        removed: paths that are removed before.
    """
    record = file_record(Owner.OWNED, text, template)
    if obstructed := obstacle(project, path, removed):
        return Action(ActionKind.REFUSE, path, reason=obstructed, record=entry)
    place = project / path
    if not place.is_file():
        return Action(ActionKind.CREATE, path, text, record=record)
    disk = read_file(place)
    if disk == text.encode():
        return Action(ActionKind.KEEP, path, record=record)
    if any(is_text_of(disk, known.sha256) for known in (entry, record) if known is not None):
        return Action(ActionKind.REPLACE, path, text, record=record, found=digest(disk))
    if entry is not None and entry.owner != Owner.OWNED.value:
        return Action(ActionKind.REFUSE, path, reason=NOW_GENERATED, record=entry)
    if force:
        return Action(ActionKind.REPLACE, path, text, record=record, found=digest(disk))
    return Action(ActionKind.REFUSE, path, reason=FOREIGN if entry is None else EDITED, record=entry)


def removal(project: Path, path: str, entry: LockedFile, force: bool) -> Action:
    """What happens to a file of acmegen's that is not wanted any more."""
    obstructed = obstacle(project, path)
    if obstructed.endswith(CANNOT_READ):
        return Action(ActionKind.REFUSE, path, reason=obstructed, record=entry)
    if not os.path.lexists(project / path):
        return Action(ActionKind.KEEP, path)
    if obstructed:
        return Action(ActionKind.KEEP, path, reason=f"{STALE}, and {obstructed}")
    disk = read_file(project / path)
    if force or is_text_of(disk, entry.sha256):
        return Action(ActionKind.REMOVE, path, reason="" if is_pristine(path) else STALE, found=digest(disk))
    return Action(ActionKind.REFUSE, path, reason=EDITED_STALE, record=entry)


def file_record(owner: Owner, text: str, template: str) -> LockedFile:
    """What the lock says of a file for which acmegen wrote `text`."""
    return LockedFile(owner.value, digest(text.encode()), template)


class _Comparison:
    """One run of `compare`."""

    def __init__(self, tree: Tree, lock: Lock | None, project: Path, force: bool, upgrade: bool) -> None:
        self._tree = tree
        self._locked = lock.files if lock is not None else locked_by_pristine(project, tree)
        self._has_lock = lock is not None
        self._project = project
        self._force = force
        self._upgrade = upgrade and lock is not None  # else nothing is merged, and the base would be lost
        self._wanted = set(tree) | {pristine_path(path) for path in tree if self._is_users(path)}
        self._removed: set[str] = set()

    def actions(self) -> Iterator[Action]:
        stale = [action for path in self._locked if path not in self._wanted for action in self._stale(path)]
        self._removed = {action.path for action in stale if action.kind is ActionKind.REMOVE}
        yield from stale
        for path, file in self._tree.items():
            if self._is_users(path):
                yield from self._users(path, file)
            else:
                yield self._owned(path, file.text, file.template)

    def _is_users(self, path: str) -> bool:
        """Whether a file of the tree is the user's once it exists."""
        entry = self._entry(path)
        return self._tree[path].owner is Owner.ONCE or (entry is not None and entry.owner == Owner.ADOPTED.value)

    def _entry(self, path: str) -> LockedFile | None:
        """What the lock says of `path`, or of the same file under a name that differs in case."""
        if path in self._locked:
            return self._locked[path]
        return next((entry for other, entry in self._locked.items() if same_file(self._project, path, other)), None)

    # Files of acmegen's.

    def _owned(self, path: str, text: str, template: str) -> Action:
        entry = self._entry(path)
        # Without a lock, the file itself has to say that it is acmegen's.
        is_marked = not self._has_lock and self._is_marked(path)
        force = self._force and (entry is not None or is_marked)
        action = owned_action(self._project, path, text, template, entry, force, self._removed)
        if action.reason == FOREIGN and not self._has_lock:
            return replace(action, reason=UNLOCKED if is_marked else UNMARKED)
        return action

    def _is_marked(self, path: str) -> bool:
        place = self._project / path
        return not obstacle(self._project, path) and place.is_file() and has_header(read_file(place))

    def _stale(self, path: str) -> Iterator[Action]:
        entry = self._locked[path]
        if closed := closed_folder(self._project, path):
            yield Action(ActionKind.REFUSE, path, reason=closed, record=entry)
            return
        if not os.path.lexists(self._project / path) or any(
            same_file(self._project, path, other) for other in self._wanted
        ):
            return
        if entry.owner != Owner.OWNED.value:
            yield Action(ActionKind.KEEP, path, reason=f"{STALE}; it is yours")
        else:
            yield removal(self._project, path, entry, self._force)

    # Files of the user's.

    def _users(self, path: str, file: GeneratedFile) -> Iterator[Action]:
        entry = self._entry(path)
        if closed := closed_folder(self._project, path):
            yield Action(ActionKind.REFUSE, path, reason=closed, record=entry)
            return
        if entry is None or entry.owner == Owner.OWNED.value:
            yield self._first(path, file, entry)
            yield self._pristine(path, file.text)
            return
        base = self._base(path, file, entry)
        if base is None and not self._force:
            yield Action(ActionKind.KEEP, path, record=entry)
            yield Action(ActionKind.REFUSE, pristine_path(path), reason=LOST)
            return
        text = file.text if base is None or self._upgrade else base
        yield self._kept(path, file, entry, text)
        yield self._pristine(path, text)

    def _first(self, path: str, file: GeneratedFile, entry: LockedFile | None) -> Action:
        """A once file that the lock does not know as one."""
        record = file_record(file.owner, file.text, file.template)
        obstructed = obstacle(self._project, path, self._removed)
        place = self._project / path
        if not place.is_file():
            if obstructed:
                return Action(ActionKind.REFUSE, path, reason=obstructed)
            return Action(ActionKind.CREATE, path, file.text, record=record)
        if entry is not None and not obstructed:
            disk = read_file(place)
            if disk != file.text.encode() and is_text_of(disk, entry.sha256):
                reason = "it is yours from now on"
                return Action(ActionKind.REPLACE, path, file.text, reason, record=record, found=digest(disk))
        return Action(ActionKind.KEEP, path, record=record)

    def _kept(self, path: str, file: GeneratedFile, entry: LockedFile, pristine: str) -> Action:
        """A file that is the user's: whatever is there, or that nothing is, is what the user wants."""
        owner = file.owner if file.owner is Owner.ONCE else Owner.ADOPTED
        deleted = not os.path.lexists(self._project / path)
        reason = f"deleted; `acmegen restore {path}` brings it back" if deleted and not entry.deleted else ""
        record = replace(file_record(owner, pristine, file.template), deleted=deleted)
        return Action(ActionKind.KEEP, path, reason=reason, record=record)

    def _base(self, path: str, file: GeneratedFile, entry: LockedFile) -> str | None:
        """The text that acmegen last wrote or merged of a file that is the user's; None when it is lost."""
        if digest(file.text.encode()) == entry.sha256:
            return file.text
        return read_pristine(self._project, path, entry.sha256)

    def _pristine(self, path: str, text: str) -> Action:
        return self._owned(pristine_path(path), text, PRISTINE_TEMPLATE)
