"""A project under other names, put together by hand: which file comes from where, and what the lock says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError
from acmegen.output.lock import Lock, LockedFile, digest
from acmegen.output.pristine import pristine_path
from acmegen.output.vendor import project_files
from acmegen.plan.names import derive_names
from acmegen.plan.renaming import NewNames, rename
from acmegen.render.outputs import Owner
from acmegen.render.renamed import RenamedProject, renamed_project
from acmegen.render.tree import GeneratedFile, Tree
from acmegen.vendoring import renamed_files, renamed_lock


def tree(texts: dict[str, str]) -> Tree:
    return {
        path: GeneratedFile(text, Owner.ONCE if path.startswith("mine") else Owner.OWNED, f"{path}.jinja", "")
        for path, text in texts.items()
    }


# A stable hash of names puts what is renamed into another file.
OLD = {"Kernels_0.cpp": "acme_f", "AcmeX.h": "AcmeX", "mine.cpp": "// acme\nf(AcmeX)\n", "mine_too.cpp": "AcmeX\n"}
NEW = {"Kernels_1.cpp": "nova_f", "NovaX.h": "NovaX", "mine.cpp": "// nova\nf(NovaX)\n", "mine_too.cpp": "NovaX\n"}
ADOPTED = "AcmeX.h"


@pytest.fixture
def files() -> dict[str, bytes]:
    texts = OLD | {"mine.cpp": "// acme\nacme_f(AcmeX)\n", ADOPTED: "AcmeX edited", "extra/acme.txt": "AcmeX"}
    texts |= {pristine_path(path): OLD[path] for path in ("mine.cpp", ADOPTED)}
    del texts["mine_too.cpp"]
    return {path: text.encode() for path, text in texts.items()}


@pytest.fixture
def lock() -> Lock:
    def entry(owner: str, path: str, deleted: bool = False) -> LockedFile:
        return LockedFile(owner, digest(OLD[path].encode()), f"{path}.jinja", deleted)

    entries = {"Kernels_0.cpp": entry("owned", "Kernels_0.cpp"), ADOPTED: entry("adopted", ADOPTED)}
    entries |= {"mine.cpp": entry("once", "mine.cpp"), "mine_too.cpp": entry("once", "mine_too.cpp", deleted=True)}
    entries |= {
        pristine_path(path): LockedFile("owned", digest(OLD[path].encode()), "pristine")
        for path in ("mine.cpp", ADOPTED)
    }
    return Lock("0", "manifests", {"ops/acme.yaml": "0"}, {}, {}, entries)


@pytest.fixture
def renamed(files: dict[str, bytes]) -> RenamedProject:
    return renamed_project(rename(derive_names("acme"), NewNames("nova")), tree(OLD), tree(NEW), files)


def test_files_under_new_names(renamed: RenamedProject, lock: Lock, files: dict[str, bytes]) -> None:
    result = renamed_files(renamed, lock, files)
    assert {path: data.decode() for path, data in result.items()} == {
        "Kernels_1.cpp": "nova_f",
        "NovaX.h": "NovaX edited",
        "mine.cpp": "// nova\nnova_f(NovaX)\n",
        "extra/nova.txt": "NovaX",
        pristine_path("mine.cpp"): NEW["mine.cpp"],
        pristine_path("NovaX.h"): "NovaX",
    }
    described = renamed_lock(renamed, lock, result)
    assert described.sources == {"ops/nova.yaml": "0"}
    assert {path: (entry.owner, entry.deleted) for path, entry in described.files.items()} == {
        "Kernels_1.cpp": ("owned", False),
        "NovaX.h": ("adopted", False),
        "mine.cpp": ("once", False),
        "mine_too.cpp": ("once", True),
        pristine_path("mine.cpp"): ("owned", False),
        pristine_path("NovaX.h"): ("owned", False),
    }
    for path in ("mine.cpp", "NovaX.h", "Kernels_1.cpp", "mine_too.cpp"):
        assert described.files[path].sha256 == digest(NEW[path].encode())


def test_two_files_of_one_new_name_are_refused(renamed: RenamedProject, lock: Lock, files: dict[str, bytes]) -> None:
    with pytest.raises(DiagnosticError):
        renamed_files(renamed, lock, files | {"extra/nova.txt": b"mine"})


def test_what_is_no_text_keeps_its_bytes(renamed: RenamedProject, lock: Lock, files: dict[str, bytes]) -> None:
    binary = {"a.bin": b"acme\0acme", "b.bin": b"acme\xff"}
    result = renamed_files(renamed, lock, files | binary)
    assert binary.items() <= result.items()


def test_only_files_that_version_control_would_have_are_vendored(lock: Lock, tmp_path: Path) -> None:
    texts = [
        "src/a.cpp",
        "manifests/backend.yaml",
        "build/x",
        "venv/pyvenv.cfg",
        "venv/x.py",
        ".idea/x",
        "a.log",
        "src/.x",
    ]
    for path in [*texts, *(path for path, entry in lock.files.items() if not entry.deleted)]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / ".gitignore").write_text("*.log\n")
    found = project_files(tmp_path, lock, tmp_path / "manifests")
    assert found.keys() - lock.files.keys() == {"src/a.cpp"}
