"""Copies of the installed torch and TileOPs with other versions and declarations, which are found in their place."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from acmegen.facts.headers import CLASSES
from acmegen.facts.torch_install import find_torch

OPERATORS = "torchgen/packaged/ATen/native/native_functions.yaml"
DERIVATIVES = "torchgen/packaged/autograd/derivatives.yaml"
GUARD = "torch/include/c10/core/impl/DeviceGuardImplInterface.h"


def copy_torch(site: Path, version: str, edits: Mapping[str, Mapping[str, str]]) -> Path:
    """Put what acmegen reads of torch into `site`, as `version`; in each file of `edits`, texts are replaced."""
    install = find_torch()
    shutil.copytree(
        install.torchgen, site / "torchgen", copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__")
    )
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").touch()
    (site / "torch" / "version.py").write_text(f"__version__ = {version!r}\n")
    for header in CLASSES.values():
        place = site / "torch" / "include" / header
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(install.include / header)
    for path, texts in edits.items():
        _edit(site / path, texts)
    return site


def copy_tileops(site: Path, version: str, edits: Mapping[str, Mapping[str, str]]) -> Path:
    """The same for TileOPs, with paths below its folder of op manifests."""
    spec = importlib.util.find_spec("tileops")
    assert spec is not None and spec.origin is not None
    specs = site / "tileops" / "manifest" / "spec"
    shutil.copytree(Path(spec.origin).parent / "manifest" / "spec", specs)
    (site / "tileops" / "__init__.py").touch()
    metadata = site / f"tileops-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: tileops\nVersion: {version}\n")
    for path, texts in edits.items():
        _edit(specs / path, texts)
    return site


def _edit(path: Path, texts: Mapping[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in texts.items():
        assert old in text, old
        text = text.replace(old, new)
    path.unlink()
    path.write_text(text, encoding="utf-8")
