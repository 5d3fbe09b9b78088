"""`acmegen check`: does a project equal what its manifests give?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from acmegen.cli.project import diff_option, manifests_folder, manifests_option, project_argument, warn_of_journal
from acmegen.cli.report import print_changes, warn_of_conflicts
from acmegen.pipeline import generate, plan_changes


@click.command()
@project_argument
@manifests_option
@diff_option
def check(project: Path, manifests: Path | None, diff: bool) -> None:
    """Compare PROJECT (default: this folder) with what its manifests give; write nothing.

    Exit code 0: equal. 1: files are stale, missing, left over or edited, or the manifests are wrong. 2: cannot run.
    """
    interrupted = warn_of_journal(project)
    generation = generate(manifests_folder(project, manifests), project)
    changes = plan_changes(generation, project)
    print_changes(project, changes, diff)
    warn_of_conflicts(project, changes)
    if changes.any or interrupted:
        click.echo("Run `acmegen regen` to bring the project up to date.", err=True)
        sys.exit(1)
