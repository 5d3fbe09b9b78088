"""How places are shown: files relative to the folder that the user is in."""

from __future__ import annotations

import os
from pathlib import Path

from acmegen.diagnostics.diagnostic import Span


def shown_path(path: Path, base: Path) -> str:
    """`path` as seen from the folder `base`, with forward slashes; absolute if it is not below `base`.

    A relative path starts from `base` already.
    """
    plain = Path(os.path.normpath(path))
    return (plain.relative_to(base) if plain.is_relative_to(base) else plain).as_posix()


def shown_place(span: Span, base: Path) -> str:
    """`file:line:column`; the file alone when the span is the whole of it."""
    path = shown_path(span.path, base)
    return path if span.is_file else f"{path}:{span.line}:{span.column}"
