"""`acmegen check`: does a project equal what its manifests give?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from acmegen.cli.project import manifests_folder, manifests_option, project_argument
from acmegen.cli.report import print_actions
from acmegen.output.lock import LOCK_NAME
from acmegen.pipeline import generate, plan_changes


@click.command()
@project_argument
@manifests_option
def check(project: Path, manifests: Path | None) -> None:
    """Compare PROJECT (default: this folder) with what its manifests give; write nothing.

    Exit code 0: equal. 1: files are stale, missing, left over or edited, or the manifests are wrong. 2: cannot run.
    """
    generation = generate(manifests_folder(project, manifests), project)
    actions = plan_changes(generation, project)
    print_actions(actions)
    if any(action.changes for action in actions):
        click.echo("Run `acmegen regen` to bring the project up to date.", err=True)
        sys.exit(1)
    lock = project / LOCK_NAME
    if not lock.is_file() or lock.read_text(encoding="utf-8") != generation.lock_text:
        click.echo(f"error: {LOCK_NAME} is not up to date\nRun `acmegen regen` to write it.", err=True)
        sys.exit(1)
