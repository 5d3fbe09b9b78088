"""Text as a terminal shows it: harmless, and how many columns it takes."""

from __future__ import annotations

import re
import unicodedata

_TAB = " " * 4
_EMOJI_FORM = "\N{VARIATION SELECTOR-16}"


def inert(text: str) -> str:
    """`text` in one line, without characters that would move a terminal's cursor or turn its text round; tabs stay."""
    return "".join(
        character if character == "\t" or unicodedata.category(character)[0] != "C" else "\N{REPLACEMENT CHARACTER}"
        for character in re.sub(r"[\r\n\u2028\u2029]+", " ", text)
    )


def expanded(text: str) -> str:
    """`text` with spaces for tabs."""
    return text.replace("\t", _TAB)


def width(text: str) -> int:
    """The columns that `text` takes: two for wide characters and emoji, none for combining ones."""
    total = before = 0
    for character in expanded(text):
        if character == _EMOJI_FORM:
            total, before = total + 2 - before, 2
        elif unicodedata.category(character) not in ("Mn", "Me"):
            before = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            total += before
    return total
