"""`acmegen build` and `acmegen test`: the plain commands of a generated project."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import click

from acmegen.cli.project import current_project, project_argument
from acmegen.diagnostics import command_for, shown_folder
from acmegen.health import require_torch


def _run(command: Sequence[str], folder: Path, **environment: str) -> None:
    """Run `command` in `folder`, its output on ours; a failure ends this process with exit code 1."""
    click.echo(f"$ {shlex.join(command)}", err=True)
    code = subprocess.run(command, cwd=folder, env={**os.environ, **environment}).returncode
    if code != 0:
        sys.exit(1)


def _check_project(project: Path) -> None:
    if not (project / "pyproject.toml").is_file():
        raise click.UsageError(
            f"{shown_folder(project)} is not a project: it has no pyproject.toml; see `acmegen new-backend --help`"
        )


def _is_built(project: Path) -> bool:
    """Whether something was built of `project`, in its folder or for this Python; True where that cannot be known."""
    name = re.search(r'^name\s*=\s*"([^"]+)"', (project / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if name is None or any(project.glob("*/_C.*")):
        return True
    try:
        distribution(name[1])
    except PackageNotFoundError:
        return False
    return True


@click.command()
@project_argument
def build(project: Path) -> None:
    """Build PROJECT and install it and its TileOPs side, editable, into this Python's environment."""
    _check_project(project)
    require_torch(project)
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"]
    # A stale install of the same backend must not be loaded into the build (pytorch#158555).
    _run([*pip, "-v", "-e", "."], project, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    for side in sorted(project.glob("tileops_*/pyproject.toml")):
        _run([*pip, "-q", "-e", str(side.parent.relative_to(project))], project, TORCH_DEVICE_BACKEND_AUTOLOAD="0")


@click.command(context_settings={"ignore_unknown_options": True}, options_metavar="")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[PROJECT] [PYTEST_ARGUMENTS]...")
def test(arguments: Sequence[str]) -> None:
    """Run the generated tests of PROJECT (default: this folder's); everything behind it goes to pytest."""
    project = current_project()
    if arguments and not arguments[0].startswith("-"):
        project, arguments = Path(arguments[0]), arguments[1:]
    _check_project(project)
    try:
        _run([sys.executable, "-m", "pytest", *arguments], project)
    except SystemExit:
        if not _is_built(project):
            name, build = shown_folder(project), command_for("acmegen build", project)
            click.echo(f"error: {name} is not built for {sys.executable}; run `{build}` first", err=True)
        raise
