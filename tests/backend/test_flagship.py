"""The flagship, built as its README says: its own tests pass, and the demo trains on it.

`pytest --backend nova` makes, builds and tests a new project of that name instead, which replaces the flagship in this
environment until the next run.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.backend.conftest import BUILD_LIMIT, run

TEST_LIMIT = 1800


@pytest.mark.timeout(BUILD_LIMIT + TEST_LIMIT)
def test_generated_tests_pass(backend: tuple[str, Path], tmp_path: Path) -> None:
    _, project = backend
    report = tmp_path / "report.xml"
    result = run("-m", "pytest", "-q", f"--junitxml={report}", cwd=project, limit=TEST_LIMIT)
    assert result.returncode == 0, result.stdout[-8000:]
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert [skip.get("message") for case in cases for skip in case.iter("skipped")] == []
    # Every kind of test took part: a collection that silently shrinks is a failure too.
    modules = {case.get("classname", "").rsplit(".", 1)[-1] for case in cases}
    assert modules == {path.stem for path in (project / "tests" / "generated").glob("test_*.py")}
    print(f"\n{len(cases)} generated tests")


def test_demo_trains_as_on_the_cpu(backend: tuple[str, Path], repository: Path) -> None:
    name, _ = backend
    result = run("examples/demo.py", "--device", name, cwd=repository, limit=600)
    assert result.returncode == 0, result.stdout[-8000:]
    for expected in (
        "loss on cpu",
        f"loss on {name}",
        "Largest difference",
        "Memory",
        "RMSNormFwdOp",
        "LayerNormFwdOp",
    ):
        assert expected in result.stdout
    assert f"target {name}" in result.stdout


def test_c_extension_and_library_are_loaded_without_acmegen(backend: tuple[str, Path], tmp_path: Path) -> None:
    """No generated file needs acmegen at run time."""
    name, _ = backend
    program = (
        "import sys\n"
        "sys.modules['acmegen'] = None\n"
        f"import torch\n"
        f"x = torch.arange(6, device={name!r}).reshape(2, 3)\n"
        "assert (x * 2).sum().item() == 30\n"
        "print('ran')\n"
    )
    result = run("-c", program, cwd=tmp_path, limit=120)
    assert result.stdout.strip() == "ran"
