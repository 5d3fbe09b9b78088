"""What Ninja does in a tree that is built: nothing, or what an edit of a manifest needs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from tests.backend.conftest import BUILD_LIMIT, run
from tests.conftest import Acmegen


def ninja(project: Path) -> str:
    (build,) = (project / "build").glob("cp*")
    result = run("-m", "ninja", "-C", build, cwd=project, limit=BUILD_LIMIT)
    assert result.returncode == 0, result.stdout[-8000:]
    return result.stdout


def test_h9_second_build_has_nothing_to_do(backend: tuple[str, Path], acmegen: Acmegen) -> None:
    _, project = backend
    assert acmegen("regen", project).returncode == 0
    assert "no work to do" in ninja(project)


def test_an_edited_expression_compiles_one_source_and_links(
    backend: tuple[str, Path], acmegen: Acmegen, tmp_path: Path
) -> None:
    """The tree itself stays as it is: what the edit would change is asked for, and made new in time only."""
    _, project = backend
    manifests = project / json.loads((project / "acmegen.lock").read_text())["manifests"]
    edited = shutil.copytree(manifests, tmp_path / "manifests")
    with (edited / "ops" / "ops.yaml").open("a") as file:
        file.write('  relu: {expr: "self if self > 0 else 0", dtypes: [floating, integral]}\n')
    lines = acmegen("regen", project, "--manifests", edited, "--dry-run").stdout.splitlines()
    changed = [line.split()[1] for line in lines if line.startswith(("create", "replace", "remove"))]
    assert len(changed) == 2 and changed[1] == "acmegen.lock"
    (project / changed[0]).touch()
    steps = re.findall(r"\] (Building|Linking) .* (\S+)", ninja(project))
    assert [what for what, _ in steps] == ["Building", "Linking", "Linking"]
    assert steps[0][1].endswith(f"{changed[0]}.o")
    assert "no work to do" in ninja(project)
