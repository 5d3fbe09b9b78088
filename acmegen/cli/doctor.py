"""`acmegen doctor`: what stands in the way, here and in a project, and the end of interrupted runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from acmegen.cli.project import changing, project_argument, wait_option
from acmegen.diagnostics import DiagnosticError, Severity
from acmegen.health import Finding, environment, files_of
from acmegen.output.lock import LOCK_NAME, Lock, read_lock
from acmegen.output.project_lock import current_holder
from acmegen.output.run_folder import run_folder
from acmegen.output.upgrade import unresolved_conflicts
from acmegen.output.verify import PROVENANCE_NAME


@click.command()
@project_argument
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@wait_option
def doctor(project: Path, form: str, wait: float) -> None:
    """Look at what is installed and at PROJECT (default: this folder's), and put interrupted runs in order.

    Exit code 0: all is well. 1: something is wrong; each finding names the way out. 2: cannot run.
    """
    if not project.is_dir():
        raise click.UsageError(f"there is no folder {project}")
    findings = tuple(_examine(project, wait))
    if form == "json":
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=1))
    else:
        for finding in findings:
            click.echo(f"{'wrong' if finding.wrong else 'ok':8} {finding.subject:13} {finding.message}")
            if finding.help:
                click.echo(f"{'':22} {finding.help}")
    if any(finding.wrong for finding in findings):
        sys.exit(1)


def _examine(project: Path, wait: float) -> Iterator[Finding]:
    lock: Lock | None = None
    of_project: list[Finding] = []
    try:
        of_project.append(_run(project, wait))
        lock = read_lock(project)
    except DiagnosticError as error:
        of_project += [Finding("project", entry.message, entry.help or "", wrong=True) for entry in error.diagnostics]
    if lock is not None:
        of_project += files_of(project, lock)
        of_project += [
            Finding("files", conflict.message, conflict.help or "", wrong=True)
            for conflict in unresolved_conflicts(project, lock, Severity.ERROR)
        ]
        if not (project / lock.manifests).is_dir() and not (project / PROVENANCE_NAME).is_file():
            of_project.append(Finding("manifests", f"there is no folder `{project / lock.manifests}`", wrong=True))
    elif (project / "manifests").is_dir() and not (project / LOCK_NAME).exists():
        of_project.append(Finding("files", f"no {LOCK_NAME}: nothing was generated yet"))
    yield from environment(lock)
    yield from of_project


def _run(project: Path, wait: float) -> Finding:
    """Put an interrupted run in order, if there is one."""
    if not run_folder(project).exists():
        if not any(os.path.lexists(project / name) for name in (LOCK_NAME, "manifests")):
            message = f"{project.resolve()} is no project: it has no {LOCK_NAME} and no manifests folder"
            return Finding("project", message, "`acmegen new-backend NAME` makes one")
        return Finding("project", f"{project.resolve()}: no interrupted run")
    if holder := current_holder(project):
        return Finding("project", f"{holder} is changing it right now")
    with changing(project, wait):
        return Finding("project", f"{project.resolve()}: what a run left was put in order")
