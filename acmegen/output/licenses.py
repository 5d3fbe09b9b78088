"""The texts of the licences that files name in their SPDX lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from acmegen.data import data_folder
from acmegen.diagnostics import Diagnostic, DiagnosticError, codes

LICENSES_FOLDER = "LICENSES"

_LINE = re.compile(rb"SPDX-License-Identifier:\s*([\w.+()\- ]+)")
_WORDS = {"AND", "OR", "WITH"}
# That of the files which acmegen adds.
_OURS = "Apache-2.0"
# Where a project with one licence may have its text.
_USUAL = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING")


def license_texts(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The licence texts to add to the `files` of a project: for each licence that one names, and that of `verify.py`.

    A text is the project's own, `LICENSES/NAME.txt` or, of the only licence, `LICENSE`; or it comes with acmegen.

    Raises:
        DiagnosticError: there is no text of a licence.
    """
    names = {name for data in files.values() for name in _named(data)}
    texts, missing = {}, []
    for name in sorted(names | {_OURS}):
        path = f"{LICENSES_FOLDER}/{name}.txt"
        ours = data_folder("templates") / "vendor" / path
        if path in files or (names == {name} and any(usual in files for usual in _USUAL)):
            continue
        if ours.is_file():
            texts[path] = ours.read_bytes()
        else:
            message = f"there is no text of the licence `{name}`"
            help_text = f"put it into `{path}` of the project, with the copyright lines that belong to it"
            missing.append(Diagnostic(codes.LICENSE_TEXT_MISSING, message, help=help_text))
    if missing:
        raise DiagnosticError(missing)
    return texts


def _named(data: bytes) -> Iterable[str]:
    """The licences and exceptions in the SPDX line near the top of a file."""
    match = _LINE.search(data[:4096])
    expression = match.group(1).decode() if match else ""
    return {word for word in re.findall(r"[\w.+-]*\w\+?", expression) if word not in _WORDS}
