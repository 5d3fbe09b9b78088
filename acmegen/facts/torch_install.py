"""Where the installed torch is and which version it has, found without importing it."""

from __future__ import annotations

import importlib.util
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from acmegen.diagnostics import Diagnostic, DiagnosticError
from acmegen.diagnostics.codes import TORCH_INCOMPLETE, TORCH_MISSING

_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


@dataclass(frozen=True)
class TorchInstall:
    """One torch on disk.

    Attributes:
        version: the whole version, with its local part (`2.13.0+cpu`).
        root: the package folder `torch`.
        include: its C++ headers.
        torchgen: the package folder `torchgen` of the same wheel.
    """

    version: str
    root: Path
    include: Path
    torchgen: Path

    @property
    def public_version(self) -> str:
        """The version without its local part (`2.13.0`)."""
        return self.version.partition("+")[0]


def _spec_root() -> Path | None:
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def _error(requirement: str, code: str, message: str, *notes: str) -> DiagnosticError:
    command = f"pip install {shlex.quote(requirement)}"
    help_text = f"install torch into the environment that acmegen runs in: `{command}`"
    return DiagnosticError([Diagnostic(code, message, notes=notes, help=help_text)])


def find_torch(root: Path | None = None, requirement: str = "torch") -> TorchInstall:
    """Find the torch of this environment, or the one whose package folder is `root`.

    Without a torch, the error says to install the `requirement`, which may name a version or a range.

    Raises:
        DiagnosticError: there is no torch, or it lacks its version, its headers or torchgen.
    """
    found = _spec_root() if root is None else root
    if found is None:
        raise _error(requirement, TORCH_MISSING, "torch is not installed")
    try:
        match = _VERSION.search((found / "version.py").read_text(encoding="utf-8"))
    except OSError:
        match = None
    if match is None:
        note = "its `version.py` is missing or names no version"
        raise _error(requirement, TORCH_INCOMPLETE, f"`{found}` is not a complete torch", note)
    install = TorchInstall(match.group(1), found, found / "include", found.parent / "torchgen")
    for folder, what in ((install.include / "ATen", "C++ headers"), (install.torchgen / "packaged", "torchgen")):
        if not folder.is_dir():
            note = f"`{folder}` does not exist"
            raise _error(requirement, TORCH_INCOMPLETE, f"torch {install.version} comes without its {what}", note)
    return install
