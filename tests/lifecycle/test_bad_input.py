"""What a user can get wrong: a message that says where and what to do, exit code 1 or 2, nothing written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from acmegen.diagnostics import codes
from tests.conftest import Acmegen

WITHOUT = """
import importlib.util, sys
find_spec = importlib.util.find_spec
hidden = set({hidden!r})
importlib.util.find_spec = lambda name, package=None: None if name in hidden else find_spec(name, package)
import importlib.metadata
version = importlib.metadata.version
def without(name):
    if name in hidden:
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = without
from acmegen.cli import main
main(sys.argv[1:])
"""


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_without(repository: Path, hidden: list[str], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in an environment where the packages `hidden` are not installed."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(hidden=hidden), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("file", "text", "code", "place"),
    [
        ("backend.yaml", "manifest: backend/v1\nname: cuda\n", codes.RESERVED_NAME, "2:7"),
        ("backend.yaml", "manifest: backend/v1\nname: [\n", codes.YAML_SYNTAX, "3:1"),
        ("allocator.yaml", "manifest: allocator/v1\ndevice: {kind: best}\n", codes.WRONG_VALUE, "2:16"),
        ("ops/mine.yaml", "manifest: ops/v1\nops:\n  ad.Tensor: user\n", codes.UNKNOWN_OPERATOR, "3:3"),
        (
            "tileops.yaml",
            "manifest: tileops/v1\nops:\n  A: {kernel: {reference: true}}\n",
            codes.TILEOPS_UNKNOWN_OP,
            "3:3",
        ),
    ],
)
def test_a_manifest_that_is_not_valid(
    acmegen: Acmegen, project: Path, file: str, text: str, code: str, place: str
) -> None:
    (project / "manifests" / file).write_text(text)
    before = files(project)
    for command in ("regen", "check"):
        result = acmegen(command, project)
        assert result.returncode == 1
        assert f"error[{code}]" in result.stderr
        assert f"{file}:{place}" in result.stderr
        assert "Traceback" not in result.stderr
    assert files(project) == before


def test_without_torch_every_command_says_what_to_install(
    repository: Path, new_project: Callable[[str], Path], tmp_path: Path
) -> None:
    project = new_project("acme")
    range_of_manifest = "`pip install 'torch>="
    version_of_lock = f"`pip install torch=={version('torch').partition('+')[0]}`"
    for arguments, requirement in (
        (("new-backend", "acme", "--dir", tmp_path / "acme"), range_of_manifest),
        (("upgrade", "--dry-run", project), range_of_manifest),
        (("check", project), version_of_lock),
        (("build", project), version_of_lock),
        (("doctor", project), version_of_lock),
    ):
        result = run_without(repository, ["torch"], *arguments)
        assert result.returncode == (1 if arguments[0] == "doctor" else 2)
        told = result.stdout + result.stderr
        assert "torch is not installed" in told and requirement in told and "$ " not in told
    assert list(tmp_path.iterdir()) == []


def test_without_tileops_a_project_can_be_made_without_its_side(repository: Path, tmp_path: Path) -> None:
    target = tmp_path / "acme"
    result = run_without(repository, ["tileops"], "new-backend", "acme", "--dir", target)
    assert result.returncode == 2
    assert "TileOPs is not installed" in result.stderr and "--without-tileops" in result.stderr
    assert "-->" not in result.stderr, "a place in a file that does not exist"
    assert list(tmp_path.iterdir()) == []
    result = run_without(repository, ["tileops"], "new-backend", "acme", "--dir", target, "--without-tileops")
    assert result.returncode == 0, result.stderr
    assert not any("tileops" in path for path in files(target) if not path.startswith("manifests/schema/"))
    assert run_without(repository, ["tileops"], "check", target).returncode == 0


def test_what_is_in_the_way_of_a_generated_file_is_named(acmegen: Acmegen, project: Path) -> None:
    (project / "manifests" / "ops" / "mine.yaml").write_text("manifest: ops/v1\nops:\n  trace: user\n")
    (project / "csrc" / "kernels" / "trace.cpp").mkdir(parents=True)
    before = files(project)
    result = acmegen("regen", "--force", project)
    assert result.returncode == 1
    assert "`csrc/kernels/trace.cpp`: a folder is in its place" in result.stderr
    assert files(project) == before


@pytest.mark.parametrize("target", ["dangling", "loop", "a" * 300, "file/below"])
def test_targets_that_cannot_be_folders(acmegen: Acmegen, tmp_path: Path, target: str) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("mine")
    result = acmegen("new-backend", "acme", "--dir", target, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.rstrip() and "Traceback" not in result.stderr and "fault of acmegen" not in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file", "loop"]


def test_any_path_will_do(acmegen: Acmegen, tmp_path: Path) -> None:
    folder = tmp_path / "späce 漢 'quoted'" / "acme"
    result = acmegen("new-backend", "acme", "--dir", folder, PYTHONIOENCODING="koi8-r")
    assert result.returncode == 0, result.stderr
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link").symlink_to(folder)
    (folder / "manifests").rename(tmp_path / "manifests")
    link = Path("elsewhere", "link")
    assert acmegen("regen", link, "--manifests", "manifests", cwd=tmp_path).returncode == 0
    for project in (tmp_path / link, folder):
        result = acmegen("check", project, cwd=tmp_path / "elsewhere")
        assert result.returncode == 0, result.stderr


def test_arguments_of_pytest_need_no_project(acmegen: Acmegen, project: Path) -> None:
    result = acmegen("test", "--version", cwd=project)
    assert (result.returncode, "-m pytest --version" in result.stderr) == (0, True)
    result = acmegen("test", project / "csrc")
    assert (result.returncode, "no pyproject.toml" in result.stderr) == (2, True)


def test_tests_before_a_build_name_the_command(acmegen: Acmegen, new_project: Callable[[str], Path]) -> None:
    """Of a backend that nobody installs here."""
    result = acmegen("test", cwd=new_project("unbuilt"))
    last = result.stderr.splitlines()[-1]
    assert result.returncode == 1 and "unbuilt is not built for " in last and "run `acmegen build` first" in last


def test_explain_says_what_a_code_means(acmegen: Acmegen) -> None:
    result = acmegen("explain", codes.UNKNOWN_FIELD.lower())
    assert result.returncode == 0 and result.stdout.startswith("ACME012: a field is not known\n")
    for number in ("ACME12", "acme0012", "12"):
        result = acmegen("explain", number)
        assert result.returncode == 2 and "did you mean `ACME012`?" in result.stderr
    result = acmegen("explain", "ACME4O1")
    assert result.returncode == 2 and "there is no code ACME4O1; did you mean `ACME4" in result.stderr
    result = acmegen("explain", "add.Tensor")
    assert result.returncode == 2 and "add.Tensor is no code" in result.stderr and "operators" in result.stderr


def test_explain_without_a_code_lists_all(acmegen: Acmegen) -> None:
    result = acmegen("explain")
    lines = result.stdout.splitlines()
    assert (result.returncode, [line.split()[0] for line in lines]) == (0, sorted(codes.CODES))
    assert "ACME012  a field is not known" in lines


def test_a_backend_without_a_name(acmegen: Acmegen, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    result = acmegen("new-backend", "", cwd=tmp_path)
    assert result.returncode == 1
    assert "the name of a device cannot be empty" in result.stderr and "use lower-case letters" in result.stderr
    assert files(tmp_path) == {"mine": b""}


def test_schemas_are_not_written_where_no_manifests_are(acmegen: Acmegen, tmp_path: Path) -> None:
    result = acmegen("schema", cwd=tmp_path)
    assert (result.returncode, "--dir" in result.stderr) == (2, True)
    assert not list(tmp_path.iterdir())
    assert acmegen("schema", "--dir", "schema", cwd=tmp_path).returncode == 0
    (tmp_path / "manifests").mkdir()
    assert acmegen("schema", cwd=tmp_path).returncode == 0
    assert files(tmp_path / "manifests" / "schema") == files(tmp_path / "schema") != {}


def test_a_project_is_found_from_a_folder_in_it(acmegen: Acmegen, project: Path) -> None:
    below = project / "csrc"
    for command in ("check", "list", "doctor", "regen"):
        here, there = acmegen(command, cwd=project), acmegen(command, cwd=below)
        assert (there.returncode, there.stdout) == (0, here.stdout), there.stderr
    assert acmegen("schema", cwd=below).returncode == 0
    assert (project / "manifests" / "schema" / "diagnostics.json").is_file()
    result = acmegen("test", "--version", cwd=below)
    assert (result.returncode, "-m pytest --version" in result.stderr) == (0, True)


def test_a_project_may_be_made_in_a_folder_of_another(acmegen: Acmegen, project: Path) -> None:
    before = files(project)
    (project / "made").mkdir()
    assert acmegen("regen", "--manifests", "../manifests", cwd=project / "made").returncode == 0
    assert (project / "made" / "acmegen.lock").is_file()
    assert {path: data for path, data in files(project).items() if path in before} == before
    (project / "inner" / "manifests").mkdir(parents=True)
    result = acmegen("regen", cwd=project / "inner")
    assert (result.returncode, "backend.yaml" in result.stderr) == (1, True)


@pytest.mark.parametrize("at_work", ["locks", "operators", "templates-*"])
def test_an_interrupted_run_leaves_nothing(repository: Path, tmp_path: Path, at_work: str) -> None:
    """Ctrl-C, which the processes beside it get too, while what it is at work on appears in the cache."""
    command = [sys.executable, "-m", "acmegen", "new-backend", "acme", "--dir", str(tmp_path / "acme")]
    cache = tmp_path / "cache"
    environment = {**os.environ, "PYTHONPATH": str(repository), "ACMEGEN_CACHE_DIR": str(cache)}
    # A child of a background job inherits that SIGINT is ignored.
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=default, start_new_session=True
    ) as process:
        while not any(cache.glob(at_work)) and process.poll() is None:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    # To a shell both are 130. Python ends by the signal if that came in what `exec` runs, as dataclasses are made.
    assert process.returncode in (130, -signal.SIGINT), errors
    assert errors.strip() == "Aborted!"
    assert not (tmp_path / "acme").exists()
