"""How places are shown: files relative to the folder that the user is in."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from acmegen.diagnostics.diagnostic import Span


def shown_path(path: Path, base: Path) -> str:
    """`path` as seen from the folder `base`, with forward slashes; absolute if it is not below `base`.

    A relative path starts from `base` already.
    """
    plain = Path(os.path.normpath(path))
    return (plain.relative_to(base) if plain.is_relative_to(base) else plain).as_posix()


def shown_folder(folder: Path) -> str:
    """`folder` as a message speaks of it: `.` and `..` by the name that it has."""
    return str(folder) if any(part != os.pardir for part in folder.parts) else folder.resolve().name or str(folder)


def command_for(command: str, folder: Path) -> str:
    """The command line of `command` for the project `folder`; in that folder it need not be named."""
    return f"{command} {shlex.quote(str(folder))}" if folder != Path() else command


def shown_place(span: Span, base: Path) -> str:
    """`file:line:column`; the file alone when the span is the whole of it."""
    path = shown_path(span.path, base)
    return path if span.is_file else f"{path}:{span.line}:{span.column}"
