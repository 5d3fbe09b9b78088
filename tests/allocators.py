"""The flagship with another allocator than its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPOSITORY


def generate_with_allocator(settings: str, folder: Path) -> Path:
    """Generate the flagship into `folder`, with `settings` as what allocator.yaml says; gives the project's folder.

    Raises:
        RuntimeError: acmegen failed; with what it printed.
    """
    manifests = folder / "manifests"
    shutil.copytree(REPOSITORY / "manifests" / "acme", manifests, dirs_exist_ok=True)
    (manifests / "allocator.yaml").write_text(f"manifest: allocator/v1\n{settings}\n")
    project = folder / "project"
    run_checked(sys.executable, "-m", "acmegen", "regen", project, "--manifests", manifests, "--force", cwd=REPOSITORY)
    return project


def run_checked(*command: object, cwd: Path | None = None) -> str:
    """Run a command; gives what it printed.

    Raises:
        RuntimeError: it failed; with the end of what it printed.
    """
    result = subprocess.run(
        list(map(str, command)), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{result.stdout[-8000:]}")
    return result.stdout
