"""Where the characters of a scalar's value stand in the file, however the scalar is written.

A mistake in an expression is found in its value; what the user sees is `'it''s'`, `"\\x61"`, or a block of lines. Each
reader below gives the value's characters with their places; a place counts only if the whole value comes out the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Places = Iterator[tuple[str, int]]

_PROPERTIES = re.compile(r"([&!]\S*[ \t\r\n]+)*")
_BREAK = re.compile(r"\r\n|\r|\n")
_FOLD = re.compile(r"[ \t]*(\r\n|\r|\n)[ \t\r\n]*")
_JOINED = re.compile(r"\\[ \t]*(\r\n|\r|\n)[ \t]*")
_DIGITS = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    **{"e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"},
}


def scalar_places(text: str, start: int, end: int, style: str | None, value: str) -> list[int] | None:
    """The index in `text` of each character of `value`; None where the way that it is written is not understood.

    Args:
        text: of the file.
        start: where the scalar starts, with its anchor and tag.
        end: where it ends.
        style: as PyYAML has it: a quote, `|`, `>`, or None for a plain scalar.
        value: of the scalar.
    """
    properties = _PROPERTIES.match(text, start, end)
    start = properties.end() if properties else start
    if style in ("|", ">"):
        return _block(text, start, end, value)
    if style:
        start, end = start + 1, end - 1
    found = list(_flow(text, start, end, style or ""))
    return [place for _, place in found] if "".join(character for character, _ in found) == value else None


def _flow(text: str, start: int, end: int, quote: str) -> Places:
    """The characters of a plain or a quoted scalar: a line break is a space, empty lines are line breaks."""
    index = start
    while index < end:
        fold = _FOLD.match(text, index, end)
        if fold:
            breaks = len(_BREAK.findall(fold.group()))
            yield from (("\n", index) for _ in range(breaks - 1)) if breaks > 1 else ((" ", index),)
            index = fold.end()
        elif quote == '"' and text[index] == "\\":
            joined = _JOINED.match(text, index, end)
            if joined:
                index = joined.end()
                continue
            length = 2 + _DIGITS.get(text[index + 1 : index + 2], 0)
            yield _unescaped(text[index : index + length]), index
            index += length
        else:
            yield text[index], index
            index += 2 if quote == "'" and text[index] == "'" else 1


def _unescaped(written: str) -> str:
    if written[1:2] in _DIGITS:
        try:
            return chr(int(written[2:], 16))
        except (ValueError, OverflowError):
            return ""
    return _ESCAPES.get(written[1:2], "")


def _block(text: str, start: int, end: int, value: str) -> list[int] | None:
    """The places of a block scalar's characters. Its visible characters stand in the file in their order; between them
    are indentation and line breaks, so that only those of blanks are not exact."""
    header = _BREAK.search(text, start, end)
    index = header.end() if header else end
    places = []
    for character in value:
        if not character.isspace():
            while index < end and text[index] in " \t\r\n":
                index += 1
            if text[index : index + 1] != character:
                return None
            places.append(index)
            index += 1
        else:
            places.append(min(index, max(end - 1, start)))
            if index < end and text[index] == character:
                index += 1
    return places
