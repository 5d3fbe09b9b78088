"""What an upgrade does with the files that are the user's: the changes of their templates are merged into them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from acmegen.diagnostics import Diagnostic, Severity, Span, codes
from acmegen.output.compare import Action, ActionKind
from acmegen.output.files import read_file
from acmegen.output.lock import Lock, digest, is_text_of
from acmegen.output.merge import MINE, marked_lines, merge_texts
from acmegen.output.obstacles import obstacle
from acmegen.output.pristine import read_pristine
from acmegen.render.outputs import Owner
from acmegen.render.tree import Tree

NOT_TEXT = "it is not UTF-8 text, and the changes of its template cannot be merged into it"
UNRESOLVED = "its template changed again, and it still has the conflicts of an earlier merge"


def merge_once(actions: Iterable[Action], tree: Tree, lock: Lock, project: Path) -> tuple[Action, ...]:
    """`actions`, where a file that is the user's is merged if its template gives another text than when it was written.

    The base is the pristine text; one that is lost was refused by `compare`. A file that cannot be merged is refused:
    it is not UTF-8, a link is in its place, or an earlier merge left conflicts in it.
    """
    return tuple(
        _merged(action, tree[action.path].text, lock, project) if action.path in tree else action for action in actions
    )


def _merged(action: Action, text: str, lock: Lock, project: Path) -> Action:
    entry = lock.files.get(action.path)
    if action.kind is not ActionKind.KEEP or entry is None or entry.owner == Owner.OWNED.value:
        return action
    place = project / action.path
    if digest(text.encode()) == entry.sha256 or not place.exists():
        return action
    if obstructed := obstacle(project, action.path):
        return _refused(action, obstructed)
    disk = read_file(place)
    if is_text_of(disk, digest(text.encode())):
        return action
    try:
        ours = disk.decode()
    except UnicodeDecodeError:
        return _refused(action, NOT_TEXT)
    if marked_lines(ours):
        return _refused(action, UNRESOLVED)
    # A file that nobody has edited is its own pristine text.
    unedited = is_text_of(disk, entry.sha256)
    base = ours.replace("\r\n", "\n") if unedited else read_pristine(project, action.path, entry.sha256)
    if base is None:
        return action
    merged = merge_texts(base, ours, text)
    if merged.text == ours:
        return action
    reason = f"{merged.conflicts} conflicts" if merged.conflicts > 1 else "1 conflict" if merged.conflicts else ""
    conflicts = merged.conflicts > 0
    return replace(
        action, kind=ActionKind.MERGE, text=merged.text, reason=reason, conflicts=conflicts, found=digest(disk)
    )


def _refused(action: Action, reason: str) -> Action:
    return Action(ActionKind.REFUSE, action.path, reason=reason)


def unresolved_conflicts(project: Path, lock: Lock, severity: Severity) -> Iterator[Diagnostic]:
    """The files of the user's that still have the conflict markers of a merge, each at its first one."""
    for path, entry in sorted(lock.files.items()):
        if entry.owner == Owner.OWNED.value or entry.deleted:
            continue
        place = project / path
        try:
            lines = marked_lines(read_file(place).decode())
        except (OSError, UnicodeDecodeError):
            continue
        if lines:
            conflicts = "1 merge conflict" if len(lines) == 1 else f"{len(lines)} merge conflicts"
            yield Diagnostic(
                codes.MERGE_CONFLICTS,
                f"`{path}` has {conflicts}",
                Span(place, lines[0], 1, lines[0], len(MINE)),
                severity=severity,
                help="edit the file: keep what is right, and remove the marker lines",
            )
