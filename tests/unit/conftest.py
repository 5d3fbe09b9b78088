"""Fixtures that several unit tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.simulator_sdk import Sdk, build_cases, build_sdk, render_sdk


@pytest.fixture(scope="session")
def simulator_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render_sdk(tmp_path_factory.mktemp("sdk"))


@pytest.fixture(scope="session")
def simulator_library(simulator_root: Path) -> Path:
    return build_sdk(simulator_root)


@pytest.fixture(scope="session")
def simulator_program(simulator_root: Path, simulator_library: Path) -> Path:
    return build_cases(simulator_root, simulator_library)


@pytest.fixture(scope="session")
def sdk(simulator_library: Path) -> Sdk:
    return Sdk(simulator_library)
