"""Publishing when somebody or something comes in between: a message, nobody's work lost, nothing half done."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acmegen.diagnostics import Diagnostic, DiagnosticError, codes
from acmegen.output import files
from acmegen.output.journal import JOURNAL_FOLDER, left_journal
from acmegen.output.lock import LOCK_NAME
from acmegen.output.project_lock import hold_project
from acmegen.output.publish import Outcome, publish
from tests.conftest import REPOSITORY, Acmegen
from tests.lifecycle.publishing import (
    SCENARIOS,
    Crash,
    Disk,
    Scenario,
    create,
    merge,
    on_disk,
    recovered,
    replace,
    snapshot,
    texts,
)

MIXED = next(scenario for scenario in SCENARIOS if scenario.name == "mixed")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(files, "sync", lambda paths: None)
    folder = tmp_path / "project"
    MIXED.make(folder)
    return folder


@pytest.fixture
def project_on_disk(new_project: Callable[[str], Path], tmp_path: Path) -> Path:
    """A real project with something to do."""
    folder = tmp_path / "acme"
    shutil.copytree(new_project("acme"), folder)
    (folder / "manifests/ops/mine.yaml").write_text("manifest: ops/v1\nops:\n  trace: user\n")
    return folder


def failed(scenario: Scenario, project: Path) -> Diagnostic:
    with pytest.raises(DiagnosticError) as raised:
        scenario.publish(project)
    (diagnostic,) = raised.value.diagnostics
    return diagnostic


def edit_in_place(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open("r+") as file:
        file.write("edited!\n")
    return True


def edit_by_rename(path: Path) -> bool:
    if not path.exists():
        return False
    saved = path.with_name("saved-by-editor")
    saved.write_text("edited!\n")
    saved.replace(path)
    return True


def put_in_place(path: Path) -> bool:
    """Make a file where there is none yet."""
    if path.exists():
        return False
    path.write_text("edited!\n")
    return True


EDITS = [(edit, path) for edit in (edit_in_place, edit_by_rename) for path in ("csrc/a", "csrc/b", "gone/c", "run.sh")]


def test_h3_a_file_that_somebody_edits_at_any_moment_is_kept(tmp_path: Path, project: Path) -> None:
    with on_disk(Disk()) as dry:
        MIXED.publish(project)
    outcomes = set()
    for edit, path in [*EDITS, (put_in_place, "csrc/new")]:
        for number, operation in enumerate(dry.log):
            if edit is not edit_in_place and operation.startswith("replace") and operation.endswith(path):
                continue  # between two calls of the operating system, nobody can look
            outcomes.add(edited_at(number, edit, path, tmp_path / f"{edit.__name__}-{path[-1]}-{number}"))
    assert outcomes == {"kept, undone", "kept, done", "too late"}


def edited_at(number: int, edit: Callable[[Path], bool], path: str, project: Path) -> str:
    """Publish, and edit a file before an operation; what became of it."""
    MIXED.make(project)
    edited = False

    class Editor(Disk):
        def run(self, name: str, real: Callable[..., object], *arguments: object) -> object:
            nonlocal edited
            if len(self.log) == number:
                edited = edit(project / path)
            return super().run(name, real, *arguments)

    before = texts(snapshot(project))
    with on_disk(Editor()):
        try:
            MIXED.publish(project)
        except DiagnosticError as error:
            (diagnostic,) = error.diagnostics
            assert diagnostic.code == codes.CHANGED_MEANWHILE and path in diagnostic.message
            after = texts(snapshot(project))
            kept = after.pop(path)
            assert kept is not None and kept[1].startswith(b"edited!\n")
            saved = {name for name in after if name.startswith(".acmegen")}
            assert {name: after[name] for name in after.keys() - saved} == {
                name: entry for name, entry in before.items() if name != path
            }
            if saved:
                assert "`.acmegen/run/saved/" in " ".join(diagnostic.notes)
            return "kept, undone"
    if not edited:
        return "too late"
    assert (project / path).read_text().startswith("edited!\n")
    return "kept, done"


def test_h3_what_is_edited_after_a_crash_is_kept_and_so_is_what_was_there_before(project: Path) -> None:
    scenario = Scenario("merged", {}, [merge("run.sh"), replace("csrc/a")])
    with on_disk(Disk()) as dry:
        scenario.publish(project)
    shutil.rmtree(project)
    MIXED.make(project)
    before = texts(snapshot(project))
    with on_disk(Disk(next(n for n, entry in enumerate(dry.log) if "done.json" in entry))), pytest.raises(Crash):
        scenario.publish(project)
    assert (project / "run.sh").read_text() == "merged\n"
    (project / "run.sh").write_text("mine, after the crash\n")
    recovery = recovered(project)
    assert recovery is not None and recovery.outcome is Outcome.UNDONE
    assert recovery.saved == {"run.sh": ".acmegen/run/saved/run.sh"}
    assert "`run.sh` was changed meanwhile and is kept" in recovery.notes[0]
    assert (project / "run.sh").read_text() == "mine, after the crash\n"
    assert (project / ".acmegen/run/saved/run.sh").read_text() == "f\n"
    assert texts(snapshot(project))["csrc/a"] == before["csrc/a"]


def test_a_read_only_file_is_not_replaced_even_by_the_superuser(project: Path) -> None:
    (project / "csrc/a").chmod(0o444)
    (project / "gone/c").chmod(0o400)
    before = snapshot(project)
    with pytest.raises(DiagnosticError) as raised:
        MIXED.publish(project)
    assert {diagnostic.code for diagnostic in raised.value.diagnostics} == {codes.READ_ONLY_FILE}
    help_texts = " ".join(str(diagnostic.help) for diagnostic in raised.value.diagnostics)
    assert f"chmod u+w {project}/csrc/a" in help_texts and f"chmod u+w {project}/gone/c" in help_texts
    assert snapshot(project) == before


@pytest.mark.parametrize(
    ("number", "words", "way_on"),
    [
        (errno.ENOSPC, "no space left on device", "make room on the disk"),
        (errno.EROFS, "read-only file system", "where the project can be written"),
        (errno.EACCES, "permission denied", "allow yourself to write there"),
        (errno.EXDEV, "invalid cross-device link", "let it be no mount point"),
        (errno.EIO, "input/output error", "run the command again"),
    ],
)
def test_an_error_of_the_operating_system_is_told_in_words_with_a_way_on(
    project: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str, way_on: str
) -> None:
    real = files.replace

    def refuse(source: Path, target: Path) -> None:
        if target == project / "more/g":
            raise OSError(number, os.strerror(number), str(source), None, str(target))
        real(source, target)

    before = snapshot(project)
    monkeypatch.setattr(files, "replace", refuse)
    diagnostic = failed(MIXED, project)
    assert diagnostic.code == codes.NOT_WRITTEN
    assert diagnostic.message == f"cannot change `{project}/more/g`: {words}"
    assert way_on in str(diagnostic.help)
    assert diagnostic.notes == ("nothing else was changed",)
    assert snapshot(project) == before


@pytest.mark.parametrize("vanishing", ["csrc", "."])
def test_a_folder_that_vanishes_meanwhile(tmp_path: Path, project: Path, vanishing: str) -> None:
    with on_disk(Disk()) as dry:
        MIXED.publish(project)
    for number in range(len(dry.log)):
        folder = tmp_path / str(number)
        MIXED.make(folder)

        class Vanishing(Disk):
            def run(self, name: str, real: Callable[..., object], *arguments: object) -> object:
                if len(self.log) == number:  # noqa: B023
                    shutil.rmtree(folder / vanishing)  # noqa: B023
                return super().run(name, real, *arguments)

        with on_disk(Vanishing()):
            try:
                MIXED.publish(folder)
            except DiagnosticError as error:
                assert error.diagnostics[0].code.startswith("ACME42")
        if folder.exists():
            recovered(folder)
            assert not left_journal(folder)
            if vanishing != ".":
                assert (folder / "keep/d").read_text() == "d\n"


def test_a_failure_leaves_no_folder_that_was_not_there(tmp_path: Path) -> None:
    project = tmp_path / "x" / "y"
    actions = [create("a/b"), create("c", "not text: \ud800")]
    with pytest.raises(UnicodeEncodeError), hold_project(project):
        publish(project, actions, "lock\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_changes_nothing(project: Path) -> None:
    (project / "csrc").chmod(0o500)
    before = snapshot(project)
    assert failed(MIXED, project).code == codes.NOT_WRITTEN
    assert snapshot(project) == before


def test_new_files_have_the_permissions_of_the_umask_and_others_keep_theirs(project: Path) -> None:
    old = os.umask(0o027)
    try:
        MIXED.publish(project)
    finally:
        os.umask(old)
    modes = {path: oct(entry[1]) for path, entry in snapshot(project).items() if entry}
    assert modes["more/g"] == modes["csrc/new"] == "0o640"
    assert modes["csrc/a"] == "0o664" and modes["run.sh"] == "0o755"
    assert modes[LOCK_NAME] == "0o644", "it was there before"
    assert oct((project / "more").stat().st_mode)[-3:] == "750"


def test_a_file_in_the_place_of_a_folder_has_the_permissions_of_a_file(tmp_path: Path) -> None:
    scenario = next(scenario for scenario in SCENARIOS if scenario.name == "a folder becomes a file")
    scenario.make(tmp_path / "project")
    scenario.publish(tmp_path / "project")
    assert (tmp_path / "project/a").stat().st_mode & 0o111 == 0


def test_regen_tells_of_a_read_only_file(acmegen: Acmegen, project_on_disk: Path) -> None:
    path = project_on_disk / "tests/generated/test_structured.py"
    path.chmod(0o444)
    before = snapshot(project_on_disk)
    result = acmegen("regen", project_on_disk)
    assert result.returncode == 2 and codes.READ_ONLY_FILE in result.stderr
    assert f"chmod u+w {path}" in result.stderr and "Traceback" not in result.stderr
    assert snapshot(project_on_disk) == before


def test_regen_tells_of_a_disk_that_takes_no_more(project_on_disk: Path) -> None:
    before = snapshot(project_on_disk)
    result = subprocess.run(
        [sys.executable, "-m", "acmegen", "regen", str(project_on_disk)],
        cwd=REPOSITORY,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2 and codes.NOT_WRITTEN in result.stderr
    assert "file too large" in result.stderr and "nothing else was changed" in result.stderr
    assert "Traceback" not in result.stderr
    assert snapshot(project_on_disk) == before


@pytest.mark.parametrize("path", [".acmegen", ".acmegen/run", ".acmegen/run/journal"])
def test_the_journal_follows_no_links(project: Path, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).symlink_to(outside)
    diagnostic = failed(MIXED, project)
    assert diagnostic.code == codes.RUN_FOLDER_BLOCKED
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"journal": 2}',
        '{"journal": 1, "folders": [], "steps": [{"path": "../x", "old": null, "new": null}]}',
    ],
)
def test_a_journal_that_acmegen_did_not_write_is_refused(project: Path, text: str) -> None:
    (project / JOURNAL_FOLDER).mkdir(parents=True)
    (project / JOURNAL_FOLDER / "steps.json").write_text(text)
    before = snapshot(project)
    with pytest.raises(DiagnosticError) as raised:
        recovered(project)
    assert raised.value.diagnostics[0].code == codes.JOURNAL_UNREADABLE
    assert snapshot(project) == before


def test_nobody_publishes_over_the_journal_of_an_interrupted_run(project: Path) -> None:
    (project / JOURNAL_FOLDER).mkdir(parents=True)
    with pytest.raises(ValueError, match="recovered first"):
        MIXED.publish(project)
    assert recovered(project) is None, "nothing had begun"
    assert not (project / ".acmegen").exists()
    MIXED.publish(project)


def test_an_interrupt_from_the_keyboard_undoes_the_run_at_once(tmp_path: Path, project: Path) -> None:
    old = snapshot(project)
    with on_disk(Disk()) as dry:
        MIXED.publish(project)
    new = texts(snapshot(project))
    for number in range(len(dry.log)):
        folder = tmp_path / str(number)
        MIXED.make(folder)
        with on_disk(Disk(number, KeyboardInterrupt, forever=False)), pytest.raises(KeyboardInterrupt):
            MIXED.publish(folder)
        complete = "done.json" in " ".join(dry.log[:number])
        assert complete or not left_journal(folder), "only the journal of a complete run is left"
        recovered(folder)
        assert texts(snapshot(folder)) == new if complete else snapshot(folder) == old
