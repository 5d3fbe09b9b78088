"""Render a project without the formatters, which take seconds, for tests of what the texts hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from acmegen.pipeline import resolve
from acmegen.render.format import Formatter
from acmegen.render.tree import render
from tests.unit.manifests import write_manifests

_TOKENS = re.compile(
    r"(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|(?P<code>.)",
    re.DOTALL,
)


class Unformatted(Formatter):
    """Leaves the texts as the templates give them."""

    def __init__(self) -> None:
        super().__init__()
        self._added: dict[str, str] = {}

    def add(self, path: str, text: str) -> None:
        self._added[path] = text

    def finish(self) -> dict[str, str]:
        return self._added


def formatted(texts: Mapping[str, str]) -> dict[str, str]:
    """`texts` by path, formatted."""
    formatter = Formatter()
    for path, text in texts.items():
        formatter.add(path, text)
    return formatter.finish()


def rendered(folder: Path, **files: str) -> dict[str, str]:
    """The text of each generated file, by path."""
    plan = resolve(write_manifests(folder, **files)).plan
    return {path: file.text for path, file in render(plan, Unformatted()).items()}


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
