"""The project argument that most commands share."""

from __future__ import annotations

from pathlib import Path

import click

from acmegen.output.lock import LOCK_NAME, read_lock

project_argument = click.argument("project", type=click.Path(file_okay=False, path_type=Path), default=Path())
manifests_option = click.option(
    "--manifests",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The manifests' folder [default: the one in the lock, or PROJECT/manifests].",
)


def manifests_folder(project: Path, chosen: Path | None) -> Path:
    """The folder of the manifests that `project` is generated from.

    Raises:
        click.UsageError: there is none.
    """
    if project.is_symlink() and not project.is_dir():
        raise click.UsageError(f"{project} is a symbolic link that leads nowhere")
    if chosen is not None:
        return chosen
    lock = read_lock(project)
    folder = project / (lock.manifests if lock is not None else "manifests")
    if not folder.is_dir():
        raise click.UsageError(
            f"{project} has no {LOCK_NAME} and no manifests folder; name it with --manifests, or make a project with "
            "`acmegen new-backend NAME`"
        )
    return folder
