"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

REPOSITORY = Path(__file__).resolve().parent.parent
Acmegen = Callable[..., "subprocess.CompletedProcess[str]"]

# A test fails for a change of what it tests, neither for the examples of this run nor for the load of the machine.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", PATIENT, derandomize=True)
settings.register_profile("explore", PATIENT, derandomize=False, max_examples=1000)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--backend", default="acme", help="the backend that tests/backend builds; acme is the flagship")
    parser.addoption("--update-goldens", action="store_true", help="write the golden files of tests/diagnostics anew")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With pytest-xdist, the tests of a file stay together, and so do all that share the compiled backend."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "backend" if nodeid.startswith("tests/backend/") else super()._split_scope(nodeid)

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def acmegen() -> Acmegen:
    """Run the command line as a user does: `acmegen("regen", "--force", cwd=folder)`."""

    def run(*arguments: object, cwd: Path = REPOSITORY, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "acmegen", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture(scope="session")
def new_project(acmegen: Acmegen, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make a project with `new-backend NAME`, once per name and session; its users must not change it."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp("new") / name
            result = acmegen("new-backend", name, "--dir", folder)
            assert result.returncode == 0, result.stderr
            made[name] = folder
        return made[name]

    return make


@pytest.fixture
def project(new_project: Callable[[str], Path], tmp_path: Path) -> Iterator[Path]:
    """A fresh copy of a new project, for tests that change it."""
    import shutil

    folder = tmp_path / "acme"
    shutil.copytree(new_project("acme"), folder)
    yield folder
