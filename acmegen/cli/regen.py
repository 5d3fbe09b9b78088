"""`acmegen regen`: bring a project up to date with its manifests."""

from __future__ import annotations

from pathlib import Path

import click

from acmegen.cli.formats import DiagnosticCommand
from acmegen.cli.project import manifests_folder, manifests_option, project_argument
from acmegen.cli.report import print_actions, refuse
from acmegen.output.publish import publish
from acmegen.pipeline import generate, plan_changes


@click.command(cls=DiagnosticCommand)
@project_argument
@manifests_option
@click.option("--force", is_flag=True, help="Overwrite owned files that were edited.")
def regen(project: Path, manifests: Path | None, force: bool) -> None:
    """Regenerate PROJECT (default: this folder) from its manifests.

    Writes what changed and nothing else. Stops before writing anything if an owned file was edited.
    """
    generation = generate(manifests_folder(project, manifests), project)
    actions = plan_changes(generation, project, force)
    refuse(actions, project)
    publish(project, actions, generation.lock_text)
    print_actions(actions)
