"""Suggested edits: which letters of a manifest to change so that a key or a value becomes another.

Each function gives the edits of a diagnostic, and none where the text is not written in the plain way, so that a caller
passes on what it gets: `Diagnostic(…, edits=replaced(source, path, "float16"))`.
"""

from __future__ import annotations

import re
from typing import Any

from acmegen.diagnostics import Edit, text_at
from acmegen.manifest.removal import removal
from acmegen.manifest.source import NodePath, Source
from acmegen.manifest.values import resolve_scalar

_PLAIN = re.compile(r"[A-Za-z0-9_.+/-]+")
_QUOTES = ("'", '"')


def replaced(source: Source, path: NodePath, text: str, key: bool = False) -> tuple[Edit, ...]:
    """The edit that makes the value at `path`, or its key, read `text`. What stands in quotes stays in quotes.

    There is none where the value has an anchor, a tag or escapes, or where another key is called `text` already.
    """
    try:
        span = source.span(path, key=key)
    except KeyError:
        return ()
    value = path[-1] if key and path else _value(source, path)
    if not isinstance(value, str) or (key and text in _value(source, path[:-1])):
        return ()
    written = text_at(source.text, span)
    if written == value and _PLAIN.fullmatch(text) and isinstance(resolve_scalar(text), str):
        return (Edit(span, text),)
    for quote in _QUOTES:
        if written == quote + value + quote and quote not in text and "\\" not in text:
            return (Edit(span, quote + text + quote),)
    return ()


def removed(source: Source, path: NodePath) -> tuple[Edit, ...]:
    """The edit that removes the item of a list at `path`; none where that is not plain, or where it is the only one."""
    parent = _value(source, path[:-1])
    if not isinstance(parent, tuple) or len(parent) < 2:
        return ()
    return removal(source.text, source.span(path))


def _value(source: Source, path: NodePath) -> Any:
    value: Any = source.data
    for item in path:
        value = value[item]
    return value
