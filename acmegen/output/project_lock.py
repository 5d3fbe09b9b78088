"""One acmegen at a time changes a project: it holds a lock of the operating system on `.acmegen/run/lock`.

Such a lock ends with its process, however that ends, so a file that is left behind holds nobody up. Record locks are
used because a forked child does not inherit them. On a file system without locks, `.acmegen/run/holder` stands for the
lock while it exists, and is taken away when the process named in it is gone.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError, codes, shown_folder
from acmegen.output import files
from acmegen.output.files import read_file
from acmegen.output.publish_errors import not_written
from acmegen.output.run_folder import RUN_FOLDER, remove_run_folder, run_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = frozenset({errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Holder:
    """The process that holds a project.

    Attributes:
        pid: its number.
        host: the machine that it runs on.
        command: its command line.
        started: when it started, in the words of the operating system; tells it from a later process of that number.
    """

    pid: int
    host: str
    command: str
    started: str

    def __str__(self) -> str:
        return f"`{self.command}` (process {self.pid} on {self.host})"


@contextmanager
def hold_project(
    project: Path, wait_seconds: float = 10, on_wait: Callable[[Holder | None], None] = lambda holder: None
) -> Iterator[None]:
    """Hold `project`, which is made if it does not exist, and removed at the end if it is still empty.

    Args:
        project: the project's folder.
        wait_seconds: how long to wait for another process that holds it.
        on_wait: called once if it has to be waited for, with what is known of that process.

    Raises:
        DiagnosticError: another process holds the project, or it cannot be written.
    """
    with ExitStack() as cleanup:
        try:
            made = files.make_folders(project)
            cleanup.callback(_tidy, project, made)
            cleanup.callback(_wait(project, wait_seconds, on_wait))
        except OSError as error:
            raise not_written(project, RUN_FOLDER, error) from error
        yield


def _tidy(project: Path, made: Iterable[Path]) -> None:
    """Remove what is empty by now. What is left behind holds nobody up, and the next run removes it."""
    with suppress(OSError, DiagnosticError):
        remove_run_folder(project)
        files.remove_folders(made)


def current_holder(project: Path) -> Holder | None:
    """The other process that holds `project`; None when there is none, or nothing is known of it."""
    folder = run_folder(project)
    holder = _read(folder / "holder")
    if holder is not None:
        return None if _is_gone(holder) else holder
    try:
        handle = os.open(folder / "lock", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if fcntl is not None:
            fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except OSError:
        return _read(folder / "lock")
    finally:
        os.close(handle)


def _wait(project: Path, seconds: float, on_wait: Callable[[Holder | None], None]) -> Callable[[], None]:
    """Take the lock as soon as it is free; the function that lets it go."""
    deadline = time.monotonic() + seconds
    waiting = False
    while True:
        folder = run_folder(project)
        with suppress(FileNotFoundError):  # whoever held the project has just removed the folder
            files.make_folders(folder)
            release = _take(folder)
            if release is not None:
                return release
        if time.monotonic() >= deadline:
            raise _held(project, seconds)
        if not waiting:
            waiting = True
            on_wait(current_holder(project))
        time.sleep(_POLL_SECONDS)


def _take(folder: Path) -> Callable[[], None] | None:
    """Try once to take the lock; the function that lets it go, or None when another process has it."""
    if fcntl is None:
        return _take_without_locks(folder)
    path = folder / "lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), path.stat()):  # another process took it, and removed it when done
            raise BlockingIOError
        os.ftruncate(handle, 0)
        os.write(handle, _myself())
    except OSError as error:
        os.close(handle)
        if error.errno in _NO_LOCKS:
            return _take_without_locks(folder)
        if isinstance(error, (BlockingIOError, PermissionError, FileNotFoundError)):
            return None
        raise

    def release() -> None:
        try:
            with suppress(OSError):
                files.unlink(path)
        finally:
            os.close(handle)

    return release


def _take_without_locks(folder: Path) -> Callable[[], None] | None:
    path = folder / "holder"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        _take_away(path)
        return None
    with os.fdopen(handle, "wb") as file:
        file.write(_myself())

    def release() -> None:
        with suppress(OSError):
            files.unlink(path)
            files.unlink(folder / "lock")

    return release


def _take_away(path: Path) -> None:
    """Remove the lock of a process that is gone. Two that try it at once must not remove the lock of a third."""
    holder = _read(path)
    if holder is None or not _is_gone(holder):
        return
    mine = path.with_name(f"holder-{os.getpid()}")
    files.replace(path, mine)
    if _read(mine) != holder:
        with suppress(OSError):
            path.hardlink_to(mine)
    files.unlink(mine)


def _myself() -> bytes:
    pid = os.getpid()
    command = shlex.join(["acmegen", *sys.argv[1:]])
    return json.dumps(asdict(Holder(pid, platform.node(), command, _started(pid)))).encode()


def _read(path: Path) -> Holder | None:
    """The process that a lock names; None when it names none (yet)."""
    try:
        holder = Holder(**json.loads(read_file(path)))
        return holder if isinstance(holder.pid, int) and holder.pid > 0 else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _started(pid: int) -> str:
    """When a process started, in clock ticks since the machine did; empty where that is not known."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _is_gone(holder: Holder) -> bool:
    """Whether the process certainly does not run any more."""
    if holder.host != platform.node() or os.name != "posix":
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return holder.started != _started(holder.pid)


def _held(project: Path, seconds: float) -> DiagnosticError:
    holder, name = current_holder(project), shown_folder(project)
    help_text = "run the command again when it is done, or let it wait longer with `--wait SECONDS`"
    path = project / RUN_FOLDER / "holder"
    if path.exists():
        help_text += f"; if that process is gone, remove `{path}`"
    return DiagnosticError(
        [
            Diagnostic(
                codes.PROJECT_HELD,
                f"{holder or 'another acmegen'} is changing `{name}`, and is not done after {seconds:g} s",
                help=help_text,
            )
        ]
    )
