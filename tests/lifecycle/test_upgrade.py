"""`acmegen upgrade`, and what other commands say when torch, TileOPs or acmegen is another one than the lock's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from acmegen.diagnostics import Severity
from acmegen.output.compare import Action, ActionKind, compare, locked_files
from acmegen.output.lock import LOCK_NAME, Lock, dump_lock, read_lock
from acmegen.output.publish import publish
from acmegen.output.upgrade import NOT_TEXT, UNRESOLVED, merge_once, unresolved_conflicts
from acmegen.render.outputs import Owner
from acmegen.render.tree import GeneratedFile, Tree
from tests.conftest import REPOSITORY, Acmegen
from tests.lifecycle.other_installs import DERIVATIVES, GUARD, OPERATORS, copy_tileops, copy_torch

KERNEL = "csrc/kernels/_weight_int4pack_mm.cpp"
INT4 = "_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros)"
COUNT = "virtual DeviceIndex deviceCount() const noexcept = 0;"
NEWER = "2.14.9"
"""A version that the flagship's range allows, and that does not exist."""

# ---- files of the user's, in a tree of a few files


@pytest.fixture
def upgraded(tmp_path: Path) -> Callable[..., tuple[Action, ...]]:
    """Bring `tmp_path` to a tree of the given once files (`__` is a slash), as regen or as upgrade does."""

    def run(upgrade: bool = True, owner: Owner = Owner.ONCE, **texts: str) -> tuple[Action, ...]:
        names = {name.replace("__", "/"): text for name, text in texts.items()}
        tree: Tree = {path: GeneratedFile(text, owner, "x.jinja", "backend.yaml") for path, text in names.items()}
        lock = read_lock(tmp_path)
        actions = compare(tree, lock, tmp_path, upgrade=upgrade)
        if lock is not None and upgrade:
            actions = merge_once(actions, tree, lock, tmp_path)
        if not any(action.kind is ActionKind.REFUSE for action in actions):
            publish(tmp_path, actions, dump_lock(Lock("0.1.0", "manifests", {}, {}, {}, locked_files(actions))))
        return actions

    return run


Upgraded = Callable[..., tuple[Action, ...]]
OLD, NEW, MINE = "1\n2\n3\n4\n5\n", "1\n2\n3\n4\nnew\n", "mine\n2\n3\n4\n5\n"


def of(actions: tuple[Action, ...], path: str) -> Action:
    return next(action for action in actions if action.path == path)


def locked(project: Path) -> Lock:
    lock = read_lock(project)
    assert lock is not None
    return lock


def test_both_changes_are_in_the_merged_file_once(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a__b=OLD)
    (tmp_path / "a/b").write_text(MINE)
    assert of(upgraded(a__b=NEW), "a/b").kind is ActionKind.MERGE
    assert (tmp_path / "a/b").read_text() == "mine\n2\n3\n4\nnew\n"
    assert not any(action.changes for action in upgraded(a__b=NEW)), "a second upgrade has nothing to do"
    upgraded(a__b="1\n2\nnewer\n4\nnew\n")
    assert (tmp_path / "a/b").read_text() == "mine\n2\nnewer\n4\nnew\n", "the base is the text of the last upgrade"


def test_regen_leaves_the_change_to_an_upgrade(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a=OLD)
    assert not any(action.changes for action in upgraded(False, a=NEW))
    assert (tmp_path / "a").read_text() == OLD
    upgraded(a=NEW)
    assert (tmp_path / "a").read_text() == NEW, "an unedited file becomes the new text"


def test_conflicts_are_marked_and_all_else_is_written(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a=OLD, b=OLD)
    (tmp_path / "a").write_text(OLD.replace("5", "mine"))
    action = of(upgraded(a=NEW, b=NEW), "a")
    assert (action.kind, action.conflicts, action.reason) == (ActionKind.MERGE, True, "1 conflict")
    text = "1\n2\n3\n4\n<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> acmegen\n"
    assert (tmp_path / "a").read_text() == text
    assert (tmp_path / "b").read_text() == NEW
    (conflict,) = unresolved_conflicts(tmp_path, locked(tmp_path), Severity.ERROR)
    assert conflict.message == "`a` has 1 merge conflict"
    assert conflict.span is not None and (conflict.span.path, conflict.span.line) == (tmp_path / "a", 5)
    # Nothing new: nothing to do. A template that changes again waits for the user.
    assert not any(action.changes for action in upgraded(a=NEW, b=NEW))
    assert of(upgraded(a=NEW + "newer\n", b=NEW), "a").reason == UNRESOLVED
    assert (tmp_path / "a").read_text() == text
    (tmp_path / "a").write_text("1\n2\n3\n4\nresolved\n")
    assert list(unresolved_conflicts(tmp_path, locked(tmp_path), Severity.ERROR)) == []
    upgraded(a="0\n" + NEW, b=NEW)
    assert (tmp_path / "a").read_text() == "0\n1\n2\n3\n4\nresolved\n"


def test_a_deleted_file_stays_deleted(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a=OLD)
    (tmp_path / "a").unlink()
    for text in (NEW, NEW + "newer\n"):
        assert of(upgraded(a=text), "a").kind is ActionKind.KEEP
        assert not (tmp_path / "a").exists()
        assert locked(tmp_path).files["a"].deleted


def test_an_adopted_file_is_merged(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a=OLD)
    data = json.loads((tmp_path / LOCK_NAME).read_text())
    data["files"]["a"]["owner"] = "adopted"
    (tmp_path / LOCK_NAME).write_text(json.dumps(data))
    (tmp_path / "a").write_text(MINE)
    assert of(upgraded(owner=Owner.OWNED, a=NEW), "a").kind is ActionKind.MERGE
    assert (tmp_path / "a").read_text() == "mine\n2\n3\n4\nnew\n"
    assert locked(tmp_path).files["a"].owner == "adopted"


def test_an_edited_owned_file_stops_an_upgrade(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(owner=Owner.OWNED, a=OLD)
    (tmp_path / "a").write_text(MINE)
    assert of(upgraded(owner=Owner.OWNED, a=NEW), "a").kind is ActionKind.REFUSE
    assert (tmp_path / "a").read_text() == MINE


def test_what_the_user_already_has_is_no_change(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a=OLD)
    (tmp_path / "a").write_text(NEW)
    assert of(upgraded(a=NEW), "a").kind is ActionKind.KEEP
    (tmp_path / "a").write_text("mine\n" + NEW)
    assert of(upgraded(a=NEW + "x\n"), "a").kind is ActionKind.MERGE


def test_h11_line_ends_that_git_made_stay(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a=OLD, b=OLD)
    (tmp_path / "a").write_bytes(OLD.replace("\n", "\r\n").encode())
    (tmp_path / "b").write_bytes(MINE.replace("\n", "\r\n").encode())
    upgraded(a=NEW, b=NEW)
    assert (tmp_path / "a").read_bytes() == NEW.replace("\n", "\r\n").encode()
    assert (tmp_path / "b").read_bytes() == b"mine\r\n2\r\n3\r\n4\r\nnew\r\n"


def test_what_cannot_be_merged_is_refused(tmp_path: Path, upgraded: Upgraded) -> None:
    upgraded(a=OLD, b=OLD)
    (tmp_path / "a").write_bytes(b"\xff\n")
    assert of(upgraded(a=NEW, b=NEW), "a").reason == NOT_TEXT
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("b")
    assert of(upgraded(a=NEW, b=OLD), "a").reason == "it is a symbolic link"
    (tmp_path / "a").unlink()
    (tmp_path / "a").write_text(MINE)
    (tmp_path / ".acmegen/pristine/a.txt").unlink()
    assert of(upgraded(a=NEW, b=OLD), ".acmegen/pristine/a.txt").kind is ActionKind.REFUSE
    assert (tmp_path / "b").read_text() == OLD


# ---- another torch or TileOPs, from the command line


Install = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    """The environment in which another torch or TileOPs is found; each is made once."""
    made: dict[str, Path] = {}

    def environment(
        version: str | None = None,
        edits: Mapping[str, Mapping[str, str]] | None = None,
        tileops: Mapping[str, Mapping[str, str]] | None = None,
    ) -> dict[str, str]:
        key = repr((version, edits, tileops))
        if key not in made:
            made[key] = tmp_path_factory.mktemp("site")
            if version is not None:
                copy_torch(made[key], version, edits or {})
            if tileops is not None:
                copy_tileops(made[key], "0.1.9", tileops)
        return {"PYTHONPATH": os.pathsep.join((str(made[key]), str(REPOSITORY)))}

    return environment


EDITS = {
    OPERATORS: {
        "- func: unfold(Tensor(a) self": "- func: unfold_windows(Tensor(a) self",
        INT4: INT4.replace(")", ", bool train=False)"),
    },
    DERIVATIVES: {"name: unfold(": "name: unfold_windows("},
    GUARD: {COUNT: f"{COUNT}\n  virtual void reset(Device device) const = 0;"},
}
REPORT = (
    "this project was generated for torch",
    "`unfold` is gone; it may be `unfold_windows` now, whose arguments are the same",
    "`_weight_int4pack_mm` was `_weight_int4pack_mm(",
    "Tensor qScaleAndZeros, bool train=False) -> Tensor`",
    "`c10::impl::DeviceGuardImplInterface::reset` is new: `void reset(Device device) const = 0`; every backend has to",
)


def texts(folder: Path) -> dict[str, bytes]:
    """All files but those of a run."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".acmegen/run/" not in path.as_posix()
    }


def registered(project: Path, operator: str) -> bool:
    folder = project / "csrc" / "generated" / "registration"
    entry = re.compile(rf'm\.impl\(\s*"{re.escape(operator)}"')
    return any(entry.search(path.read_text()) for path in folder.glob("Registration_*.cpp"))


def test_another_torch_stops_regen_and_check_and_upgrade_carries_it_through(
    acmegen: Acmegen, project: Path, install: Install
) -> None:
    environment = install(NEWER, EDITS)
    before = texts(project)
    for command in ("regen", "check"):
        result = acmegen(command, project, **environment)
        assert result.returncode == 1
        assert "error[ACME410]" in result.stderr and "run `acmegen upgrade`" in result.stderr
        for words in REPORT:
            assert words in result.stderr
        assert result.stdout == "" and texts(project) == before
    result = acmegen("upgrade", "--diff", project, **environment)
    assert result.returncode == 0, result.stderr
    assert f"+++ b/{KERNEL}" in result.stdout and texts(project) == before

    # The file of a user kernel follows the declaration; what the user wrote in it stays.
    kernel = project / KERNEL
    kernel.write_text(kernel.read_text().replace("#include <c10", "#include <mine.h>\n#include <c10"))
    assert registered(project, "unfold")
    result = acmegen("upgrade", project, **environment)
    assert result.returncode == 0, result.stderr
    assert "warning[ACME410]" in result.stderr and "error" not in result.stderr
    for words in REPORT:
        assert words in result.stderr
    assert "bool /*train*/" in kernel.read_text() and "#include <mine.h>" in kernel.read_text()
    assert not registered(project, "unfold"), "an operator of a preset that is gone"
    lock = locked(project)
    assert lock.facts["torch"] == NEWER
    assert "bool train=False" in lock.surface["operators"]["aten::_weight_int4pack_mm"]

    after = texts(project)
    for command in ("upgrade", "regen", "check"):
        result = acmegen(command, project, **environment)
        assert (result.returncode, result.stderr) == (0, "")
    assert texts(project) == after


def test_conflicts_in_a_users_kernel(acmegen: Acmegen, project: Path, install: Install) -> None:
    environment = install(NEWER, EDITS)
    kernel = project / KERNEL
    kernel.write_text(kernel.read_text().replace("  TORCH_CHECK_NOT_IMPLEMENTED(false,", "  mine(false,"))
    result = acmegen("upgrade", project, **environment)
    assert result.returncode == 1
    assert f"merge    {KERNEL}  (1 conflict)" in result.stdout
    assert f"error[ACME417]: `{KERNEL}` has 1 merge conflict" in result.stderr
    assert locked(project).facts["torch"] == NEWER, "all else is done"
    for command, code, severity in (("upgrade", 1, "error"), ("regen", 0, "warning"), ("check", 0, "warning")):
        result = acmegen(command, project, **environment)
        assert result.returncode == code
        assert f"{severity}[ACME417]: `{KERNEL}` has 1 merge conflict" in result.stderr


def test_another_torch_in_which_nothing_differs_still_waits_for_an_upgrade(
    acmegen: Acmegen, project: Path, install: Install
) -> None:
    result = acmegen("regen", project, **install(NEWER))
    assert result.returncode == 1
    assert "nothing that this backend uses differs" in result.stderr and "warning" not in result.stderr
    assert acmegen("upgrade", project, **install(NEWER)).returncode == 0
    assert acmegen("regen", project).returncode == 1, "the way back is a change too"
    assert acmegen("upgrade", project).returncode == 0


def test_the_ways_on_when_an_edited_file_stops_an_upgrade(acmegen: Acmegen, project: Path, install: Install) -> None:
    adopted, overwritten = project / "csrc/generated/kernels.h", project / "csrc/generated/kernels/Functions.h"
    for file in (adopted, overwritten):
        file.write_text(file.read_text() + "// edited\n")
    result = acmegen("upgrade", project, **install(NEWER))
    assert result.returncode == 1 and "acmegen upgrade --force" in result.stderr
    assert acmegen("adopt", adopted, **install(NEWER)).returncode == 0
    assert acmegen("upgrade", "--force", project, **install(NEWER)).returncode == 0
    assert adopted.read_text().endswith("// edited\n")
    assert "edited" not in overwritten.read_text()


def test_another_build_of_one_version_matters_only_if_something_differs(
    acmegen: Acmegen, project: Path, install: Install
) -> None:
    version = locked(project).facts["torch"] + "+other"
    comment = {OPERATORS: {"- func: nonzero(Tensor self)": "# a comment\n- func: nonzero(Tensor self)"}}
    assert acmegen("regen", project, **install(version, comment)).returncode == 0
    result = acmegen("regen", project, **install(version, {OPERATORS: EDITS[OPERATORS]}))
    assert result.returncode == 1
    assert "another build of torch" in result.stderr and "ACME413" in result.stderr


def test_an_upgrade_to_a_torch_that_the_manifests_do_not_fit(acmegen: Acmegen, project: Path, install: Install) -> None:
    old, new = "_weight_int4pack_mm", "_weight_int4_packed_mm"
    renamed = {f"- func: {old}(": f"- func: {new}("}
    environment = install(NEWER, {OPERATORS: renamed})
    before = texts(project)
    result = acmegen("upgrade", project, **environment)
    assert result.returncode == 1
    assert "error[ACME100]" in result.stderr and "ops.yaml:" in result.stderr
    assert f"`{old}` is gone; it may be `{new}` now" in result.stderr
    assert "warning[ACME410]" in result.stderr
    assert texts(project) == before
    # The manifest changes at the same time as torch.
    manifest = project / "manifests" / "ops" / "ops.yaml"
    manifest.write_text(manifest.read_text().replace(f"  {old}:", f"  {new}:"))
    result = acmegen("upgrade", project, **environment)
    assert result.returncode == 0, result.stderr
    assert registered(project, new) and not registered(project, old)


def test_another_tileops(acmegen: Acmegen, project: Path, install: Install) -> None:
    head = (
        "RMSNormFwdOp:\n  ref_api: torch.nn.functional.rms_norm\n  family: norm\n  status: implemented\n  signature:\n"
    )
    forall = '    forall: {B: Shape, T: "DType[float16 | bfloat16'
    environment = install(tileops={"norm.yaml": {head + forall: f"{head}{forall} | float32"}})
    result = acmegen("check", project, **environment)
    assert result.returncode == 1
    assert "generated for TileOPs 0.1.0, and TileOPs 0.1.9 is installed" in result.stderr
    assert "`RMSNormFwdOp` was `(x: T [" in result.stderr and "bfloat16 | float32]`" in result.stderr
    assert acmegen("upgrade", project, **environment).returncode == 0
    assert acmegen("check", project, **environment).returncode == 0


# ---- another acmegen


@pytest.mark.parametrize("command", ["regen", "upgrade", "check"])
def test_h17_an_older_acmegen_refuses_a_newer_tree(acmegen: Acmegen, project: Path, command: str) -> None:
    lock = project / LOCK_NAME
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "acmegen": "99.1.dev3"}))
    before = texts(project)
    result = acmegen(command, project)
    assert result.returncode == 2
    assert "was written by acmegen 99.1.dev3, and this is the older acmegen 0." in result.stderr
    assert "`pip install 'acmegen>=99.1.dev3'`" in result.stderr
    assert texts(project) == before


@pytest.mark.parametrize("version", ["0.0.1", "0.0.1+local"])
def test_h17_a_newer_acmegen_regenerates_an_older_tree(acmegen: Acmegen, project: Path, version: str) -> None:
    lock = project / LOCK_NAME
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "acmegen": version}))
    assert acmegen("regen", project).returncode == 0
    assert locked(project).acmegen != version


def test_h23_a_lock_of_a_newer_form_is_named_as_such(acmegen: Acmegen, project: Path) -> None:
    (project / LOCK_NAME).write_text(json.dumps({"lock": 2, "acmegen": "99.0", "entries": []}))
    result = acmegen("regen", project)
    assert result.returncode == 2
    assert "error[ACME416]" in result.stderr and "was written by acmegen 99.0" in result.stderr
