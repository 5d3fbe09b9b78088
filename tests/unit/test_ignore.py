"""Rules of a `.gitignore`: compared with git itself, and their form in an export."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from acmegen.output.ignore import ALWAYS, ignore_rules
from acmegen.output.verify import is_ignored

PATHS = [
    "a", "b", "a/b", "b/a", "a/b/c", "x/a/b", "x/y/a/b/c", "a.so", "x/a.so", "a.so/b", "build/x",
    "x/build/y", "x/build", "doc/a.txt", "doc/x/a.txt", "foo1.c", "foo10.c", "foox.c", "!a", "#a", "a ",
    "x/b/y", "ab", "x/y/z/b",
]  # fmt: skip
PATTERNS = [
    "a", "/a", "a/", "/a/", "a/b", "/a/b", "*.so", "build/", "/build/", "/*/build/", "doc/*.txt", "doc/**",
    "a/**/b", "**/b", "foo?.c", "foo[0-9].c", "foo[!0-9].c", r"\!a", r"\#a", "a\\ ", "x/**/b", "# a", "", "   ", "a   ",
    "x/*/b",
]  # fmt: skip


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rules_mean_what_they_mean_to_git(checkout: Path, pattern: str) -> None:
    (checkout / ".gitignore").write_text(pattern + "\n")
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    given = "\0".join(PATHS).encode()
    found = subprocess.run(command, cwd=checkout, input=given, capture_output=True).stdout
    expected = set(filter(None, found.decode().split("\0")))
    # git looks at the disk for folders; none of these paths is one, but for what another lies in.
    assert {path for path in PATHS if is_ignored(path, list(ignore_rules([pattern])))} == expected


def test_the_last_rule_decides() -> None:
    rules = list(ignore_rules(["*.so", "!keep.so", "/third/keep.so"]))
    assert [is_ignored(path, rules) for path in ("a.so", "keep.so", "x/keep.so", "third/keep.so")] == [
        True,
        False,
        False,
        True,
    ]


def test_what_builds_leave_is_always_ignored() -> None:
    rules = list(ignore_rules(ALWAYS))
    for path in (
        "build/x",
        "tileops_acme/build/x",
        "a/__pycache__/b.pyc",
        "x.egg-info/PKG-INFO",
        "p/_C.so",
        ".git/HEAD",
    ):
        assert is_ignored(path, rules)
    for path in ("csrc/kernels/build.cpp", "acme/dist.py", "x.so.txt", ".gitignore"):
        assert not is_ignored(path, rules)
