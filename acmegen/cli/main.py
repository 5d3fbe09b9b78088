"""The `acmegen` command group, and the one place where diagnostics become text and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from acmegen import __version__
from acmegen.cli.build import build, test
from acmegen.cli.check import check
from acmegen.cli.new_backend import new_backend
from acmegen.cli.regen import regen
from acmegen.cli.schema import schema
from acmegen.diagnostics import DiagnosticError, format_text


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="acmegen")
def group() -> None:
    """Generate a PyTorch backend for a new accelerator from YAML manifests."""


for command in (new_backend, regen, check, build, test, schema):
    group.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Exit codes: 0 done; 1 the manifests or the tree have findings, or a build or test failed; 2 the command cannot run.
    """
    try:
        group.main(args=arguments, prog_name="acmegen", standalone_mode=True)
    except DiagnosticError as error:
        for diagnostic in error.diagnostics:
            click.echo(format_text(diagnostic), err=True)
        sys.exit(1)
    except OSError as error:
        click.echo(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""), err=True)
        sys.exit(2)
