"""`acmegen adopt` and `acmegen restore`: generated files that become the user's, and back."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand
from acmegen.cli.project import changing, manifests_folder, manifests_option, paths_in_project, wait_option
from acmegen.cli.report import print_changes, refuse
from acmegen.output.publish import publish
from acmegen.pipeline import Changes, Generation, adopt_files, generate, restore_files

paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")


@click.command(cls=DiagnosticCommand)
@paths_argument
@manifests_option
@wait_option
def adopt(paths: Sequence[Path], manifests: Path | None, wait: float) -> None:
    """Make the generated files PATH... yours: acmegen leaves them alone from now on.

    `acmegen upgrade` merges what changes in their templates, and `acmegen restore` gives them back.
    """
    _change(paths, manifests, wait, "", adopt_files)


@click.command(cls=DiagnosticCommand)
@paths_argument
@manifests_option
@click.option("--force", is_flag=True, help="Overwrite what was written into the files.")
@wait_option
def restore(paths: Sequence[Path], manifests: Path | None, force: bool, wait: float) -> None:
    """Make the files PATH... what acmegen generates: bring deleted ones back, and give back those that were adopted."""
    retry = f"acmegen restore --force {shlex.join(map(str, paths))}"

    def change(generation: Generation, project: Path, files: Sequence[str]) -> Changes:
        return restore_files(generation, project, files, force)

    _change(paths, manifests, wait, retry, change)


def _change(
    paths: Sequence[Path],
    manifests: Path | None,
    wait: float,
    retry: str,
    change: Callable[[Generation, Path, Sequence[str]], Changes],
) -> None:
    project, files = paths_in_project(paths)
    with changing(project, wait):
        # Whatever torch is installed: adopting an edited file is a way on for an upgrade that it stopped.
        generation = generate(manifests_folder(project, manifests), project, upgrade=change is adopt_files)
        changes = change(generation, project, files)
        refuse(project, generation, changes, retry)
        publish(project, changes.actions, changes.lock_text)
    print_changes(project, changes)
