"""How changes are printed: the same by every command that makes, plans or checks them."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import click

from acmegen.cli.formats import print_text
from acmegen.diagnostics import DiagnosticError, Severity, shown_place
from acmegen.output import compare
from acmegen.output.compare import Action, ActionKind
from acmegen.output.diff import diff_lines, on_disk, text_diff
from acmegen.output.findings import by_cause, refusals
from acmegen.output.fix import Fix
from acmegen.output.upgrade import unresolved_conflicts
from acmegen.pipeline import Changes, Generation

_SHOWN_LINES = 40
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def print_changes(project: Path, changes: Changes, diff: bool = False) -> None:
    """Print each change on a line, then how many there are, and what waits for an upgrade.

    With `diff` the unified diff of each change goes to stdout, and nothing else does; the lines go to stderr.
    """
    actions = [*changes.actions, changes.lock_action]
    if diff:
        _print_diff(line for action in actions for line in diff_lines(project, action))
    for action in actions:
        if action.kind is not ActionKind.REFUSE and (action.changes or action.reason):
            click.echo(_line(action), err=diff)
    for group in by_cause(actions):
        click.echo(_line(group[0], len(group) - 1), err=diff)
    counts = Counter(action.kind for action in actions)
    click.echo(", ".join(f"{counts[kind]} {kind.value}" for kind in ActionKind if counts[kind]), err=diff)
    if changes.waiting:
        count = len(changes.waiting)
        files = "1 file of yours has" if count == 1 else f"{count} files of yours have"
        click.echo(f"{files} a newer template; `acmegen upgrade` merges it", err=diff)


def print_fix(fix: Fix) -> None:
    """Print an edit that was made: where, and what became what."""
    change = f"{fix.before} -> {fix.edit.replacement}" if fix.edit.replacement else f"removed {fix.before.strip()}"
    click.echo(f"{'fixed':8} {shown_place(fix.edit.span, Path.cwd())}: {' '.join(change.split())}")


def warn_of_conflicts(project: Path, changes: Changes) -> None:
    """Say which files of the user's still have conflicts of an upgrade."""
    print_text(tuple(unresolved_conflicts(project, changes.lock, Severity.WARNING)))


def _line(action: Action, others: int = 0) -> str:
    more = f" and {others} more" if others else ""
    reason = f"  ({action.reason})" if action.reason else ""
    return f"{action.kind.value:8} {action.path}{more}{reason}"


def _print_diff(lines: Iterable[str]) -> None:
    """Print a diff exactly, or for a terminal with colours and without characters that would act on it."""
    if not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.writelines(line.encode(errors="surrogateescape") + b"\n" for line in lines)
        return
    for line in lines:
        click.echo(_shown(line, colour="NO_COLOR" not in os.environ))


def _shown(line: str, colour: bool) -> str:
    inert = "".join(map(_inert, line))
    return click.style(inert, fg=_COLOURS[line[0]]) if colour and line[:1] in _COLOURS else inert


def _inert(character: str) -> str:
    """The character, or its escape sequence in Python if it would act on a terminal. Undecoded bytes are surrogates."""
    if character == "\t" or unicodedata.category(character)[0] != "C":
        return character
    undecoded = 0xDC80 <= ord(character) <= 0xDCFF
    return f"\\x{ord(character) - 0xDC00:02x}" if undecoded else character.encode("unicode_escape").decode()


def refuse(project: Path, generation: Generation, changes: Changes, retry: str = "", command: str = "regen") -> None:
    """Do nothing, unless a change is refused: then print the edits that would be lost, and raise.

    Args:
        project: the project.
        generation: what it is compared with.
        changes: what has to change.
        retry: the command that overwrites the edits, where adopting the files is no alternative.
        command: the name of the command whose `--force` does so otherwise.

    Raises:
        DiagnosticError: for each refused file, why, and what the ways on are.
    """
    refused = [action for action in changes.actions if action.kind is ActionKind.REFUSE]
    for action in refused:
        if action.reason in (compare.EDITED, compare.UNLOCKED) and action.path in generation.tree:
            text = generation.tree[action.path].text
            _print_excerpt(text_diff(action.path, on_disk(project, action.path), text.encode()))
    if refused:
        raise DiagnosticError(refusals(project, refused, retry, command))


def _print_excerpt(lines: Iterator[str]) -> None:
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    for line in islice(lines, _SHOWN_LINES):
        click.echo(_shown(line, colour), err=True)
    more = sum(1 for _ in lines)
    if more:
        click.echo(f"… and {more} more lines", err=True)
