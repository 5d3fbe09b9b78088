"""torch is found, and described, without being imported."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError
from acmegen.facts import load_facts
from acmegen.facts.torch_install import find_torch

_LOAD_TWICE = """
import sys
from acmegen.facts import load_facts
load_facts(tileops=True)
assert not {"torch", "tileops"} & sys.modules.keys(), "cold"
assert "torchgen" not in sys.modules, "torchgen leaks"
sys.modules["torchgen"] = None
facts = load_facts(tileops=True)
if sys.argv[1] == "warm":
    assert not {"tree_sitter", "torchgen.gen"} & sys.modules.keys(), "warm"
print(facts.operators["add.Tensor"].schema)
"""


def make_torch(site: Path, version: str = 'version = "x"\n__version__ = "2.99.1+cpu"\n') -> Path:
    """A torch with nothing in it but what `find_torch` looks at."""
    (site / "torch" / "include" / "ATen").mkdir(parents=True)
    (site / "torchgen" / "packaged").mkdir(parents=True)
    (site / "torch" / "version.py").write_text(version)
    return site / "torch"


def test_the_installed_torch() -> None:
    install = find_torch()
    assert install.version == importlib.metadata.version("torch")
    assert "+" not in install.public_version
    assert (install.include / "ATen" / "core" / "Tensor.h").is_file()
    assert (install.torchgen / "gen.py").is_file()


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    """A cold run imports neither torch nor TileOPs; a warm one works with torchgen out of reach."""
    environment = {"ACMEGEN_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin"}
    for run in ("cold", "warm"):
        result = subprocess.run(
            [sys.executable, "-c", _LOAD_TWICE, run], env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith("add.Tensor(")


def test_another_root(tmp_path: Path) -> None:
    root = make_torch(tmp_path)
    install = find_torch(root)
    assert (install.version, install.public_version) == ("2.99.1+cpu", "2.99.1")
    assert (install.root, install.include, install.torchgen) == (root, root / "include", tmp_path / "torchgen")


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DiagnosticError) as caught:
        load_facts()
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("ACME200", "torch is not installed")
    assert diagnostic.help == "install torch into the environment that acmegen runs in: `pip install torch`"


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("torch/version.py", "is not a complete torch"),
        ("torch/include/ATen", "torch 2.99.1+cpu comes without its C++ headers"),
        ("torchgen/packaged", "torch 2.99.1+cpu comes without its torchgen"),
    ],
)
def test_an_incomplete_torch(tmp_path: Path, missing: str, message: str) -> None:
    root = make_torch(tmp_path)
    path = tmp_path / missing
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()
    with pytest.raises(DiagnosticError) as caught:
        find_torch(root)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "ACME202"
    assert message in diagnostic.message


def test_a_version_file_without_a_version(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match="is not a complete torch"):
        find_torch(make_torch(tmp_path, version="git_version = 'abc'\n"))


def test_digests_do_not_tell_builds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock written with a CPU build of torch holds for the CUDA build of the same version."""
    install = find_torch()
    before = load_facts().digests
    monkeypatch.setattr("acmegen.facts.find_torch", lambda *arguments: replace(install, version="2.13.0+cu999"))
    after = load_facts().digests
    assert before == {**after, "torch": before["torch"]}
    assert after["torch"] == "2.13.0"
    assert "tileops" not in after
