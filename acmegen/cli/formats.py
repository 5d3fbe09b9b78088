"""`--format`: how the diagnostics of a command are printed, and its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import click

from acmegen import __version__
from acmegen.diagnostics import (
    CANNOT_RUN,
    FORMATS,
    TEXT,
    Diagnostic,
    DiagnosticError,
    Span,
    codes,
    format_document,
    format_texts,
)
from acmegen.output.unreadable import system_reason

_META = "acmegen.format"


def _remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[_META] = value


def _option() -> click.Option:
    return click.Option(
        ["--format", "diagnostics_format"],
        type=click.Choice(FORMATS),
        callback=_remember,
        expose_value=False,
        help="How diagnostics are printed: text for people, on stderr; or one document for programs, on stdout "
        "[default: text].",
    )


class DiagnosticGroup(click.Group):
    """The group: `--format` may stand before the command as well as behind it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(_option())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, as click does; refuse `--format` before one that it does not apply to."""
        name, command, rest = super().resolve_command(ctx, args)
        if _META in ctx.meta and command is not None and not isinstance(command, (DiagnosticCommand, DiagnosticGroup)):
            path = f"{ctx.command_path} {name}"
            if any("--format" in option.opts for option in command.params):
                raise click.UsageError(f"`{path}` has a --format of its own, which stands behind it", ctx)
            raise click.UsageError(f"--format does not apply to `{path}`", ctx)
        return name, command, rest


class DiagnosticCommand(click.Command):
    """A command that may raise `DiagnosticError`.

    With a format that is a document, stdout holds the document and nothing else: what the command prints there goes to
    stderr, and success is a document without diagnostics.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(_option())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print its diagnostics if they are a document, and leave text to the caller."""
        if not prints_document():
            return self._run(ctx)
        diagnostics: Sequence[Diagnostic] = ()
        try:
            with redirect_stdout(sys.stderr):
                self._run(ctx)
        except DiagnosticError as error:
            diagnostics = error.diagnostics
        click.echo(format_document(ctx.meta[_META], diagnostics, Path.cwd(), __version__), nl=False)
        ctx.exit(exit_code(diagnostics))

    def _run(self, ctx: click.Context) -> Any:
        """Run the command. Whatever file the operating system refuses, that is a diagnostic with its place."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if not isinstance(error.filename, str):
                raise
            path, reason = Path(error.filename), system_reason(error)
            message, help_text = f"cannot read or write `{path}`: {reason}", "see to that and run the command again"
            diagnostic = Diagnostic(codes.FILE_REFUSED, message, Span.of_file(path), help=help_text)
            raise DiagnosticError([diagnostic]) from error


def prints_document() -> bool:
    """Whether the command that runs prints its diagnostics as a document."""
    return bool(click.get_current_context().meta.get(_META, TEXT) != TEXT)


def exit_code(diagnostics: Sequence[Diagnostic]) -> int:
    """0 without any; 2 if all say that something is not installed; else 1."""
    if not diagnostics:
        return 0
    return 2 if CANNOT_RUN.issuperset(diagnostic.code for diagnostic in diagnostics) else 1


def print_text(diagnostics: Sequence[Diagnostic]) -> None:
    """Print `diagnostics` on stderr, in colours if that is a terminal."""
    if not diagnostics:
        return
    colour = _wants_colour(sys.stderr)
    click.echo(format_texts(diagnostics, colour), err=True, color=colour)


def _wants_colour(stream: TextIO) -> bool:
    """Whether to use colours: as NO_COLOR (no-color.org) or FORCE_COLOR say, else on a terminal that has them."""
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("FORCE_COLOR", "0") not in ("", "0") or (stream.isatty() and os.environ.get("TERM") != "dumb")
