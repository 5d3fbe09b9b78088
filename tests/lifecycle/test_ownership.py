"""Whose a file is, from the command line: edits, adopted and restored files, what is shown before it happens."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Acmegen
from tests.lifecycle.test_regen import add_user_op, snapshot

STREAM = "csrc/generated/runtime/AcmeStream.cpp"
EVENT = "csrc/generated/runtime/AcmeEvent.cpp"


def lock_of(project: Path) -> dict[str, dict[str, object]]:
    files = json.loads((project / "acmegen.lock").read_text())["files"]
    assert isinstance(files, dict)
    return files


def relicense(project: Path) -> None:
    """Change the header of every owned file."""
    manifest = project / "manifests" / "backend.yaml"
    text = manifest.read_text()
    assert "license: Apache-2.0" in text
    manifest.write_text(text.replace("license: Apache-2.0", "license: MIT"))


def append(path: Path, data: str | bytes) -> None:
    with path.open("ab") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def contents(project: Path) -> dict[str, bytes]:
    return {path: data for path, (_, data) in snapshot(project).items()}


# H1: an edited generated file, and the ways on.


def test_h1_an_edited_owned_file_stops_the_run_with_its_diff_and_the_ways_on(acmegen: Acmegen, project: Path) -> None:
    append(project / STREAM, "// mine\n")
    created = add_user_op(project)
    before = snapshot(project)
    result = acmegen("regen", cwd=project)
    assert result.returncode == 1
    assert f"--- a/{STREAM}\n" in result.stderr and "\n-// mine\n" in result.stderr
    assert f"error[ACME401]: `{STREAM}`: it was edited" in result.stderr
    assert f"`acmegen regen --force` overwrites it, `acmegen adopt {STREAM}` makes it yours" in result.stderr
    assert snapshot(project) == before

    result = acmegen("regen", "--force", cwd=project)
    assert result.returncode == 0, result.stderr
    assert "// mine" not in (project / STREAM).read_text()
    assert (project / created).exists()


def test_h3_without_a_lock_nothing_but_acmegens_files_is_overwritten(acmegen: Acmegen, project: Path) -> None:
    before = contents(project)
    (project / "acmegen.lock").unlink()
    assert acmegen("regen", project).returncode == 0
    assert contents(project) == before, "files that equal what is generated are acmegen's"

    (project / "acmegen.lock").unlink()
    append(project / STREAM, "// mine\n")
    (project / EVENT).write_text("mine\n")
    result = acmegen("regen", cwd=project)
    assert result.returncode == 1 and "\n-// mine\n" in result.stderr
    assert f"error[ACME401]: `{STREAM}`" in result.stderr and "`acmegen regen --force` overwrites" in result.stderr
    assert f"error[ACME402]: `{EVENT}`" in result.stderr and "adopt" not in result.stderr

    result = acmegen("regen", "--force", cwd=project)
    assert result.returncode == 1 and "ACME401" not in result.stderr, (
        "there is nothing for --force to do about the other"
    )
    assert (project / EVENT).read_text() == "mine\n"
    (project / EVENT).unlink()
    assert acmegen("regen", "--force", cwd=project).returncode == 0
    assert contents(project) == before


def test_h1_an_adopted_file_is_the_users_until_it_is_restored(acmegen: Acmegen, project: Path) -> None:
    append(project / STREAM, "// mine\n")
    mine = (project / STREAM).read_bytes()
    result = acmegen("adopt", project / STREAM)
    assert result.returncode == 0, result.stderr
    assert lock_of(project)[STREAM]["owner"] == "adopted"
    before = snapshot(project)
    assert acmegen("adopt", STREAM, cwd=project).returncode == 0, "H19: again"
    assert snapshot(project) == before

    relicense(project)
    result = acmegen("regen", "--force", project)
    assert result.returncode == 0, result.stderr
    assert (project / STREAM).read_bytes() == mine
    assert re.search("^[2-9] files of yours have a newer template; `acmegen upgrade` merges it$", result.stdout, re.M)
    assert acmegen("check", project).returncode == 0

    result = acmegen("restore", "AcmeStream.cpp", cwd=(project / STREAM).parent)
    assert result.returncode == 1
    assert "\n-// mine\n" in result.stderr and "`acmegen restore --force AcmeStream.cpp` overwrites it" in result.stderr
    assert "adopt" not in result.stderr
    assert acmegen("restore", "--force", "AcmeStream.cpp", cwd=(project / STREAM).parent).returncode == 0
    assert "MIT" in (project / STREAM).read_text() and lock_of(project)[STREAM]["owner"] == "owned"
    assert acmegen("check", project).returncode == 0


def test_a_deleted_once_file_stays_deleted_until_it_is_restored(acmegen: Acmegen, project: Path) -> None:
    before = contents(project)
    (project / "README.md").unlink()
    result = acmegen("check", project)
    assert result.returncode == 1, "the lock does not say so yet"
    assert "deleted; `acmegen restore README.md` brings it back" in result.stdout
    assert acmegen("regen", project).returncode == 0
    assert not (project / "README.md").exists() and lock_of(project)["README.md"]["deleted"] is True
    assert acmegen("check", project).returncode == 0
    assert acmegen("restore", project / "README.md").returncode == 0
    assert contents(project) == before
    assert acmegen("check", project).returncode == 0


def test_paths_that_are_in_no_project_or_in_two(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    result = acmegen("adopt", tmp_path / "x")
    assert result.returncode == 1
    assert "error[ACME404]" in result.stderr and "is in no project" in result.stderr
    shutil.copytree(project, tmp_path / "other")
    result = acmegen("restore", project / STREAM, tmp_path / "other" / STREAM)
    assert result.returncode == 1 and "in different projects" in result.stderr
    result = acmegen("adopt", "csrc/generated/runtime/AcmeStraem.cpp", cwd=project)
    assert result.returncode == 1 and f"did you mean `{STREAM}`?" in result.stderr
    result = acmegen("adopt", "csrc/kernels", cwd=project)
    assert result.returncode == 1 and "`csrc/kernels` is a folder; name the files in it" in result.stderr
    assert "did you mean" not in result.stderr and "`acmegen list`" in result.stderr


def test_h3_nothing_that_is_the_users_is_touched(acmegen: Acmegen, project: Path) -> None:
    """Not by `--force` either, and not with the last generated file of a folder."""
    created = add_user_op(project)
    assert acmegen("regen", project).returncode == 0
    (project / created).write_text("// my own body\n")
    mine = (
        "csrc/mine.h",
        "csrc/generated/runtime/mine.txt",
        "third_party/sim/src/.notes",
        "build/x",
        "tests/test_mine.py",
    )
    for path in mine:
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_bytes(b"\xff mine")
    (project / "csrc" / "mine").symlink_to("nowhere")
    (project / "manifests" / "ops" / "mine.yaml").unlink()
    relicense(project)
    before = snapshot(project)
    assert acmegen("regen", "--force", project).returncode == 0
    after = snapshot(project)
    assert {path: after[path] for path in (*mine, created)} == {path: before[path] for path in (*mine, created)}
    assert (project / "csrc" / "mine").is_symlink()


# H22: what will happen.


def test_h22_dry_run_and_diff_show_exactly_what_happens(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    created = add_user_op(project)
    assert acmegen("regen", project).returncode == 0
    # A file of every kind: new, changed, edited, of other line ends, deleted by the user, not wanted any more.
    (project / "manifests" / "ops" / "mine.yaml").write_text(
        "manifest: ops/v1\nops:\n  tril: {unsupported: größer 漢}\n"
    )
    (project / STREAM).write_bytes((project / STREAM).read_bytes().replace(b"\n", b"\r\n"))
    append(project / EVENT, b"// \xff\xfe mine")
    (project / "csrc" / "generated" / "kernels.h").unlink()
    (project / "README.md").unlink()
    before = snapshot(project)
    dry = acmegen("regen", "--force", "--dry-run", project)
    assert dry.returncode == 0, dry.stderr
    shown = subprocess.run(
        [sys.executable, "-m", "acmegen", "regen", "--force", "--diff", str(project)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "LC_ALL": "C", "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=120,
    )
    assert shown.returncode == 0, shown.stderr
    assert snapshot(project) == before, "neither writes anything"

    expected = tmp_path / "expected"
    shutil.copytree(project, expected, symlinks=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=shown.stdout, cwd=expected, check=True)
    real = acmegen("regen", "--force", project)
    assert real.returncode == 0, real.stderr
    assert contents(project) == contents(expected)
    assert real.stdout == dry.stdout == shown.stderr.decode()

    changes = dict(line.split(maxsplit=2)[1::-1] for line in real.stdout.splitlines()[:-1])
    after = snapshot(project)
    assert {path for path in before if path not in after} == {path for path in changes if changes[path] == "remove"}
    assert {path for path in after if path not in before} == {path for path in changes if changes[path] == "create"}
    changed = {path for path in after if path in before and after[path] != before[path]}
    assert changed == {path for path in changes if changes[path] == "replace"}
    assert {STREAM, EVENT, "acmegen.lock"} <= changed
    assert {path for path in changes if changes[path] == "keep"} == {"README.md", created}


def test_h22_a_run_that_would_be_refused_says_so_before(acmegen: Acmegen, project: Path) -> None:
    append(project / STREAM, "// mine\n")
    append(project / "csrc" / "generated" / "kernels.h", "")
    before = snapshot(project)
    for option in ("--dry-run", "--diff"):
        result = acmegen("regen", option, project)
        assert result.returncode == 1
        assert f"refuse   {STREAM}  (it was edited)" in result.stdout + result.stderr
        assert "error[ACME401]" in result.stderr
    assert snapshot(project) == before


def test_check_shows_differences(acmegen: Acmegen, project: Path) -> None:
    (project / STREAM).unlink()
    result = acmegen("check", "--diff", project)
    assert result.returncode == 1
    assert result.stdout.startswith(f"--- /dev/null\n+++ b/{STREAM}\n@@ -0,0 +1,")
    assert f"create   {STREAM}" in result.stderr


@pytest.mark.parametrize("colour", [True, False])
def test_a_diff_has_colours_on_a_terminal_only(project: Path, colour: bool) -> None:
    """And there, nothing that a file holds acts on the terminal."""
    append(project / STREAM, "\x1b]0;title\x07 // \u202e ".encode() + b"\xff mine\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    environment.pop("NO_COLOR", None)
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "acmegen", "regen", "--force", "--diff", str(project)],
        env=environment if colour else {**environment, "NO_COLOR": "1"},
        stdout=terminal,
        stderr=subprocess.PIPE,
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            data = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        output += data
        if not data:
            break
    os.close(reader)
    process.communicate()
    assert process.returncode == 0
    text = output.decode()
    assert r"-\x1b]0;title\x07 // \u202e \xff mine" in text
    assert ("\x1b[31m-" in text) == colour
    assert colour or "\x1b" not in text


# H6, H14: a fault of a template.


@pytest.fixture(scope="module")
def broken(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An acmegen with one more template, whose second line names what is not there."""
    copy = tmp_path_factory.mktemp("broken")
    for folder in ("acmegen", "templates", "manifests/presets"):
        shutil.copytree(repository / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    template = copy / "templates" / "backend" / "{package}" / "zz_last.py.jinja"
    template.write_text("# A fine line.\nNAME = {{ names.devcie }}\n")
    return copy


def test_h6_h14_one_undefined_value_changes_nothing_and_is_named(acmegen: Acmegen, project: Path, broken: Path) -> None:
    relicense(project)
    before = snapshot(project)
    for command in ("regen", "check"):
        result = acmegen(command, project, cwd=broken, PYTHONPATH=str(broken))
        assert result.returncode == 2
        assert "this is a fault of acmegen, not yours" in result.stderr
        assert "templates/backend/{package}/zz_last.py.jinja:2: " in result.stderr and "'devcie'" in result.stderr
        assert snapshot(project) == before


# Text.


def test_h13_text_that_is_not_ascii_under_any_locale(acmegen: Acmegen, project: Path) -> None:
    reason = "größer als 漢字"
    (project / "manifests" / "ops" / "mine.yaml").write_text(
        f"# schön\nmanifest: ops/v1\nops:\n  trace: {{unsupported: {reason}}}\n", encoding="utf-8"
    )
    environment = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = acmegen("regen", project, **environment)
    assert result.returncode == 0, result.stderr
    assert reason in "".join(
        path.read_text(encoding="utf-8") for path in (project / "csrc" / "generated" / "registration").iterdir()
    )
    append(project / STREAM, f"// {reason}\n")
    result = acmegen("regen", project, **environment)
    assert result.returncode == 1 and "error[ACME401]" in result.stderr
    (project / STREAM).write_bytes((project / STREAM).read_bytes().removesuffix(f"// {reason}\n".encode()))
    assert acmegen("check", project).returncode == 0, "with this locale it is the same"


def test_h12_h21_every_file_ends_in_one_line_end_and_owned_ones_are_marked(new_project: Callable[[str], Path]) -> None:
    project = new_project("acme")
    for path, entry in lock_of(project).items():
        text = (project / path).read_bytes().decode("utf-8")
        assert text.endswith("\n") and not text.endswith("\n\n") and "\r" not in text, path
        if entry["owner"] == "owned" and entry["template"] != "pristine":
            assert "@generated by acmegen from " in text.splitlines()[0], path


def test_h20_regeneration_works_after_formatting_once_files(acmegen: Acmegen, project: Path) -> None:
    """With another style, other line ends, no last line end: nothing in them is searched for."""
    add_user_op(project)
    assert acmegen("regen", project).returncode == 0
    once = [path for path, entry in lock_of(project).items() if entry["owner"] == "once"]
    assert len(once) >= 5
    formatted = {}
    for path in once:
        text = (project / path).read_text()
        formatted[path] = "\r\n".join(f"    {line}  " for line in text.splitlines() if line.strip()).encode()
        (project / path).write_bytes(formatted[path])
    (project / "manifests" / "ops" / "mine.yaml").write_text("manifest: ops/v1\nops:\n  trace: user\n  tril: user\n")
    result = acmegen("regen", project)
    assert result.returncode == 0, result.stderr
    assert "create   csrc/kernels/tril.cpp" in result.stdout
    assert {path: (project / path).read_bytes() for path in once} == formatted
    assert acmegen("check", project).returncode == 0


# The list.


def test_list_names_owner_state_template_and_places(acmegen: Acmegen, project: Path) -> None:
    (project / "manifests" / "ops" / "mine.yaml").write_text(
        "manifest: ops/v1\nops:\n  trace: user\n  tril: {unsupported: not here}\n"
    )
    assert acmegen("regen", project).returncode == 0
    append(project / STREAM, "// mine\n")
    (project / "README.md").unlink()
    (project / "manifests" / "ops" / "mine.yaml").write_text(
        "manifest: ops/v1\nops:\n\n  tril: {unsupported: not here}\n  triu: user\n"
    )
    before = snapshot(project)
    result = acmegen("list", "--format", "json", project)
    assert result.returncode == 0, result.stderr
    files = {file.pop("path"): file for file in json.loads(result.stdout)["files"]}
    assert files[STREAM] == {
        "owner": "owned",
        "state": "edited",
        "template": "csrc/generated/runtime/{pascal}Stream.cpp.jinja",
        "manifest": "backend.yaml",
        "places": [],
    }
    assert files["csrc/kernels/triu.cpp"] == {
        "owner": "once",
        "state": "new",
        "template": "csrc/kernels/{kernel.name}.cpp.jinja",
        "manifest": "backend.yaml",
        "places": [{"manifest": "ops/mine.yaml", "line": 5}],
    }
    states = {path: (file["owner"], file["state"]) for path, file in files.items()}
    assert states["csrc/kernels/trace.cpp"] == ("once", "stale")
    assert states["README.md"] == ("once", "deleted")
    assert states["CMakeLists.txt"] == ("once", "unchanged")
    assert set(files) == {
        *(path for path in lock_of(project) if not path.startswith(".acmegen/")),
        "csrc/kernels/triu.cpp",
    }
    registered = {
        (place["manifest"], place["line"])
        for path, file in files.items()
        if path.startswith("csrc/generated/registration/Registration_")
        for place in file["places"]
    }
    assert {("ops/mine.yaml", 4), ("ops/mine.yaml", 5)} <= registered
    custom = files["csrc/generated/registration/Custom_acme.cpp"]["places"]
    text = (project / "manifests" / "ops" / "custom.yaml").read_text().splitlines()
    assert len(custom) == 2 and all("(" in text[place["line"] - 1] for place in custom)

    lines = {line.split()[2]: line for line in acmegen("list", cwd=project).stdout.splitlines()}
    assert lines.keys() == files.keys()
    assert lines["csrc/kernels/triu.cpp"].split() == [
        "once",
        "new",
        "csrc/kernels/triu.cpp",
        "csrc/kernels/{kernel.name}.cpp.jinja",
        "ops/mine.yaml:5",
    ]
    assert lines["csrc/generated/registration/Registration_0.cpp"].endswith(" more")
    assert snapshot(project) == before


def test_every_shard_names_the_entries_that_it_renders(acmegen: Acmegen, new_project: Callable[[str], Path]) -> None:
    """Each place is the line of a key, and every file that is one of several has places."""
    project = new_project("acme")
    presets = Path(__file__).resolve().parents[2] / "manifests"
    files = json.loads(acmegen("list", "--format", "json", project).stdout)["files"]
    sharded = [file for file in files if "{shard.index}" in file["template"] or "{kernel.name}" in file["template"]]
    assert len(sharded) > 10
    for file in sharded:
        assert file["places"], file["path"]
        for place in file["places"]:
            folder = presets if place["manifest"].startswith("presets/") else project / "manifests"
            line = (folder / place["manifest"]).read_text().splitlines()[place["line"] - 1]
            assert line.startswith("  ") and ":" in line, (file["path"], place, line)
