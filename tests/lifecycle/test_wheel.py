"""acmegen as it is installed, from a clean clone: sdist, the wheel of it, and editable; with all its data each time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """What a clone of this checkout has: the files that version control knows, or will."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.fail(f"this is no checkout of git: {listed.stderr}")
    folder = tmp_path_factory.mktemp("clone") / "acmegen"
    for path in filter(None, listed.stdout.split("\0")):
        if (repository / path).is_file():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(repository / path, folder / path)
    return folder


def build(kind: str, source: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = target.glob("acmegen-*")
    return built


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the sdist of the clone."""
    folder = tmp_path_factory.mktemp("build")
    with tarfile.open(build("sdist", clone, folder / "sdist")) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return build("wheel", unpacked, folder / "wheel")


@pytest.fixture(scope="module", params=["wheel of the sdist", "editable"])
def installed(request: pytest.FixtureRequest, clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The command of an acmegen that was installed by pip into an environment of its own."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # What acmegen needs is borrowed from this environment; an acmegen in it comes later on the path.
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "zz_borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    what = ["--editable", clone] if request.param == "editable" else [request.getfixturevalue("wheel")]
    outer = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation", *what],
        env=outer,
        check=True,
        capture_output=True,
    )

    def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [folder / "bin" / "acmegen", *arguments], cwd=cwd, env=outer, capture_output=True, text=True
        )

    return run


def test_i10_an_installed_acmegen_makes_the_same_project(
    installed: Run, new_project: Callable[[str], Path], tmp_path: Path
) -> None:
    result = installed("new-backend", "acme", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    expected = new_project("acme")
    paths = {path.relative_to(expected) for path in expected.rglob("*") if path.is_file()}
    assert {path.relative_to(tmp_path / "acme") for path in (tmp_path / "acme").rglob("*") if path.is_file()} == paths
    for path in sorted(paths):
        assert (tmp_path / "acme" / path).read_bytes() == (expected / path).read_bytes(), path


def test_i10_an_installed_acmegen_knows_names_schemas_and_licences(installed: Run, tmp_path: Path) -> None:
    assert "is taken" in installed("new-backend", "cuda", cwd=tmp_path).stderr
    assert installed("schema", "--dir", "manifests/schema", cwd=tmp_path).returncode == 0
    assert len(list((tmp_path / "manifests" / "schema").glob("*.json"))) == 5
    assert "Wrong:" in installed("explain", "ACME012", cwd=tmp_path).stdout
    assert installed("new-backend", "acme", "--without-tileops", cwd=tmp_path).returncode == 0
    assert installed("vendor", "export", "acme", "export", cwd=tmp_path).returncode == 0
    assert installed("vendor", "verify", "export", cwd=tmp_path).returncode == 0
