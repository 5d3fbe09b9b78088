"""`acmegen regen`: bring a project up to date with its manifests."""

from __future__ import annotations

from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand
from acmegen.cli.project import (
    changing,
    diff_option,
    dry_run_option,
    force_option,
    manifests_folder,
    manifests_option,
    project_argument,
    wait_option,
    warn_of_journal,
)
from acmegen.cli.report import print_changes, refuse, warn_of_conflicts
from acmegen.output.publish import publish
from acmegen.pipeline import generate, plan_changes


@click.command(cls=DiagnosticCommand)
@project_argument
@manifests_option
@force_option
@dry_run_option
@diff_option
@wait_option
def regen(project: Path, manifests: Path | None, force: bool, dry_run: bool, diff: bool, wait: float) -> None:
    """Regenerate PROJECT (default: this folder's) from its manifests.

    Writes what changed and nothing else. Files of yours are kept. Stops before writing anything if a generated file was
    edited.
    """
    if dry_run or diff:
        warn_of_journal(project)
        generation = generate(manifests_folder(project, manifests), project)
        changes = plan_changes(generation, project, force)
        print_changes(project, changes, diff)
        refuse(project, generation, changes)
        return
    with changing(project, wait):
        generation = generate(manifests_folder(project, manifests), project)
        changes = plan_changes(generation, project, force)
        refuse(project, generation, changes)
        publish(project, changes.actions, changes.lock_text)
    print_changes(project, changes)
    warn_of_conflicts(project, changes)
