"""The operations on files that change a project: each does one thing, which happens or fails.

Nothing else in acmegen writes to a project. Tests count these operations, and let each of them fail or be the last one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

NOT_A_FILE = "not a file"

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
_NO_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS})


def fingerprint(path: Path) -> str | None:
    """The sha256 of the file `path`; None when nothing is there, `NOT_A_FILE` for a link, a folder and the like."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return NOT_A_FILE
        return hashlib.sha256(read_file(path)).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_file(path: Path) -> bytes:
    """The contents of the regular file `path`. All that is read of a project is read here.

    Nothing else is opened: a link may lead anywhere, a pipe would wait for ever, a device need have no end.

    Raises:
        OSError: it is not there, is not a regular file, or may not be read.
    """
    _check_regular(path, path.lstat())
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        _check_regular(path, os.fstat(handle))  # something else may have come into its place
        return file.read()


def _check_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a symbolic link", str(path))
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def write(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write the new file `path`; its permissions are `mode`, or what the umask gives."""
    with path.open("xb") as file:
        file.write(data)
    if mode is not None:
        path.chmod(mode)


def sync(paths: Iterable[Path]) -> None:
    """Wait until the files and folders `paths` are on the disk; all at once, which takes little longer than one."""
    with ThreadPoolExecutor(16) as pool:
        for _ in pool.map(_sync, paths):
            pass


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:  # some network file systems cannot sync folders
            raise
    finally:
        os.close(handle)


def replace(source: Path, target: Path) -> None:
    """Move `source` to `target`, atomically; a file that is there goes."""
    source.replace(target)


def back_up(path: Path, copy: Path) -> None:
    """Make `copy` a second name of the file `path`, or a copy with its times where there are no hard links."""
    try:
        copy.hardlink_to(path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        unfinished = copy.with_name(f"{copy.name}.unfinished")
        shutil.copy2(path, unfinished)
        unfinished.replace(copy)


def unlink(path: Path) -> None:
    """Remove the file `path`, if it is there."""
    path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make the folder `path`, if it is not there; its parent is."""
    path.mkdir(exist_ok=True)


def remove_folder(path: Path) -> bool:
    """Remove the folder `path` if it is empty; whether it is gone."""
    try:
        path.rmdir()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
            return False
        raise
    return True


def make_folders(path: Path) -> tuple[Path, ...]:
    """Make the folder `path` and what is missing above it; what was made, outermost first.

    When one cannot be made, those made before it are removed.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()][::-1]
    for index, folder in enumerate(missing):
        try:
            make_folder(folder)
        except BaseException:
            with suppress(OSError):
                remove_folders(missing[:index])
            raise
    return tuple(missing)


def remove_folders(folders: Iterable[Path]) -> None:
    """Remove those of `folders`, given outermost first, that are empty."""
    for folder in reversed(tuple(folders)):
        remove_folder(folder)
