"""The whole line: load, lower, render, compare. Pure up to `publish`, which its callers do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path

from acmegen import __version__
from acmegen.diagnostics import DiagnosticError, codes
from acmegen.facts import Facts, load_facts
from acmegen.manifest.load import TILEOPS, Project, load_what_is_right
from acmegen.manifest.schema import schemas
from acmegen.output.compare import Action, ActionKind, compare
from acmegen.output.fix import Fix, make_edits, read_manifests
from acmegen.output.lock import Lock, LockedFile, digest, dump_lock, read_lock
from acmegen.output.publish import publish
from acmegen.plan.lower import lower
from acmegen.plan.plan import Plan
from acmegen.render.format import formatter_versions, load_black, nothing_formatted_yet
from acmegen.render.starter import starter_manifests
from acmegen.render.tree import Tree, render
from acmegen.workers import workers

_MAY_FOLLOW = frozenset({codes.BAD_BACKWARD})
_MOST_ROUNDS = 10  # of fixes: a mistake may show only when another one is fixed


@dataclass(frozen=True)
class Generation:
    """The result of one generation: the whole output tree, and the lock that records it."""

    tree: Tree
    lock: Lock

    @property
    def lock_text(self) -> str:
        """The text of the lock file."""
        return dump_lock(self.lock)


def generate(manifests: Path, project: Path) -> Generation:
    """Generate the tree of the backend that `manifests` describe; nothing is written.

    Args:
        manifests: the folder with `backend.yaml` and the rest.
        project: where the tree will lie; only its path relative to `manifests` matters, for the lock.

    Raises:
        DiagnosticError: the manifests are wrong, or do not fit what is installed.
    """
    with workers(nothing_formatted_yet(), load_black) as executor:
        loaded, facts, plan = resolve(manifests, executor)
        tree = render(plan, executor)
    lock = Lock(
        acmegen=__version__,
        manifests=_relative(manifests, project),
        sources=loaded.digests,
        facts=facts.digests,
        formatters=formatter_versions(),
        files={
            path: LockedFile(file.owner.value, digest(file.text.encode()), file.template) for path, file in tree.items()
        },
    )
    return Generation(tree, lock)


def resolve(manifests: Path, executor: Executor | None = None) -> tuple[Project, Facts, Plan]:
    """Load `manifests`, and resolve them against what is installed, which is read in `executor` in part.

    Raises:
        DiagnosticError: what is wrong with the manifests, and what in the rest of them does not fit.
    """
    loaded, wrong = load_what_is_right(manifests)
    if loaded is None:
        raise DiagnosticError(wrong)
    try:
        facts = load_facts(tileops=loaded.tileops is not None, executor=executor)
        plan = lower(loaded, facts)
    except DiagnosticError as error:
        # An entry that was left out may be the one that another entry calls.
        misfits = [diagnostic for diagnostic in error.diagnostics if not wrong or diagnostic.code not in _MAY_FOLLOW]
        raise DiagnosticError([*wrong, *misfits]) from error
    if wrong:
        raise DiagnosticError(wrong)
    return loaded, facts, plan


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


def plan_changes(generation: Generation, project: Path, force: bool = False) -> tuple[Action, ...]:
    """What has to change in `project`: the tree against the lock and the disk."""
    return compare(generation.tree, read_lock(project), project, force)


def create_project(name: str, project: Path, tileops: bool = True) -> tuple[Action, ...]:
    """Write a new project for the device `name` into the empty folder `project`; return what was created.

    Without `tileops` it is no target of TileOPs, and TileOPs need not be installed.

    The starter manifests are loaded from a folder of their own first, so that nothing is written when they do not fit.

    Raises:
        DiagnosticError: the name cannot be a device's, or the starter manifests do not fit what is installed.
    """
    starter = {path: text for path, text in starter_manifests(name).items() if tileops or path != TILEOPS}
    manifests = starter | {f"schema/{file}": text for file, text in schemas().items()}
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
    publish(project, actions, generation.lock_text)
    return actions
