"""Apply suggested edits to a text. Positions are those of spans: lines and columns, a byte order mark not counted."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from acmegen.diagnostics.diagnostic import Diagnostic, Edit, Span

_LINE_END = re.compile(r"\r\n|\r|\n")


def text_at(text: str, span: Span) -> str:
    """The part of a file's `text` that `span` names."""
    start, end = _offsets(line_starts(text), span)
    return text[start:end]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """`text` with all `edits` made, which are of one file and do not overlap."""
    starts = line_starts(text)
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        start, end = _offsets(starts, edit.span)
        text = text[:start] + edit.replacement + text[end:]
    return text


def compatible_edits(diagnostics: Iterable[Diagnostic]) -> tuple[Edit, ...]:
    """The edits of `diagnostics` that do not overlap: the first wins, and the edits of one diagnostic go together."""
    chosen: dict[Path, list[Edit]] = {}  # by place
    for diagnostic in diagnostics:
        if not any(_overlaps(edit, chosen.get(edit.span.path, ())) for edit in diagnostic.edits):
            for edit in diagnostic.edits:
                insort(chosen.setdefault(edit.span.path, []), edit, key=_start)
    return tuple(edit for edits in chosen.values() for edit in edits)


def _overlaps(edit: Edit, others: Sequence[Edit]) -> bool:
    """Whether `edit` overlaps one of `others`, which are sorted and do not overlap."""
    before = bisect_right(others, _end(edit), key=_start)
    return before > 0 and _start(edit) <= _end(others[before - 1])


def _start(edit: Edit) -> tuple[int, int]:
    return (edit.span.line, edit.span.column)


def _end(edit: Edit) -> tuple[int, int]:
    return (edit.span.end_line, edit.span.end_column)


@lru_cache(maxsize=8)  # a manifest with many mistakes is asked for each
def line_starts(text: str) -> tuple[int, ...]:
    """Where each line of `text` begins."""
    return (0, *(match.end() for match in _LINE_END.finditer(text)))


def _offsets(starts: Sequence[int], span: Span) -> tuple[int, int]:
    return starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
