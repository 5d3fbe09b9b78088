"""Build the stress program for one kind of allocator and one sanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent

# What is built stays there: it takes minutes.
FOLDER = REPOSITORY / "build" / "stress"

KINDS = ("caching", "direct")
SANITIZERS = ("none", "address", "thread")

# Little memory, so that it runs out often.
DEVICE_MEMORY = 64 << 20


def _run(*command: object, **variables: str) -> None:
    result = subprocess.run(list(map(str, command)), env={**os.environ, **variables}, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{result.stdout}\n{result.stderr}")


def generate(kind: str, folder: Path) -> Path:
    """Generate the flagship with an allocator of `kind` into `folder`; gives the project's folder."""
    manifests = folder / "manifests"
    shutil.copytree(REPOSITORY / "manifests" / "acme", manifests, dirs_exist_ok=True)
    allocator = f"manifest: allocator/v1\ndevice: {{kind: {kind}}}\n"
    (manifests / "allocator.yaml").write_text(allocator)
    project = folder / "project"
    arguments = ("regen", project, "--manifests", manifests, "--force")
    _run(sys.executable, "-m", "acmegen", *arguments, PYTHONPATH=str(REPOSITORY))
    return project


def build(project: Path, sanitizer: str, folder: Path) -> Path:
    """Build the stress program of the generated `project` in `folder`; gives its path."""
    settings = [f"-DGENERATED={project}", f"-DPython_EXECUTABLE={sys.executable}", f"-DSANITIZER={sanitizer}"]
    if shutil.which("ccache"):
        settings.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    _run("cmake", "-G", "Ninja", "-S", Path(__file__).parent, "-B", folder, *settings)
    _run("cmake", "--build", folder)
    return folder / "stress"


def run(program: Path, *arguments: object, timeout: float = 600) -> str:
    """Run the program; gives what it printed.

    Raises:
        AssertionError: it failed; with its errors.
    """
    environment = {**os.environ, "SIM_DEVICE_MEMORY": str(DEVICE_MEMORY)}
    command = [program, *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    assert result.returncode == 0, result.stderr
    return result.stdout
