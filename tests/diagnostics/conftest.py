"""A project for the tests of commands."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def right(tmp_path: Path, new_project: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh project, in the working directory."""
    folder = tmp_path / "acme"
    shutil.copytree(new_project("acme"), folder)
    monkeypatch.chdir(folder)
    return folder
