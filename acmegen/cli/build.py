"""`acmegen build` and `acmegen test`: the plain commands of a generated project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from acmegen.cli.project import project_argument


def _run(command: Sequence[str], folder: Path, **environment: str) -> None:
    """Run `command` in `folder`, its output on ours; a failure ends this process with the same exit code."""
    click.echo(f"$ {' '.join(command)}", err=True)
    code = subprocess.run(command, cwd=folder, env={**os.environ, **environment}).returncode
    if code != 0:
        sys.exit(code)


@click.command()
@project_argument
def build(project: Path) -> None:
    """Build PROJECT and install it and its TileOPs side, editable, into this Python's environment."""
    pip = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"]
    # A stale install of the same backend must not be loaded into the build (pytorch#158555).
    _run([*pip, "-v", "-e", "."], project, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    for side in sorted(project.glob("tileops_*/pyproject.toml")):
        _run([*pip, "-q", "-e", str(side.parent.relative_to(project))], project, TORCH_DEVICE_BACKEND_AUTOLOAD="0")


@click.command(context_settings={"ignore_unknown_options": True})
@project_argument
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
def test(project: Path, pytest_arguments: Sequence[str]) -> None:
    """Run the generated tests of PROJECT; PYTEST_ARGUMENTS go to pytest."""
    _run([sys.executable, "-m", "pytest", *pytest_arguments], project)
