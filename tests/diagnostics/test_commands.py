"""`--format json` for each command that changes a project or checks it: the document, stderr, the exit code."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict
from pathlib import Path

import click
import pytest

from acmegen.cli.main import group
from acmegen.diagnostics import codes
from acmegen.output.journal import JOURNAL_FOLDER
from acmegen.output.lock import LOCK_NAME
from acmegen.output.project_lock import Holder
from tests.diagnostics.command_line import document, run

OWNED = "csrc/generated/runtime/AcmeStream.cpp"
ONCE = "README.md"
MARKERS = "<<<<<<< yours\nmine\n=======\nnew\n>>>>>>> acmegen\n"


def finds(*arguments: str, exit_code: int) -> dict[str, str | None]:
    """The codes that the command prints as a document, with the file of each."""
    result = run(*arguments, "--format", "json")
    found = document(result)
    assert (result.exit_code, found["errors"] + found["warnings"] > 0) == (exit_code, exit_code != 0)
    return {entry["code"]: (entry["span"] or {}).get("file") for entry in found["diagnostics"]}


def append(path: str, text: str) -> None:
    with Path(path).open("a") as file:
        file.write(text)


def pretend_another_torch() -> None:
    data = json.loads(Path(LOCK_NAME).read_text())
    data["facts"]["torch"] = "2.0.1"
    Path(LOCK_NAME).write_text(json.dumps(data))


def test_upgrade_warns_on_stderr_and_ends_in_a_document(right: Path) -> None:
    pretend_another_torch()
    assert finds("regen", exit_code=1) == finds("check", exit_code=1) == {codes.TORCH_CHANGED: None}
    result = run("upgrade", "--format", "json")
    assert (result.exit_code, document(result)["diagnostics"]) == (0, [])
    assert "warning[ACME410]" in result.stderr and "replace  acmegen.lock" in result.stderr


def test_conflicts_are_errors_of_upgrade_and_warnings_on_stderr_of_others(right: Path) -> None:
    append(ONCE, MARKERS)
    result = run("upgrade", "--format", "json")
    assert result.exit_code == 1
    (found,) = document(result)["diagnostics"]
    assert (found["code"], found["span"]["file"]) == (codes.MERGE_CONFLICTS, ONCE)
    assert found["span"]["line"] == Path(ONCE).read_text().splitlines().index("<<<<<<< yours") + 1
    for command in ("check", "regen"):
        result = run(command, "--format", "json")
        assert (result.exit_code, document(result)["diagnostics"]) == (0, [])
        assert "warning[ACME417]" in result.stderr


def test_adopt_and_restore(right: Path) -> None:
    append(OWNED, "// mine\n")
    assert finds("adopt", "csrc/generated/Gard.h", exit_code=1) == {codes.NOT_GENERATED: "csrc/generated/Gard.h"}
    assert finds("adopt", OWNED, exit_code=0) == {}
    assert finds("restore", OWNED, exit_code=1) == {codes.FILE_EDITED: OWNED}
    assert finds("restore", "--force", OWNED, exit_code=0) == {}
    assert "mine" not in Path(OWNED).read_text()


def test_vendor_export(right: Path) -> None:
    result = run("--format", "json", "vendor", "export", ".", "../export")
    assert (result.exit_code, document(result)["diagnostics"]) == (0, [])
    assert "The backend `acme`" in result.stderr
    append(f"../export/{OWNED}", "// mine\n")
    edited = (right.parent / "export" / OWNED).as_posix()
    found = finds("vendor", "export", ".", "../export", exit_code=1)
    assert list(found) == [codes.EXPORT_EDITED] and Path(str(found[codes.EXPORT_EDITED])).resolve() == Path(edited)
    append(ONCE, MARKERS)
    assert finds("vendor", "export", ".", "../export", exit_code=1) == {codes.MERGE_CONFLICTS: ONCE}


def test_check_of_a_project_that_is_half_changed(right: Path) -> None:
    Path(JOURNAL_FOLDER).mkdir(parents=True)
    result = run("check", "--format", "json")
    found = document(result)
    assert (result.exit_code, found["errors"], found["warnings"]) == (1, 0, 1)
    (interrupted,) = found["diagnostics"]
    assert interrupted["code"] == codes.RUN_INTERRUPTED
    assert interrupted["message"].startswith("a run that changed `acme` was interrupted"), "and not `.`"
    assert interrupted["help"] == "`acmegen doctor` puts it in order"
    assert run("check").exit_code == 1
    assert finds("vendor", "export", ".", "../export", exit_code=1) == {codes.NOT_UP_TO_DATE: None}
    assert finds("regen", exit_code=0) == {}


def test_what_differs_is_shown_on_stderr_too(right: Path) -> None:
    Path(OWNED).unlink()
    result = run("check", "--diff", "--format", "json")
    assert [entry["code"] for entry in document(result)["diagnostics"]] == [codes.FILE_MISSING]
    assert f"+++ b/{OWNED}" in result.stderr


@pytest.mark.parametrize("command", ["regen", "upgrade", "new-backend"])
def test_a_project_that_another_machine_holds_is_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("acmegen.output.project_lock.fcntl", None)
    held = Path("acme/.acmegen/run/holder")
    held.parent.mkdir(parents=True)
    held.write_text(json.dumps(asdict(Holder(4711, "elsewhere", "acmegen regen", ""))))
    assert finds(command, "acme", "--wait", "0", exit_code=2) == {codes.PROJECT_HELD: None}


def test_every_command_that_holds_a_project_takes_the_format() -> None:
    vendor = group.commands["vendor"]
    assert isinstance(vendor, click.Group)
    commands = {**group.commands, **vendor.commands}
    holding = {name for name, command in commands.items() if any("--wait" in option.opts for option in command.params)}
    taking = {name for name, command in commands.items() if any("--format" in option.opts for option in command.params)}
    assert holding <= taking


def test_whatever_file_the_operating_system_refuses_is_a_diagnostic(
    right: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), OWNED)

    monkeypatch.setattr("acmegen.cli.check.generate", refused)
    assert finds("check", exit_code=2) == {codes.FILE_REFUSED: OWNED}
