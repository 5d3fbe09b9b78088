"""The compiled backend that the tests in this folder share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BUILD_LIMIT = 1800


def run(*command: object, cwd: Path, limit: int, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit,
    )


@pytest.fixture(scope="session")
def backend(request: pytest.FixtureRequest, repository: Path, new_project: Callable[[str], Path]) -> tuple[str, Path]:
    """The device's name and its project, built and installed here by `acmegen build`, once a session."""
    name: str = request.config.getoption("--backend")
    project = repository / "generated" / "acme" if name == "acme" else new_project(name)
    result = run("-m", "acmegen", "build", project, cwd=repository, limit=BUILD_LIMIT)
    assert result.returncode == 0, result.stdout[-8000:]
    return name, project
