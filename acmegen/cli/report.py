"""How a list of actions is printed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from acmegen.cli.formats import prints_document
from acmegen.diagnostics import DiagnosticError, shown_place
from acmegen.output.compare import Action, ActionKind
from acmegen.output.findings import findings
from acmegen.output.fix import Fix


def print_actions(actions: Sequence[Action]) -> None:
    """Print each change on a line, and one line that counts them."""
    for action in actions:
        if action.changes:
            click.echo(f"{action.kind.value:8} {action.path}" + (f"  ({action.reason})" if action.reason else ""))
    counts = Counter(action.kind for action in actions)
    click.echo(", ".join(f"{counts[kind]} {kind.value}" for kind in ActionKind if counts[kind]) or "nothing to do")


def print_fix(fix: Fix) -> None:
    """Print an edit that was made: where, and what became what."""
    change = f"{fix.before} -> {fix.edit.replacement}" if fix.edit.replacement else f"removed {fix.before.strip()}"
    click.echo(f"{'fixed':8} {shown_place(fix.edit.span, Path.cwd())}: {' '.join(change.split())}")


def refuse(actions: Sequence[Action], project: Path) -> None:
    """Stop with exit code 1 if any action is refused, saying which and what the ways on are."""
    refused = [action for action in actions if action.kind is ActionKind.REFUSE]
    if not refused:
        return
    if prints_document():
        raise DiagnosticError(findings(refused, project))
    for action in refused:
        click.echo(f"error: {action.path}: {action.reason}", err=True)
    click.echo(
        "Nothing was written. Undo the edits, or run `acmegen regen --force` to overwrite them; bodies of your own "
        "belong in csrc/kernels/, which acmegen never overwrites.",
        err=True,
    )
    sys.exit(1)
