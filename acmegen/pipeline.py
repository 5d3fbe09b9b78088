"""The whole line: load, lower, render, compare. Pure up to `publish`, which its callers do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from acmegen import __version__
from acmegen.diagnostics import Diagnostic, DiagnosticError, codes
from acmegen.facts import Facts, load_facts
from acmegen.manifest.load import TILEOPS, Project, load_what_is_right
from acmegen.manifest.schema import schema_files
from acmegen.output.adoption import adopt, lock_with, restore
from acmegen.output.compare import Action, ActionKind, compare, locked_files
from acmegen.output.files import read_file
from acmegen.output.fix import Fix, make_edits, read_manifests
from acmegen.output.lock import LOCK_NAME, Lock, digest, dump_lock, read_lock
from acmegen.output.publish import publish
from acmegen.output.upgrade import merge_once
from acmegen.plan.lower import lower
from acmegen.plan.names import Names
from acmegen.plan.plan import Plan
from acmegen.plan.renaming import Renaming
from acmegen.plan.surface import describe_surface
from acmegen.plan.surface_changes import surface_changes
from acmegen.render.format import Formatter, formatter_versions, load_black, nothing_formatted_yet
from acmegen.render.outputs import Owner
from acmegen.render.starter import starter_manifests
from acmegen.render.tree import Tree, compile_templates, render
from acmegen.workers import workers

_MAY_FOLLOW = frozenset({codes.BAD_BACKWARD})
_MOST_ROUNDS = 10  # of fixes: a mistake may show only when another one is fixed


@dataclass(frozen=True)
class Generation:
    """The result of one generation.

    Attributes:
        tree: the whole output.
        names: of the backend.
        lock: its lock but for `files`, which depend on the project.
        differences: what is different in the installed torch and TileOPs from those of the project's lock.
    """

    tree: Tree
    names: Names
    lock: Lock
    differences: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class Resolution:
    """Manifests, what is installed, and both resolved; `differences` as in `Generation`."""

    project: Project
    facts: Facts
    plan: Plan
    differences: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Changes:
    """What has to change in a project.

    Attributes:
        actions: for each file, sorted by path.
        lock: what they are recorded in.
        lock_action: what happens to the lock's file.
        waiting: files of the user's whose template gives another text by now, which `upgrade` merges.
    """

    actions: tuple[Action, ...]
    lock: Lock
    lock_action: Action
    waiting: tuple[str, ...] = ()

    @property
    def lock_text(self) -> str:
        """The text of the lock file."""
        return dump_lock(self.lock)

    @property
    def any(self) -> bool:
        """Whether the project differs from what it should be."""
        return any(action.changes for action in (*self.actions, self.lock_action))


def generate(manifests: Path, project: Path, upgrade: bool = False, renaming: Renaming | None = None) -> Generation:
    """Generate the tree of the backend that `manifests` describe; nothing is written.

    Args:
        manifests: the folder with `backend.yaml` and the rest.
        project: where the tree will lie; its path relative to `manifests` goes into the lock.
        upgrade: whether torch and TileOPs may be others than those of the project's present lock.
        renaming: other names for the backend than those in the manifests.

    Raises:
        DiagnosticError: the manifests are wrong, or do not fit what is installed; or torch or TileOPs is another one
            than the lock's, with what differs for this backend.
    """
    locked = read_lock(project)
    with workers(nothing_formatted_yet(), load_black) as executor:
        if executor is not None:
            compile_templates(executor)
        resolved = resolve(manifests, locked, upgrade, renaming, executor)
        tree = render(resolved.plan, Formatter(executor))
    lock = Lock(
        acmegen=__version__,
        manifests=_relative(manifests, project),
        sources=resolved.project.digests,
        facts=resolved.facts.digests,
        formatters=formatter_versions(),
        surface=describe_surface(resolved.plan, resolved.facts, {path: file.text for path, file in tree.items()}),
    )
    return Generation(tree, resolved.plan.names, lock, resolved.differences)


def resolve(
    manifests: Path,
    locked: Lock | None = None,
    upgrade: bool = False,
    renaming: Renaming | None = None,
    executor: Executor | None = None,
) -> Resolution:
    """Load `manifests`, and resolve them against what is installed, which is read in `executor` in part.

    The rest is as `generate` says; `locked` is the lock that torch and TileOPs are compared with.

    Raises:
        DiagnosticError: what is wrong with the manifests, and what in the rest of them does not fit; or torch or
            TileOPs is another one than the lock's.
    """
    loaded, wrong = load_what_is_right(manifests, renaming.manifest if renaming is not None else None)
    if loaded is None:
        raise DiagnosticError(wrong)
    differences: tuple[Diagnostic, ...] = ()
    try:
        former = locked.facts.get("torch") if locked is not None and not upgrade else None
        requirement = f"torch=={former}" if former else f"torch{loaded.backend.torch}"
        facts = load_facts(tileops=loaded.tileops is not None, executor=executor, requirement=requirement)
        if locked is not None:
            differences = surface_changes(locked.facts, locked.surface, facts, upgrade)
        if differences and not upgrade:
            raise DiagnosticError(())
        plan = lower(loaded, facts)
    except DiagnosticError as error:
        # An entry that was left out may be the one that another entry calls.
        misfits = [diagnostic for diagnostic in error.diagnostics if not wrong or diagnostic.code not in _MAY_FOLLOW]
        raise DiagnosticError([*wrong, *misfits, *differences]) from error
    if wrong:
        raise DiagnosticError(wrong)
    return Resolution(loaded, facts, plan, differences)


def fix_manifests(manifests: Path) -> Iterator[Fix]:
    """Make the edits that the diagnostics of `manifests` suggest, until there are none; yield each once it is made.

    Raises:
        DiagnosticError: a manifest was changed meanwhile. What is wrong and has no edits is not raised.
    """
    for _ in range(_MOST_ROUNDS):
        texts = read_manifests(manifests)
        try:
            resolve(manifests)
        except DiagnosticError as error:
            fixes = make_edits(error.diagnostics, texts)
            if not fixes:
                return
            yield from fixes
        else:
            return


def _relative(folder: Path, project: Path) -> str:
    """The way from `project` to `folder` as the file system goes it, through the links above either of them."""
    absolute = folder.absolute()
    return Path(os.path.relpath(absolute.parent.resolve() / absolute.name, project.resolve())).as_posix()


def plan_changes(generation: Generation, project: Path, force: bool = False, upgrade: bool = False) -> Changes:
    """What has to change in `project`: the tree against the lock and the disk, as `compare` says.

    With `upgrade`, what changed in the templates of the user's files is merged into them.
    """
    lock = read_lock(project)
    actions = compare(generation.tree, lock, project, force, upgrade)
    if upgrade and lock is not None:
        actions = merge_once(actions, generation.tree, lock, project)
    waiting = tuple(action.path for action in actions if _waits(action, generation.tree))
    return Changes(actions, *_locked(project, replace(generation.lock, files=locked_files(actions))), waiting)


def _waits(action: Action, tree: Tree) -> bool:
    entry = action.record
    if action.kind is not ActionKind.KEEP or entry is None or entry.owner == Owner.OWNED.value or entry.deleted:
        return False
    return digest(tree[action.path].text.encode()) != entry.sha256


def _locked(project: Path, lock: Lock) -> tuple[Lock, Action]:
    """`lock` and what happens to its file."""
    text, path = dump_lock(lock), project / LOCK_NAME
    if not path.is_file():
        return lock, Action(ActionKind.CREATE, LOCK_NAME, text)
    if read_file(path) != text.encode():
        return lock, Action(ActionKind.REPLACE, LOCK_NAME, text)
    return lock, Action(ActionKind.KEEP, LOCK_NAME)


def adopt_files(generation: Generation, project: Path, paths: Sequence[str]) -> Changes:
    """What makes the generated files `paths` the user's; other files, and the rest of the lock, stay as they are."""
    lock = _lock_of(project, generation)
    return _some_changes(project, lock, adopt(generation.tree, lock, project, paths))


def restore_files(generation: Generation, project: Path, paths: Sequence[str], force: bool) -> Changes:
    """What makes the files `paths` what acmegen generates by now; other files, and the rest of the lock, stay."""
    lock = _lock_of(project, generation)
    return _some_changes(project, lock, restore(generation.tree, lock, project, paths, force))


def _lock_of(project: Path, generation: Generation) -> Lock:
    lock = read_lock(project)
    return generation.lock if lock is None else lock


def _some_changes(project: Path, lock: Lock, actions: tuple[Action, ...]) -> Changes:
    return Changes(actions, *_locked(project, lock_with(lock, actions)))


def create_project(name: str, project: Path, tileops: bool = True) -> tuple[Action, ...]:
    """Write a new project for the device `name` into the empty folder `project`; return what was created.

    Without `tileops` it is no target of TileOPs, and TileOPs need not be installed.

    The starter manifests are loaded from a folder of their own first, so that nothing is written when they do not fit.

    Raises:
        DiagnosticError: the name cannot be a device's, or the starter manifests do not fit what is installed.
    """
    starter = {path: text for path, text in starter_manifests(name).items() if tileops or path != TILEOPS}
    manifests = starter | {f"schema/{file}": text for file, text in schema_files().items()}
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / name
        for path, text in manifests.items():
            target = staged / "manifests" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        try:
            generation = generate(staged / "manifests", staged)
        except DiagnosticError as error:
            # The manifests that it speaks of were never written.
            raise DiagnosticError(
                replace(diagnostic, span=None, secondary=(), edits=()) for diagnostic in error.diagnostics
            ) from error
    created = [Action(ActionKind.CREATE, f"manifests/{path}", text) for path, text in manifests.items()]
    created += compare(generation.tree, None, project)
    actions = tuple(sorted(created, key=lambda action: action.path))
    publish(project, actions, dump_lock(replace(generation.lock, files=locked_files(actions))))
    return actions
