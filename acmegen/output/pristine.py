"""Pristine texts: what acmegen last wrote of the files that are the user's, kept in the project as the base of merges.

For each once and adopted file there is one, committed to version control with the rest. `.txt` keeps a pristine
`CMakeLists.txt` or `.gitignore` from acting.
"""

from __future__ import annotations

from pathlib import Path

from acmegen.output.files import read_file
from acmegen.output.lock import LockedFile, digest, is_text_of
from acmegen.render.outputs import Owner
from acmegen.render.tree import Tree

PRISTINE_FOLDER = ".acmegen/pristine"
PRISTINE_TEMPLATE = "pristine"
_SUFFIX = ".txt"


def pristine_path(path: str) -> str:
    """Where the pristine text of the generated file `path` is, relative to the project."""
    return f"{PRISTINE_FOLDER}/{path}{_SUFFIX}"


def pristine_of(path: str) -> str | None:
    """The generated file that `path` is the pristine text of; None when it is not one."""
    return path.removeprefix(f"{PRISTINE_FOLDER}/").removesuffix(_SUFFIX) if is_pristine(path) else None


def is_pristine(path: str) -> bool:
    """Whether `path`, relative to the project, is that of a pristine text."""
    return path.startswith(PRISTINE_FOLDER + "/")


def read_pristine(project: Path, path: str, sha256: str) -> str | None:
    """The pristine text of the file `path`; None when it is not there or does not have that digest."""
    data = _read(project, path)
    return data.decode().replace("\r\n", "\n") if data is not None and is_text_of(data, sha256) else None


def locked_by_pristine(project: Path, tree: Tree) -> dict[str, LockedFile]:
    """What a lost lock must have said of the files that are the user's: those that have a pristine text."""
    return {
        path: LockedFile((file.owner if file.owner is Owner.ONCE else Owner.ADOPTED).value, digest(data), file.template)
        for path, file in tree.items()
        if (data := _read(project, path)) is not None
    }


def _read(project: Path, path: str) -> bytes | None:
    try:
        return read_file(project / pristine_path(path))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
