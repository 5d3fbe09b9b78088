"""What is vendored of a project, and what that changes in the folder that it is exported to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError, Span, codes, command_for, shown_folder
from acmegen.output.compare import Action, ActionKind
from acmegen.output.files import read_file
from acmegen.output.ignore import ALWAYS, ignore_rules
from acmegen.output.lock import LOCK_NAME, Lock, digest, is_text_of
from acmegen.output.obstacles import obstacle
from acmegen.output.verify import is_ignored

EDITED = "it was edited"
FOREIGN = "a file that no export wrote is in its place"
EDITED_STALE = "it was edited, and the export has no such file any more"
STALE = "the export has no such file any more"


def ignored_in(project: Path) -> tuple[str, ...]:
    """The rules for what a build of `project` leaves behind, from its `.gitignore`."""
    place = project / ".gitignore"
    # git follows no link here either.
    is_own = place.is_file() and not place.is_symlink()
    lines = read_file(place).decode(errors="surrogateescape").splitlines() if is_own else []
    return ignore_rules((*ALWAYS, *lines))


def project_files(project: Path, lock: Lock, manifests: Path) -> dict[str, bytes]:
    """What is vendored of `project`, by path: the generated files, and what else a build may need.

    That is every file that its `.gitignore` does not ignore, but for the manifests, virtual environments, and what is
    hidden. The lock is not among them.

    Raises:
        DiagnosticError: a symbolic link or another file that is none is among them.
    """
    paths = {path for path, entry in lock.files.items() if not entry.deleted}
    paths |= set(_found(project, manifests.resolve(), list(ignored_in(project))))
    refused = [diagnostic for path in sorted(paths) for diagnostic in _not_vendored(project / path)]
    if refused:
        raise DiagnosticError(refused)
    return {path: (project / path).read_bytes() for path in sorted(paths)}


def _not_vendored(place: Path) -> Iterator[Diagnostic]:
    """The error that what is at `place` cannot be exported, if it is no regular file."""
    if place.is_symlink():
        what, help_text = "is a symbolic link", "put what it leads to in its place"
    elif place.exists() and not place.is_file():
        what, help_text = "is not a regular file", "move it away"
    else:
        return
    help_text += ", or add it to the project's `.gitignore`"
    yield Diagnostic(codes.LINK_NOT_VENDORED, f"`{place}` {what}", Span.of_file(place), help=help_text)


def _found(project: Path, manifests: Path, rules: list[str]) -> Iterator[str]:
    for parent, folders, files in os.walk(project):
        here = Path(parent).relative_to(project)
        for name in tuple(folders):
            place, path = Path(parent, name), (here / name).as_posix()
            is_other = name.startswith(".") or place.resolve() == manifests or (place / "pyvenv.cfg").exists()
            if is_other or is_ignored(f"{path}/", rules) or is_ignored(f"{path}/_", rules):
                folders.remove(name)
            elif place.is_symlink():
                yield path
        for name in files:
            path = (here / name).as_posix()
            place = Path(parent, name)
            if not (name.startswith(".") or path == LOCK_NAME or is_ignored(path, rules)) and (
                place.is_file() or place.is_symlink()
            ):
                yield path


def compare_export(
    files: Mapping[str, bytes], exported: Mapping[str, str], folder: Path, force: bool = False
) -> tuple[Action, ...]:
    """The actions that make an export in `folder` equal to `files`, sorted by path.

    Args:
        files: what shall be there.
        exported: the digests of what the last export wrote there. Files that it did not write are left alone.
        folder: where it is.
        force: whether files that were edited since are overwritten or removed.
    """
    actions = [_removal(path, sha256, folder, force) for path, sha256 in exported.items() if path not in files]
    removed = {action.path for action in actions if action is not None and action.kind is ActionKind.REMOVE}
    written = [_written(path, data, exported.get(path), folder, force, removed) for path, data in files.items()]
    return tuple(sorted((action for action in (*actions, *written) if action), key=lambda action: action.path))


def _removal(path: str, sha256: str, folder: Path, force: bool) -> Action | None:
    if not os.path.lexists(folder / path):
        return None
    if obstructed := obstacle(folder, path):
        return Action(ActionKind.KEEP, path, reason=f"{STALE}, and {obstructed}")
    disk = read_file(folder / path)
    if force or is_text_of(disk, sha256):
        return Action(ActionKind.REMOVE, path, reason=STALE, found=digest(disk))
    return Action(ActionKind.REFUSE, path, reason=EDITED_STALE)


def _written(path: str, data: bytes, sha256: str | None, folder: Path, force: bool, removed: set[str]) -> Action:
    # A file need not be text: what is no UTF-8 is carried in surrogates.
    text = data.decode(errors="surrogateescape")
    if obstructed := obstacle(folder, path, removed):
        return Action(ActionKind.REFUSE, path, reason=obstructed)
    if not (folder / path).is_file():
        return Action(ActionKind.CREATE, path, text)
    disk = read_file(folder / path)
    if disk == data:
        return Action(ActionKind.KEEP, path)
    if sha256 is None:
        return Action(ActionKind.REFUSE, path, reason=FOREIGN)
    if force or is_text_of(disk, sha256):
        return Action(ActionKind.REPLACE, path, text, found=digest(disk))
    return Action(ActionKind.REFUSE, path, reason=EDITED)


def not_up_to_date(project: Path, actions: Sequence[Action]) -> Iterator[Diagnostic]:
    """The error that `project` is not exported, if one of `actions`, which would bring it up to date, changes it."""
    changed = [action.path for action in actions if action.changes]
    if changed:
        others = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield Diagnostic(
            codes.NOT_UP_TO_DATE,
            f"`{shown_folder(project)}` is not up to date: `{changed[0]}`{others}",
            help=f"`{command_for('acmegen check', project)}` says what differs, "
            f"`{command_for('acmegen regen', project)}` brings it up to date",
        )


_WAYS_ON = {
    EDITED: "make the change in the project, or overwrite it with `--force`",
    EDITED_STALE: "make the change in the project, or remove it with `--force`",
}


def export_refusals(folder: Path, actions: Iterable[Action]) -> Iterator[Diagnostic]:
    """A diagnostic for each refused one of `actions`, which are those of an export into `folder`."""
    for action in actions:
        if action.kind is ActionKind.REFUSE:
            yield Diagnostic(
                codes.EXPORT_EDITED,
                f"`{folder / action.path}`: {action.reason}",
                Span.of_file(folder / action.path),
                help=f"nothing was written; {_WAYS_ON.get(action.reason, 'move away what is in the way')}",
            )


def with_digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """The digest of each file."""
    return {path: digest(data) for path, data in sorted(files.items())}
