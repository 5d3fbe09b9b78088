"""The edits that take an entry out of a manifest's text, where nothing else stands in its way."""

from __future__ import annotations

import re

from acmegen.diagnostics import Edit, Span, text_at

_LINE_END = re.compile(r"\r\n|\r|\n")
_ITEM = re.compile(r"[ \t]*(-[ \t]+)?")
_BEFORE = re.compile(r"[ \t]*,[ \t]*$")
_AFTER = re.compile(r"[ \t]*,[ \t]*")


def removal(text: str, span: Span) -> tuple[Edit, ...]:
    """The edit that removes what is at `span`: an item of a list, or a key with its value.

    It goes with its lines when it fills them, and with a comma when it has one in its line. There is no edit where a
    comment, or anything else, would be left behind or taken along, and none of what has an anchor.
    """
    if "&" in text_at(text, span):
        return ()
    lines = _LINE_END.split(text)
    before, after = lines[span.line - 1][: span.column - 1], lines[span.end_line - 1][span.end_column - 1 :]
    if _ITEM.fullmatch(before) and not after.strip() and span.end_line < len(lines):
        return (Edit(Span(span.path, span.line, 1, span.end_line + 1, 1), ""),)
    if comma := _BEFORE.search(before):
        return (Edit(Span(span.path, span.line, comma.start() + 1, span.end_line, span.end_column), ""),)
    if comma := _AFTER.match(after):
        return (Edit(Span(span.path, span.line, span.column, span.end_line, span.end_column + comma.end()), ""),)
    return ()
