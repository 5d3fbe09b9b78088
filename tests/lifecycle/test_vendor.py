"""`acmegen vendor`: a project as a folder of another repository, under its names or others, and what changed there."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from acmegen.cli.main import group
from tests.conftest import Acmegen

Verify = Callable[[Path], "tuple[int, list[str]]"]

# A user's body that names everything of the backend's.
BODY = """\
// What Acme's trace does, in torch_acme for tileops-acme; see ACME_LAUNCH_BLOCKING and libtorch_acme.so.
#include <vendor/acme_api.h>

#include "generated/kernels.h"
#include "generated/runtime/AcmeStream.h"

namespace acme::kernels {

at::Tensor trace(const at::Tensor& self) {
  const auto stream = ::acme::getCurrentAcmeStream();
  TORCH_CHECK(self.device().type() == c10::DeviceType::PrivateUse1, "trace on acme:", stream.device_index());
  return self.diagonal().sum();
}

}  // namespace acme::kernels

TORCH_LIBRARY_FRAGMENT(acme, m) { m.def("mine(Tensor x) -> Tensor"); }
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def times(folder: Path) -> dict[str, int]:
    return {path.as_posix(): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def exported(acmegen: Acmegen, new_project: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of a new project; its users must not change it."""
    folder = tmp_path_factory.mktemp("vendor") / "acme"
    result = acmegen("vendor", "export", new_project("acme"), folder, "--contact", "backend@example.org")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    """A copy of the export, to be changed."""
    return shutil.copytree(exported, tmp_path / "export")


@pytest.fixture(params=["acmegen vendor verify", "verify.py"])
def verify(request: pytest.FixtureRequest, exported: Path) -> Verify:
    """The exit code and the lines of one of the two ways to verify; the script runs without anything but Python."""

    def run(folder: Path) -> tuple[int, list[str]]:
        if request.param == "verify.py":
            command = [sys.executable, "-I", "-S", str(exported / "verify.py"), str(folder)]
            result = subprocess.run(command, capture_output=True, text=True)
            assert "Traceback" not in result.stderr
            return result.returncode, result.stdout.splitlines()
        invoked = CliRunner().invoke(group, ["vendor", "verify", str(folder)])
        assert invoked.exception is None or isinstance(invoked.exception, SystemExit)
        return invoked.exit_code, [line for line in invoked.output.splitlines() if not line.startswith("error: ")]

    return run


def test_export_is_the_project_without_its_manifests(exported: Path, new_project: Callable[[str], Path]) -> None:
    project = {path: data for path, data in contents(new_project("acme")).items() if not path.startswith("manifests/")}
    export = contents(exported)
    added = {"LICENSES/Apache-2.0.txt", "PROVENANCE.json", "VENDORED.md", "verify.py"}
    assert export.keys() == project.keys() | added
    assert [path for path in project if export[path] != project[path]] == []


def test_provenance_says_what_was_generated_from_what(exported: Path, repository: Path) -> None:
    provenance = json.loads((exported / "PROVENANCE.json").read_text())
    lock = json.loads((exported / "acmegen.lock").read_text())
    assert provenance["manifests"] == lock["sources"]
    assert provenance["installed"] == lock["facts"]
    assert provenance["acmegen"] == lock["acmegen"]
    assert provenance["names"]["device"] == "acme"
    assert provenance["renamed"] is False
    for template, digest in provenance["templates"].items():
        assert hashlib.sha256((repository / "templates" / template).read_bytes()).hexdigest() == digest
    assert {entry["template"] for entry in lock["files"].values()} - {"pristine"} == {
        template.removeprefix("backend/") for template in provenance["templates"] if template.startswith("backend/")
    }
    files = {path: hashlib.sha256(data).hexdigest() for path, data in contents(exported).items()}
    del files["PROVENANCE.json"]
    assert provenance["files"] == files
    assert "backend@example.org" in (exported / "VENDORED.md").read_text()


def test_licence_text_is_the_repositorys(exported: Path, repository: Path) -> None:
    assert (exported / "LICENSES/Apache-2.0.txt").read_bytes() == (repository / "LICENSE").read_bytes()


def test_nothing_in_an_export_needs_acmegen(exported: Path) -> None:
    """It is named in comments, in texts, and by the option of CMake that is off."""
    for path, data in contents(exported).items():
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(data)):
                if isinstance(node, ast.Import):
                    assert all(alias.name.split(".")[0] != "acmegen" for alias in node.names), path
                elif isinstance(node, ast.ImportFrom):
                    assert (node.module or "").split(".")[0] != "acmegen", path
        elif path.endswith((".cpp", ".h", ".txt", ".cmake", ".toml")):
            text = re.sub(r"//.*|#(?!include).*|/\*.*?\*/", "", data.decode())
            code = [line for line in text.splitlines() if "acmegen" in line and '"' not in line]
            if path != "csrc/generated/regenerate.cmake" and not path.startswith((".acmegen/", "LICENSES/")):
                assert code == [], path
    build = (exported / "CMakeLists.txt").read_text()
    assert 'option(ACME_REGENERATE "Run acmegen when a manifest has changed" OFF)' in build
    assert "if(ACME_REGENERATE)\n  include(csrc/generated/regenerate.cmake)" in build


def test_h19_exporting_again_changes_nothing(
    acmegen: Acmegen, copy: Path, new_project: Callable[[str], Path], tmp_path: Path
) -> None:
    before = contents(copy), times(copy)
    again = acmegen("vendor", "export", new_project("acme"), copy, "--contact", "backend@example.org")
    assert again.returncode == 0, again.stderr
    assert (contents(copy), times(copy)) == before
    other = acmegen("vendor", "export", "acme", tmp_path / "other", cwd=new_project("acme").parent, LC_ALL="C")
    assert other.returncode == 0, other.stderr
    without_contact = {path for path, data in contents(tmp_path / "other").items() if data != before[0][path]}
    assert without_contact == {"PROVENANCE.json", "VENDORED.md"}


def append(folder: Path, path: str) -> None:
    with (folder / path).open("a") as file:
        file.write("// edited\n")


def write(folder: Path, path: str, text: str = "mine\n") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)


def to_folder(folder: Path, path: str) -> None:
    (folder / path).unlink()
    write(folder, f"{path}/inside")


def to_link(folder: Path, path: str) -> None:
    (folder / path).rename(folder.parent / "elsewhere")
    (folder / path).symlink_to(folder.parent / "elsewhere")


def to_windows(folder: Path, path: str) -> None:
    (folder / path).write_bytes((folder / path).read_bytes().replace(b"\n", b"\r\n"))


STUB = "csrc/kernels/_weight_int4pack_mm.cpp"
TAMPERINGS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "nothing": (lambda folder: None, []),
    "edited": (lambda folder: append(folder, "torch_acme/__init__.py"), ["changed  torch_acme/__init__.py"]),
    "edited body": (lambda folder: append(folder, STUB), [f"changed  {STUB}"]),
    "edited lock": (lambda folder: append(folder, "acmegen.lock"), ["changed  acmegen.lock"]),
    "edited script": (lambda folder: append(folder, "verify.py"), ["changed  verify.py"]),
    "removed": (lambda folder: (folder / "CMakeLists.txt").unlink(), ["missing  CMakeLists.txt"]),
    "folder removed": (
        lambda folder: shutil.rmtree(folder / "tileops_acme" / "tileops_acme"),
        [
            f"missing  tileops_acme/tileops_acme/{name}.py"
            for name in ("__init__", "_builders", "_registration", "_signatures")
        ],
    ),
    "added": (lambda folder: write(folder, "csrc/kernels/more.cpp"), ["added    csrc/kernels/more.cpp"]),
    "added hidden": (lambda folder: write(folder, ".github/x.yml"), ["added    .github/x.yml"]),
    "a folder": (lambda folder: to_folder(folder, STUB), [f"changed  {STUB}", f"added    {STUB}/inside"]),
    "a link": (lambda folder: to_link(folder, STUB), [f"changed  {STUB}"]),
    "a dead link": (lambda folder: (folder / "a").symlink_to("nowhere"), ["added    a"]),
    "a link to a folder": (lambda folder: (folder / "a").symlink_to(folder / "csrc"), ["added    a"]),
    "a link in a circle": (lambda folder: (folder / "a").symlink_to(folder / "a"), ["added    a"]),
    "build outputs": (
        lambda folder: [
            write(folder, path)
            for path in (
                "build/cp311/CMakeCache.txt",
                "torch_acme/__pycache__/x.pyc",
                "torch_acme/_C.so",
                "torch_acme.egg-info/PKG-INFO",
                "tileops_acme/build/x",
                ".pytest_cache/x",
                ".git/HEAD",
            )
        ],
        [],
    ),
    "line ends of Windows": (lambda folder: to_windows(folder, STUB), []),
    "several": (
        lambda folder: (append(folder, STUB), (folder / "README.md").unlink(), write(folder, "a"), write(folder, "b")),
        [f"changed  {STUB}", "missing  README.md", "added    a", "added    b"],
    ),
}


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_verify_lists_changed_missing_and_added_files(verify: Verify, copy: Path, tampering: str) -> None:
    tamper, expected = TAMPERINGS[tampering]
    tamper(copy)
    code, lines = verify(copy)
    if expected:
        assert (code, lines) == (1, expected)
    else:
        digest = hashlib.sha256((copy / "PROVENANCE.json").read_bytes()).hexdigest()
        assert (code, lines) == (0, [f"nothing is changed; PROVENANCE.json is {digest}"])


@pytest.mark.parametrize(
    "text", [None, "", "{}", "[]", "[" * 100_000, "<<<<<<<", '{"files": 1, "ignored": []}', '{"files": {}}']
)
def test_verify_of_what_is_no_export(verify: Verify, tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "PROVENANCE.json").write_text(text)
    assert verify(tmp_path) == (2, [])


def test_verify_needs_neither_torch_nor_templates_nor_manifests(
    repository: Path, exported: Path, tmp_path: Path
) -> None:
    shutil.copytree(repository / "acmegen", tmp_path / "acmegen", ignore=shutil.ignore_patterns("__pycache__"))
    hide = "import sys; sys.modules.update(torch=None, torchgen=None, tileops=None)"
    program = f"{hide}; from acmegen.cli import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", program, "vendor", "verify", str(exported)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


def test_an_export_follows_its_project_and_leaves_other_files_alone(
    acmegen: Acmegen, project: Path, copy: Path
) -> None:
    (copy / "csrc" / "kernels" / "theirs.cpp").write_text("// theirs\n")
    (project / "manifests" / "ops" / "mine.yaml").write_text("manifest: ops/v1\nops:\n  trace: user\n")
    (project / "manifests" / "tileops.yaml").unlink()
    assert acmegen("regen", project).returncode == 0
    (project / "csrc" / "kernels" / "trace.cpp").write_text(BODY)
    (project / "csrc" / "kernels" / "table.bin").write_bytes(b"\0\xff\xfe\r\n")
    shutil.rmtree(project / "tileops_acme")
    (project / "build").mkdir()
    (project / "build" / "left.txt").write_text("an output")
    (project / ".venv").mkdir()
    (project / ".venv" / "pyvenv.cfg").write_text("")
    planned = acmegen("vendor", "export", project, copy, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert not (copy / "csrc" / "kernels" / "trace.cpp").exists()
    result = acmegen("vendor", "export", project, copy)
    assert result.returncode == 0, result.stderr
    assert planned.stdout == result.stdout
    assert (copy / "csrc" / "kernels" / "trace.cpp").read_text() == BODY
    assert (copy / "csrc" / "kernels" / "table.bin").read_bytes() == b"\0\xff\xfe\r\n"
    assert (copy / "csrc" / "kernels" / "theirs.cpp").read_text() == "// theirs\n"
    assert not (copy / "tileops_acme").exists()
    assert not (copy / "build").exists() and not (copy / ".venv").exists()
    assert acmegen("vendor", "verify", copy).stdout.splitlines() == ["added    csrc/kernels/theirs.cpp"]


def test_edits_in_an_export_are_not_overwritten(
    acmegen: Acmegen, new_project: Callable[[str], Path], copy: Path
) -> None:
    append(copy, STUB)
    provenance = json.loads((copy / "PROVENANCE.json").read_text())
    for path in ("gone.txt", "gone_and_edited.txt"):
        (copy / path).write_text("old")
        provenance["files"][path] = hashlib.sha256(b"old").hexdigest()
    del provenance["files"]["README.md"]
    (copy / "README.md").write_text("a file that no export wrote")
    (copy / "PROVENANCE.json").write_text(json.dumps(provenance))
    append(copy, "gone_and_edited.txt")
    before = contents(copy)
    result = acmegen("vendor", "export", new_project("acme"), copy)
    assert result.returncode == 1
    assert contents(copy) == before
    assert [line for line in result.stderr.splitlines() if line.startswith("error")] == [
        f"error[ACME431]: `{copy / 'README.md'}`: a file that no export wrote is in its place",
        f"error[ACME431]: `{copy / STUB}`: it was edited",
        f"error[ACME431]: `{copy / 'gone_and_edited.txt'}`: it was edited, and the export has no such file any more",
    ]
    (copy / "README.md").unlink()
    forced = acmegen("vendor", "export", new_project("acme"), copy, "--force")
    assert forced.returncode == 0, forced.stderr
    assert not (copy / "gone.txt").exists() and not (copy / "gone_and_edited.txt").exists()
    assert acmegen("vendor", "verify", copy).returncode == 0


def test_only_a_project_that_is_up_to_date_is_exported(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    body = (project / STUB).read_text()
    (project / STUB).write_text(f"<<<<<<< yours\n{body}=======\n>>>>>>> acmegen\n")
    assert "error[ACME417]" in acmegen("vendor", "export", project, tmp_path / "export").stderr
    (project / STUB).write_text(body)
    append(project, "csrc/generated/native/Fill.cpp")
    result = acmegen("vendor", "export", project, tmp_path / "export")
    assert result.returncode == 1
    assert "error[ACME430]" in result.stderr and "csrc/generated/native/Fill.cpp" in result.stderr
    assert "`acmegen regen " in result.stderr
    (project / ".acmegen" / "run" / "journal").mkdir(parents=True)
    result = acmegen("vendor", "export", project, tmp_path / "export")
    assert result.returncode == 1
    assert "acmegen doctor" in result.stderr
    assert not (tmp_path / "export").exists()


def test_what_cannot_be_exported_is_refused(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    for dest in (project, project / "export", project.parent):
        result = acmegen("vendor", "export", project, dest)
        assert result.returncode == 2 and "lie in each other" in result.stderr
    live = tmp_path / "live"
    shutil.copytree(project, live)
    for found in ("acmegen.lock", "manifests/backend.yaml"):
        result = acmegen("vendor", "export", project, live)
        assert result.returncode == 2 and f"{live} is a project itself: it has {found}" in result.stderr
        (live / found).unlink()
    assert not (live / "PROVENANCE.json").exists()
    (project / "verify.py").write_text("# mine\n")
    assert "error[ACME432]" in acmegen("vendor", "export", project, tmp_path / "export").stderr
    (project / "verify.py").unlink()
    (project / "csrc" / "kernels" / "more.cpp").symlink_to(tmp_path)
    assert "error[ACME434]" in acmegen("vendor", "export", project, tmp_path / "export").stderr
    (project / "csrc" / "kernels" / "more.cpp").unlink()
    (project / "csrc" / "kernels" / "more.cpp").write_text("// SPDX-License-Identifier: MIT OR Zlib\n")
    result = acmegen("vendor", "export", project, tmp_path / "export")
    assert result.stderr.count("error[ACME433]") == 2 and "LICENSES/MIT.txt" in result.stderr
    assert not (tmp_path / "export").exists()


NAMES = ("--name", "nova_two", "--cpp-namespace", "nv", "--library", "nova_device", "--python-package", "nova_torch")


def test_another_name_leaves_no_trace_of_the_old_one(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    (project / "manifests" / "ops" / "mine.yaml").write_text(
        'manifest: ops/v1\nops:\n  trace: user\ncustom:\n  "twice(Tensor x) -> Tensor": {like: x, user: {}}\n'
    )
    assert acmegen("regen", project).returncode == 0
    (project / "csrc" / "kernels" / "trace.cpp").write_text(BODY.replace("#include <vendor/acme_api.h>\n", ""))
    with (project / "CMakeLists.txt").open("a") as file:
        file.write("target_compile_options(torch_acme PRIVATE -Wextra)\ninstall(FILES x DESTINATION torch_acme/lib)\n")
    export = tmp_path / "export"
    result = acmegen("vendor", "export", project, export, *NAMES)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for path, data in contents(export).items():
        text = re.sub("acmegen|ACMEGEN", "", f"{path}\n{data.decode()}")
        assert not re.search("acme", text, re.IGNORECASE), path
    assert (export / "csrc" / "kernels" / "nv_twice.cpp").is_file()
    body = (export / "csrc" / "kernels" / "trace.cpp").read_text()
    assert body.splitlines()[0] == (
        "// What NovaTwo's trace does, in nova_torch for tileops-nova-two; "
        "see NOVA_TWO_LAUNCH_BLOCKING and libnova_device.so."
    )
    for text in (
        '#include "generated/runtime/NovaTwoStream.h"',
        "namespace nv::kernels {",
        "::nv::getCurrentNovaTwoStream()",
        '"trace on nova_two:"',
        "TORCH_LIBRARY_FRAGMENT(nv, m)",
    ):
        assert text in body
    build = (export / "CMakeLists.txt").read_text()
    assert "target_compile_options(nova_device PRIVATE -Wextra)\ninstall(FILES x DESTINATION nova_torch/lib)\n" in build
    assert "torch.ops.nv.rms_norm(" in (export / "tileops_nova_two" / "tileops_nova_two" / "_builders.py").read_text()
    lock = json.loads((export / "acmegen.lock").read_text())
    for path, entry in lock["files"].items():
        pristine = export / ".acmegen" / "pristine" / f"{path}.txt"
        digest = hashlib.sha256((pristine if pristine.exists() else export / path).read_bytes()).hexdigest()
        assert entry["sha256"] == digest, path
    assert json.loads((export / "PROVENANCE.json").read_text())["names"]["library"] == "nova_device"
    assert acmegen("vendor", "verify", export).returncode == 0


def test_another_name_is_that_of_a_new_project(
    acmegen: Acmegen, new_project: Callable[[str], Path], tmp_path: Path
) -> None:
    """Byte for byte, but for what the manifests of a new project say of their own."""
    result = acmegen("vendor", "export", new_project("acme"), tmp_path / "nova", "--name", "nova")
    assert result.returncode == 0, result.stderr
    nova = contents(new_project("nova"))
    export = contents(tmp_path / "nova")
    ours = {path for path in nova if not path.startswith("manifests/")} - {"acmegen.lock"}
    assert ours <= export.keys()
    assert [path for path in ours if export[path] != nova[path]] == []


def test_names_that_somebody_else_gave_are_left_and_told(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    (project / "csrc" / "kernels" / "more.cpp").write_text(
        "#include <acme/api.h>\nvoid acme_launch(const char* acme);\nvoid f() { acme_launch(nullptr); }\n"
    )
    result = acmegen("vendor", "export", project, tmp_path / "export", "--name", "nova")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "export" / "csrc" / "kernels" / "more.cpp").read_text() == (
        "#include <acme/api.h>\nvoid acme_launch(const char* nova);\nvoid f() { acme_launch(nullptr); }\n"
    )
    places = ", ".join(f"csrc/kernels/more.cpp:{line}" for line in (1, 2, 3))
    assert result.stderr == f"The old name is still in names that are yours or the driver's: {places}\n"


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--name", "my-dev", "is not a device name"),
        ("--name", "cuda", "is taken"),
        ("--cpp-namespace", "std", "is taken"),
        ("--python-package", "tileops_acme", "is taken"),
        ("--library", "torch_cpu", "is taken"),
        ("--library", "a/b", "is not the name of a library"),
    ],
)
def test_b12_invalid_names_are_refused(
    acmegen: Acmegen, new_project: Callable[[str], Path], tmp_path: Path, option: str, name: str, message: str
) -> None:
    result = acmegen("vendor", "export", new_project("acme"), tmp_path / "export", option, name)
    assert result.returncode == 1
    assert message in result.stderr
    assert not (tmp_path / "export").exists()


def test_another_export_keeps_the_names_of_the_one_that_is_there(
    acmegen: Acmegen, new_project: Callable[[str], Path], tmp_path: Path
) -> None:
    dest = tmp_path / "dest"
    assert acmegen("vendor", "export", new_project("acme"), dest, "--name", "nova").returncode == 0
    result = acmegen("vendor", "export", new_project("acme"), dest, "--dry-run")
    assert result.returncode == 0, result.stderr
    assert "The backend `nova`" in result.stdout
    assert not re.search("create|replace|remove", result.stdout), result.stdout
