"""`acmegen doctor`: what is wrong and the way out; interrupted runs are put in order."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.health import Finding, environment, files_of
from acmegen.output import files
from acmegen.output.journal import left_journal
from acmegen.output.lock import LOCK_NAME, Lock, read_lock
from acmegen.output.publish import publish
from tests.conftest import Acmegen
from tests.lifecycle import publishing
from tests.lifecycle.publishing import snapshot
from tests.lifecycle.test_concurrency import holder


def interrupt(project: Path) -> None:
    """Leave the journal of a run that was killed when all files were replaced, but not yet checked."""

    def killed(paths: object) -> None:
        if (project / LOCK_NAME).read_text() == "half done\n":
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(files, "sync", killed)
        patch.setattr("acmegen.output.publish.recover", lambda project: None)
        publish(project, [publishing.replace("CMakeLists.txt", "half done\n")], "half done\n")
    assert left_journal(project)


@pytest.fixture
def lock(project: Path) -> Lock:
    found = read_lock(project)
    assert found is not None
    return found


def wrong(findings: object) -> dict[str, Finding]:
    return {finding.subject: finding for finding in findings if finding.wrong}  # type: ignore[attr-defined]


def test_all_is_well_with_a_new_project(acmegen: Acmegen, project: Path) -> None:
    before = snapshot(project)
    result = acmegen("doctor", project)
    assert result.returncode == 0, result.stdout
    for subject in ("Python", "torch", "TileOPs", "black", "clang-format", "C++ compiler", "CMake", "Ninja", "project"):
        assert f"ok       {subject} " in result.stdout
    assert snapshot(project) == before


def test_it_undoes_an_interrupted_run(acmegen: Acmegen, project: Path) -> None:
    before = snapshot(project)
    interrupt(project)
    check = acmegen("check", project)
    assert check.returncode == 1 and "ACME400" in check.stderr
    assert "was interrupted" in check.stderr and f"`acmegen doctor {project}`" in check.stderr
    result = acmegen("doctor", project)
    assert result.returncode == 0, result.stdout
    assert "An earlier run was interrupted; it is undone." in result.stderr
    assert snapshot(project) == before
    assert acmegen("check", project).returncode == 0


def test_any_command_that_changes_the_project_undoes_it_too(acmegen: Acmegen, project: Path) -> None:
    before = snapshot(project)
    interrupt(project)
    assert "was interrupted" in acmegen("regen", "--dry-run", project).stderr
    assert left_journal(project)
    result = acmegen("regen", project)
    assert result.returncode == 0 and "it is undone" in result.stderr
    assert snapshot(project) == before


def test_an_interrupted_new_backend_can_be_repeated(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    half = tmp_path / "half"
    half.mkdir()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):

        def killed(source: Path, target: Path) -> None:
            if target.name == LOCK_NAME:
                raise KeyboardInterrupt
            source.replace(target)

        patch.setattr(files, "replace", killed)
        patch.setattr("acmegen.output.publish.recover", lambda project: None)
        publish(half, [publishing.create("pyproject.toml"), publishing.create("csrc/a.cpp")], "lock\n")
    assert (half / "pyproject.toml").is_file()
    result = acmegen("new-backend", "acme", "--dir", half)
    assert result.returncode == 0, result.stderr
    assert publishing.texts(snapshot(half)) == publishing.texts(snapshot(project))


def test_a_run_that_goes_on_is_not_disturbed(acmegen: Acmegen, project: Path) -> None:
    with holder(project) as process:
        result = acmegen("doctor", project)
        assert result.returncode == 0
        assert f"(process {process.pid} on " in result.stdout and "right now" in result.stdout


def test_what_a_killed_process_left_is_removed(acmegen: Acmegen, project: Path) -> None:
    with holder(project) as process:
        process.kill()
        process.wait()
    assert (project / ".acmegen/run/lock").is_file()
    assert acmegen("doctor", project).returncode == 0
    assert not (project / ".acmegen/run").exists()


def test_the_findings_as_json(acmegen: Acmegen, project: Path) -> None:
    (project / LOCK_NAME).write_text("{")
    result = acmegen("doctor", project, "--format", "json")
    assert result.returncode == 1
    findings = json.loads(result.stdout)["findings"]
    (found,) = (finding for finding in findings if finding["wrong"])
    assert found["subject"] == "project" and LOCK_NAME in found["message"] and found["help"]


def test_links_and_permissions(project: Path, lock: Lock) -> None:
    assert wrong(files_of(project, lock)) == {}
    (project / "csrc/generated/runtime").rename(project / "elsewhere")
    (project / "csrc/generated/runtime").symlink_to(project / "elsewhere")
    links = wrong(files_of(project, lock))["files"]
    assert "`csrc/generated/runtime` is a symbolic link" in links.message and " more" in links.message
    (project / "csrc/generated/runtime").unlink()
    (project / "elsewhere").rename(project / "csrc/generated/runtime")
    (project / "pyproject.toml").chmod(0o444)
    assert "read-only: `pyproject.toml`" in wrong(files_of(project, lock))["files"].message
    assert not (project / ".acmegen/run").exists()


def test_saved_texts_are_pointed_to(project: Path, lock: Lock) -> None:
    (project / ".acmegen/run/saved").mkdir(parents=True)
    assert "saved files" in wrong(files_of(project, lock))


def test_what_is_installed_is_compared_with_the_lock(lock: Lock) -> None:
    assert wrong(environment(lock)) == {}
    other = replace(
        lock, acmegen="0.0.1", facts={**lock.facts, "torch": "2.12.0"}, formatters={**lock.formatters, "black": "24.1"}
    )
    found = wrong(environment(other))
    assert "`acmegen upgrade`" in found["acmegen"].help
    assert "torch 2.12.0" in found["torch"].message and "`acmegen upgrade`" in found["torch"].help
    assert "24.1" in found["black"].message and "`pip install black==24.1`" in found["black"].help
    assert set(found) == {"acmegen", "torch", "black"}


def test_a_compiler_that_is_missing_or_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -m64")
    assert "not found: `no-such-compiler -m64`" in wrong(environment(None))["C++ compiler"].message
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    assert "does not run" in wrong(environment(None))["C++ compiler"].message


def test_without_torch(acmegen: Acmegen, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acmegen.facts.torch_install._spec_root", lambda: None)
    found = wrong(environment(None))["torch"]
    assert "not installed" in found.message and "pip install torch" in found.help


def test_a_folder_that_is_no_project(acmegen: Acmegen, tmp_path: Path) -> None:
    result = acmegen("doctor", cwd=tmp_path)
    assert result.returncode == 0 and f"{tmp_path} is no project" in result.stdout
    assert "no interrupted run" not in result.stdout
    assert list(tmp_path.iterdir()) == []
    result = acmegen("doctor", tmp_path / "nowhere")
    assert result.returncode == 2 and "nowhere" in result.stderr
