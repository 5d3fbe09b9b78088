"""The whole line: load, lower, render, compare. Pure up to `publish`, which its callers do."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from acmegen import __version__
from acmegen.diagnostics import DiagnosticError
from acmegen.facts import load_facts
from acmegen.manifest.load import TILEOPS, load_project
from acmegen.manifest.schema import schemas
from acmegen.output.compare import Action, ActionKind, compare
from acmegen.output.lock import Lock, LockedFile, digest, dump_lock, read_lock
from acmegen.output.publish import publish
from acmegen.plan.lower import lower
from acmegen.render.format import formatter_versions, load_black, nothing_formatted_yet
from acmegen.render.starter import starter_manifests
from acmegen.render.tree import Tree, render
from acmegen.workers import workers


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
    loaded = load_project(manifests)
    with workers(nothing_formatted_yet(), load_black) as executor:
        facts = load_facts(tileops=loaded.tileops is not None, executor=executor)
        tree = render(lower(loaded, facts), executor)
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
            raise DiagnosticError(replace(diagnostic, span=None) for diagnostic in error.diagnostics) from error
    created = [Action(ActionKind.CREATE, f"manifests/{path}", text) for path, text in manifests.items()]
    created += compare(generation.tree, None, project)
    actions = tuple(sorted(created, key=lambda action: action.path))
    publish(project, actions, generation.lock_text)
    return actions
