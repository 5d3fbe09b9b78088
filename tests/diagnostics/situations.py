"""Cases that no manifest can hold: bytes that are no text, and what is not installed or changes meanwhile.

Each function is a case, named after its code. It starts in a folder whose `manifests` are right, and raises.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acmegen.diagnostics import Diagnostic, Edit, Span, codes
from acmegen.facts import tileops, torch_install
from acmegen.output.fix import make_edits, read_manifests
from acmegen.pipeline import resolve

MANIFESTS = Path("manifests")
BACKEND = MANIFESTS / "backend.yaml"


def ACME001_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(Path("manifest"))


def ACME001_no_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    BACKEND.unlink()
    resolve(MANIFESTS)


def ACME001_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with BACKEND.open("ab") as file:
        file.truncate(10 * 1024 * 1024)
    resolve(MANIFESTS)


def ACME002_latin_1(monkeypatch: pytest.MonkeyPatch) -> None:
    BACKEND.write_bytes("manifest: backend/v1\nname: nova\ndescription: für alle\n".encode("latin-1"))
    resolve(MANIFESTS)


def ACME002_control_character(monkeypatch: pytest.MonkeyPatch) -> None:
    BACKEND.write_bytes(b"manifest: backend/v1\r\nname: nova\r\ndescription: a\0b\r\n")
    resolve(MANIFESTS)


def ACME003_tab_after_a_byte_order_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    BACKEND.write_bytes(b"\xef\xbb\xbfmanifest: backend/v1\r\nname: nova\r\ndevices:\r\n\tmax: 2\r\n")
    resolve(MANIFESTS)


def ACME007_empty_file(monkeypatch: pytest.MonkeyPatch) -> None:
    BACKEND.write_bytes(b"")
    resolve(MANIFESTS)


def ACME060_changed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    before = read_manifests(MANIFESTS)
    BACKEND.write_text("# another program was here\n")
    edit = Edit(Span(BACKEND, 2, 7, 2, 11), "vega")
    make_edits([Diagnostic(codes.BAD_NAME, "a name", edits=(edit,))], before)


def ACME200_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_install, "_spec_root", lambda: None)
    resolve(MANIFESTS)


def ACME202_no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path("site-packages/torch")
    root.mkdir(parents=True)
    (root / "version.py").write_text("__version__ = '2.99.0'\n")
    monkeypatch.setattr(torch_install, "_spec_root", lambda: root)
    resolve(MANIFESTS)


def _with_tileops(text: str = "") -> None:
    (MANIFESTS / "tileops.yaml").write_text("manifest: tileops/v1\n" + text)
    resolve(MANIFESTS)


def ACME300_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Path("site-packages/tileops/manifest/spec")
    spec.mkdir(parents=True)
    (spec / "ops.yaml").write_text("AFwdOp: {}\n")
    monkeypatch.setattr("acmegen.facts.find_tileops", lambda: tileops.read_tileops(spec.parent.parent, "9.0"))
    _with_tileops()


def ACME301_no_tileops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acmegen.facts.find_tileops", lambda: None)
    _with_tileops()
