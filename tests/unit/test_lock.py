"""`acmegen.lock`: read as it was written, and refused when acmegen did not write it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError, codes
from acmegen.output.lock import LOCK_NAME, Lock, LockedFile, digest, dump_lock, read_lock

LOCK = Lock("0.1.0", "manifests", {}, {}, {}, {"a/b.txt": LockedFile("owned", digest(b"old\n"), "b.txt.jinja")})


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    once = {"a": LockedFile("once", "3", "x", deleted=True), "b": LockedFile("adopted", "3", "x")}
    surface = {"operators": {"aten::add": "add(Tensor self) -> Tensor"}}
    for lock in (LOCK, Lock("0.1.0", "../m\udcff/ü", {"a": "1"}, {"b": "2"}, {"c": "3"}, once, surface)):
        (tmp_path / LOCK_NAME).write_text(dump_lock(lock), encoding="utf-8")
        assert read_lock(tmp_path) == lock


def test_only_deleted_files_say_so() -> None:
    lock = Lock("0.1.0", "m", {}, {}, {}, {"a": LockedFile("once", "3", "x", True), "b": LockedFile("once", "3", "x")})
    files = json.loads(dump_lock(lock))["files"]
    assert files["a"]["deleted"] is True and "deleted" not in files["b"]


@pytest.mark.parametrize(
    "change",
    [
        {"lock": 0},
        {"lock": "1"},
        {"acmegen": 1},
        {"facts": {"torch": 1}},
        {"surface": {"operators": []}},
        {"manifests": None},
        {"manifests": 5},
        {"files": []},
        {"files": {"a": 3}},
        {"files": {"a": {"owner": "mine", "sha256": "3", "template": "x"}}},
        {"files": {"a": {"owner": "once", "sha256": "3", "template": "x", "deleted": 1}}},
        {"files": {"a": {"owner": "owned", "sha256": 3, "template": "x"}}},
        {"files": {"../a": {"owner": "owned", "sha256": "3", "template": "x"}}},
        {"files": {"/etc/a": {"owner": "owned", "sha256": "3", "template": "x"}}},
        {"files": {"a\0": {"owner": "owned", "sha256": "3", "template": "x"}}},
        {"more": 1},
    ],
)
def test_a_lock_that_acmegen_did_not_write_is_refused(tmp_path: Path, change: Mapping[str, object]) -> None:
    (tmp_path / LOCK_NAME).write_text(json.dumps({**json.loads(dump_lock(LOCK)), **change}))
    with pytest.raises(DiagnosticError) as raised:
        read_lock(tmp_path)
    assert raised.value.diagnostics[0].code == codes.LOCK_UNREADABLE
