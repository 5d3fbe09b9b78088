"""Whose a file is decides what happens to it: every case of tree, lock and disk, on trees made by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.output import compare as reasons
from acmegen.output.compare import Action, ActionKind, compare, locked_files
from acmegen.output.lock import Lock, LockedFile, digest
from acmegen.output.pristine import pristine_path
from acmegen.output.publish import publish
from acmegen.render.outputs import Owner
from acmegen.render.tree import GeneratedFile, Tree

CREATE, REPLACE, KEEP, REMOVE, REFUSE = (
    ActionKind.CREATE,
    ActionKind.REPLACE,
    ActionKind.KEEP,
    ActionKind.REMOVE,
    ActionKind.REFUSE,
)
NO_LOCK = Lock("0.1.0", "manifests", {}, {}, {})


def tree(owned: Mapping[str, str] | None = None, once: Mapping[str, str] | None = None) -> Tree:
    owners = ((Owner.OWNED, owned or {}), (Owner.ONCE, once or {}))
    return {
        path: GeneratedFile(text, owner, f"{path}.jinja", "backend.yaml")
        for owner, files in owners
        for path, text in files.items()
    }


class Project:
    """A project on disk, its lock, and what was generated last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock: Lock | None = None

    def compare(self, files: Tree, force: bool = False, upgrade: bool = False) -> dict[str, Action]:
        return {action.path: action for action in compare(files, self.lock, self.folder, force, upgrade)}

    def kinds(self, files: Tree, force: bool = False) -> dict[str, ActionKind]:
        """What happens to each file that does not simply stay."""
        return {path: action.kind for path, action in self.compare(files, force).items() if action.changes}

    def regen(self, files: Tree, force: bool = False, upgrade: bool = False) -> None:
        actions = compare(files, self.lock, self.folder, force, upgrade)
        publish(self.folder, actions, "lock\n")
        self.lock = replace(NO_LOCK, files=locked_files(actions))
        assert self.kinds(files) == {}, "a second run has nothing to do"
        assert locked_files(compare(files, self.lock, self.folder)) == self.lock.files

    def adopt(self, path: str, text: str) -> None:
        """Record `path` as adopted, with `text` as the pristine text."""
        assert self.lock is not None
        pristine = self.folder / pristine_path(path)
        pristine.parent.mkdir(parents=True, exist_ok=True)
        pristine.write_text(text)
        files = {
            **self.lock.files,
            path: LockedFile("adopted", digest(text.encode()), "a.jinja"),
            pristine_path(path): LockedFile("owned", digest(text.encode()), "pristine"),
        }
        self.lock = replace(self.lock, files=files)

    def write(self, path: str, data: str | bytes) -> None:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.encode() if isinstance(data, str) else data)

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()

    @property
    def files(self) -> set[str]:
        return {
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file() and path.name != "acmegen.lock"
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# Owned files.


def test_an_owned_file_is_created_replaced_kept_and_removed(project: Project) -> None:
    assert project.kinds(tree({"a/x": "1\n"})) == {"a/x": CREATE}
    project.regen(tree({"a/x": "1\n"}))
    assert project.kinds(tree({"a/x": "2\n"})) == {"a/x": REPLACE}
    project.regen(tree({"a/x": "2\n"}))
    assert project.kinds(tree()) == {"a/x": REMOVE}
    project.regen(tree())
    assert [path.name for path in project.folder.iterdir()] == ["acmegen.lock"], "empty folders go too"


@pytest.mark.parametrize(
    "data", ["mine\n", "", "1", "1\n\n", b"\xff\xfe not UTF-8", b"\0\0", "1 \n"], ids=lambda data: repr(data)
)
def test_h1_any_edit_of_an_owned_file_is_found(project: Project, data: str | bytes) -> None:
    project.regen(tree({"x": "1\n", "y": "1\n"}))
    project.write("x", data)
    for files in (tree({"x": "1\n", "y": "1\n"}), tree({"x": "2\n", "y": "1\n"})):
        assert project.kinds(files) == {"x": REFUSE}
        assert project.compare(files)["x"].reason == reasons.EDITED
        assert project.kinds(files, force=True) == {"x": REPLACE}
    assert project.kinds(tree({"y": "1\n"})) == {"x": REFUSE}
    assert project.compare(tree({"y": "1\n"}))["x"].reason == reasons.EDITED_STALE
    assert project.kinds(tree({"y": "1\n"}), force=True) == {"x": REMOVE}
    with pytest.raises(ValueError, match="refused"):
        publish(project.folder, compare(tree({"y": "1\n"}), project.lock, project.folder), "lock\n")


def test_h11_line_ends_are_no_edit(project: Project) -> None:
    """Git may have set them on checkout."""
    project.regen(tree({"x": "1\n2\n"}, once={"y": "1\n2\n"}))
    for path in project.files:
        project.write(path, "1\r\n2\r\n")
    assert project.kinds(tree({"x": "1\n2\n"}, once={"y": "1\n2\n"})) == {"x": REPLACE, pristine_path("y"): REPLACE}
    assert project.kinds(tree()) == {"x": REMOVE, pristine_path("y"): REMOVE}
    project.regen(tree({"x": "1\n2\n"}, once={"y": "1\n2\n"}))
    assert (project.folder / "y").read_bytes() == b"1\r\n2\r\n", "this one is the user's"


def test_what_somebody_made_equal_to_the_new_text_is_no_edit(project: Project) -> None:
    project.regen(tree({"x": "1\n"}))
    project.write("x", "2\n")
    assert project.kinds(tree({"x": "2\n"})) == {}


def test_an_owned_file_that_the_user_deleted_comes_back(project: Project) -> None:
    project.regen(tree({"x": "1\n"}))
    (project.folder / "x").unlink()
    assert project.kinds(tree({"x": "1\n"})) == {"x": CREATE}


def test_a_file_of_the_user_in_the_place_of_a_new_owned_one_is_never_overwritten(project: Project) -> None:
    project.regen(tree({"x": "1\n"}))
    project.write("y", "mine\n")
    for force in (False, True):
        assert project.kinds(tree({"x": "1\n", "y": "1\n"}), force) == {"y": REFUSE}
    assert project.compare(tree({"x": "1\n", "y": "1\n"}))["y"].reason == reasons.FOREIGN


def test_h3_files_of_the_user_beside_ours_survive(project: Project) -> None:
    project.regen(tree({"a/b/x": "1\n", "a/y": "1\n"}))
    project.write("a/b/mine", "mine\n")
    project.write("a/.hidden", "mine\n")
    project.regen(tree())
    assert project.files == {"a/b/mine", "a/.hidden"}


def test_without_a_lock_a_file_says_itself_whose_it_is(project: Project) -> None:
    mark = "// @generated by acmegen from backend.yaml. Do not edit.\n"
    files = tree({"edited": f"{mark}1\n", "equal": "1\n", "foreign": f"{mark}1\n", "windows": "1\n2\n"})
    project.write("edited", f"{mark}mine\n")
    project.write("equal", "1\n")
    project.write("foreign", f"mine\n{mark}")
    project.write("windows", "1\r\n2\r\n")
    found = project.compare(files)
    assert {path: action.kind for path, action in found.items()} == {
        "edited": REFUSE,
        "equal": KEEP,
        "foreign": REFUSE,
        "windows": REPLACE,
    }
    assert (found["edited"].reason, found["foreign"].reason) == (reasons.UNLOCKED, reasons.UNMARKED)
    assert project.kinds(files, force=True) == {"edited": REPLACE, "foreign": REFUSE, "windows": REPLACE}
    project.write("foreign", b"\x7fELF\0\xff")
    assert project.kinds(files, force=True)["foreign"] is REFUSE


def test_without_a_lock_an_upgrade_keeps_the_base_of_merges(project: Project) -> None:
    project.regen(tree(once={"x": "1\n"}))
    project.lock = None
    project.regen(tree(once={"x": "2\n"}), force=True, upgrade=True)
    assert project.read(pristine_path("x")) == "1\n"


# Once files.


def test_a_once_file_is_written_once(project: Project) -> None:
    project.regen(tree(once={"x": "1\n"}))
    assert project.read("x") == project.read(pristine_path("x")) == "1\n"
    project.regen(tree(once={"x": "2\n"}))
    assert project.read("x") == project.read(pristine_path("x")) == "1\n", "an upgrade's business"
    project.write("x", "mine\n")
    project.regen(tree(once={"x": "3\n"}), force=True)
    assert (project.read("x"), project.read(pristine_path("x"))) == ("mine\n", "1\n")
    assert project.lock is not None
    assert project.lock.files["x"] == LockedFile("once", digest(b"1\n"), "x.jinja")
    assert project.lock.files[pristine_path("x")] == LockedFile("owned", digest(b"1\n"), "pristine")


def test_an_upgrade_takes_the_new_pristine_text(project: Project) -> None:
    project.regen(tree(once={"x": "1\n"}))
    project.regen(tree(once={"x": "2\n"}), upgrade=True)
    assert project.read(pristine_path("x")) == "2\n"
    assert project.lock is not None and project.lock.files["x"].sha256 == digest(b"2\n")


def test_a_once_file_that_was_there_before_stays(project: Project) -> None:
    project.write("x", "mine\n")
    project.regen(tree(once={"x": "1\n"}))
    assert (project.read("x"), project.read(pristine_path("x"))) == ("mine\n", "1\n")


def test_a_deleted_once_file_stays_deleted_and_that_is_recorded(project: Project) -> None:
    files = tree(once={"x": "1\n"})
    project.regen(files)
    (project.folder / "x").unlink()
    action = project.compare(files)["x"]
    assert action.kind is KEEP and "acmegen restore x" in action.reason
    for _ in range(2):
        project.regen(files)
        assert project.lock is not None and project.lock.files["x"].deleted
        assert project.files == {pristine_path("x")}
        assert project.compare(files)["x"].reason == "", "it is said once"
    project.write("x", "mine again\n")
    project.regen(files)
    assert not project.lock.files["x"].deleted
    assert project.read("x") == "mine again\n"


def test_a_stub_whose_operator_left_is_reported_and_kept(project: Project) -> None:
    project.regen(tree(once={"k/x.cpp": "stub\n"}))
    action = project.compare(tree())["k/x.cpp"]
    assert action == Action(KEEP, "k/x.cpp", reason="no manifest asks for it any more; it is yours")
    project.regen(tree())
    assert project.files == {"k/x.cpp"}
    assert project.lock is not None and project.lock.files == {}


def test_a_link_in_the_place_of_a_once_file_is_the_users_choice(project: Project) -> None:
    project.regen(tree(once={"x": "1\n"}))
    (project.folder / "x").unlink()
    (project.folder / "x").symlink_to("nowhere")
    project.regen(tree(once={"x": "2\n"}), force=True)
    assert (project.folder / "x").is_symlink()
    assert project.lock is not None and not project.lock.files["x"].deleted


# Adopted files.


def test_an_adopted_file_is_the_users(project: Project) -> None:
    project.regen(tree({"x": "1\n"}))
    project.write("x", "mine\n")
    project.adopt("x", "1\n")
    for force in (False, True):
        project.regen(tree({"x": "2\n"}), force)
        assert (project.read("x"), project.read(pristine_path("x"))) == ("mine\n", "1\n")
    assert project.lock is not None and project.lock.files["x"].owner == "adopted"
    (project.folder / "x").unlink()
    project.regen(tree({"x": "2\n"}))
    assert project.lock.files["x"].deleted and "x" not in project.files
    project.regen(tree())
    assert project.files == set()


def test_an_adopted_file_that_no_manifest_asks_for_stays(project: Project) -> None:
    project.regen(tree({"x": "1\n"}))
    project.adopt("x", "1\n")
    project.regen(tree())
    assert project.files == {"x"}


# Pristine texts.


def test_a_pristine_text_is_checked_like_an_owned_file(project: Project) -> None:
    files = tree(once={"x": "1\n"})
    project.regen(files)
    pristine = pristine_path("x")
    (project.folder / pristine).unlink()
    assert project.kinds(files) == {pristine: CREATE}, "today's text is the one that was written"
    assert project.kinds(tree(once={"x": "2\n"})) == {pristine: REFUSE}, "it is not, and cannot be found again"
    assert project.compare(tree(once={"x": "2\n"}))[pristine].reason == reasons.LOST
    project.write(pristine, "mine\n")
    assert project.kinds(files) == {pristine: REFUSE}
    assert project.kinds(tree(once={"x": "2\n"})) == {pristine: REFUSE}
    project.regen(tree(once={"x": "2\n"}), force=True)
    assert (project.read("x"), project.read(pristine)) == ("1\n", "2\n")


def test_a_lost_lock_is_made_up_from_the_pristine_texts(project: Project) -> None:
    """`--force` overwrites owned files then, but the user's are still known."""
    mark = "# @generated by acmegen\n"
    project.regen(tree({"a": "1\n", "b": f"{mark}1\n"}, once={"x": "1\n", "y": "1\n"}))
    project.write("a", "mine\n")
    project.adopt("a", "1\n")
    project.write("x", "mine\n")
    (project.folder / "y").unlink()
    lock, project.lock = project.lock, None
    assert lock is not None
    project.regen(tree({"a": "2\n", "b": f"{mark}2\n"}, once={"x": "2\n", "y": "2\n"}), force=True)
    assert [project.read(path) for path in ("a", "b", "x")] == ["mine\n", f"{mark}2\n", "mine\n"]
    assert project.lock is not None and project.lock.files["y"].deleted
    assert project.read(pristine_path("a")) == project.read(pristine_path("x")) == "1\n"


# A template's owner changes with a version of acmegen.


def test_an_owned_file_that_becomes_a_once_file(project: Project) -> None:
    project.regen(tree({"x": "1\n", "y": "1\n", "z": "1\n"}))
    project.write("y", "mine\n")
    (project.folder / "z").unlink()
    once = tree(once={"x": "2\n", "y": "2\n", "z": "2\n"})
    project.regen(once)
    assert [project.read(path) for path in "xyz"] == ["2\n", "mine\n", "2\n"]
    assert [project.read(pristine_path(path)) for path in "xyz"] == ["2\n"] * 3


def test_a_once_file_that_becomes_an_owned_file(project: Project) -> None:
    project.regen(tree(once={"x": "1\n", "y": "1\n", "z": "1\n"}))
    (project.folder / "z").unlink()
    project.regen(tree(once={"x": "1\n", "y": "1\n", "z": "1\n"}))
    owned = tree({"x": "2\n", "y": "2\n", "z": "2\n"})
    project.write("y", "mine\n")
    for force in (False, True):
        actions = project.compare(owned, force)
        assert (actions["y"].kind, actions["y"].reason) == (REFUSE, reasons.NOW_GENERATED)
    project.write("y", "2\n")
    project.regen(owned)
    assert project.files == {"x", "y", "z"}
    assert [project.read(path) for path in "xyz"] == ["2\n"] * 3


# Files, folders and links.


def test_a_file_becomes_a_folder_and_a_folder_a_file(project: Project) -> None:
    project.regen(tree({"a": "1\n", "b/c/d": "1\n", "b/e": "1\n"}))
    files = tree({"a/x": "1\n", "b": "1\n"})
    assert project.kinds(files) == {"a": REMOVE, "a/x": CREATE, "b": CREATE, "b/c/d": REMOVE, "b/e": REMOVE}
    project.regen(files)
    assert project.files == {"a/x", "b"}
    project.regen(tree({"a": "1\n", "b/c/d": "1\n"}))
    assert project.files == {"a", "b/c/d"}


@pytest.mark.parametrize("mine", ["b/mine", "b/c/mine", "b/empty/"])
def test_a_folder_with_something_of_the_users_stays_a_folder(project: Project, mine: str) -> None:
    project.regen(tree({"b/c/d": "1\n"}))
    if mine.endswith("/"):
        (project.folder / mine).mkdir()
    else:
        project.write(mine, "mine\n")
    assert project.kinds(tree({"b": "1\n"}), force=True) == {"b": REFUSE, "b/c/d": REMOVE}
    assert project.compare(tree({"b": "1\n"}))["b"].reason == "a folder is in its place"


def test_what_is_in_the_way_is_refused(project: Project) -> None:
    project.write("file", "mine\n")
    (project.folder / "folder").mkdir()
    (project.folder / "loop").symlink_to("loop")
    (project.folder / "dangling").symlink_to("nowhere")
    for path in ("file/x", "folder", "loop", "loop/x", "dangling", "dangling/x"):
        assert project.kinds(tree({path: "1\n"}), force=True) == {path: REFUSE}, path
    for path in ("file/x", "folder", "loop/x", "dangling/x"):
        assert project.kinds(tree(once={path: "1\n"}), force=True)[path] is REFUSE, path
    assert project.kinds(tree({"folder/x": "1\n", "new/x": "1\n"})) == {"folder/x": CREATE, "new/x": CREATE}


def test_an_edited_file_does_not_become_a_folder(project: Project) -> None:
    project.regen(tree({"a": "1\n"}))
    project.write("a", "mine\n")
    assert project.kinds(tree({"a/x": "1\n"})) == {"a": REFUSE, "a/x": REFUSE}


def test_a_folder_of_the_users_in_the_place_of_a_stale_file_stays(project: Project) -> None:
    project.regen(tree({"a": "1\n"}))
    (project.folder / "a").unlink()
    project.write("a/mine", "mine\n")
    project.regen(tree())
    assert project.files == {"a/mine"}


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_nothing_is_written_through_a_link(
    project: Project, tmp_path_factory: pytest.TempPathFactory, inside: bool
) -> None:
    project.regen(tree({"a/x": "1\n", "a/y": "1\n", "b": "1\n"}, once={"a/z": "1\n"}))
    elsewhere = project.folder / "elsewhere" if inside else tmp_path_factory.mktemp("outside") / "a"
    (project.folder / "a").rename(elsewhere)
    (project.folder / "a").symlink_to(elsewhere)
    (project.folder / "b").rename(elsewhere / "b")
    (project.folder / "b").symlink_to(elsewhere / "b")
    for text in ("1\n", "2\n"):
        actions = project.compare(tree({"a/x": text, "a/y": text, "b": text}, once={"a/z": text, "a/new": text}), True)
        refused = {path: action.reason for path, action in actions.items() if action.kind is REFUSE}
        link = "`a` is a symbolic link"
        assert refused == {"a/x": link, "a/y": link, "b": "it is a symbolic link", "a/new": link}
        assert actions["a/z"].kind is KEEP, "this one is the user's, and nothing is written"
    stale = project.compare(tree(once={"a/z": "1\n"}), True)
    assert {action.kind for action in stale.values()} == {KEEP}, "nothing is removed behind a link either"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_read(project: Project) -> None:
    os.mkfifo(project.folder / "x")
    assert project.kinds(tree({"x": "1\n"}), force=True) == {"x": REFUSE}


def test_names_that_are_one_file_where_case_does_not_count(project: Project) -> None:
    """Two hard links of one file are what such a file system shows under both names."""
    project.regen(tree({"Name": "1\n"}, once={"Once": "1\n"}))
    for path, other in (("Name", "name"), ("Once", "once"), (pristine_path("Once"), pristine_path("once"))):
        (project.folder / other).hardlink_to(project.folder / path)
    files = tree({"name": "2\n"}, once={"once": "1\n"})
    assert project.kinds(files) == {"name": REPLACE}, "neither refused as the user's nor removed under the old name"
    assert locked_files(project.compare(files).values()).keys() == {"name", "once", pristine_path("once")}
