"""The text form of a diagnostic: message, place, source line, carets, help."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from acmegen.diagnostics.diagnostic import Diagnostic, Note, Severity, Span

_TAB_WIDTH = 4
_MAX_WIDTH = 160  # a longer line is cut around the place
_CONTEXT = 40
_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_BLUE = "\x1b[1;34m"
_RED = "\x1b[1;31m"
_YELLOW = "\x1b[1;33m"


def _inert(text: str) -> str:
    """`text` in one line, without characters that would move a terminal's cursor; tabs stay."""
    return "".join(
        character if character == "\t" or unicodedata.category(character)[0] != "C" else "\N{REPLACEMENT CHARACTER}"
        for character in re.sub(r"[\r\n]+", " ", text)
    )


def _expanded(text: str) -> str:
    return text.replace("\t", " " * _TAB_WIDTH)


def _width(text: str) -> int:
    """The columns that `text` takes on a terminal."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in _expanded(text)
    )


class _Painter:
    """Wraps text in escape sequences, or leaves it alone."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._colour and text else text


def _lines(path: Path, texts: Mapping[Path, str]) -> list[str]:
    """The file's lines; none when it cannot be read."""
    text = texts.get(path)
    if text is None:
        try:
            text = path.read_bytes().decode("utf-8", errors="replace")
        except (OSError, ValueError):
            return []
    return re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))


def _excerpt(
    span: Span, label: str, mark: str, style: str, gutter: int, texts: Mapping[Path, str], paint: _Painter
) -> list[str]:
    """The source line with carets below it; the label alone when the file cannot be read."""
    lines = _lines(span.path, texts)
    if span.line > len(lines):
        return [paint(_BLUE, f"{'':{gutter}} =") + f" note: {_inert(label)}"] if label else []
    line = _inert(lines[span.line - 1])
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    before, marked, after = line[: span.column - 1], line[span.column - 1 : end], line[end:]
    if len(line) > _MAX_WIDTH:
        before = before if len(before) <= _CONTEXT else "…" + before[-_CONTEXT:]
        marked, after = marked[:_MAX_WIDTH], after[: max(0, _MAX_WIDTH - len(marked))] + "…"
    carets = mark * max(1, _width(marked.rstrip()))
    bar = paint(_BLUE, f"{'':{gutter}} |")
    return [
        paint(_BLUE, f"{span.line:>{gutter}} |") + f" {_expanded(before + marked + after)}".rstrip(),
        f"{bar} {' ' * _width(before)}" + paint(style, f"{carets} {_inert(label)}".rstrip()),
    ]


def format_text(diagnostic: Diagnostic, colour: bool = False, texts: Mapping[Path, str] | None = None) -> str:
    """Print one diagnostic, without a final newline.

    Args:
        diagnostic: what to print.
        colour: whether to use ANSI colours; the caller knows whether it writes to a terminal.
        texts: the contents of files that are not read from disk.
    """
    texts = texts or {}
    paint = _Painter(colour)
    style = _RED if diagnostic.severity is Severity.ERROR else _YELLOW
    head = paint(style, f"{diagnostic.severity.value}[{diagnostic.code}]")
    result = [head + paint(_BOLD, f": {_inert(diagnostic.message)}")]
    places = [Note(diagnostic.span, diagnostic.label)] if diagnostic.span else []
    places += diagnostic.secondary
    gutter = max((len(str(place.span.line)) for place in places), default=1) + 1
    bar = paint(_BLUE, f"{'':{gutter}} |")
    for index, place in enumerate(places):
        primary = index == 0 and diagnostic.span is not None
        same_file = index > 0 and places[index - 1].span.path == place.span.path
        arrow = paint(_BLUE, f"{'':{gutter}}-->" if not same_file else f"{'':{gutter}}:::")
        result.append(f"{arrow} {_inert(str(place.span))}")
        mark, colours = ("^", style) if primary else ("-", _BLUE)
        excerpt = _excerpt(place.span, place.message, mark, colours, gutter, texts, paint)
        result += [bar, *excerpt] if len(excerpt) == 2 else excerpt
    remedy = diagnostic.help or f"`acmegen explain {diagnostic.code}`"
    equals = paint(_BLUE, f"{'':{gutter}} = ")
    result += [f"{equals}note: {_inert(note)}" for note in diagnostic.notes]
    result.append(f"{equals}help: {_inert(remedy)}")
    return "\n".join(result)
