"""The cache saves time and never decides anything."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from acmegen import cache
from acmegen.facts.cache import cached, digest
from acmegen.facts.operators import load_operators
from acmegen.facts.torch_install import find_torch
from acmegen.read_ahead import read_operators_ahead


class Computed:
    """A document that counts how often it is computed."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> dict[str, object]:
        self.times += 1
        return {"name": "größe", "values": (1, None, True)}


EXPECTED = {"name": "größe", "values": [1, None, True]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACMEGEN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def stored(folder: Path) -> Path:
    (path,) = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "locks")
    return path


def test_a_document_is_computed_once(folder: Path) -> None:
    compute = Computed()
    assert cached("kind", "key", compute) == EXPECTED
    assert cached("kind", "key", compute) == EXPECTED
    assert compute.times == 1
    assert stored(folder).is_file()


def test_two_at_once_compute_once(folder: Path) -> None:
    computed = Computed()
    first_is_at_it, may_end = Event(), Event()

    def compute() -> dict[str, object]:
        first_is_at_it.set()
        assert may_end.wait(60)
        return computed()

    with ThreadPoolExecutor() as threads:
        first = threads.submit(cached, "kind", "key", compute)
        assert first_is_at_it.wait(60)
        second = threads.submit(cached, "kind", "key", computed)
        sleep(0.1)
        assert not second.done()
        may_end.set()
        assert first.result() == second.result() == EXPECTED
    assert computed.times == 1


def test_whoever_takes_too_long_is_not_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_LONGEST_WAIT", 0.1)
    with cache.hold("kind", "key"):
        assert cached("kind", "key", Computed()) == EXPECTED


def test_operators_are_read_ahead_when_a_command_needs_them(folder: Path) -> None:
    for arguments in (["explain", "ACM101"], []):
        read_operators_ahead(arguments)
        assert active_children() == []
    read_operators_ahead(["regen", "--dry-run"])
    for child in active_children():
        child.join(60)
    assert cache.holds("operators")
    operators = stored(folder)
    assert "add.Tensor" in load_operators(find_torch())
    assert stored(folder) == operators, "found under the same key"
    read_operators_ahead(["regen", "--dry-run"])
    assert active_children() == []


def test_keys_and_kinds_are_apart(folder: Path) -> None:
    compute = Computed()
    for kind, key in (("kind", "key"), ("kind", "other"), ("sort", "key")):
        cached(kind, key, compute)
    assert compute.times == 3


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"0\n{}"])
def test_damage_is_repaired(folder: Path, damage: bytes) -> None:
    compute = Computed()
    cached("kind", "key", compute)
    stored(folder).write_bytes(damage)
    assert cached("kind", "key", compute) == EXPECTED
    assert cached("kind", "key", compute) == EXPECTED
    assert compute.times == 2


def test_half_a_file_is_not_read(folder: Path) -> None:
    compute = Computed()
    cached("kind", "key", compute)
    path = stored(folder)
    path.write_bytes(path.read_bytes()[:-3])
    assert cached("kind", "key", compute) == EXPECTED


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    compute = Computed()
    assert cached("kind", "key", compute) == EXPECTED
    assert cached("kind", "key", compute) == EXPECTED
    assert compute.times == 2


def test_a_digest_keeps_parts_apart() -> None:
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"])
    assert digest([b"ab"]) == digest(iter([b"ab"]))
