"""The lock, the comparison and the one place that writes: nothing half done, nothing outside of the project."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output.compare import Action, ActionKind, compare
from acmegen.output.lock import LOCK_NAME, Lock, LockedFile, digest, dump_lock, read_lock
from acmegen.output.publish import publish
from acmegen.render.outputs import Owner
from acmegen.render.tree import GeneratedFile, Tree

LOCK = Lock("0.1.0", "manifests", {}, {}, {}, {"a/b.txt": LockedFile("owned", digest(b"old\n"), "b.txt.jinja")})


def tree(**files: str) -> Tree:
    """A tree of owned files; `__` stands for a slash."""
    return {
        name.replace("__", "/"): GeneratedFile(text, Owner.OWNED, "x.jinja", "backend.yaml")
        for name, text in files.items()
    }


def kinds(project: Path, files: Tree, lock: Lock | None = None) -> dict[str, ActionKind]:
    return {action.path: action.kind for action in compare(files, lock, project)}


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    for lock in (LOCK, Lock("0.1.0", "../m\udcff/ü", {}, {}, {})):
        (tmp_path / LOCK_NAME).write_text(dump_lock(lock), encoding="utf-8")
        assert read_lock(tmp_path) == lock


@pytest.mark.parametrize(
    "change",
    [
        {"lock": 2},
        {"manifests": None},
        {"manifests": 5},
        {"files": []},
        {"files": {"a": 3}},
        {"files": {"a": {"owner": "owned", "sha256": 3, "template": "x"}}},
        {"files": {"../a": {"owner": "owned", "sha256": "3", "template": "x"}}},
        {"files": {"/etc/a": {"owner": "owned", "sha256": "3", "template": "x"}}},
        {"files": {"a\0": {"owner": "owned", "sha256": "3", "template": "x"}}},
        {"more": 1},
    ],
)
def test_a_lock_that_acmegen_did_not_write_is_refused(tmp_path: Path, change: Mapping[str, object]) -> None:
    (tmp_path / LOCK_NAME).write_text(json.dumps({**json.loads(dump_lock(LOCK)), **change}))
    with pytest.raises(DiagnosticError) as raised:
        read_lock(tmp_path)
    assert raised.value.diagnostics[0].code == codes.LOCK_UNREADABLE


def test_what_is_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "away").symlink_to(tmp_path.parent)
    for path in ("file__x", "folder", "loop", "loop__x", "away__x"):
        assert set(kinds(tmp_path, tree(**{path: ""})).values()) == {ActionKind.REFUSE}, path
    assert kinds(tmp_path, tree(folder__x="", new__x="")) == {
        "folder/x": ActionKind.CREATE,
        "new/x": ActionKind.CREATE,
    }


def test_a_file_that_the_lock_lists_and_the_tree_lacks(tmp_path: Path) -> None:
    assert kinds(tmp_path, {}, LOCK) == {}
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("old\n")
    assert kinds(tmp_path, {}, LOCK) == {"a/b.txt": ActionKind.REMOVE}
    publish(tmp_path, compare({}, LOCK, tmp_path), "lock\n")
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_NAME]


def test_a_failure_before_the_first_replace_leaves_nothing(tmp_path: Path) -> None:
    project = tmp_path / "x" / "y"
    actions = [Action(ActionKind.CREATE, "a/b", "text"), Action(ActionKind.CREATE, "c", "not UTF-8: \udcff")]
    with pytest.raises(UnicodeEncodeError):
        publish(project, actions, "lock\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    for path in ("closed/b", "closed/b/c"):
        actions = [Action(ActionKind.CREATE, "a", "text"), Action(ActionKind.CREATE, path, "text")]
        with pytest.raises(PermissionError):
            publish(tmp_path, actions, "lock\n")
        assert [path.name for path in tmp_path.iterdir()] == ["closed"]
