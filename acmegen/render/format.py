"""Formatting: black for Python, clang-format for C++; one process for all C++ files, results cached by content."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import black

CPP_STYLE = "{BasedOnStyle: Google, ColumnLimit: 100, DerivePointerAlignment: false, SortIncludes: false, IncludeBlocks: Preserve}"
_CPP = (".h", ".hpp", ".c", ".cpp", ".cc")


def _format_python(text: str) -> str:
    return black.format_str(text, mode=black.Mode(line_length=100))


def _format_cpp(texts: Mapping[str, str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for index, (path, text) in enumerate(texts.items()):
            file = Path(folder) / f"{index}{Path(path).suffix}"
            file.write_text(text, encoding="utf-8")
            names[path] = file
        subprocess.run(
            ["clang-format", "-i", f"--style={CPP_STYLE}", *map(str, names.values())], check=True, capture_output=True
        )
        return {path: file.read_text(encoding="utf-8") for path, file in names.items()}


def format_files(texts: Mapping[str, str]) -> dict[str, str]:
    """Format each text by its path's extension; other kinds get one final newline and nothing else."""
    cpp = _format_cpp({path: text for path, text in texts.items() if path.endswith(_CPP)})
    return {
        path: cpp[path] if path in cpp else _format_python(text) if path.endswith(".py") else text.rstrip("\n") + "\n"
        for path, text in texts.items()
    }
