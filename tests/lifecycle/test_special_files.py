"""What is no regular file, in the place of one: it is never opened, so nothing waits, and no link is followed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output.files import read_file
from acmegen.output.lock import LOCK_NAME, read_lock
from acmegen.output.verify import PROVENANCE_NAME, main
from tests.conftest import Acmegen

OWNED = "csrc/generated/kernels.h"


def fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("make", [fifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_only_regular_files_are_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "x")
    with pytest.raises(OSError, match="it is "):
        read_file(tmp_path / "x")
    (tmp_path / "y").write_bytes(b"y")
    assert read_file(tmp_path / "y") == b"y"


@pytest.mark.parametrize("target", ["fifo", "/dev/zero"])
def test_in_the_place_of_an_owned_file(acmegen: Acmegen, project: Path, target: str) -> None:
    (project / OWNED).unlink()
    if target == "fifo":
        os.mkfifo(project / OWNED)
    else:
        (project / OWNED).symlink_to(target)
    for command in ("check", "regen"):
        result = acmegen(command, project)
        assert result.returncode == 1 and f"error[{codes.FILE_IN_THE_WAY}]: `{OWNED}`: it is" in result.stderr


def test_in_the_place_of_a_once_file(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    fifo(project / "README.md")
    assert acmegen("upgrade", project).returncode == 0
    result = acmegen("vendor", "export", project, tmp_path / "export")
    assert result.returncode == 1 and f"error[{codes.LINK_NOT_VENDORED}]" in result.stderr
    assert "README.md` is not a regular file" in result.stderr and not (tmp_path / "export").exists()


def test_in_the_place_of_a_pristine_text(acmegen: Acmegen, project: Path) -> None:
    fifo(project / ".acmegen/pristine/README.md.txt")
    for command in ("check", "upgrade"):
        result = acmegen(command, project)
        assert result.returncode == 1 and f"error[{codes.FILE_IN_THE_WAY}]" in result.stderr


def test_in_the_place_of_the_lock(acmegen: Acmegen, project: Path) -> None:
    fifo(project / LOCK_NAME)
    for command in ("check", "regen"):
        result = acmegen(command, cwd=project)
        assert result.returncode == 1 and f"error[{codes.LOCK_UNREADABLE}]" in result.stderr
        assert "it is not a regular file" in result.stderr


def test_in_the_place_of_provenance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fifo(tmp_path / PROVENANCE_NAME)
    assert main([str(tmp_path)]) == 2
    assert "it is not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize("dangling", [False, True])
def test_a_lock_that_is_a_link_is_refused_by_all_commands(acmegen: Acmegen, project: Path, dangling: bool) -> None:
    shutil.move(project / LOCK_NAME, project.parent / "elsewhere")
    (project / LOCK_NAME).symlink_to("../nowhere" if dangling else "../elsewhere")
    for command in ("check", "regen"):
        result = acmegen(command, cwd=project)
        assert result.returncode == 1 and f"error[{codes.LOCK_UNREADABLE}]" in result.stderr
        assert "it is a symbolic link" in result.stderr and "put the file that it leads to" in result.stderr
    assert (project / LOCK_NAME).is_symlink()
    result = acmegen("adopt", OWNED, cwd=project)
    assert f"error[{codes.LOCK_UNREADABLE}]" in result.stderr


@pytest.mark.parametrize("text", ["[" * 100_000, '{"lock": ' * 100_000])
def test_a_lock_that_is_nested_too_deep(tmp_path: Path, text: str) -> None:
    (tmp_path / LOCK_NAME).write_text(text)
    with pytest.raises(DiagnosticError) as raised:
        read_lock(tmp_path)
    assert raised.value.diagnostics[0].code == codes.LOCK_UNREADABLE
