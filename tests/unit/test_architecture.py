"""The rules of docs/architecture.md that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "acmegen"

# What each part may import. `cli` is in no row, so that nothing imports it.
BOTTOM = frozenset({"cache", "cpp_keywords", "data", "workers"})
MAY_IMPORT: dict[str, frozenset[str]] = {
    **dict.fromkeys((*BOTTOM, "diagnostics", "__init__"), frozenset()),
    "facts": BOTTOM | {"diagnostics"},
    "manifest": BOTTOM | {"diagnostics"},
    "plan": BOTTOM | {"diagnostics", "facts", "manifest"},
    "render": BOTTOM | {"diagnostics", "manifest", "plan"},
    "output": BOTTOM | {"__init__", "diagnostics", "render"},
    "pipeline": BOTTOM | {"__init__", "diagnostics", "facts", "manifest", "output", "plan", "render"},
    "health": BOTTOM | {"__init__", "diagnostics", "facts", "output", "plan", "render"},
    "vendoring": BOTTOM | {"diagnostics", "manifest", "output", "pipeline", "plan", "render"},
    "read_ahead": frozenset({"cache", "facts", "workers"}),
    "cli": BOTTOM | {"__init__", "diagnostics", "health", "manifest", "output", "pipeline", "read_ahead", "vendoring"},
    "__main__": frozenset({"cli"}),
}
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def part(name: str) -> str:
    """The package below `acmegen`, or the module, that the module `name` belongs to."""
    return name.split(".")[1] if "." in name else "__init__"


def module_name(file: str) -> str:
    return ".".join(("acmegen", *file.removesuffix(".py").removesuffix("__init__").strip("/").split("/"))).rstrip(".")


def imports(file: str) -> Iterator[str]:
    """The modules of ours that `file` imports, anywhere in it."""
    for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import"
            # `from acmegen import cache` names a module, `from acmegen.cache import read` something in one.
            within = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name if module_exists(name) else str(node.module) for name in within]
        else:
            continue
        yield from (name for name in found if name.split(".")[0] == "acmegen")


def module_exists(name: str) -> bool:
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize("file", FILES)
def test_arrows_between_packages_go_one_way(file: str) -> None:
    own = part(module_name(file))
    for name in imports(file):
        assert part(name) == own or part(name) in MAY_IMPORT[own], f"{file} imports {name}"


def test_no_modules_import_each_other() -> None:
    graph = {module_name(file): set(imports(file)) - {module_name(file)} for file in FILES}
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("acmegen.diagnostics") < order.index("acmegen.cli.main")


@pytest.mark.parametrize("file", FILES)
def test_modules_are_short_and_say_what_they_are(file: str) -> None:
    text = (PACKAGE / file).read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), file
    assert len(text.splitlines()) <= 500, file


def test_generating_imports_neither_torch_nor_tileops(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from acmegen.pipeline import generate
for run in ("cold", "warm"):
    generate(Path("manifests/acme"), Path("generated/acme"))
    assert not {"torch", "tileops"} & sys.modules.keys(), run
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PACKAGE.parent,
        env={"ACMEGEN_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


# What changes files: methods of paths, and anything of these modules but for a few functions that only look.
PATH_METHODS = {
    *("write_text", "write_bytes", "open", "unlink", "rename", "touch"),
    *("mkdir", "rmdir", "chmod", "symlink_to", "hardlink_to"),
}
FILE_MODULES = {"os", "shutil", "tempfile", "io"}
LOOKS = {"access", "fspath", "getpid", "lstat", "readlink", "scandir", "stat", "strerror", "walk"}


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("output/")])
def test_only_one_module_changes_the_files_of_a_project(file: str) -> None:
    if file in ("output/files.py", "output/project_lock.py"):
        return
    for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            owner, _, name = ast.unparse(node.func).rpartition(".")
            assert owner == "files" or name not in PATH_METHODS, f"{file}:{node.lineno}: {ast.unparse(node.func)}"
            assert owner not in FILE_MODULES or name in LOOKS, f"{file}:{node.lineno}: {ast.unparse(node.func)}"
