"""Single files that change hands: to the user by `adopt`, and back to what acmegen generates by `restore`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes, did_you_mean
from acmegen.output.compare import STALE, Action, ActionKind, file_record, locked_files, owned_action, removal
from acmegen.output.files import read_file
from acmegen.output.lock import Lock, is_text_of
from acmegen.output.obstacles import closed_folder, obstacle
from acmegen.output.pristine import PRISTINE_TEMPLATE, is_pristine, pristine_path, read_pristine
from acmegen.render.outputs import Owner
from acmegen.render.tree import Tree

HELP = "`acmegen list` prints the generated files"


def adopt(tree: Tree, lock: Lock, project: Path, paths: Iterable[str]) -> tuple[Action, ...]:
    """The actions that make the generated files `paths` the user's; each keeps what it holds.

    A file that no manifest asks for any more leaves the lock. The others get a pristine text: what acmegen wrote, or
    where that is not known, since the file was edited and its template or manifest changed, what it writes by now.

    Raises:
        DiagnosticError: a path is not that of a generated file, or nothing is there.
    """
    _check(tree, lock, project, paths)
    if closed := [
        Action(ActionKind.REFUSE, path, reason=why) for path in paths if (why := closed_folder(project, path))
    ]:
        return tuple(closed)
    if absent := [path for path in paths if not os.path.lexists(project / path) and not _is_users(tree, lock, path)]:
        raise DiagnosticError(_misnamed(project, path, "is not there", "`acmegen regen` writes it") for path in absent)
    actions = (action for path in dict.fromkeys(paths) for action in _adopt(tree, lock, project, path))
    return tuple(sorted(actions, key=lambda action: action.path))


def restore(tree: Tree, lock: Lock, project: Path, paths: Iterable[str], force: bool) -> tuple[Action, ...]:
    """The actions that make the files `paths` what acmegen generates by now, and give adopted ones back to it.

    A file that holds anything else than what acmegen wrote is refused, or overwritten with `force`.

    Raises:
        DiagnosticError: a path is not that of a file that is generated.
    """
    _check(tree, lock, project, paths)
    if stale := [path for path in paths if path not in tree]:
        raise DiagnosticError(_misnamed(project, path, f"is not generated: {STALE}", HELP) for path in stale)
    actions = (action for path in dict.fromkeys(paths) for action in _restore(tree, lock, project, path, force))
    return tuple(sorted(actions, key=lambda action: action.path))


def lock_with(lock: Lock, actions: Iterable[Action]) -> Lock:
    """`lock` once `actions`, which are those of some of its files, have been carried out."""
    actions = tuple(actions)
    touched = {action.path for action in actions}
    others = {path: entry for path, entry in lock.files.items() if path not in touched}
    return replace(lock, files={**others, **locked_files(actions)})


def _check(tree: Tree, lock: Lock, project: Path, paths: Iterable[str]) -> None:
    """Raise for every path that is not that of a generated file."""
    known = {path for path in (*tree, *lock.files) if not is_pristine(path)}
    unknown = []
    for path in paths:
        if path in known:
            continue
        if (project / path).is_dir():
            unknown.append(_misnamed(project, path, "is a folder; name the files in it", HELP))
        else:
            help_text = did_you_mean(path, known) or HELP
            unknown.append(_misnamed(project, path, "is not a generated file", help_text))
    if unknown:
        raise DiagnosticError(unknown)


def _misnamed(project: Path, path: str, what: str, help_text: str) -> Diagnostic:
    return Diagnostic(codes.NOT_GENERATED, f"`{path}` {what}", Span.of_file(project / path), help=help_text)


def _is_users(tree: Tree, lock: Lock, path: str) -> bool:
    """Whether a generated file is the user's, so that nothing is to be adopted."""
    entry = lock.files.get(path)
    if entry is not None and entry.owner == Owner.ADOPTED.value:
        return True
    return tree[path].owner is Owner.ONCE if path in tree else entry is not None and entry.owner == Owner.ONCE.value


def _adopt(tree: Tree, lock: Lock, project: Path, path: str) -> Iterator[Action]:
    entry = lock.files.get(path)
    if _is_users(tree, lock, path):
        yield Action(ActionKind.KEEP, path, reason="it is yours already", record=entry)
        return
    if path not in tree:
        yield Action(ActionKind.KEEP, path, reason="it is yours from now on, and no manifest asks for it")
        return
    file, text = tree[path], tree[path].text
    if entry is not None and entry.owner == Owner.ONCE.value:  # once, and acmegen's in this version
        text = read_pristine(project, path, entry.sha256) or text
    elif entry is not None and not obstacle(project, path):
        disk = read_file(project / path)
        text = disk.decode().replace("\r\n", "\n") if is_text_of(disk, entry.sha256) else text
    record = file_record(Owner.ADOPTED, text, file.template)
    yield Action(ActionKind.KEEP, path, reason="it is yours from now on", record=record)
    pristine = pristine_path(path)
    yield owned_action(project, pristine, text, PRISTINE_TEMPLATE, lock.files.get(pristine))


def _restore(tree: Tree, lock: Lock, project: Path, path: str, force: bool) -> Iterator[Action]:
    file, entry, pristine = tree[path], lock.files.get(path), pristine_path(path)
    # Whose it was does not matter: what it holds does.
    entry = replace(entry, owner=Owner.OWNED.value) if entry is not None else None
    action = owned_action(project, path, file.text, file.template, entry, force)
    yield replace(action, record=action.record and replace(action.record, owner=file.owner.value))
    if file.owner is Owner.ONCE:
        yield owned_action(project, pristine, file.text, PRISTINE_TEMPLATE, lock.files.get(pristine), force)
    elif pristine in lock.files:
        yield removal(project, pristine, lock.files[pristine], force)
