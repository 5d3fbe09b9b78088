"""What the tests of publishing share: small trees, snapshots of them, and operations that fail or are the last."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from acmegen.output import files
from acmegen.output.compare import Action, ActionKind
from acmegen.output.lock import LOCK_NAME, digest
from acmegen.output.project_lock import hold_project
from acmegen.output.publish import Recovery, publish, recover

OPERATIONS = ("fingerprint", "write", "sync", "replace", "back_up", "unlink", "make_folder", "remove_folder")

Snapshot = dict[str, tuple[int, int, bytes] | None]
"""Of each file its time, its permissions and its bytes; None for a folder."""


def create(path: str, text: str = "new\n") -> Action:
    return Action(ActionKind.CREATE, path, text)


def replace(path: str, text: str = "newer\n", found: str | None = None) -> Action:
    return Action(ActionKind.REPLACE, path, text, found=found)


def merge(path: str, text: str = "merged\n", found: str | None = None) -> Action:
    return Action(ActionKind.MERGE, path, text, found=found)


def remove(path: str, found: str | None = None) -> Action:
    return Action(ActionKind.REMOVE, path, found=found)


def keep(path: str) -> Action:
    return Action(ActionKind.KEEP, path)


@dataclass(frozen=True)
class Scenario:
    """A project before a run, the actions, and the lock's text afterwards; `links` is whether there are hard links."""

    name: str
    before: Mapping[str, str]
    actions: Sequence[Action]
    lock: str = "new lock\n"
    modes: Mapping[str, int] = field(default_factory=dict)
    links: bool = True

    def make(self, project: Path) -> None:
        """Write the project. All times are in the past, so that no new file has them by chance."""
        project.mkdir()
        for path, text in self.before.items():
            target = project / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            target.chmod(self.modes.get(path, 0o644))
            os.utime(target, ns=(10**18, 10**18 + len(path)))

    def publish(self, project: Path) -> None:
        """Change the project as a command does it."""
        with hold_project(project, 0):
            publish(project, self.actions, self.lock)


USER = {"manifests/backend.yaml": "name: x\n", "csrc/mine.cpp": "mine\n", LOCK_NAME: "old lock\n"}

SCENARIOS = (
    Scenario("create", USER, [create("csrc/a.cpp"), create("deep/er/b.cpp"), create("c")]),
    Scenario("replace", {**USER, "csrc/a.cpp": "a\n", "b": "b\n"}, [replace("csrc/a.cpp"), replace("b")]),
    Scenario("remove", {**USER, "csrc/a.cpp": "a\n", "deep/er/b": "b\n"}, [remove("csrc/a.cpp"), remove("deep/er/b")]),
    Scenario(
        "merge",
        {**USER, "once.cpp": "once\n"},
        [merge("once.cpp"), replace("csrc/mine.cpp")],
        modes={"once.cpp": 0o600},
    ),
    Scenario(
        "mixed",
        {**USER, "csrc/a": "a\n", "csrc/b": "b\n", "gone/c": "c\n", "keep/d": "d\n", "keep/e": "e\n", "run.sh": "f\n"},
        [
            create("csrc/new"),
            replace("csrc/a", found=digest(b"a\n")),
            remove("csrc/b", found=digest(b"b\n")),
            remove("gone/c", found=digest(b"c\n")),
            keep("keep/d"),
            remove("keep/e", found=digest(b"e\n")),
            create("more/g"),
            merge("run.sh", found=digest(b"f\n")),
        ],
        modes={"run.sh": 0o755, "csrc/a": 0o664},
    ),
    Scenario("a file becomes a folder", {**USER, "a": "a\n"}, [remove("a"), create("a/b/c")]),
    Scenario(
        "a folder becomes a file", {**USER, "a/b/c": "a\n", "a/d": "d\n"}, [remove("a/b/c"), remove("a/d"), create("a")]
    ),
    Scenario("an empty folder", {}, [create("pyproject.toml"), create("csrc/a.cpp"), create("csrc/b.cpp")]),
    Scenario("the lock only", USER, [keep("csrc/mine.cpp")]),
    Scenario("the same lock", {**USER, LOCK_NAME: "new lock\n"}, [create("csrc/a.cpp"), keep("csrc/mine.cpp")]),
    Scenario(
        "no hard links",
        {**USER, "csrc/a": "a\n", "b": "b\n"},
        [replace("csrc/a"), remove("b"), create("c")],
        links=False,
    ),
)


class Crash(BaseException):
    """The process ends here: nothing catches this, and no operation happens after it."""


@dataclass
class Disk:
    """The operations on files, counted.

    Attributes:
        fail_at: the number of the operation that fails, from 0; None for none.
        error: what it raises; each later operation raises it too if it is a crash, or if `forever`.
        torn: whether half of the operation happens first, where it has halves.
        log: the operations that were asked for.
    """

    fail_at: int | None = None
    error: Callable[[], BaseException] = Crash
    forever: bool = True
    torn: bool = False
    log: list[str] = field(default_factory=list)

    def run(self, name: str, real: Callable[..., Any], *arguments: Any) -> Any:
        number = len(self.log)
        self.log.append(f"{name} {' '.join(str(argument)[-40:] for argument in arguments[:2])}")
        if self.fail_at is None or number < self.fail_at or (number > self.fail_at and not self.forever):
            return real(*arguments)
        if self.torn and number == self.fail_at:
            half_of(name, *arguments)
        raise self.error()


def half_of(name: str, *arguments: Any) -> None:
    """What is on the disk when the machine goes down in the middle of an operation that is not atomic."""
    if name == "write":
        arguments[0].write_bytes(arguments[1][: len(arguments[1]) // 2])
    elif name == "back_up":
        arguments[1].with_name(f"{arguments[1].name}.unfinished").write_bytes(b"")


def no_space() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def on_disk(disk: Disk, links: bool = True) -> Iterator[Disk]:
    """Let all operations of acmegen go through `disk`."""
    with pytest.MonkeyPatch.context() as patch:
        if not links:
            patch.setattr(Path, "hardlink_to", _no_links)
        for name in OPERATIONS:
            real = getattr(files, name)
            patch.setattr(files, name, lambda *a, name=name, real=real: disk.run(name, real, *a))
        yield disk


def _no_links(self: Path, target: Path) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def snapshot(project: Path) -> Snapshot:
    found: Snapshot = {}
    for path in sorted(project.rglob("*")):
        status = path.lstat()
        name = path.relative_to(project).as_posix()
        found[name] = (status.st_mtime_ns, stat.S_IMODE(status.st_mode), path.read_bytes()) if path.is_file() else None
    return found


def texts(found: Snapshot) -> dict[str, tuple[int, bytes] | None]:
    """A snapshot without the times, which a new file cannot have."""
    return {path: entry and entry[1:] for path, entry in found.items()}


def recovered(project: Path) -> Recovery | None:
    """Recover as the next command does it."""
    with hold_project(project, 0):
        return recover(project)
