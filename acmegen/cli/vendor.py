"""`acmegen vendor`: a project as a folder of another repository."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand, DiagnosticGroup
from acmegen.cli.project import (
    changing,
    dry_run_option,
    manifests_folder,
    manifests_option,
    wait_option,
    warn_of_journal,
)
from acmegen.diagnostics import Diagnostic, DiagnosticError, Severity, codes, shown_folder
from acmegen.manifest.folder import BACKEND
from acmegen.output import verify as verification
from acmegen.output.compare import Action, ActionKind
from acmegen.output.lock import LOCK_NAME, digest
from acmegen.output.provenance import exported_files, exported_names
from acmegen.output.publish import publish
from acmegen.output.upgrade import unresolved_conflicts
from acmegen.output.vendor import compare_export, export_refusals, not_up_to_date
from acmegen.pipeline import generate, plan_changes
from acmegen.vendoring import Export, NewNames, export_project

_SHOWN = 20


@click.group(cls=DiagnosticGroup)
def vendor() -> None:
    """Export a project for another repository, and verify an export."""


@vendor.command(cls=DiagnosticCommand)
@click.argument("project", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("dest", type=click.Path(file_okay=False, path_type=Path))
@manifests_option
@click.option("--name", help="Another device name.")
@click.option("--cpp-namespace", help="Another C++ namespace [default: follows from the device name].")
@click.option("--library", help="Another name of the shared library [default: follows from the package].")
@click.option("--python-package", help="Another Python package [default: follows from the device name].")
@click.option("--contact", default="", help="Whom the reader shall tell of mistakes, in a line of VENDORED.md.")
@click.option("--force", is_flag=True, help="Overwrite files of an earlier export that were edited in DEST.")
@dry_run_option
@wait_option
def export(
    project: Path,
    dest: Path,
    manifests: Path | None,
    name: str | None,
    cpp_namespace: str | None,
    library: str | None,
    python_package: str | None,
    contact: str,
    force: bool,
    dry_run: bool,
    wait: float,
) -> None:
    """Copy PROJECT, with licences and the digest of each file, into DEST, a folder of another repository.

    The project must be up to date. Another export into the same folder updates it; files that were edited there are
    refused, and those that were added there are left alone. Manifests are not copied.
    """
    source, target = project.resolve(), dest.resolve()
    if source == target or source in target.parents or target in source.parents:
        raise click.UsageError(f"{dest} and {project} lie in each other; export into a folder outside of the project")
    chosen = NewNames(name, cpp_namespace, python_package, library)
    former = exported_names(dest)
    if former is not None and not chosen:
        click.echo(f"The export in {dest} has other names; it keeps them.", err=True)
        chosen = NewNames(former["device"], former["namespace"], former["package"], former["library"])
    result = _up_to_date_export(project, manifests_folder(project, manifests), chosen, contact)
    with changing(dest, wait, dry_run):
        _check_no_project(dest)
        actions = compare_export(result.files, exported_files(dest), dest, force)
        if refused := tuple(export_refusals(dest, actions)):
            raise DiagnosticError(refused)
        if not dry_run:
            lock_text = result.files[LOCK_NAME].decode()
            publish(dest, [action for action in actions if action.path != LOCK_NAME], lock_text)
    _report(result, actions)


@vendor.command()
@click.argument("dest", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path())
def verify(dest: Path) -> None:
    """Compare the export in DEST (default: this folder) with its own PROVENANCE.json.

    Needs neither torch nor templates nor manifests. Exit code 0: no difference. 1: files are changed, missing or added.
    2: DEST is no export.
    """
    sys.exit(verification.main([str(dest)]))


def _check_no_project(dest: Path) -> None:
    """Raise a UsageError if `dest` is a project: exporting there would make it an export, which has no manifests."""
    if os.path.lexists(dest / verification.PROVENANCE_NAME):
        return
    found = next((name for name in (LOCK_NAME, f"manifests/{BACKEND}") if os.path.lexists(dest / name)), None)
    if found is not None:
        raise click.UsageError(f"{shown_folder(dest)} is a project itself: it has {found}; export into another folder")


def _up_to_date_export(project: Path, manifests: Path, chosen: NewNames, contact: str) -> Export:
    """What is to be exported.

    Raises:
        DiagnosticError: the project is not up to date or has merge conflicts, or cannot be exported.
    """
    for warning in warn_of_journal(project):
        message = f"`{shown_folder(project)}` is not exported while a run changes it, or after one that was interrupted"
        raise DiagnosticError([Diagnostic(codes.NOT_UP_TO_DATE, message, help=warning.help)])
    generation = generate(manifests, project)
    changes = plan_changes(generation, project)
    obstacles = (
        *not_up_to_date(project, (*changes.actions, changes.lock_action)),
        *unresolved_conflicts(project, changes.lock, Severity.ERROR),
    )
    if obstacles:
        raise DiagnosticError(obstacles)
    result = export_project(project, manifests, generation, chosen, contact)
    if warn_of_journal(project):
        message = f"`{shown_folder(project)}` was changed while it was read"
        raise DiagnosticError([Diagnostic(codes.NOT_UP_TO_DATE, message, help="run the command again")])
    return result


def _report(result: Export, actions: Sequence[Action]) -> None:
    for action in actions:
        if action.changes or action.reason:
            click.echo(f"{action.kind.value:8} {action.path}" + (f"  ({action.reason})" if action.reason else ""))
    counts = Counter(action.kind for action in actions)
    click.echo(", ".join(f"{counts[kind]} {kind.value}" for kind in ActionKind if counts[kind]))
    sha256 = digest(result.files[verification.PROVENANCE_NAME])
    click.echo(f"The backend `{result.names.device}`; {verification.PROVENANCE_NAME} is {sha256}")
    if result.left:
        more = f" and {len(result.left) - _SHOWN} more places" if len(result.left) > _SHOWN else ""
        click.echo(
            f"The old name is still in names that are yours or the driver's: {', '.join(result.left[:_SHOWN])}{more}",
            err=True,
        )
