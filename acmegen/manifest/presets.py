"""The presets: manifests that come with acmegen and that a project names instead of copying."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from acmegen.data import data_folder

DRIVER_PRESETS = ("simulator",)


def _folder() -> Path:
    return data_folder("manifests") / "presets"


def preset_path(name: str) -> Path:
    """The file of a preset."""
    return _folder() / f"{name}.yaml"


@cache
def operator_presets() -> tuple[str, ...]:
    """The sets of operators that `include` can name, sorted."""
    names = {path.stem for path in _folder().glob("*.yaml")}
    return tuple(sorted(names - set(DRIVER_PRESETS)))
