"""Put a case's manifests into a folder, and run the pipeline on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from acmegen.diagnostics import CODES, Diagnostic, DiagnosticError, explanation
from acmegen.pipeline import resolve
from tests.diagnostics import output_situations, situations

HERE = Path(__file__).parent
GOLDENS = HERE / "goldens"
MANIFESTS = Path("manifests")
BACKEND = "manifest: backend/v1\nname: nova\nfallback: {policy: reference}\n"
_FILE = re.compile(r"^# (\S+\.ya?ml)\n", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One case: the codes that it gives, its manifests, and what is done with them."""

    name: str
    manifests: str
    action: Callable[[pytest.MonkeyPatch], object]

    @property
    def codes(self) -> list[str]:
        """The codes in its name."""
        return re.findall(r"ACME\d{3}", self.name)


def _resolve(monkeypatch: pytest.MonkeyPatch) -> object:
    return resolve(MANIFESTS)


def cases() -> Iterator[Case]:
    """All cases."""
    for code in sorted(CODES):
        if explanation(code).wrong:
            yield Case(code, explanation(code).wrong, _resolve)
    for path in sorted((HERE / "cases").glob("*.yaml")):
        yield Case(path.stem, path.read_text(encoding="utf-8"), _resolve)
    for name, function in sorted({**vars(situations), **vars(output_situations)}.items()):
        if name.startswith("ACME"):
            yield Case(name, "", function)


def stage(manifests: str, folder: Path) -> None:
    """Write `manifests` below `folder`, beside a small `backend.yaml` if there is none among them."""
    parts = _FILE.split(manifests)
    for name, text in {"backend.yaml": BACKEND, **dict(zip(parts[1::2], parts[2::2], strict=True))}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def diagnostics_of(case: Case, monkeypatch: pytest.MonkeyPatch) -> tuple[Diagnostic, ...]:
    """What the case gives, in the working directory."""
    stage(case.manifests, MANIFESTS)
    with pytest.raises(DiagnosticError) as raised:
        case.action(monkeypatch)
    return raised.value.diagnostics
