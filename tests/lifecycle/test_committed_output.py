"""`generated/acme` is what `manifests/acme` gives, and `manifests/acme` is what `new-backend acme` starts with."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Acmegen


def test_flagship_is_regenerated_byte_for_byte(acmegen: Acmegen, repository: Path) -> None:
    result = acmegen("check", repository / "generated" / "acme")
    assert result.returncode == 0, result.stdout + result.stderr


def test_flagship_has_no_other_files(repository: Path) -> None:
    import json

    listed = subprocess.run(
        ["git", "ls-files", "generated/acme"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    lock = json.loads((repository / "generated" / "acme" / "acmegen.lock").read_text())
    assert {path.removeprefix("generated/acme/") for path in listed} == lock["files"].keys() | {"acmegen.lock"}


def test_new_backend_gives_the_flagship(new_project: Callable[[str], Path], repository: Path) -> None:
    fresh, flagship = new_project("acme"), repository / "generated" / "acme"
    for path in sorted(file.relative_to(fresh) for file in fresh.rglob("*") if file.is_file()):
        text = (fresh / path).read_text()
        if path.parts[:2] == ("manifests", "schema"):
            committed = repository / path
        elif path.parts[0] == "manifests":
            committed = repository / "manifests" / "acme" / path.relative_to("manifests")
            text = text.replace("$schema=", "$schema=../")
        else:
            committed = flagship / path
        if path.name != "acmegen.lock":
            assert committed.read_text() == text, path
