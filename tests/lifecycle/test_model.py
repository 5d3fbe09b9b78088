"""H1, H3, H5, H19: random use of a project, by a user and by acmegen, and what holds at any time.

The trees are made by hand from entries, as templates would; what is done with them is the real thing. What the user
writes holds words that occur nowhere else, so that every one of them can be looked for later.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output import files
from acmegen.output.compare import ActionKind
from acmegen.output.lock import LOCK_NAME, Lock, is_text_of, read_lock
from acmegen.output.pristine import is_pristine, pristine_path
from acmegen.output.publish import publish
from acmegen.pipeline import Changes, Generation, adopt_files, plan_changes, restore_files
from acmegen.plan.names import derive_names
from acmegen.render.outputs import Owner
from acmegen.render.tree import GeneratedFile, Tree
from tests.lifecycle.publishing import Crash, Disk, Snapshot, on_disk, recovered, snapshot

OPS = ("add", "mm")
SHARED, BUILD, REGISTRATION = "include/Backend.h", "CMakeLists.txt", "csrc/generated/Registration.cpp"
PATHS = (
    *(SHARED, BUILD, REGISTRATION),
    *("csrc/generated/add.cpp", "csrc/kernels/add.cpp", "csrc/kernels/mm.cpp", "csrc/mine.cpp"),
)
paths = st.sampled_from(PATHS)
steps = Counter[str]()


def generated(entries: dict[str, tuple[str, int]], version: int) -> Tree:
    """What templates of a version give: entries of kind `expr` are acmegen's, those of kind `user` are the user's."""
    lines = [f"{op} {kind} {number}\n" for op, (kind, number) in sorted(entries.items())]
    texts = {
        SHARED: (f"// backend, version {version}\n", Owner.OWNED),
        BUILD: ("".join(f"{line}: {version if line % 4 == 0 else 0}\n" for line in range(12)), Owner.ONCE),
        REGISTRATION: ("".join(lines), Owner.OWNED),
    }
    for op, (kind, number) in entries.items():
        if kind == "expr":
            # One path is acmegen's or the user's, as the entry says.
            folder = "generated" if op == "add" else "kernels"
            texts[f"csrc/{folder}/{op}.cpp"] = (f"// {op}, version {version}\nloop({number});\n", Owner.OWNED)
        else:
            body = f"// {op}\n// version {version}\n\nvoid {op}() {{\n  todo();\n}}\n"
            texts[f"csrc/kernels/{op}.cpp"] = (body, Owner.ONCE)
    return {
        path: GeneratedFile(text, owner, f"{path}.jinja", "ops/*.yaml") for path, (text, owner) in sorted(texts.items())
    }


class ProjectMachine(RuleBasedStateMachine):
    """A project, what its manifests say by now, and the words of the user that must be in each file."""

    def __init__(self) -> None:
        super().__init__()
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = Path(mkdtemp(dir=memory))
        self.project = self.folder / "project"
        self.project.mkdir()
        self.outside = self.folder / "outside.txt"
        self.outside.write_text("not of this project\n")
        self.entries: dict[str, tuple[str, int]] = {}
        self.version = 1
        self.words: dict[str, set[str]] = {}
        self.counter = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    # What the user does.

    @initialize()
    def new_backend(self) -> None:
        self.entries["add"] = ("expr", 1)
        self.entries["mm"] = ("user", 1)
        assert self.run(lambda generation: plan_changes(generation, self.project))
        self.must_be_clean()

    @rule(op=st.sampled_from(OPS), kind=st.sampled_from(("expr", "user")), number=st.integers(1, 3))
    def set_entry(self, op: str, kind: str, number: int) -> None:
        self.entries[op] = (kind, number)

    @rule(op=st.sampled_from(OPS))
    def delete_entry(self, op: str) -> None:
        self.entries.pop(op, None)

    @rule()
    def install_other_templates(self) -> None:
        self.version += 1

    @rule(path=paths, line=st.integers(0, 12))
    def edit(self, path: str, line: int) -> None:
        """Write a word into a file, or into a new one."""
        place = self.project / path
        if place.is_symlink() or place.is_dir() or not self.has_room(place):
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        lines = place.read_text().splitlines(keepends=True) if place.is_file() else []
        self.counter += 1
        word = f"word-{self.counter}-of-the-user"
        lines.insert(min(line, len(lines)), word + "\n")
        place.write_text("".join(lines))
        self.words.setdefault(path, set()).add(word)

    @rule(path=paths, how=st.sampled_from(("delete", "touch", "convert", "link")))
    def disturb(self, path: str, how: str) -> None:
        """Delete a file, touch it, give it the line ends of Windows as git does, or put a link in its place."""
        place = self.project / path
        if place.is_symlink():
            place.unlink()
        elif how == "link" and not self.words.get(path) and place.parent.is_dir() and not place.is_dir():
            place.unlink(missing_ok=True)
            place.symlink_to(self.outside)
        elif place.is_file() and how == "delete":
            place.unlink()
            self.words.pop(path, None)
        elif place.is_file() and how == "touch":
            os.utime(place, ns=(1, self.counter))
        elif place.is_file() and how == "convert":
            place.write_bytes(place.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    # What acmegen does.

    @rule(force=st.sampled_from((False, False, True)))
    def regen(self, force: bool) -> None:
        before, lock = snapshot(self.project), self.lock
        if not self.run(lambda generation: plan_changes(generation, self.project, force)):
            assert snapshot(self.project) == before, "a refused run changed something"
            return
        if force:
            self.give_up(path for path, entry in lock.files.items() if entry.owner == "owned")
        self.must_be_clean()
        self.must_keep(before, except_for=[path for path, entry in lock.files.items() if entry.owner == "owned"])

    @rule(force=st.booleans())
    def upgrade(self, force: bool) -> None:
        before, lock = snapshot(self.project), self.lock
        if not self.run(lambda generation: plan_changes(generation, self.project, force, upgrade=True)):
            assert snapshot(self.project) == before
            return
        if force:
            self.give_up(path for path, entry in lock.files.items() if entry.owner == "owned")
        self.must_be_clean()

    @rule(path=paths)
    def adopt(self, path: str) -> None:
        before, file, was_clean = snapshot(self.project), self.generation().tree.get(path), self.is_clean()
        done = self.run(lambda generation: adopt_files(generation, self.project, [path]))
        after = snapshot(self.project)
        assert {name: entry for name, entry in after.items() if self.is_users_view(name)} == {
            name: entry for name, entry in before.items() if self.is_users_view(name)
        }, "adopting changes no file"
        if done and file is not None and file.owner is Owner.OWNED:
            assert self.lock.files[path].owner == "adopted"
        if was_clean:
            self.must_be_clean()

    @rule(path=paths, force=st.booleans())
    def restore(self, path: str, force: bool) -> None:
        before, was_clean = snapshot(self.project), self.is_clean()
        if not self.run(lambda generation: restore_files(generation, self.project, [path], force)):
            assert snapshot(self.project) == before
            return
        if force:
            self.give_up([path])
        assert (self.project / path).read_bytes() == self.generation().tree[path].text.encode()
        self.must_keep(before, except_for=[path])
        if was_clean:
            self.must_be_clean()

    @rule()
    def check(self) -> None:
        before = snapshot(self.project)
        plan_changes(self.generation(), self.project)
        assert snapshot(self.project) == before

    @rule(at=st.integers(0, 90))
    def crash_while_regenerating(self, at: int) -> None:
        before = snapshot(self.project)
        with on_disk(Disk(at)):
            try:
                done = self.run(lambda generation: plan_changes(generation, self.project))
            except Crash:
                done = False
                steps["crashes"] += 1
        recovery = recovered(self.project)
        assert recovery is None or not recovery.saved
        if not done and snapshot(self.project) != before:
            self.must_be_clean()

    # How it is looked at.

    def run(self, plan: Callable[[Generation], Changes]) -> bool:
        """Plan and publish as a command does; whether it was not refused."""
        try:
            changes = plan(self.generation())
        except DiagnosticError as error:
            assert {diagnostic.code for diagnostic in error.diagnostics} <= {codes.NOT_GENERATED}
            steps["not generated"] += 1
            return False
        kinds = {action.kind for action in changes.actions}
        steps.update(f"with {kind.value}" for kind in kinds)
        if ActionKind.REFUSE in kinds:
            return False
        publish(self.project, changes.actions, changes.lock_text)
        return True

    def generation(self) -> Generation:
        lock = Lock("0.1.0", "manifests", {}, {}, {})
        return Generation(generated(self.entries, self.version), derive_names("acme"), lock)

    @property
    def lock(self) -> Lock:
        lock = read_lock(self.project)
        assert lock is not None
        return lock

    def has_room(self, place: Path) -> bool:
        return all(folder.is_dir() or not os.path.lexists(folder) for folder in place.relative_to(self.folder).parents)

    def is_users_view(self, name: str) -> bool:
        """Whether a path is a file that a user looks at, and not a record of acmegen's."""
        return name in PATHS

    def give_up(self, given: object) -> None:
        """Files that the user let acmegen overwrite: words in them are lost, if it did."""
        for path in given:  # type: ignore[attr-defined]
            place = self.project / path
            text = place.read_text() if place.is_file() else ""
            self.words[path] = {word for word in self.words.get(path, set()) if word in text}

    def is_clean(self) -> bool:
        return not plan_changes(self.generation(), self.project).any

    def must_be_clean(self) -> None:
        changes = plan_changes(self.generation(), self.project)
        assert not changes.any, [action for action in (*changes.actions, changes.lock_action) if action.changes]
        for path, entry in self.lock.files.items():
            place = self.project / path
            if entry.owner == "owned":
                assert is_text_of(place.read_bytes(), entry.sha256), path
                continue
            assert entry.deleted == (not os.path.lexists(place)), path
            assert is_text_of((self.project / pristine_path(path)).read_bytes(), entry.sha256), path
        ours = {path for path, entry in snapshot(self.project).items() if entry} - self.lock.files.keys() - {LOCK_NAME}
        assert not any(is_pristine(path) for path in ours), "left over"

    def must_keep(self, before: Snapshot, except_for: object) -> None:
        """What the user wrote to has the same bytes and the same time."""
        after = snapshot(self.project)
        for path in {path for path, words in self.words.items() if words} - set(except_for):  # type: ignore[call-overload]
            assert after[path] == before[path], path

    @invariant()
    def no_word_of_the_user_is_lost(self) -> None:
        steps["steps"] += 1
        for path, words in self.words.items():
            text = (self.project / path).read_text() if words else ""
            for word in words:
                assert word in text, f"{path}: {word}"

    @invariant()
    def nothing_outside_is_changed(self) -> None:
        assert self.outside.read_text() == "not of this project\n"
        assert sorted(path.name for path in self.folder.iterdir()) == ["outside.txt", "project"]

    @invariant()
    def no_run_left_anything(self) -> None:
        assert not (self.project / ".acmegen/run").exists()


SETTINGS = settings(
    stateful_step_count=40,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(settings(SETTINGS, max_examples=120), id="some"),
        pytest.param(
            settings(SETTINGS, max_examples=3000, stateful_step_count=60, derandomize=False),
            id="many",
            marks=[pytest.mark.slow, pytest.mark.timeout(3600)],
        ),
    ],
)
def test_h3_random_use_loses_nothing(chosen: settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "sync", lambda paths: None)
    steps.clear()
    run_state_machine_as_test(ProjectMachine, settings=chosen)  # type: ignore[no-untyped-call]
    print(dict(steps))
    assert steps["steps"] > 20 * chosen.max_examples
    assert all(steps[f"with {kind.value}"] > chosen.max_examples // 10 for kind in ActionKind), steps
    assert steps["crashes"] > chosen.max_examples // 10
