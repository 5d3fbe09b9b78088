"""Ask the C++ compiler whether a text holds against the installed torch's headers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from acmegen.facts.torch_install import TorchInstall


def compile_errors(source: Path, install: TorchInstall) -> str:
    """Check the syntax and types of `source` as C++20; what the compiler printed, empty when all is well."""
    result = subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-w", f"-I{install.include}", str(source)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return "" if result.returncode == 0 else result.stderr or f"exit code {result.returncode}"
