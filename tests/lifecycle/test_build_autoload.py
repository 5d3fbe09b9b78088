"""A build asks the installed torch for its facts, without what torch loads by itself: an old build may be broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def broken_backend(tmp_path: Path) -> dict[str, str]:
    """The environment variables of a process in which torch finds a backend that can't be loaded."""
    metadata = tmp_path / "site" / "broken_backend-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-backend\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[torch.backends]\nbroken = broken_backend:load\n")
    (metadata.parent / "broken_backend.py").write_text('def load():\n    raise ImportError("an old build")\n')
    return {**os.environ, "PYTHONPATH": str(metadata.parent), "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}


def test_b4_a_build_loads_no_backend(repository: Path, broken_backend: dict[str, str], tmp_path: Path) -> None:
    def run(*command: object) -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, *map(str, command)]
        return subprocess.run(
            arguments, env=broken_backend, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    loaded = run("-c", "import torch")
    assert loaded.returncode == 1 and "an old build" in loaded.stdout

    ninja = Path(sys.executable).with_name("ninja")
    settings = f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MAKE_PROGRAM={ninja}"
    source = repository / "generated" / "acme"
    configured = run("-m", "cmake", "-G", "Ninja", "-S", source, "-B", tmp_path / "build", *settings)
    assert configured.returncode == 0, configured.stdout
    assert "an old build" not in configured.stdout
