"""Unified diffs: exact to the byte, whatever a file holds."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from acmegen.output.compare import Action, ActionKind
from acmegen.output.diff import diff_lines, text_diff

CONTENTS = {
    "text": b"1\n2\n3\n",
    "no line": b"",
    "an empty line": b"\n",
    "no last line end": b"1\n2",
    "CRLF": b"1\r\n2\r\n3\r\n",
    "carriage returns and form feeds": b"1\r2\x0c3\x1c4\n5\xe2\x80\xa86\n",
    "not UTF-8": b"1\n\xff\xfe\n3\n",
    "non-ASCII": "grün 漢\n".encode(),
    "like a diff": b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
}


def diff(old: bytes | None, new: bytes | None, path: str = "a/x") -> bytes:
    return b"".join(line.encode(errors="surrogateescape") + b"\n" for line in text_diff(path, old, new))


@pytest.mark.parametrize("new", CONTENTS)
@pytest.mark.parametrize("old", CONTENTS)
def test_git_makes_the_new_contents_from_the_old_ones(tmp_path: Path, old: str, new: str) -> None:
    if old == new:
        assert diff(CONTENTS[old], CONTENTS[new]) == b""
        return
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(CONTENTS[old])
    patch = diff(CONTENTS[old], CONTENTS[new])
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=patch, cwd=tmp_path, check=True)
    assert (tmp_path / "a" / "x").read_bytes() == CONTENTS[new]


def test_files_that_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "gone").write_bytes(b"1\n")
    patch = diff(b"1\n", None, "gone") + diff(None, b"2\n", "new/file")
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True)
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["new", "new/file"]


def test_what_is_no_text_is_said_to_differ() -> None:
    assert diff(b"\0\1", b"1\n") == b"Binary files a/a/x and b/a/x differ\n"


def test_what_an_action_changes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1\n")
    replaced = ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-1", "+2"]
    for kind, text, lines in (
        (ActionKind.REPLACE, "2\n", replaced),
        (ActionKind.MERGE, "2\n", replaced),
        (ActionKind.REMOVE, None, ["--- a/x", "+++ /dev/null", "@@ -1 +0,0 @@", "-1"]),
        (ActionKind.KEEP, None, []),
        (ActionKind.REFUSE, None, []),
    ):
        assert list(diff_lines(tmp_path, Action(kind, "x", text))) == lines, kind


@pytest.mark.parametrize("around", [0, 2, 10])
@pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "not ended"])
def test_a_very_long_file_takes_no_long_time(tmp_path: Path, around: int, end: bytes) -> None:
    same = "same\n" * around
    old = (same + "".join(f"line {index}\n" for index in range(20_000)) + same).encode().rstrip(b"\n") + end
    new = (same + "".join(f"line {index + index % 3}\n" for index in range(20_001)) + same).encode()
    start = time.process_time()
    patch = diff(old, new, "x")
    assert time.process_time() - start < 5
    (tmp_path / "x").write_bytes(old)
    subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, check=True)
    assert (tmp_path / "x").read_bytes() == new


def test_what_is_common_around_a_long_difference_is_context() -> None:
    old, new = b"1\n2\n3\n4\n" + b"x\n" * 5000 + b"5\n", b"1\n2\n3\n4\n" + b"y\n" * 5000 + b"5\n"
    lines = list(text_diff("x", old, new))
    assert lines[2:7] == ["@@ -2,5004 +2,5004 @@", " 2", " 3", " 4", "-x"]
    assert lines[-2:] == ["+y", " 5"]
