"""`acmegen new-backend`: a project that builds, passes its tests and trains a model on a simulated device."""

from __future__ import annotations

from pathlib import Path

import click

from acmegen.pipeline import create_project


@click.command("new-backend")
@click.argument("name")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=True, path_type=Path),
    help="The project's folder, new or empty [default: ./NAME].",
)
def new_backend(name: str, folder: Path | None) -> None:
    """Create a backend called NAME, the device string (lower-case letters and underscores)."""
    folder = folder or Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"{folder} exists and is not an empty folder; choose another with --dir")
    actions = create_project(name, folder)
    click.echo(f"Created the backend `{name}` in {folder}: {len(actions)} files. Next:\n")
    click.echo(f"  cd {folder}")
    click.echo("  pip install --no-build-isolation -e .")
    click.echo("  pytest")
