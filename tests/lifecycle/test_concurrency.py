"""Two runs at once: the second one waits and then says for whom; a process that has died holds nobody up."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output import project_lock
from acmegen.output.project_lock import Holder, current_holder, hold_project
from tests.conftest import REPOSITORY, Acmegen
from tests.lifecycle.publishing import snapshot

HOLD = """
    import sys, time
    from pathlib import Path
    from acmegen.output import project_lock
    {before}
    with project_lock.hold_project(Path(sys.argv[1]), 0):
        print("held", flush=True)
        sys.stdin.readline()
"""
NO_LOCKS = "project_lock.fcntl = None"


@contextmanager
def holder(project: Path, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds `project` until a line is written to it."""
    code = textwrap.dedent(HOLD).format(before=before)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(project), "regen", "it"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def refused(project: Path) -> str:
    with pytest.raises(DiagnosticError) as raised, hold_project(project, 0.1):
        pass
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == codes.PROJECT_HELD
    return f"{diagnostic.message}; {diagnostic.help}"


@pytest.fixture(params=["locks", "no locks"])
def before(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same tests on file systems with and without locks; code for the other process."""
    if request.param == "locks":
        return ""
    monkeypatch.setattr(project_lock, "fcntl", None)
    return NO_LOCKS


def test_a_second_process_is_told_who_holds_the_project(tmp_path: Path, before: str) -> None:
    with holder(tmp_path, before) as process:
        message = refused(tmp_path)
        assert f"process {process.pid} on " in message and f"acmegen {tmp_path} regen it" in message
        assert "--wait" in message
        assert str(current_holder(tmp_path)) in message


def test_a_second_process_waits(tmp_path: Path, before: str) -> None:
    waited: list[Holder | None] = []
    with holder(tmp_path, before) as process:
        assert process.stdin is not None

        def let_go(other: Holder | None) -> None:
            waited.append(other)
            print(file=process.stdin, flush=True)

        with hold_project(tmp_path, 30, let_go):
            assert process.wait() == 0
    assert [other and other.pid for other in waited] == [process.pid]
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path: Path, before: str) -> None:
    with holder(tmp_path, before) as process:
        process.kill()
        process.wait()
        assert list((tmp_path / ".acmegen/run").iterdir()), "it could not clean up"
        assert current_holder(tmp_path) is None
        with hold_project(tmp_path, 1):
            pass
    assert list(tmp_path.iterdir()) == []


def test_children_of_a_killed_process_hold_nobody_up(tmp_path: Path) -> None:
    fork = textwrap.dedent(
        """
        with project_lock.hold_project(Path(sys.argv[1]), 0):
            import os
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            print("held", flush=True)
            print(child, flush=True)
            time.sleep(60)
        """
    )
    with holder(tmp_path, textwrap.indent(fork, "    ").strip()) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            process.kill()
            process.wait()
            with hold_project(tmp_path, 1):
                pass
        finally:
            os.kill(child, signal.SIGKILL)


def stale(project: Path, **changes: object) -> None:
    """The lock of a file system without locks, as a process that died has left it."""
    folder = project / ".acmegen/run"
    folder.mkdir(parents=True)
    myself = json.loads(project_lock._myself())
    (folder / "holder").write_text(json.dumps({**myself, **changes}))


def test_a_number_that_another_process_has_by_now_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_lock, "fcntl", None)
    stale(tmp_path, started="1")
    with hold_project(tmp_path, 1):
        pass
    assert list(tmp_path.iterdir()) == []


def test_of_another_machine_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_lock, "fcntl", None)
    stale(tmp_path, host="elsewhere", pid=1)
    message = refused(tmp_path)
    assert "on elsewhere" in message and f"remove `{tmp_path}/.acmegen/run/holder`" in message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "host": "", "command": "", "started": ""}'])
def test_a_lock_that_names_nobody_is_respected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(project_lock, "fcntl", None)
    stale(tmp_path)
    (tmp_path / ".acmegen/run/holder").write_text(text)
    assert "another acmegen" in refused(tmp_path)


def test_of_two_that_take_away_a_stale_lock_none_takes_that_of_a_third(tmp_path: Path) -> None:
    stale(tmp_path, started="1")
    path = tmp_path / ".acmegen/run/holder"
    fresh = project_lock._myself()
    with pytest.MonkeyPatch.context() as patch:
        real = project_lock._is_gone

        def overtaken(other: Holder) -> bool:
            gone = real(other)
            path.write_bytes(fresh)  # meanwhile another process took it over
            return gone

        patch.setattr(project_lock, "_is_gone", overtaken)
        project_lock._take_away(path)
    assert path.read_bytes() == fresh
    assert [entry.name for entry in path.parent.iterdir()] == ["holder"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    assert project_lock.fcntl is not None

    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(project_lock.fcntl, "lockf", refuse)
    with hold_project(tmp_path, 0):
        assert (tmp_path / ".acmegen/run/holder").is_file()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiagnosticError) as raised, hold_project(tmp_path / "file", 0):
        pass
    assert raised.value.diagnostics[0].code in (codes.NOT_WRITTEN, codes.RUN_FOLDER_BLOCKED)


def test_regen_waits_and_then_names_the_process(acmegen: Acmegen, project: Path) -> None:
    before = snapshot(project)
    with holder(project) as process:
        result = acmegen("regen", project, "--wait", 0.2)
        assert result.returncode == 2
        assert f"Waiting for `acmegen {project} regen it` (process {process.pid}" in result.stderr
        assert f"(process {process.pid} on " in result.stderr and "--wait SECONDS" in result.stderr
    assert acmegen("regen", project).returncode == 0
    assert snapshot(project) == before


def test_many_runs_at_once_end_as_one(acmegen: Acmegen, project: Path) -> None:
    (project / "manifests/ops/mine.yaml").write_text("manifest: ops/v1\nops:\n  trace: user\n")
    command = [sys.executable, "-m", "acmegen", "regen", str(project), "--wait", "120"]
    with ExitStack() as stack:
        runs = [
            stack.enter_context(
                subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            )
            for _ in range(3)
        ]
        outputs = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], outputs
    assert sum("create   csrc/kernels/trace.cpp" in output for output in outputs) == 1, outputs
    assert acmegen("check", project).returncode == 0
    assert not (project / ".acmegen/run").exists()
