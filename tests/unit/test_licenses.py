"""Which licence texts an export gets, and where they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output.licenses import license_texts

OURS = "LICENSES/Apache-2.0.txt"


def files(**texts: str) -> dict[str, bytes]:
    return {path: f"// SPDX-License-Identifier: {text}\n".encode() for path, text in texts.items()}


def test_apache_comes_with_acmegen(repository: Path) -> None:
    assert license_texts(files(a="Apache-2.0")) == {OURS: (repository / "LICENSE").read_bytes()}


@pytest.mark.parametrize("name", ["LICENSE", "COPYING", "LICENSES/MIT.txt"])
def test_the_only_licence_may_have_its_text_in_the_usual_place(name: str) -> None:
    assert license_texts({**files(a="MIT", b="MIT"), name: b"text"}).keys() == {OURS}


def test_each_of_several_has_a_text_of_its_own() -> None:
    several = {
        "a.md": b"<!-- @generated -->\n<!-- SPDX-License-Identifier: MIT OR (BSD-3-Clause AND Zlib) -->\n",
        "b.py": b"# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n",
        "c.cpp": b"no licence\0",
        "LICENSE": b"of which?",
        "LICENSES/Zlib.txt": b"text",
    }
    with pytest.raises(DiagnosticError) as caught:
        license_texts(several)
    assert [(found.code, found.message) for found in caught.value.diagnostics] == [
        (codes.LICENSE_TEXT_MISSING, f"there is no text of the licence `{name}`")
        for name in ("BSD-3-Clause", "LLVM-exception", "MIT")
    ]
