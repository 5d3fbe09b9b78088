"""The text form of diagnostics: message, place, source lines, carets, help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
    return _Printer(diagnostic, colour, _Files(texts or {}), base or Path.cwd()).text()


def format_texts(diagnostics: Sequence[Diagnostic], colour: bool = False, base: Path | None = None) -> str:
    """Print `diagnostics` one below the other; where there are several, or some have edits, a last line counts them."""
    files, base = _Files({}), base or Path.cwd()
    parts = [_Printer(diagnostic, colour, files, base).text() for diagnostic in diagnostics]
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


class _Files:
    """The lines of files, each read and split once however many diagnostics show some of them."""

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._texts = texts
        self._lines: dict[Path, list[str]] = {}

    def lines(self, path: Path) -> list[str]:
        """The file's lines; none when it cannot be read."""
        if path not in self._lines:
            self._lines[path] = re.split(r"\r\n|\r|\n", text) if (text := self._text(path)) is not None else []
        return self._lines[path]

    def _text(self, path: Path) -> str | None:
        text = self._texts.get(path)
        if text is None:
            try:
                if not path.is_file():  # reading a pipe would wait for what is written to it
                    return None
                text = path.read_bytes().decode("utf-8", errors="replace")
            except (OSError, ValueError):
                return None
        return text.removeprefix("\ufeff")


class _Printer:
    """Prints one diagnostic."""

    def __init__(self, diagnostic: Diagnostic, colour: bool, files: _Files, base: Path) -> None:
        self._diagnostic = diagnostic
        self._colour = colour
        self._files = files
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
        arrow = "-->"
        for places in self._snippets():
            result += self._snippet(arrow, places)
            arrow = ":::"
        result += [self._remark("note", note) for note in diagnostic.notes]
        result.append(self._remark("help", diagnostic.help or f"`acmegen explain {diagnostic.code}`"))
        return "\n".join(result)

    def _paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self._colour and text else text

    def _remark(self, word: str, text: str) -> str:
        return self._paint(_BLUE, f"{'':{self._gutter}} = ") + f"{word}: {inert(text)}"

    def _bar(self, number: int | str = "") -> str:
        return self._paint(_BLUE, f"{number:>{self._gutter}} |")

    def _snippets(self) -> Iterable[Sequence[Note]]:
        """The places that are shown together: all of one file, but that each without lines to show is by itself."""
        snippets: dict[Path | Span, list[Note]] = {}
        for place in self._places:
            together = place.span.path if self._lines(place.span) else place.span
            snippets.setdefault(together, []).append(place)
        return snippets.values()

    def _lines(self, span: Span) -> Sequence[str]:
        """The lines of the file; none when `span` is not among them."""
        lines = [] if span.is_file else self._files.lines(span.path)
        return lines if span.line <= len(lines) else []

    def _snippet(self, arrow: str, places: Sequence[Note]) -> list[str]:
        """The arrow line, and the lines of the file below it; labels alone when there are none."""
        result = [
            self._paint(_BLUE, f"{'':{self._gutter}}{arrow}") + f" {inert(shown_place(places[0].span, self._base))}"
        ]
        lines = self._lines(places[0].span)
        if not lines:
            return result + [self._remark("note", place.message) for place in places if place.message]
        result.append(self._bar())
        before: Span | None = None
        for place in sorted(places, key=lambda place: place.span):
            span = place.span
            primary = self._diagnostic.span is not None and place is self._places[0]
            mark, style = ("^", self._style) if primary else ("-", _BLUE)
            draw = self._one_line if span.end_line == span.line else self._several_lines
            excerpt = draw(span, lines, place.message, mark, style)
            if before is not None and span.line == before.end_line + 2:
                result.append(f"{self._bar(span.line - 1)} {_cut(lines[span.line - 2])}".rstrip())
            elif before is not None and span.line > before.end_line + 2:
                result.append(self._paint(_BLUE, "..."))
            # Two places in one line are marked below it, if it is not so long that each has its own part of it.
            result += excerpt[1:] if excerpt[0] in result else excerpt
            before = span
        return result

    def _one_line(self, span: Span, lines: Sequence[str], label: str, mark: str, style: str) -> list[str]:
        line = lines[span.line - 1]
        before, after = line[: span.column - 1], line[span.end_column - 1 :]
        marked = line[span.column - 1 : span.end_column - 1]
        if len(line) > _MAX_WIDTH:
            before = before if len(before) <= _CONTEXT else "…" + before[-_CONTEXT:]
            marked = marked if len(marked) <= _MAX_WIDTH else marked[:_MAX_WIDTH] + "…"
            rest = max(0, _MAX_WIDTH - len(marked))
            after = after if len(after) <= rest else after[:rest] + "…"
        before, marked, after = inert(before), inert(marked), inert(after)
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
    return expanded(inert(line if len(line) <= _MAX_WIDTH else line[:_MAX_WIDTH] + "…"))
