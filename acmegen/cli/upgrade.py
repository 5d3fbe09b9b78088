"""`acmegen upgrade`: bring a project to another torch, TileOPs or acmegen."""

from __future__ import annotations

from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand, print_text
from acmegen.cli.project import (
    changing,
    diff_option,
    dry_run_option,
    force_option,
    manifests_folder,
    manifests_option,
    project_argument,
    wait_option,
)
from acmegen.cli.report import print_changes, refuse
from acmegen.diagnostics import DiagnosticError, Severity
from acmegen.output.publish import publish
from acmegen.output.upgrade import unresolved_conflicts
from acmegen.pipeline import generate, plan_changes


@click.command(cls=DiagnosticCommand)
@project_argument
@manifests_option
@force_option
@dry_run_option
@diff_option
@wait_option
def upgrade(project: Path, manifests: Path | None, force: bool, dry_run: bool, diff: bool, wait: float) -> None:
    """Bring PROJECT (default: this folder's) to the installed torch, TileOPs and acmegen.

    Says what differs in torch and TileOPs for this backend, regenerates, and merges what changed in templates into the
    files that are yours. Exit code 1: some of them have conflicts, marked as git marks them; all else is done.
    """
    dry_run = dry_run or diff
    with changing(project, wait, dry_run):
        generation = generate(manifests_folder(project, manifests), project, upgrade=True)
        print_text(generation.differences)
        changes = plan_changes(generation, project, force, upgrade=True)
        if not dry_run:
            refuse(project, generation, changes, command="upgrade")
            publish(project, changes.actions, changes.lock_text)
    print_changes(project, changes, diff)
    if dry_run:
        refuse(project, generation, changes, command="upgrade")
    elif conflicts := tuple(unresolved_conflicts(project, changes.lock, Severity.ERROR)):
        raise DiagnosticError(conflicts)
