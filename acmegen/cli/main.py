"""The `acmegen` command group, and the one place where errors become text and exit codes."""

from __future__ import annotations

import gc
import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from acmegen import __version__
from acmegen.cli.adopt import adopt, restore
from acmegen.cli.build import build, test
from acmegen.cli.check import check
from acmegen.cli.doctor import doctor
from acmegen.cli.explain import explain
from acmegen.cli.formats import DiagnosticGroup, exit_code, print_text
from acmegen.cli.list_files import list_command
from acmegen.cli.new_backend import new_backend
from acmegen.cli.regen import regen
from acmegen.cli.schema import schema
from acmegen.cli.upgrade import upgrade
from acmegen.cli.vendor import vendor
from acmegen.diagnostics import DiagnosticError


@click.group(cls=DiagnosticGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="acmegen")
def group() -> None:
    """Generate a PyTorch backend for a new accelerator from YAML manifests."""


for command in (
    new_backend,
    regen,
    upgrade,
    check,
    list_command,
    adopt,
    restore,
    build,
    test,
    vendor,
    doctor,
    schema,
    explain,
):
    group.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Exit codes: 0 done; 1 the manifests or the tree have findings, or a build or test failed; 2 the command cannot run.

    Raises:
        KeyboardInterrupt: it was interrupted.
    """
    # A run is short, and what it builds lives to its end: looking for garbage would cost a tenth of the time.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a path need not be text in the terminal's encoding
    try:
        # click's own way of ending would not tell an interruption from findings.
        sys.exit(group.main(args=arguments, prog_name="acmegen", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        raise KeyboardInterrupt from None
    except DiagnosticError as error:
        print_text(error.diagnostics)
        sys.exit(exit_code(error.diagnostics))
    except OSError as error:
        click.echo(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""), err=True)
        sys.exit(2)
    except Exception as error:
        if os.environ.get("ACMEGEN_TRACEBACK"):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        click.echo(
            f"error: this is a fault of acmegen, not yours: {type(error).__name__}: {error}\n"
            f"  at {place.filename}:{place.lineno}; ACMEGEN_TRACEBACK=1 shows the way there",
            err=True,
        )
        sys.exit(2)
