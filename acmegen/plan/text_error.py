"""Mistakes in the small languages that manifests hold: expressions, arguments of library calls, schemas."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from acmegen.diagnostics import Diagnostic, Edit, did_you_mean, sure_fix, text_at
from acmegen.manifest.source import NodePath, Source


class TextError(Exception):
    """A mistake that knows its place in the text.

    Attributes:
        message: what is wrong, one line.
        offset: where it starts, in characters of the text.
        length: how many characters it spans, at least 1.
        help: what to do about it, or None.
        label: "did you mean `x`?", or empty.
        wrong: the name that is not known; empty when the mistake is another one.
        meant: the name that was no doubt meant, or None.
        further: more mistakes in the same text, none of which follows from another.
    """

    def __init__(
        self,
        message: str,
        offset: int,
        length: int = 1,
        help: str | None = None,
        *,
        wrong: str = "",
        known: Collection[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.length = max(length, 1)
        self.help = help
        self.label = did_you_mean(wrong, known)
        self.wrong = wrong
        self.meant = sure_fix(wrong, known)
        self.further: tuple[TextError, ...] = ()

    def diagnostics(self, code: str, source: Source, path: NodePath, key: bool = False) -> Iterator[Diagnostic]:
        """The diagnostics of this mistake and of the further ones, as `diagnostic` gives each."""
        for error in (self, *self.further):
            yield error.diagnostic(code, source, path, key)

    def diagnostic(self, code: str, source: Source, path: NodePath, key: bool = False) -> Diagnostic:
        """The diagnostic of a mistake in the text at `path` of a manifest, or in its key."""
        span = source.slice(path, self.offset, self.offset + self.length, key=key)
        edits = (Edit(span, self.meant),) if self.meant and text_at(source.text, span) == self.wrong else ()
        return Diagnostic(code, self.message, span, label=self.label, help=self.help, edits=edits)
