"""Build the stress program for one kind of allocator and one sanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.allocators import generate_with_allocator, run_checked
from tests.conftest import REPOSITORY

# What is built stays there: it takes minutes.
FOLDER = REPOSITORY / "build" / "stress"

KINDS = ("caching", "direct")
SANITIZERS = ("none", "address", "thread")

# Little memory, so that it runs out often.
DEVICE_MEMORY = 64 << 20


def generate(kind: str, folder: Path) -> Path:
    """Generate the flagship with an allocator of `kind` into `folder`; gives the project's folder."""
    return generate_with_allocator(f"device: {{kind: {kind}}}", folder)


def build(project: Path, sanitizer: str, folder: Path) -> Path:
    """Build the stress program of the generated `project` in `folder`; gives its path."""
    settings = [f"-DGENERATED={project}", f"-DPython_EXECUTABLE={sys.executable}", f"-DSANITIZER={sanitizer}"]
    if shutil.which("ccache"):
        settings.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    run_checked("cmake", "-G", "Ninja", "-S", Path(__file__).parent, "-B", folder, *settings)
    run_checked("cmake", "--build", folder)
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
