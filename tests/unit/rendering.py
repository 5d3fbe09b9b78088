"""Render a project without the formatters, which take seconds, for tests of what the texts hold."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

from acmegen.pipeline import resolve
from acmegen.render import tree
from tests.unit.manifests import write_manifests

_TOKENS = re.compile(
    r"(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|(?P<code>.)",
    re.DOTALL,
)


def rendered(folder: Path, **files: str) -> dict[str, str]:
    """The text of each generated file, by path."""
    _, _, plan = resolve(write_manifests(folder, **files))
    with patch.object(tree, "format_files", dict):
        return {path: file.text for path, file in tree.render(plan).items()}


def skeleton(cpp: str) -> str:
    """C++ without the contents of comments and literals, as a compiler with trigraphs sees it."""
    kinds = {"comment": " ", "text": '""'}
    found = _TOKENS.finditer(cpp.replace("??/", "\\"))
    return " ".join("".join(kinds.get(match.lastgroup or "", match.group()) for match in found).split())


def write_tree(folder: Path, texts: dict[str, str]) -> Path:
    """Write generated files below `folder`."""
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder
