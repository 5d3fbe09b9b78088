"""A build that generates its sources again: only if asked to, only when a manifest changed, and once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Acmegen

OPS = "manifests/ops/ops.yaml"
TRAINING = REPOSITORY / "manifests" / "presets" / "training.yaml"


@pytest.fixture
def run(repository: Path, project: Path) -> Callable[..., str]:
    """Run a tool of this Python's environment in the project, and return what it printed; nothing is compiled."""

    def run(module: str, *arguments: object) -> str:
        result = subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(repository)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert result.returncode == 0, result.stdout
        return result.stdout

    return run


def configure(run: Callable[..., str], project: Path, *options: str) -> str:
    ninja = Path(sys.executable).with_name("ninja")
    python = f"-DPython_EXECUTABLE={sys.executable}"
    make = f"-DCMAKE_MAKE_PROGRAM={ninja}"
    return run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", python, make, *options)


def rebuild(run: Callable[..., str]) -> str:
    """Bring the build's own files up to date, which is what ninja does before it compiles anything."""
    return run("ninja", "-C", "build", "build.ninja")


def runs_cmake(output: str) -> bool:
    return "Re-running CMake" in output


def add_operator(project: Path) -> None:
    manifest = project / OPS
    manifest.write_text(manifest.read_text() + "  trace: user\n")


def test_h10_a_changed_manifest_regenerates_once(project: Path, run: Callable[..., str]) -> None:
    assert "keep" in configure(run, project, "-DACME_REGENERATE=ON")
    assert not runs_cmake(rebuild(run))
    add_operator(project)
    first = rebuild(run)
    assert runs_cmake(first)
    assert "create   csrc/kernels/trace.cpp" in first
    assert "csrc/kernels/trace.cpp" in (project / "build" / "build.ninja").read_text()
    assert not runs_cmake(rebuild(run))
    # A manifest that was not there before, too.
    (project / "manifests" / "ops" / "mine.yaml").write_text("manifest: ops/v1\nops:\n  bincount: fallback\n")
    assert "replace  acmegen.lock" in rebuild(run)
    assert not runs_cmake(rebuild(run))
    # A wrong one stops the build.
    (project / OPS).write_text("manifest: ops/v1\nops: {trace: userr}\n")
    with pytest.raises(AssertionError, match=r"error\[ACME"):
        rebuild(run)


def test_h10_without_the_option_or_the_manifests_sources_stay(project: Path, run: Callable[..., str]) -> None:
    assert "acmegen" not in configure(run, project)
    add_operator(project)
    assert not runs_cmake(rebuild(run))
    (project / "manifests").rename(project / "elsewhere")
    assert "sources stay as they are" in configure(run, project, "-DACME_REGENERATE=ON")
    assert not (project / "csrc" / "kernels" / "trace.cpp").exists()


@pytest.mark.parametrize(
    ("operator", "expression"), [("relu", "self if self > 0 else 0"), ("add.Tensor", "alpha * other + self")]
)
def test_an_edited_expression_changes_one_source(
    acmegen: Acmegen, project: Path, operator: str, expression: str
) -> None:
    """An operator with a function of its own, and a structured group."""
    manifest = project / OPS
    before = manifest.read_text()
    dtypes = re.search(rf"  {re.escape(operator)}: .*(dtypes: \[.*?\])", TRAINING.read_text())
    assert dtypes is not None
    manifest.write_text(f'{before}  {operator}: {{expr: "{expression}", {dtypes.group(1)}}}\n')
    lines = acmegen("regen", project, "--dry-run").stdout.splitlines()
    changed = [line.split()[1] for line in lines if line.startswith(("replace", "create", "remove"))]
    assert len(changed) == 2 and changed[1] == "acmegen.lock"
    assert re.fullmatch(r"csrc/generated/pointwise/Pointwise_\d+\.cpp", changed[0])
