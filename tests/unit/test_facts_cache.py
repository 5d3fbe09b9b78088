"""The cache saves time and never decides anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from acmegen.facts.cache import cached, digest


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
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    return path


def test_a_document_is_computed_once(folder: Path) -> None:
    compute = Computed()
    assert cached("kind", "key", compute) == EXPECTED
    assert cached("kind", "key", compute) == EXPECTED
    assert compute.times == 1
    assert stored(folder).is_file()


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
