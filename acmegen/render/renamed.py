"""Give texts that people wrote beside a tree the names of another tree, which differs from it in names only."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from acmegen.plan.renaming import Renaming, identifiers_of
from acmegen.render.tree import Tree

_INCLUDE = re.compile(r'(^[ \t]*#[ \t]*include[ \t]*[<"])([^>"\n]+)', re.MULTILINE)


@dataclass(frozen=True)
class RenamedProject:
    """A project under other names.

    Attributes:
        renaming: the names, with the longer identifiers of the trees.
        old: the tree under the old names.
        new: the tree under the new ones.
        paths: all paths of the project under the old names.
    """

    renaming: Renaming
    old: Tree
    new: Tree
    paths: frozenset[str]

    def path(self, path: str) -> str:
        """The new path of `path`."""
        renamed = "/".join(self.renaming.text(part) for part in path.split("/"))
        return path if path in self.old and renamed not in self.new else renamed

    def text(self, path: str, text: str) -> str:
        """The text of the file `path` under the new names.

        Lines that are as the template gave them are taken from the new tree. In others whole identifiers are
        exchanged: the names, and the longer ones that acmegen gave. What somebody else called `acme_launch` stays.
        """
        was, will = self.old.get(path), self.new.get(self.path(path))
        if was is None or will is None:
            return self._exchange(path, text)
        if text == was.text:
            return will.text
        lines, before, after = (whole.splitlines(keepends=True) for whole in (text, was.text, will.text))
        if len(before) != len(after):
            return self._exchange(path, text)
        renamed = []
        for kind, start, end, first, last in SequenceMatcher(None, before, lines, autojunk=False).get_opcodes():
            renamed += after[start:end] if kind == "equal" else [self._exchange(path, "".join(lines[first:last]))]
        return "".join(renamed)

    def _exchange(self, path: str, text: str) -> str:
        """Exchange identifiers, but not in the names of headers that are not the project's."""
        cmake = PurePosixPath(path).name == "CMakeLists.txt" or path.endswith(".cmake")
        pieces, end = [], 0
        for include in _INCLUDE.finditer(text):
            header = include.group(2)
            pieces.append(self.renaming.text(text[end : include.start(2)], cmake))
            pieces.append(self.path(header) if self._is_own(header) else header)
            end = include.end(2)
        return "".join(pieces) + self.renaming.text(text[end:], cmake)

    def _is_own(self, header: str) -> bool:
        name = header.lstrip("./")
        return any(path == name or path.endswith("/" + name) for path in self.paths)


def renamed_project(renaming: Renaming, old: Tree, new: Tree, paths: Collection[str]) -> RenamedProject:
    """The project with the files `paths` and the tree `old`, under the names of the tree `new`."""
    before, after = (
        {name for path, file in tree.items() for name in identifiers_of(f"{path}\n{file.text}")} for tree in (old, new)
    )
    identifiers = {}
    for name in before - after:
        choices = [choice for choice in renaming.derived(name) if choice in after]
        if choices and name not in renaming.names:
            identifiers[name] = choices[0]
    return RenamedProject(renaming.with_identifiers(identifiers), old, new, frozenset(paths))
