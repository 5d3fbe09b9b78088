"""`acmegen check`: does a project equal what its manifests give?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand, prints_document
from acmegen.cli.project import diff_option, manifests_folder, manifests_option, project_argument, warn_of_journal
from acmegen.cli.report import print_changes, print_fix, refuse, warn_of_conflicts
from acmegen.diagnostics import DiagnosticError
from acmegen.output.findings import findings
from acmegen.pipeline import fix_manifests, generate, plan_changes


@click.command(cls=DiagnosticCommand)
@project_argument
@manifests_option
@diff_option
@click.option("--fix", is_flag=True, help="First correct the mistakes in the manifests that have one sure correction.")
def check(project: Path, manifests: Path | None, diff: bool, fix: bool) -> None:
    """Compare PROJECT (default: this folder's) with what its manifests give; write nothing but what --fix corrects.

    Exit code 0: equal. 1: files are stale, missing, left over or edited, or the manifests are wrong. 2: cannot run.
    """
    interruption = warn_of_journal(project)
    folder = manifests_folder(project, manifests)
    if fix:
        for made in fix_manifests(folder):
            print_fix(made)
    generation = generate(folder, project)
    changes = plan_changes(generation, project)
    print_changes(project, changes, diff)
    warn_of_conflicts(project, changes)
    if changes.any or interruption:
        if prints_document():
            raise DiagnosticError([*interruption, *findings(project, changes.actions, changes.lock_action)])
        refuse(project, generation, changes)
        click.echo("Run `acmegen regen` to bring the project up to date.", err=True)
        sys.exit(1)
