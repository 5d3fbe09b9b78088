"""Actions as diagnostics: what `check` finds in a project, and why a command that changes it stops."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from acmegen.diagnostics import Diagnostic, Span, codes, command_for
from acmegen.output import compare, upgrade
from acmegen.output.compare import Action, ActionKind
from acmegen.output.lock import LOCK_NAME
from acmegen.output.obstacles import CANNOT_READ

_FINDINGS: dict[ActionKind, tuple[str, str, str]] = {
    ActionKind.CREATE: (codes.FILE_MISSING, "is missing", "writes it"),
    ActionKind.REPLACE: (codes.FILE_STALE, "is not up to date", "writes it"),
    ActionKind.MERGE: (codes.FILE_STALE, "is not up to date", "merges it"),
    ActionKind.REMOVE: (codes.FILE_LEFT_OVER, "is left over", "removes it"),
}


def findings(project: Path, actions: Sequence[Action], lock_action: Action) -> Iterator[Diagnostic]:
    """A diagnostic for each file that differs from what the manifests give; for the lock only if no other does."""
    changed = [action for action in actions if action.changes and action.kind is not ActionKind.REFUSE]
    for action in changed:
        code, what, remedy = _FINDINGS[action.kind]
        message = f"`{action.path}` {what}" + (f": {action.reason}" if action.reason else "")
        yield Diagnostic(code, message, Span.of_file(project / action.path), help=f"`acmegen regen` {remedy}")
    refused = [action for action in actions if action.kind is ActionKind.REFUSE]
    yield from refusals(project, refused)
    if lock_action.changes and not changed and not refused:
        message = f"`{lock_action.path}` is not up to date"
        place = Span.of_file(project / lock_action.path)
        yield Diagnostic(codes.LOCK_STALE, message, place, help="`acmegen regen` writes it")


def by_cause(actions: Iterable[Action]) -> Iterable[Sequence[Action]]:
    """The refused actions, those in one group that the same folder or link stands in the way of."""
    groups: dict[str, list[Action]] = {}
    for action in actions:
        if action.kind is ActionKind.REFUSE:
            # A reason that names a folder may be that of many files; any other is each file's own.
            groups.setdefault(action.reason if "`" in action.reason else action.path, []).append(action)
    return groups.values()


def refusals(project: Path, actions: Iterable[Action], retry: str = "", command: str = "regen") -> Iterator[Diagnostic]:
    """For each cause of a refusal, what it is and what the ways on are.

    Args:
        project: the project.
        actions: what would have to change.
        retry: the command that overwrites the edits, where adopting the files is no alternative.
        command: the name of the command whose `--force` does so otherwise.
    """
    for group in by_cause(actions):
        yield _refusal(project, group, retry, command)


def _refusal(project: Path, group: Sequence[Action], retry: str, command: str) -> Diagnostic:
    path, reason = group[0].path, group[0].reason
    adopt = f"`acmegen adopt {shlex.quote(str(project / path))}` makes it yours"
    regen = command_for(f"acmegen {command} --force", project)
    match reason:
        case compare.EDITED | compare.FOREIGN if retry:
            code, help_text = codes.FILE_EDITED, f"`{retry}` overwrites it"
        case compare.UNLOCKED:
            code = codes.FILE_EDITED
            help_text = f"restore `{LOCK_NAME}` from version control if it was there; `{regen}` overwrites the file"
        case compare.UNMARKED:
            code, help_text = codes.FILE_IN_THE_WAY, f"move it away, or restore `{LOCK_NAME}` from version control"
        case compare.EDITED:
            code, help_text = codes.FILE_EDITED, f"`{regen}` overwrites it, {adopt}"
        case compare.EDITED_STALE:
            code, help_text = codes.FILE_EDITED, f"`{regen}` removes it, {adopt}"
        case compare.FOREIGN | compare.NOW_GENERATED:
            code, help_text = codes.FILE_IN_THE_WAY, f"move it away, or leave it: {adopt}"
        case compare.LOST:
            code = codes.PRISTINE_LOST
            help_text = f"restore it from version control, or go without: `{regen}` starts from today's template"
        case upgrade.UNRESOLVED:
            code, help_text = codes.MERGE_CONFLICTS, "resolve them and run the command again"
        case upgrade.NOT_TEXT:
            code, help_text = codes.UNMERGEABLE, "save it as UTF-8 and run the command again"
        case _ if reason.endswith(CANNOT_READ):
            code, help_text = codes.FILE_REFUSED, "allow yourself to read it and run the command again"
        case _:
            code, help_text = codes.FILE_IN_THE_WAY, "nothing was written; move what is in the way"
    more = len(group) - 1
    others = f" and {more} more file{'s' * (more > 1)}" if more else ""
    return Diagnostic(code, f"`{path}`{others}: {reason}", Span.of_file(project / path), help=help_text)
