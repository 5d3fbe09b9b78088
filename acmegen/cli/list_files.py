"""`acmegen list`: the generated files of a project, and where each comes from."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from acmegen.cli.project import manifests_folder, manifests_option, project_argument, warn_of_journal
from acmegen.output.listing import ListedFile, list_files
from acmegen.output.lock import read_lock
from acmegen.pipeline import generate

_SHOWN_PLACES = 3


@click.command("list")
@project_argument
@manifests_option
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def list_command(project: Path, manifests: Path | None, form: str) -> None:
    """List the generated files of PROJECT (default: this folder's): owner, state, path, template, entries of manifests.

    Owners: owned (acmegen's), once and adopted (yours). States: unchanged, edited, deleted; new: `acmegen regen` will
    write it; stale: no manifest asks for it any more; unreadable: you may not read it. Manifests are relative to their
    folder.
    """
    warn_of_journal(project)
    generation = generate(manifests_folder(project, manifests), project, upgrade=True)
    files = list_files(generation.tree, read_lock(project), project)
    if form == "json":
        click.echo(json.dumps({"files": [_fields(file) for file in files]}, indent=1))
        return
    width = max((len(file.path) for file in files), default=0)
    for file in files:
        line = f"{file.owner.value:8} {file.state.value:10} {file.path:{width}}  {file.template}  {_origin(file)}"
        click.echo(line.rstrip())


def _origin(file: ListedFile) -> str:
    """The manifest, or the first few of the entries."""
    if file.generated is None:
        return ""
    places = file.generated.places
    shown = " ".join(f"{place.manifest}:{place.line}" for place in places[:_SHOWN_PLACES])
    more = len(places) - _SHOWN_PLACES
    return (f"{shown} and {more} more" if more > 0 else shown) or file.generated.manifest


def _fields(file: ListedFile) -> dict[str, object]:
    """A file as JSON."""
    return {
        "path": file.path,
        "owner": file.owner.value,
        "state": file.state.value,
        "template": file.template,
        "manifest": file.generated.manifest if file.generated else None,
        "places": [asdict(place) for place in file.generated.places] if file.generated else [],
    }
