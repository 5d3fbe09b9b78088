"""Mistakes in the small languages that manifests hold: expressions, arguments of library calls, schemas."""

from __future__ import annotations


class TextError(Exception):
    """A mistake that knows its place in the text.

    Attributes:
        message: what is wrong, one line.
        offset: where it starts, in characters of the text.
        length: how many characters it spans, at least 1.
        help: what to do about it, or None.
    """

    def __init__(self, message: str, offset: int, length: int = 1, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.length = max(length, 1)
        self.help = help
