"""Files that change hands: `adopt` and `restore` on trees made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output.adoption import adopt, lock_with, restore
from acmegen.output.compare import Action, ActionKind, compare, locked_files
from acmegen.output.lock import Lock, LockedFile, digest
from acmegen.output.pristine import pristine_path
from acmegen.output.publish import publish
from acmegen.render.tree import Tree
from tests.unit.test_compare import NO_LOCK, tree

FILES = tree({"a": "1\n", "b/c": "1\n"}, once={"x": "1\n"})


class Project:
    """A project with `FILES`, written by acmegen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = NO_LOCK
        self.regen(FILES)

    def regen(self, files: Tree) -> None:
        actions = compare(files, self.lock, self.folder)
        self._publish(actions, replace(self.lock, files=locked_files(actions)))

    def adopt(self, files: Tree, *paths: str) -> tuple[Action, ...]:
        actions = adopt(files, self.lock, self.folder, paths)
        self._publish(actions, lock_with(self.lock, actions))
        return actions

    def restore(self, files: Tree, *paths: str, force: bool = False) -> tuple[Action, ...]:
        actions = restore(files, self.lock, self.folder, paths, force)
        self._publish(actions, lock_with(self.lock, actions))
        return actions

    def _publish(self, actions: Sequence[Action], lock: Lock) -> None:
        publish(self.folder, actions, "lock\n")
        self.lock = lock

    def changes(self, files: Tree) -> dict[str, ActionKind]:
        actions = compare(files, self.lock, self.folder)
        return {action.path: action.kind for action in actions if action.changes}

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text)

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def codes_of(error: pytest.ExceptionInfo[DiagnosticError]) -> set[str]:
    return {diagnostic.code for diagnostic in error.value.diagnostics}


def test_an_edited_file_becomes_the_users(project: Project) -> None:
    project.write("a", "mine\n")
    assert project.changes(FILES) == {"a": ActionKind.REFUSE}
    project.adopt(FILES, "a")
    assert project.changes(FILES) == {}
    assert project.lock.files["a"] == LockedFile("adopted", digest(b"1\n"), "a.jinja")
    assert (project.read("a"), project.read(pristine_path("a"))) == ("mine\n", "1\n")
    project.regen(tree({"a": "2\n", "b/c": "2\n"}, once={"x": "1\n"}))
    assert (project.read("a"), project.read(pristine_path("a"))) == ("mine\n", "1\n")


def test_what_was_written_is_the_base_even_if_the_template_gives_something_else_by_now(project: Project) -> None:
    project.adopt(tree({"a": "2\n", "b/c": "2\n"}), "a")
    assert (project.read("a"), project.read(pristine_path("a"))) == ("1\n", "1\n")
    project.write("b/c", "mine\n")
    project.adopt(tree({"a": "2\n", "b/c": "2\n"}), "b/c")
    assert project.read(pristine_path("b/c")) == "2\n", "of an edited file only the digest is known"


def test_several_files_and_the_same_twice(project: Project) -> None:
    project.adopt(FILES, "a", "b/c", "a")
    assert {path for path, entry in project.lock.files.items() if entry.owner == "adopted"} == {"a", "b/c"}


def test_h19_adopting_again_changes_nothing(project: Project) -> None:
    project.adopt(FILES, "a")
    lock = project.lock
    project.write("a", "mine\n")
    for path in ("a", "x"):
        (action,) = project.adopt(FILES, path)
        assert (action.kind, action.reason) == (ActionKind.KEEP, "it is yours already")
    assert project.lock == lock
    assert (project.read("a"), project.read(pristine_path("a"))) == ("mine\n", "1\n")


def test_other_files_and_the_rest_of_the_lock_stay(project: Project) -> None:
    project.lock = replace(project.lock, sources={"backend.yaml": "1"})
    before = project.lock
    project.write("b/c", "mine\n")
    project.adopt(tree({"a": "2\n", "b/c": "2\n"}), "a")
    assert project.lock.sources == before.sources
    assert {path for path in before.files if before.files[path] != project.lock.files[path]} == {"a"}
    assert project.read("b/c") == "mine\n"


def test_a_stale_file_is_let_go(project: Project) -> None:
    project.write("a", "mine\n")
    files = tree({"b/c": "1\n"}, once={"x": "1\n"})
    assert project.changes(files) == {"a": ActionKind.REFUSE}
    project.adopt(files, "a")
    assert "a" not in project.lock.files
    assert project.changes(files) == {}
    assert project.read("a") == "mine\n"


def test_a_file_of_the_users_in_the_place_of_a_new_one(project: Project) -> None:
    project.write("new", "mine\n")
    files = tree({"a": "1\n", "b/c": "1\n", "new": "1\n"}, once={"x": "1\n"})
    assert project.changes(files) == {"new": ActionKind.REFUSE}
    project.adopt(files, "new")
    assert project.changes(files) == {}
    assert (project.read("new"), project.read(pristine_path("new"))) == ("mine\n", "1\n")


def test_a_once_file_that_acmegen_would_own_by_now(project: Project) -> None:
    project.write("x", "mine\n")
    files = tree({"a": "1\n", "b/c": "1\n", "x": "2\n"})
    project.adopt(files, "x")
    assert project.changes(files) == {}
    assert project.lock.files["x"].owner == "adopted"
    assert (project.read("x"), project.read(pristine_path("x"))) == ("mine\n", "1\n")


def test_a_link_can_be_adopted(project: Project) -> None:
    (project.folder / "a").rename(project.folder / "elsewhere")
    (project.folder / "a").symlink_to("elsewhere")
    project.adopt(FILES, "a")
    assert project.changes(FILES) == {}


@pytest.mark.parametrize("path", ["nope", "b", "acmegen.lock", pristine_path("x"), "../a", "B/c"])
def test_what_is_not_generated_is_refused(project: Project, path: str) -> None:
    lock = project.lock
    for change in (project.adopt, project.restore):
        with pytest.raises(DiagnosticError) as raised:
            change(FILES, "a", path)
        assert codes_of(raised) == {codes.NOT_GENERATED}
        assert raised.value.diagnostics[0].message.startswith(f"`{path}` is ")
    assert project.lock == lock


def test_a_near_path_is_proposed(project: Project) -> None:
    files = tree({"csrc/generated/Stream.cpp": "1\n"})
    with pytest.raises(DiagnosticError) as raised:
        project.adopt(files, "csrc/generated/Straem.cpp")
    assert raised.value.diagnostics[0].help == "did you mean `csrc/generated/Stream.cpp`?"


def test_a_file_that_is_not_there_cannot_be_adopted(project: Project) -> None:
    (project.folder / "a").unlink()
    with pytest.raises(DiagnosticError) as raised:
        project.adopt(FILES, "a")
    assert raised.value.diagnostics[0].message == "`a` is not there"


# Back again.


def test_a_deleted_once_file_comes_back_with_todays_text(project: Project) -> None:
    (project.folder / "x").unlink()
    project.regen(FILES)
    assert project.lock.files["x"].deleted
    files = tree({"a": "1\n", "b/c": "1\n"}, once={"x": "2\n"})
    project.restore(files, "x")
    assert project.changes(files) == {}
    assert project.read("x") == project.read(pristine_path("x")) == "2\n"
    assert project.lock.files["x"] == LockedFile("once", digest(b"2\n"), "x.jinja")


@pytest.mark.parametrize("deleted", [False, True])
def test_an_adopted_file_is_given_back(project: Project, deleted: bool) -> None:
    project.adopt(FILES, "a")
    if deleted:
        (project.folder / "a").unlink()
    project.restore(FILES, "a")
    assert project.changes(FILES) == {}
    assert project.lock.files["a"].owner == "owned"
    assert project.read("a") == "1\n"
    assert not (project.folder / pristine_path("a")).exists()


@pytest.mark.parametrize("path", ["a", "b/c", "x"], ids=["adopted", "owned", "once"])
def test_edits_are_lost_with_force_only(project: Project, path: str) -> None:
    project.adopt(FILES, "a")
    project.write(path, "mine\n")
    refused = restore(FILES, project.lock, project.folder, [path], force=False)
    assert {action.path for action in refused if action.kind is ActionKind.REFUSE} == {path}
    assert project.read(path) == "mine\n"
    project.restore(FILES, path, force=True)
    assert project.read(path) == "1\n"
    assert project.changes(FILES) == {}


def test_an_owned_file_that_is_missing_comes_back(project: Project) -> None:
    (project.folder / "b" / "c").unlink()
    project.restore(FILES, "b/c")
    assert project.changes(FILES) == {}


def test_h19_restoring_again_changes_nothing(project: Project) -> None:
    lock = project.lock
    actions = project.restore(FILES, "a", "x", "a")
    assert {action.kind for action in actions} == {ActionKind.KEEP}
    assert project.lock == lock


def test_what_no_manifest_asks_for_cannot_be_restored(project: Project) -> None:
    with pytest.raises(DiagnosticError) as raised:
        project.restore(tree({"a": "1\n"}), "x")
    assert raised.value.diagnostics[0].message == "`x` is not generated: no manifest asks for it any more"


def test_nothing_is_restored_through_a_link(project: Project) -> None:
    (project.folder / "b").rename(project.folder / "elsewhere")
    (project.folder / "b").symlink_to("elsewhere")
    (project.folder / "elsewhere" / "c").unlink()
    (action,) = restore(FILES, project.lock, project.folder, ["b/c"], force=True)
    assert (action.kind, action.reason) == (ActionKind.REFUSE, "`b` is a symbolic link")
