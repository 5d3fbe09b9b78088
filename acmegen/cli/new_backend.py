"""`acmegen new-backend`: a project that builds, passes its tests and trains a model on a simulated device."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand
from acmegen.cli.project import changing, wait_option
from acmegen.manifest.names import DeviceName
from acmegen.manifest.validate import check_value
from acmegen.output.journal import left_journal
from acmegen.output.run_folder import RUN_FOLDER
from acmegen.pipeline import create_project


@click.command("new-backend", cls=DiagnosticCommand)
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=True, path_type=Path),
    help="The project's folder, new or empty [default: ./NAME].",
)
@click.option("--without-tileops", is_flag=True, help="Not a target of TileOPs, which then need not be installed.")
@wait_option
def new_backend(name: str, folder: Path | None, without_tileops: bool, wait: float) -> None:
    """Create a backend called NAME, the device string (lower-case letters and underscores)."""
    check_value(DeviceName, name)  # before it becomes a folder
    folder = folder or Path(name)
    if not (folder.is_dir() and left_journal(folder)):
        _check_free(folder)
    with changing(folder, wait):
        _check_free(folder)
        actions = create_project(name, folder, tileops=not without_tileops)
    click.echo(f"Created the backend `{name}` in {folder}: {len(actions)} files. Next:\n")
    click.echo(f"  cd {shlex.quote(str(folder))}")
    click.echo("  acmegen build    # pip install --no-build-isolation -e .")
    click.echo("  acmegen test     # pytest")


def _check_free(folder: Path) -> None:
    """Raise a UsageError unless `folder` is new or has nothing in it but what a run puts there."""
    own = folder / RUN_FOLDER
    if folder.is_dir() and all(path in (own, own.parent) or own in path.parents for path in folder.rglob("*")):
        return
    if os.path.lexists(folder):
        raise click.UsageError(f"{folder} exists and is not an empty folder; choose another with --dir")
