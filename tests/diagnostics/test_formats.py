"""`--format` on the command line: where it may stand, what goes to stdout, exit codes, colours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acmegen.cli.formats import print_text
from acmegen.diagnostics import Diagnostic, DiagnosticError, codes
from tests.diagnostics.command_line import document, run


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project whose manifests are wrong, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "backend.yaml").write_text("manifest: backend/v1\nname: nova\nlicence: MIT\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--format", "json", "check"),
        ("check", "--format", "json"),
        ("--format", "text", "check", "--format", "json"),
        ("regen", "--format=json"),
        ("regen", str(Path()), "--format", "json"),
    ],
)
def test_the_option_stands_before_or_behind_the_command(wrong: None, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    (found,) = document(result)["diagnostics"]
    assert (found["code"], found["span"]["file"]) == (codes.UNKNOWN_FIELD, "manifests/backend.yaml")
    assert result.stderr == ""


def test_absolute_paths_below_the_working_directory_are_shown_relative_to_it(wrong: None) -> None:
    result = run("check", str(Path.cwd()), "--format", "github")
    assert result.stdout.startswith("::error file=manifests/backend.yaml,line=3,")


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_new_backend_takes_it_too(tmp_path: Path, form: str) -> None:
    result = run("new-backend", "cuda", "--dir", str(tmp_path / "cuda"), "--format", form)
    assert result.exit_code == 1
    assert "ACME016" in result.stdout
    assert not (tmp_path / "cuda").exists()


def test_text_is_left_to_the_caller_and_is_the_default(wrong: None) -> None:
    for arguments in (("check",), ("--format", "text", "check")):
        result = run(*arguments)
        assert isinstance(result.exception, DiagnosticError)
        assert result.stdout == ""


def test_a_command_without_diagnostics_does_not_take_it() -> None:
    result = run("--format", "json", "explain", "ACME012")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--format does not apply to `acmegen explain`" in result.stderr
    result = run("--format", "json", "vendor", "verify")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--format does not apply to `acmegen vendor verify`" in result.stderr


@pytest.mark.parametrize("command", ["list", "doctor"])
def test_a_command_with_a_format_of_its_own_takes_that_behind_it_only(command: str) -> None:
    result = run("--format", "json", command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"`acmegen {command}` has a --format of its own, which stands behind it" in result.stderr


def test_what_is_not_installed_is_exit_code_2(monkeypatch: pytest.MonkeyPatch, wrong: None) -> None:
    Path("manifests/backend.yaml").write_text("manifest: backend/v1\nname: nova\n")
    monkeypatch.setattr("acmegen.facts.torch_install._spec_root", lambda: None)
    result = run("check", "--format", "json")
    assert result.exit_code == 2
    assert [found["code"] for found in document(result)["diagnostics"]] == [codes.TORCH_MISSING]


def test_success_is_an_empty_document_and_the_rest_goes_to_stderr(right: Path) -> None:
    result = run("check", "--format", "json")
    assert (result.exit_code, document(result)["diagnostics"]) == (0, [])
    assert "keep" in result.stderr
    result = run("regen", "--format", "github")
    assert (result.exit_code, result.stdout) == (0, "")


def test_drift_is_diagnostics(right: Path) -> None:
    lock = json.loads(Path("acmegen.lock").read_text())
    owned = [path for path, file in lock["files"].items() if file["owner"] == "owned"]
    missing, edited = owned[0], owned[1]
    Path(missing).unlink()
    with Path(edited).open("a") as file:
        file.write("// mine\n")
    result = run("check", "--format", "json")
    assert result.exit_code == 1
    found = {each["span"]["file"]: each["code"] for each in document(result)["diagnostics"]}
    assert found == {missing: codes.FILE_MISSING, edited: codes.FILE_EDITED}
    result = run("regen", "--format", "json")
    assert result.exit_code == 1
    assert [each["code"] for each in document(result)["diagnostics"]] == [codes.FILE_EDITED]
    assert not Path(missing).exists()


def test_a_stale_lock_is_a_diagnostic(right: Path) -> None:
    with Path("acmegen.lock").open("a") as file:
        file.write("\n")
    result = run("check", "--format", "json")
    assert [each["code"] for each in document(result)["diagnostics"]] == [codes.LOCK_STALE]


def test_fix_corrects_the_manifests_and_then_checks(right: Path) -> None:
    path = Path("manifests/backend.yaml")
    text = path.read_bytes()
    path.write_bytes(text.replace(b"streams:", b"steams:").replace(b"policy: reference", b"policy: refernce"))
    result = run("check")
    assert isinstance(result.exception, DiagnosticError)
    assert len(result.exception.diagnostics) == 2
    result = run("check", "--fix")
    assert result.exit_code == 0, result.output
    assert path.read_bytes() == text
    assert [line.split(": ", 1)[1] for line in result.stdout.splitlines()[:2]] == [
        "steams -> streams",
        "refernce -> reference",
    ]


def test_fix_leaves_what_it_cannot_fix_to_the_check(wrong: None) -> None:
    path = Path("manifests/backend.yaml")
    path.write_text("manifest: backend/v1\nname: cuda\nstreems: {}\n")
    result = run("check", "--fix", "--format", "json")
    assert result.exit_code == 1
    assert [found["code"] for found in document(result)["diagnostics"]] == [codes.RESERVED_NAME]
    assert result.stderr == "fixed    manifests/backend.yaml:3:1: streems -> streams\n"
    assert "streams: {}" in path.read_text()


class Terminal:
    """A stream that is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize(
    ("terminal", "environment", "colours"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals(
    terminal: bool,
    environment: dict[str, str],
    colours: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = Terminal()
    if terminal:
        monkeypatch.setattr("sys.stderr", stream)
    print_text([Diagnostic(codes.WRONG_VALUE, "m")])
    assert ("\x1b[" in (stream.text if terminal else capsys.readouterr().err)) == colours
