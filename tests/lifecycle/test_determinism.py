"""H7: the same bytes wherever, whenever and by whomever a project is generated, and nothing of that in a file."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from acmegen.output.lock import LOCK_NAME
from acmegen.render.format import formatter_versions
from tests.conftest import REPOSITORY, Acmegen

# Read by Python before all else: folders are listed in another order each time, and the machine has this name.
SITE = """
import os, platform, random, socket
real_scandir, real_listdir = os.scandir, os.listdir
class Shuffled(list):
    def __enter__(self): return self
    def __exit__(self, *error): pass
    def close(self): pass
def scandir(*arguments):
    with real_scandir(*arguments) as entries:
        found = Shuffled(entries)
    random.shuffle(found)
    return found
def listdir(*arguments):
    found = real_listdir(*arguments)
    random.shuffle(found)
    return found
os.scandir, os.listdir = scandir, listdir
name = os.environ["MACHINE"]
platform.node = socket.gethostname = lambda: name
print("shuffled", flush=True)
"""


@dataclass(frozen=True)
class Surroundings:
    """Where a project is generated, and by whom."""

    folder: str
    project: str
    umask: int
    environment: Mapping[str, str]


HERE = Surroundings(
    "here",
    "acme",
    0o022,
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC", "USER": "qalice", "LOGNAME": "qalice", "MACHINE": "qmachine1"},
)
THERE = Surroundings(
    "there ünicode",
    "{folder}/a b/acme",
    0o077,
    {
        "PYTHONHASHSEED": "2",
        "LC_ALL": "C.UTF-8",
        "TZ": "Asia/Kathmandu",
        "USER": "qbob",
        "LOGNAME": "qbob",
        "MACHINE": "qmachine2",
        "ACMEGEN_CACHE_DIR": "/dev/null/no-cache",
    },
)


def generate(folder: Path, surroundings: Surroundings) -> Path:
    """A new project, generated in `surroundings` by a process that finds nothing in its cache."""
    folder.mkdir()
    (folder / "site").mkdir()
    (folder / "site/sitecustomize.py").write_text(SITE)
    project = surroundings.project.format(folder=folder)
    result = subprocess.run(
        [sys.executable, "-m", "acmegen", "new-backend", "acme", "--dir", project],
        cwd=folder,
        env={
            **os.environ,
            "HOME": str(folder),
            "ACMEGEN_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{REPOSITORY}",
            **surroundings.environment,
        },
        umask=surroundings.umask,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("shuffled\n")
    return folder / project


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("determinism") / HERE.folder, HERE)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("determinism") / THERE.folder, THERE)


def contents(project: Path) -> dict[str, bytes]:
    return {
        path.relative_to(project).as_posix(): path.read_bytes() for path in sorted(project.rglob("*")) if path.is_file()
    }


def test_h7_the_same_bytes_everywhere(here: Path, there: Path, new_project: Callable[[str], Path]) -> None:
    expected = contents(new_project("acme"))
    assert len(expected) > 200
    for project in (here, there):
        found = contents(project)
        assert found.keys() == expected.keys()
        assert [path for path in found if found[path] != expected[path]] == []


def test_the_permissions_of_new_files_follow_the_umask(here: Path, there: Path) -> None:
    for project, mode in ((here, 0o644), (there, 0o600)):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in project.rglob("*") if path.is_file()}
        assert {found & 0o666 for found in modes} == {mode}


def test_no_file_says_when_where_by_whom_or_with_what_it_was_made(here: Path, there: Path) -> None:
    traces = [
        *(
            word
            for place in (HERE, THERE)
            for key, word in place.environment.items()
            if key in ("USER", "MACHINE", "TZ")
        ),
        *(str(path) for path in (here.parent, there.parent, REPOSITORY, Path.home(), Path(sys.prefix))),
        *(
            time.strftime(form, moment)
            for form in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%b %d %Y")
            for moment in [time.gmtime()]
        ),
    ]
    versions = list(formatter_versions().values())
    traces = [trace for trace in traces if trace != "UTC" and len(trace) > 3]
    for project in (here, there):
        for path, data in contents(project).items():
            for trace in traces if path == LOCK_NAME else (*traces, *versions):
                assert trace.encode() not in data, f"{path}: {trace}"
            assert not re.search(rb"\b20\d\d-\d\d-\d\d[T ]\d\d:", data), path


@pytest.mark.parametrize("where", ["inside", "relative", "absolute", "through a link"])
def test_h7_a_project_is_clean_from_wherever_one_looks(
    acmegen: Acmegen, here: Path, tmp_path: Path, where: str
) -> None:
    (tmp_path / "link").symlink_to(here)
    arguments, folder = {
        "inside": ((), here),
        "relative": (("../here/acme",), here.parent),
        "absolute": ((here,), Path("/")),
        "through a link": ((tmp_path / "link",), tmp_path),
    }[where]
    before = contents(here)
    for command in ("check", "regen"):
        result = acmegen(command, *arguments, cwd=folder, ACMEGEN_CACHE_DIR=str(here.parent / "cache"))
        assert result.returncode == 0, result.stdout + result.stderr
    assert contents(here) == before


def test_a_cache_that_cannot_be_written_is_only_slow(acmegen: Acmegen, here: Path, there: Path) -> None:
    assert not (there.parent / "cache").exists(), "that run had none"
    assert [path.name for path in (here.parent / "cache").glob("format-*")]


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "safe.directory=*"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_h11_git_that_converts_line_ends_leaves_them(acmegen: Acmegen, project: Path, tmp_path: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "x")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", "-c", "core.eol=crlf", str(project), str(clone))
    expected = {path: data for path, data in contents(project).items() if not path.startswith(".git/")}
    found = {path: data for path, data in contents(clone).items() if not path.startswith(".git/")}
    assert found == expected
    assert not any(b"\r" in data for data in found.values())
    assert acmegen("check", clone).returncode == 0


def test_what_a_run_puts_there_is_ignored_by_git(project: Path) -> None:
    git(project, "init", "-q")
    (project / ".acmegen/run/journal").mkdir(parents=True)
    (project / ".acmegen/run/journal/steps.json").write_text("{}")
    git(project, "check-ignore", "-q", ".acmegen/run/journal/steps.json")
    with pytest.raises(subprocess.CalledProcessError):
        git(project, "check-ignore", "-q", ".acmegen/pristine/README.md.txt")
