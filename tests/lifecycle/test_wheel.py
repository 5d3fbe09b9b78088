"""acmegen as it is installed: from a wheel, with its templates, presets and reserved names inside."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """The folder that a wheel of this checkout is unpacked into."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=repository, check=True, capture_output=True)
    (wheel,) = folder.glob("acmegen-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "acmegen", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )


def test_the_wheel_makes_the_same_project(installed: Path, new_project: Callable[[str], Path], tmp_path: Path) -> None:
    result = run(installed, tmp_path, "new-backend", "acme")
    assert result.returncode == 0, result.stderr
    expected = new_project("acme")
    for path in sorted(path.relative_to(expected) for path in expected.rglob("*") if path.is_file()):
        assert (tmp_path / "acme" / path).read_bytes() == (expected / path).read_bytes(), path


def test_the_wheel_knows_names_and_schemas(installed: Path, tmp_path: Path) -> None:
    assert "is taken" in run(installed, tmp_path, "new-backend", "cuda").stderr
    assert run(installed, tmp_path, "schema").returncode == 0
    assert "Wrong:" in run(installed, tmp_path, "explain", "ACME012").stdout
    assert len(list((tmp_path / "manifests" / "schema").glob("*.json"))) == 5
