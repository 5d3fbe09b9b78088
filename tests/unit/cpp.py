"""Ask the C++ compiler whether a text holds against the installed torch's headers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from acmegen.facts.torch_install import TorchInstall


def compile_errors(source: Path, install: TorchInstall, *folders: Path) -> str:
    """Check the syntax and types of `source` as C++20; what the compiler printed, empty when all is well.

    `folders` are searched for headers before torch's own.
    """
    include = [f"-I{folder}" for folder in (*folders, install.include)]
    result = subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-w", *include, str(source)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return "" if result.returncode == 0 else result.stderr or f"exit code {result.returncode}"
