"""Cases about a project's folder: what a run finds there, and what keeps it from writing.

Each function is a case, as in `situations.py`. A project is the folder that the case starts in, or a small one in it.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from acmegen.cli.main import group
from acmegen.cli.project import interruption, paths_in_project
from acmegen.diagnostics import DiagnosticError, Severity
from acmegen.facts import load_facts
from acmegen.output import files
from acmegen.output.adoption import adopt, restore
from acmegen.output.compare import Action, ActionKind, compare
from acmegen.output.findings import findings, refusals
from acmegen.output.journal import JOURNAL_FOLDER
from acmegen.output.licenses import license_texts
from acmegen.output.lock import LOCK_NAME, Lock, LockedFile, digest, dump_lock, read_lock
from acmegen.output.pristine import pristine_path
from acmegen.output.project_lock import Holder, hold_project
from acmegen.output.provenance import exported_files
from acmegen.output.publish import publish, recover
from acmegen.output.run_folder import run_folder
from acmegen.output.upgrade import merge_once, unresolved_conflicts
from acmegen.output.vendor import compare_export, export_refusals, not_up_to_date, project_files
from acmegen.output.verify import PROVENANCE_NAME
from acmegen.pipeline import Generation, resolve
from acmegen.plan.surface import OPERATORS, OVERRIDES, TILEOPS, VIRTUAL_METHODS, Surface, declaration, qualified
from acmegen.render.outputs import Owner
from acmegen.render.tree import GeneratedFile, Tree
from acmegen.vendoring import NewNames, export_project

MANIFESTS = Path("manifests")
NOVA = Path("nova")
GUARD = "csrc/generated/runtime/NovaGuard.h"
KERNEL = "csrc/kernels/mm.cpp"


def tree_of(path: str, text: str = "// new\n", owner: Owner = Owner.OWNED) -> Tree:
    return {path: GeneratedFile(text, owner, f"{path}.jinja", "ops/*.yaml")}


def lock_of(path: str, text: str = "// old\n", owner: Owner = Owner.OWNED, surface: Surface | None = None) -> Lock:
    entry = LockedFile(owner.value, digest(text.encode()), f"{path}.jinja")
    return Lock("0.1.0", "manifests", {}, {}, {}, {path: entry}, surface or {})


def write(path: str | Path, text: str | bytes) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode() if isinstance(text, str) else text)


def find(tree: Tree, lock: Lock | None, lock_action: ActionKind = ActionKind.REPLACE) -> None:
    """What `check` says of the project in the working directory."""
    actions = compare(tree, lock, Path())
    raise DiagnosticError(findings(Path(), actions, Action(lock_action, LOCK_NAME)))


# ---- the lock


def ACME400_conflict_markers(monkeypatch: pytest.MonkeyPatch) -> None:
    write(LOCK_NAME, '{\n<<<<<<< HEAD\n  "lock": 1\n')
    read_lock(Path())


def ACME400_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    write(LOCK_NAME, "[]\n")
    read_lock(Path())


def ACME400_a_path_that_leads_out(monkeypatch: pytest.MonkeyPatch) -> None:
    write(LOCK_NAME, dump_lock(lock_of("../outside.h")))
    read_lock(Path())


def ACME416_a_newer_acmegen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acmegen.output.lock.__version__", "0.9.0")
    write(LOCK_NAME, dump_lock(Lock("99.0", "manifests", {}, {}, {})))
    read_lock(Path())


# ---- whose a file is


def ACME401_edited(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// old, and mine\n")
    find(tree_of(GUARD), lock_of(GUARD))


def ACME401_edited_and_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// old, and mine\n")
    find({}, lock_of(GUARD))


def ACME401_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    write(KERNEL, "// mine\n")
    actions = restore(tree_of(KERNEL), lock_of(KERNEL), Path(), [KERNEL], force=False)
    raise DiagnosticError(refusals(Path(), _refused(actions), f"acmegen restore --force {KERNEL}"))


def ACME402_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// mine\n")
    find(tree_of(GUARD), lock_of(KERNEL))


def ACME402_a_link_above_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("elsewhere").mkdir()
    Path("csrc").symlink_to("elsewhere")
    tree: Tree = {}
    for name in ("Guard", "Hooks", "Stream"):
        tree |= tree_of(f"csrc/generated/runtime/Nova{name}.h")
    find(tree, None)


def ACME402_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"{GUARD}/notes.txt", "mine\n")
    find(tree_of(GUARD), None)


def ACME403_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    write(KERNEL, "// mine\n")
    find(tree_of(KERNEL, owner=Owner.ONCE), lock_of(KERNEL, owner=Owner.ONCE))


def ACME404_misspelt(monkeypatch: pytest.MonkeyPatch) -> None:
    adopt(tree_of(GUARD), lock_of(GUARD), Path(), ["csrc/generated/runtime/NovaGard.h"])


def ACME404_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// old\n")
    adopt(tree_of(GUARD), lock_of(GUARD), Path(), ["csrc/generated"])


def ACME404_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    adopt(tree_of(GUARD), lock_of(GUARD), Path(), [GUARD])


def ACME404_not_generated_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    restore({}, lock_of(KERNEL, owner=Owner.ONCE), Path(), [KERNEL], force=False)


def ACME404_no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    paths_in_project([Path(GUARD)])


def ACME404_two_projects(monkeypatch: pytest.MonkeyPatch) -> None:
    write(NOVA / LOCK_NAME, "")
    write(Path("vega") / LOCK_NAME, "")
    paths_in_project([NOVA / "README.md", Path("vega/README.md")])


# ---- another torch or TileOPs


def _resolve(surface: Surface, **versions: str) -> None:
    resolve(MANIFESTS, Lock("0.1.0", "manifests", {}, versions, {}, surface=surface))


def ACME410_nothing_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    _resolve({}, torch="2.0.1")


def ACME410_ACME412_ACME413_ACME414_all_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    allocator = {qualified("Allocator", method): method for method in load_facts().methods["Allocator"]}
    methods = {name: declaration(method) for name, method in allocator.items()}
    methods["c10::Allocator::allocate"] = "DataPtr allocate(size_t n) const = 0"
    methods["c10::Allocator::clone"] = "DataPtr clone(const void * data, std::size_t n)"
    del methods["c10::Allocator::copy_data"]
    surface = {
        OPERATORS: {
            "aten::_nonzero": "_nonzero(Tensor self) -> Tensor",
            "aten::no_such_operator_at_all": "no_such_operator_at_all() -> ()",
            "aten::add.Tensor": "add.Tensor(Tensor self, Tensor other) -> Tensor",
        },
        VIRTUAL_METHODS: methods,
        OVERRIDES: {"c10::Allocator::allocate": "csrc/generated/runtime/NovaAllocator.h"},
    }
    _resolve(surface, torch="2.0.1")


def ACME411_ACME415_all_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    write(MANIFESTS / "tileops.yaml", "manifest: tileops/v1\n")
    signature = "(input: T [*S]) -> (output: T [*S])"
    _resolve({TILEOPS: {"GELUFwdOp": signature, "SoftmaxFwd": signature}}, tileops="0.0.1")


# ---- merges


def ACME417_unresolved(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = "<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> acmegen\n"
    write(KERNEL, f"// a kernel\n{marked}// between\n{marked}")
    raise DiagnosticError(unresolved_conflicts(Path(), lock_of(KERNEL, owner=Owner.ONCE), Severity.ERROR))


def _merge(text: bytes) -> None:
    write(KERNEL, text)
    lock, tree = lock_of(KERNEL, owner=Owner.ONCE), tree_of(KERNEL, owner=Owner.ONCE)
    pristine = pristine_path(KERNEL)
    lock = replace(lock, files={**lock.files, **lock_of(pristine).files})
    write(pristine, "// old\n")
    actions = merge_once(compare(tree, lock, Path(), upgrade=True), tree, lock, Path())
    raise DiagnosticError(refusals(Path(), _refused(actions), command="upgrade"))


def ACME417_merged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _merge(b"<<<<<<< yours\nmine\n=======\nold\n>>>>>>> acmegen\n")


def ACME418_latin_1(monkeypatch: pytest.MonkeyPatch) -> None:
    _merge("// für alle\n".encode("latin-1"))


# ---- writing


def _replacement(path: str) -> Action:
    return Action(ActionKind.REPLACE, path, "// new\n", found=digest(b"// old\n"))


def ACME420_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes, mode: int | None = None) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "write", full)
    publish(Path(), [Action(ActionKind.CREATE, GUARD, "// new\n")], "")


def ACME421_edited_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// saved by an editor\n")
    publish(Path(), [_replacement(GUARD)], "")


def ACME422_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (GUARD, KERNEL):
        write(path, "// old\n")
        Path(path).chmod(0o444)
    publish(Path(), [_replacement(GUARD), _replacement(KERNEL)], "")


def ACME423_held_on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a file system without locks, where a file stands for the lock.
    monkeypatch.setattr("acmegen.output.project_lock.fcntl", None)
    holder = Holder(4711, "elsewhere", "acmegen regen nova", "")
    write(NOVA / ".acmegen/run/holder", json.dumps(asdict(holder)))
    with hold_project(NOVA, wait_seconds=0):
        pass


def ACME424_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    write(NOVA / JOURNAL_FOLDER / "steps.json", '{"journal": 1,\n "folders": [],\n')
    recover(NOVA)


def ACME424_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    write(NOVA / JOURNAL_FOLDER / "steps.json", '{"journal": 2}')
    recover(NOVA)


def _keep_journals(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(files, "unlink", refused)


def ACME425_not_tidied(monkeypatch: pytest.MonkeyPatch) -> None:
    NOVA.mkdir()
    _keep_journals(monkeypatch)
    publish(NOVA, [Action(ActionKind.CREATE, GUARD, "// new\n")], "")


def ACME425_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    write(NOVA / JOURNAL_FOLDER / "new-0", "// new\n")
    _keep_journals(monkeypatch)
    recover(NOVA)


def ACME426_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(NOVA / ".acmegen", "mine\n")
    run_folder(NOVA)


def ACME427_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    (NOVA / JOURNAL_FOLDER).mkdir(parents=True)
    raise DiagnosticError(interruption(NOVA))


# ---- exports


def ACME430_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    raise DiagnosticError(not_up_to_date(NOVA, compare(tree_of(GUARD) | tree_of(KERNEL), None, NOVA)))


def ACME430_half_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    (NOVA / JOURNAL_FOLDER).mkdir(parents=True)
    MANIFESTS.rename(NOVA / MANIFESTS)
    group.main(["vendor", "export", "nova", "export"], "acmegen", standalone_mode=False)


def ACME431_edited_and_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (GUARD, KERNEL, "LICENSE"):
        write(NOVA / path, "mine\n")
    exported = {GUARD: digest(b"// old\n"), KERNEL: digest(b"// old\n")}
    actions = compare_export({GUARD: b"// new\n", "LICENSE": b"MIT\n"}, exported, NOVA)
    raise DiagnosticError(export_refusals(NOVA, actions))


def ACME432_a_file_of_the_export(monkeypatch: pytest.MonkeyPatch) -> None:
    write(LOCK_NAME, dump_lock(Lock("0.1.0", "manifests", {}, {"torch": "2.13.0"}, {})))
    write("verify.py", "print('mine')\n")
    resolution = resolve(MANIFESTS)
    generation = Generation({}, resolution.plan.names, Lock("0.1.0", "manifests", {}, {}, {}))
    export_project(Path(), MANIFESTS, generation, NewNames())


def ACME433_an_own_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    license_texts({GUARD: b"// SPDX-License-Identifier: MIT OR LicenseRef-Nova\n"})


def ACME434_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("data").symlink_to("/usr/share")
    project_files(Path(), lock_of(GUARD), MANIFESTS)


def ACME435_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    write(NOVA / PROVENANCE_NAME, '{\n "provenance": 1,\n>>>>>>> theirs\n')
    exported_files(NOVA)


def ACME435_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    write(NOVA / PROVENANCE_NAME, '{"provenance": 1}\n')
    exported_files(NOVA)


# ---- what differs


def ACME440_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    find(tree_of(GUARD), lock_of(GUARD))


def ACME441_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// old\n")
    find(tree_of(GUARD), lock_of(GUARD))


def ACME442_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// old\n")
    find({}, lock_of(GUARD))


def ACME443_stale_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    write(GUARD, "// old\n")
    find(tree_of(GUARD, "// old\n"), lock_of(GUARD))


def _refused(actions: tuple[Action, ...]) -> list[Action]:
    return [action for action in actions if action.kind is ActionKind.REFUSE]
