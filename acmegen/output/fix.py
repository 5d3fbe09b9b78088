"""`check --fix`: make the edits that diagnostics suggest, in the manifests on disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from acmegen.data import data_folder
from acmegen.diagnostics import Diagnostic, DiagnosticError, Edit, Span, apply_edits, codes, compatible_edits, text_at
from acmegen.output import files

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class Fix:
    """An edit that was made, and the text that it took the place of."""

    edit: Edit
    before: str


def read_manifests(folder: Path) -> dict[Path, bytes]:
    """The bytes of each manifest that may be edited. The presets that come with acmegen are not among them."""
    presets = (data_folder("manifests") / "presets").resolve()
    return {
        path: path.read_bytes()
        for path in (*folder.glob("*.yaml"), *folder.glob("ops/*.yaml"))
        if path.is_file() and not path.resolve().is_relative_to(presets)
    }


def make_edits(diagnostics: Iterable[Diagnostic], manifests: Mapping[Path, bytes]) -> tuple[Fix, ...]:
    """Make the edits that `diagnostics` suggest, each file atomically, and keep all else of it as it is.

    Args:
        diagnostics: what was found in the manifests.
        manifests: what `read_manifests` gave before it was looked for. A file that is not there is not edited.

    Raises:
        DiagnosticError: a file has changed since; nothing was written.
        OSError: a file cannot be written.
    """
    edits = [edit for edit in compatible_edits(diagnostics) if edit.span.path in manifests]
    fixes: list[Fix] = []
    written: dict[Path, str] = {}
    for path in sorted({edit.span.path for edit in edits}):
        text = manifests[path].decode("utf-8")
        mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
        text = text.removeprefix(mark)
        own = sorted((edit for edit in edits if edit.span.path == path), key=lambda edit: edit.span)
        fixes += [Fix(edit, text_at(text, edit.span)) for edit in own]
        written[path] = mark + apply_edits(text, own)
    changed = [path for path in written if path.read_bytes() != manifests[path]]
    if changed:
        raise DiagnosticError(_changed(path) for path in changed)
    for path, text in written.items():
        _write(path.resolve(), text.encode())
    return tuple(fixes)


def _changed(path: Path) -> Diagnostic:
    message = "this file was changed while it was being checked, so nothing was fixed"
    return Diagnostic(codes.MANIFEST_CHANGED, message, Span.of_file(path), help="run `acmegen check --fix` again")


def _write(path: Path, data: bytes) -> None:
    """Replace the file `path` atomically; its permissions stay."""
    new = path.with_name(f".acmegen-{os.getpid()}.new")
    try:
        files.write(new, data, stat.S_IMODE(path.stat().st_mode))
        files.replace(new, path)
    except BaseException:
        with suppress(OSError):
            files.unlink(new)
        raise
