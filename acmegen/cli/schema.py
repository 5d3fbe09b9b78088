"""`acmegen schema`: the JSON Schemas of the manifests, for editors, and of what `--format json` prints."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from acmegen.cli.project import current_project
from acmegen.manifest.schema import schema_files


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where they are written [default: manifests/schema, in the project that this folder is in].",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file there is not up to date.")
def schema(folder: Path | None, check: bool) -> None:
    """Write the JSON Schema of each kind of manifest, and that of the diagnostics that --format json prints."""
    folder = folder or _schema_folder()
    stale = {
        path: text
        for path, text in ((folder / name, text) for name, text in schema_files().items())
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    if check:
        for path in stale:
            click.echo(f"stale    {path}")
        sys.exit(1 if stale else 0)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8", newline="\n")
        click.echo(f"wrote    {path}")
    if not stale:
        click.echo("all schemas are up to date")


def _schema_folder() -> Path:
    """The folder that the manifests of the current project name for editors."""
    manifests = current_project() / "manifests"
    if not manifests.is_dir():
        raise click.UsageError("there is no manifests folder here; name the schemas' folder with --dir")
    return manifests / "schema"
