"""The text form of diagnostics: message, place, source lines, carets, help."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from acmegen.diagnostics.columns import expanded, inert, width
from acmegen.diagnostics.diagnostic import Diagnostic, Note, Severity, Span
from acmegen.diagnostics.places import shown_place

_MAX_WIDTH = 160  # a longer line is cut around the place
_CONTEXT = 40
_MAX_LINES = 5  # of a span over several lines; more are left out in the middle
_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_BLUE = "\x1b[1;34m"
_RED = "\x1b[1;31m"
_YELLOW = "\x1b[1;33m"


def format_text(
    diagnostic: Diagnostic, colour: bool = False, texts: Mapping[Path, str] | None = None, base: Path | None = None
) -> str:
    """Print one diagnostic, without a final newline.

    Args:
        diagnostic: what to print.
        colour: whether to use ANSI colours; the caller knows whether it writes to a terminal.
        texts: the contents of files that are not read from disk.
        base: the folder that paths are shown relative to; by default the working directory.
    """
    return _Printer(diagnostic, colour, texts or {}, base or Path.cwd()).text()


def format_texts(diagnostics: Sequence[Diagnostic], colour: bool = False, base: Path | None = None) -> str:
    """Print `diagnostics` one below the other; where there are several, or some have edits, a last line counts them."""
    parts = [format_text(diagnostic, colour, base=base) for diagnostic in diagnostics]
    fixable = sum(bool(diagnostic.edits) for diagnostic in diagnostics)
    if len(parts) > 1 or fixable:
        counted = [
            f"{count} {severity.value}{'s' * (count > 1)}"
            for severity in Severity
            if (count := sum(diagnostic.severity is severity for diagnostic in diagnostics))
        ]
        which = "which" if fixable == len(parts) == 1 else f"{'all' if fixable == len(parts) else fixable} of which"
        parts.append(", ".join(counted) + (f", {which} `acmegen check --fix` can put right" if fixable else ""))
    return "\n\n".join(parts)


class _Printer:
    """Prints one diagnostic."""

    def __init__(self, diagnostic: Diagnostic, colour: bool, texts: Mapping[Path, str], base: Path) -> None:
        self._diagnostic = diagnostic
        self._colour = colour
        self._texts = texts
        self._base = base
        self._places = [Note(diagnostic.span, diagnostic.label)] if diagnostic.span else []
        self._places += diagnostic.secondary
        ends = [place.span.end_line for place in self._places]
        self._gutter = max((len(str(line)) for line in ends), default=1) + 1
        self._style = _RED if diagnostic.severity is Severity.ERROR else _YELLOW

    def text(self) -> str:
        diagnostic = self._diagnostic
        head = self._paint(self._style, f"{diagnostic.severity.value}[{diagnostic.code}]")
        result = [head + self._paint(_BOLD, f": {inert(diagnostic.message)}")]
        for index, place in enumerate(self._places):
            result += self._place(index, place)
        result += [self._remark("note", note) for note in diagnostic.notes]
        result.append(self._remark("help", diagnostic.help or f"`acmegen explain {diagnostic.code}`"))
        return "\n".join(result)

    def _paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._colour and text else text

    def _remark(self, word: str, text: str) -> str:
        return self._paint(_BLUE, f"{'':{self._gutter}} = ") + f"{word}: {inert(text)}"

    def _bar(self, number: int | str = "") -> str:
        return self._paint(_BLUE, f"{number:>{self._gutter}} |")

    def _place(self, index: int, place: Note) -> list[str]:
        """The arrow line of a place, and the lines of the file below it; the label alone when there are none."""
        primary = index == 0 and self._diagnostic.span is not None
        same_file = index > 0 and self._places[index - 1].span.path == place.span.path
        arrow = self._paint(_BLUE, f"{'':{self._gutter}}{':::' if same_file else '-->'}")
        result = [f"{arrow} {inert(shown_place(place.span, self._base))}"]
        span = place.span
        lines = [] if span.is_file else _lines(span.path, self._texts)
        if span.is_file or span.line > len(lines):
            return result + ([self._remark("note", place.message)] if place.message else [])
        mark, style = ("^", self._style) if primary else ("-", _BLUE)
        excerpt = self._one_line if span.end_line == span.line else self._several_lines
        return [*result, self._bar(), *excerpt(span, [inert(line) for line in lines], place.message, mark, style)]

    def _one_line(self, span: Span, lines: Sequence[str], label: str, mark: str, style: str) -> list[str]:
        line = lines[span.line - 1]
        before, after = line[: span.column - 1], line[span.end_column - 1 :]
        marked = line[span.column - 1 : span.end_column - 1]
        if len(line) > _MAX_WIDTH:
            before = before if len(before) <= _CONTEXT else "…" + before[-_CONTEXT:]
            marked = marked if len(marked) <= _MAX_WIDTH else marked[:_MAX_WIDTH] + "…"
            rest = max(0, _MAX_WIDTH - len(marked))
            after = after if len(after) <= rest else after[:rest] + "…"
        carets = mark * max(1, width(marked.rstrip()))
        return [
            f"{self._bar(span.line)} {expanded(before + marked + after)}".rstrip(),
            f"{self._bar()} {' ' * width(before)}" + self._paint(style, f"{carets} {inert(label)}".rstrip()),
        ]

    def _several_lines(self, span: Span, lines: Sequence[str], label: str, mark: str, style: str) -> list[str]:
        last = min(span.end_line, len(lines))
        numbers: list[int | None] = list(range(span.line, last + 1))
        if len(numbers) > _MAX_LINES:
            numbers[_MAX_LINES - 2 : -1] = [None]
        result = []
        for number in numbers:
            edge = self._paint(style, "/" if number == span.line else "|")
            line = "…" if number is None else _cut(lines[number - 1])
            result.append(f"{self._bar('' if number is None else number)} {edge} {line}".rstrip())
        final = _cut(lines[last - 1][: span.end_column - 1])
        underline = self._paint(style, f"|{'_' * max(1, width(final))}{mark} {inert(label)}".rstrip())
        return [*result, f"{self._bar()} {underline}"]


def _cut(line: str) -> str:
    return expanded(line if len(line) <= _MAX_WIDTH else line[:_MAX_WIDTH] + "…")


def _lines(path: Path, texts: Mapping[Path, str]) -> list[str]:
    """The file's lines; none when it cannot be read."""
    text = texts.get(path)
    if text is None:
        try:
            if not path.is_file():  # a pipe would wait for ever, a device need have no end
                return []
            text = path.read_bytes().decode("utf-8", errors="replace")
        except (OSError, ValueError):
            return []
    return re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
