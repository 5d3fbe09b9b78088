"""What stands in the way of writing a path: links, which may lead to somebody else's file, and what is no folder."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path, PurePosixPath

CANNOT_READ = "cannot be read: permission denied"
"""The end of a reason: what is in the way can be nothing, but nobody may look."""


def obstacle(project: Path, path: str, removed: Collection[str] = ()) -> str:
    """Why nothing can be written to `path` of `project`; empty when it can.

    No link below the project's folder is followed, wherever it leads: what is behind it has another owner, or is
    reached by another path too.

    Args:
        project: the project's folder, which may be reached through links.
        path: relative to it.
        removed: paths that are removed before `path` is written.
    """
    try:
        return _obstacle(project, path, removed)
    except PermissionError:
        return closed_folder(project, path)


def closed_folder(project: Path, path: str) -> str:
    """Why it cannot be known whether anything is at `path`: a folder that may not be entered; empty when it can."""
    try:
        (project / path).lstat()
    except PermissionError:
        folders = PurePosixPath(path).parents
        closed = [folder for folder in folders if not os.access(project / folder, os.X_OK)]
        return f"`{closed[-1] if closed else folders[0]}` {CANNOT_READ}"
    except OSError:
        pass
    return ""


def _obstacle(project: Path, path: str, removed: Collection[str]) -> str:
    for folder in reversed(PurePosixPath(path).parents[:-1]):
        place = project / folder
        if place.is_symlink():
            return f"`{folder}` is a symbolic link"
        if folder.as_posix() in removed:
            return ""
        if place.exists() and not place.is_dir():
            return f"`{folder}` is not a folder"
    place = project / path
    if place.is_symlink():
        return "it is a symbolic link"
    if place.is_dir():
        return "" if _all_removed(place, path, removed) else "a folder is in its place"
    if place.exists() and not place.is_file():
        return "it is not a regular file"
    if place.exists() and not os.access(place, os.R_OK):
        return f"it {CANNOT_READ}"
    return ""


def _all_removed(folder: Path, path: str, removed: Collection[str]) -> bool:
    """Whether removing `removed` leaves nothing of `folder`, and so removes it too."""
    if not any(other.startswith(path + "/") for other in removed):
        return False
    for place in folder.iterdir():
        below = f"{path}/{place.name}"
        is_folder = place.is_dir() and not place.is_symlink()
        if not (_all_removed(place, below, removed) if is_folder else below in removed):
            return False
    return True


def same_file(project: Path, path: str, other: str) -> bool:
    """Whether two paths that differ in case only are one file, as they are where case does not count."""
    if path == other or path.casefold() != other.casefold():
        return False
    try:
        return (project / path).samefile(project / other)
    except OSError:
        return False
