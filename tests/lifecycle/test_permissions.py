"""What the user may not read or write: a diagnostic with its place, exit code 2, and nothing changed."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from acmegen.diagnostics import codes
from tests.conftest import REPOSITORY
from tests.lifecycle.publishing import snapshot

OWNED = "csrc/generated/kernels.h"
FOLDER = "csrc/generated/fallback"

_DROP_FROM_BOUNDING_SET = 24  # prctl
_OVERRIDES = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def obey_permissions() -> None:
    """Take from the superuser, in whose name tests may run, what lets it read and write anything."""
    if os.geteuid() == 0:
        for capability in _OVERRIDES:
            assert ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0) == 0


def acmegen(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "acmegen", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def closed(project: Path) -> Iterator[list[Path]]:
    """Paths to which nobody has any permission; they are opened again at the end."""
    paths: list[Path] = []
    yield paths
    for path in paths:
        path.chmod(0o755)


def close(path: Path, closed: list[Path], mode: int = 0) -> None:
    closed.append(path)
    path.chmod(mode)


def found(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The codes of the document, and the file of each."""
    return {entry["code"]: entry["span"]["file"] for entry in json.loads(result.stdout)["diagnostics"]}


def test_a_file_that_may_not_be_read(project: Path, closed: list[Path]) -> None:
    close(project / OWNED, closed)
    for command in ("check", "regen"):
        result = acmegen(command, project, "--format", "json")
        assert (result.returncode, found(result)) == (2, {codes.FILE_REFUSED: (project / OWNED).as_posix()})
    listed = acmegen("list", project).stdout
    assert f"unreadable {OWNED} " in listed
    doctor = acmegen("doctor", project)
    assert doctor.returncode == 1 and f"`{OWNED}`: it cannot be read" in doctor.stdout


def test_a_folder_that_may_not_be_entered(project: Path, closed: list[Path]) -> None:
    before = (project / "acmegen.lock").read_bytes()
    close(project / FOLDER, closed)
    close(project / "csrc/kernels", closed)
    result = acmegen("regen", project)
    assert result.returncode == 2
    for folder in (FOLDER, "csrc/kernels"):
        assert f": `{folder}` cannot be read: permission denied" in result.stderr
    assert f"error[{codes.FILE_REFUSED}]" in result.stderr and "Traceback" not in result.stderr
    listed = acmegen("list", project).stdout
    assert "unreadable" in listed and "deleted" not in listed
    doctor = acmegen("doctor", project)
    assert doctor.returncode == 1 and f"`{FOLDER}` cannot be read" in doctor.stdout
    assert (project / "acmegen.lock").read_bytes() == before


@pytest.mark.parametrize("path", [".acmegen", "acmegen.lock"])
def test_records_that_may_not_be_read(project: Path, closed: list[Path], path: str) -> None:
    close(project / path, closed)
    for command in ("check", "regen"):
        result = acmegen(command, project, "--format", "json")
        assert (result.returncode, found(result)) == (2, {codes.FILE_REFUSED: (project / path).as_posix()})
    doctor = acmegen("doctor", project)
    assert doctor.returncode == 1 and "permission denied" in doctor.stdout and "allow yourself" in doctor.stdout


def test_a_project_whose_folder_may_not_be_written(project: Path, closed: list[Path]) -> None:
    """Its folders may: the run begins, fails at a file beside them, and is undone without a word of its journal."""
    manifest = project / "manifests/backend.yaml"
    manifest.write_text(manifest.read_text().replace("license: Apache-2.0", "license: MIT"))
    before = snapshot(project)
    close(project, closed, 0o555)
    result = acmegen("regen", project, "--format", "json")
    assert (result.returncode, found(result)) == (2, {codes.NOT_WRITTEN: (project / ".gitattributes").as_posix()})
    assert snapshot(project) == before
