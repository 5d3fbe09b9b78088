"""A folder of manifests: which files it has, and which of them would be ignored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from acmegen.diagnostics import Diagnostic, Span, codes, did_you_mean, sure_fix

BACKEND = "backend.yaml"
ALLOCATOR = "allocator.yaml"
TILEOPS = "tileops.yaml"
OPS_FOLDER = "ops"
FILES = (BACKEND, ALLOCATOR, TILEOPS)
_SCHEMA_FOLDER = "schema"  # of JSON, for editors

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Contents:
    """What is in a folder of manifests.

    Attributes:
        files: those of `FILES` that are there, as anything at all: reading tells whether they are files.
        ops: the files with operators, `ops/pointwise.yaml`, sorted.
        diagnostics: what would be ignored or must not be read.
    """

    files: frozenset[str] = frozenset()
    ops: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = field(default=())


def contents(folder: Path) -> Contents:
    """List `folder`. Hidden files are not looked at: they are an editor's.

    A link that leads out of the folder is not followed: the manifests are all that a backend is generated from.
    """
    if not folder.is_dir():
        message = f"there is no folder `{folder.as_posix()}`"
        help_text = "`acmegen new-backend NAME` writes a project with manifests to start from"
        return Contents(diagnostics=(Diagnostic(codes.FILE_UNREADABLE, message, help=help_text),))
    diagnostics: list[Diagnostic] = []
    files: set[str] = set()
    ops: list[str] = []
    for name in _names(folder, diagnostics):
        if name in FILES:
            if _stays_inside(folder, name, diagnostics):
                files.add(name)
        elif _is_yaml(name):
            meant = sure_fix(name, FILES)
            help_text = f"did you mean `{meant}`?" if meant else f"operators belong in {OPS_FOLDER}/*.yaml"
            diagnostics.append(_ignored(folder / name, help_text))
        elif name == OPS_FOLDER:
            if _stays_inside(folder, name, diagnostics):
                ops += _ops(folder, diagnostics)
        elif name != _SCHEMA_FOLDER and next(_yaml_below(folder / name, []), None):
            label = did_you_mean(name, [OPS_FOLDER])
            help_text = label or f"operators belong in {OPS_FOLDER}/*.yaml"
            diagnostics.append(_ignored(folder / name, help_text, "the manifests in this folder are not read"))
    return Contents(frozenset(files), tuple(ops), tuple(diagnostics))


def _ops(folder: Path, diagnostics: list[Diagnostic]) -> Iterator[str]:
    for name in _names(folder / OPS_FOLDER, diagnostics):
        path = folder / OPS_FOLDER / name
        if name.endswith(".yaml"):
            if _stays_inside(folder, f"{OPS_FOLDER}/{name}", diagnostics):
                yield f"{OPS_FOLDER}/{name}"
        elif _is_yaml(name):
            diagnostics.append(_ignored(path, "name it .yaml"))
        elif path.is_dir():
            inner = list(_yaml_below(path, diagnostics))
            diagnostics += (_ignored(found, f"move it to {OPS_FOLDER}/") for found in inner)


def _yaml_below(folder: Path, diagnostics: list[Diagnostic]) -> Iterator[Path]:
    """The YAML files in `folder` and the folders in it; none when it is no folder."""
    waiting = [folder] if folder.is_dir() else []
    while waiting:
        here = waiting.pop()
        for name in _names(here, diagnostics):
            path = here / name
            if _is_yaml(name):
                yield path
            elif path.is_dir() and not path.is_symlink():
                waiting.append(path)


def _names(folder: Path, diagnostics: list[Diagnostic]) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        message = f"this folder cannot be read: {(error.strerror or 'unknown error').lower()}"
        diagnostics.append(Diagnostic(codes.FILE_UNREADABLE, message, Span.of_file(folder)))
        return []


def _is_yaml(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES)


def _ignored(path: Path, help_text: str, message: str = "this file is not read") -> Diagnostic:
    return Diagnostic(codes.UNKNOWN_FILE, message, Span.of_file(path), help=help_text)


def _stays_inside(folder: Path, name: str, diagnostics: list[Diagnostic]) -> bool:
    target = os.path.realpath(folder / name)
    if Path(target).is_relative_to(os.path.realpath(folder)):
        return True
    message, span = f"this link leads out of the folder, to `{target}`", Span.of_file(folder / name)
    diagnostics.append(Diagnostic(codes.BAD_PATH, message, span, help="put the file itself into the folder"))
    return False
