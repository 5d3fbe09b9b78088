"""`acmegen new-backend`: a project that builds, passes its tests and trains a model on a simulated device."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand
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
def new_backend(name: str, folder: Path | None, without_tileops: bool) -> None:
    """Create a backend called NAME, the device string (lower-case letters and underscores)."""
    folder = folder or Path(name)
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"{folder} exists and is not an empty folder; choose another with --dir")
    actions = create_project(name, folder, tileops=not without_tileops)
    click.echo(f"Created the backend `{name}` in {folder}: {len(actions)} files. Next:\n")
    click.echo(f"  cd {shlex.quote(str(folder))}")
    click.echo("  pip install --no-build-isolation -e .")
    click.echo("  pytest")
