"""`acmegen check`: does a project equal what its manifests give?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand, prints_document
from acmegen.cli.project import manifests_folder, manifests_option, project_argument
from acmegen.cli.report import print_actions, print_fix
from acmegen.diagnostics import DiagnosticError
from acmegen.output.findings import findings, stale_lock
from acmegen.output.lock import LOCK_NAME
from acmegen.pipeline import fix_manifests, generate, plan_changes


@click.command(cls=DiagnosticCommand)
@project_argument
@manifests_option
@click.option("--fix", is_flag=True, help="First correct the mistakes in the manifests that have one sure correction.")
def check(project: Path, manifests: Path | None, fix: bool) -> None:
    """Compare PROJECT (default: this folder) with what its manifests give; write nothing but what --fix corrects.

    Exit code 0: equal. 1: files are stale, missing, left over or edited, or the manifests are wrong. 2: cannot run.
    """
    folder = manifests_folder(project, manifests)
    if fix:
        for made in fix_manifests(folder):
            print_fix(made)
    generation = generate(folder, project)
    actions = plan_changes(generation, project)
    lock = project / LOCK_NAME
    current = lock.is_file() and lock.read_text(encoding="utf-8") == generation.lock_text
    if prints_document():
        found = list(findings(actions, project))
        if found or not current:
            raise DiagnosticError(found or [stale_lock(project)])
    print_actions(actions)
    if any(action.changes for action in actions):
        click.echo("Run `acmegen regen` to bring the project up to date.", err=True)
        sys.exit(1)
    if not current:
        click.echo(f"error: {LOCK_NAME} is not up to date\nRun `acmegen regen` to write it.", err=True)
        sys.exit(1)
