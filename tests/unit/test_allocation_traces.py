"""The recorded allocations that benchmarks/replay.py feeds to the allocators."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

TRACES = sorted((Path(__file__).parents[2] / "benchmarks" / "data").glob("*.trace.xz"))


def test_there_are_traces_of_a_transformer_and_a_cnn() -> None:
    assert {path.name for path in TRACES} >= {"transformer.trace.xz", "cnn.trace.xz"}


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_everything_is_freed_once_and_after_it_was_allocated(path: Path) -> None:
    assert path.stat().st_size < 300_000
    allocations = 0
    live: set[int] = set()
    for event in map(int, lzma.decompress(path.read_bytes()).split()):
        if event >= 0:
            allocations += 1
            live.add(allocations)
        else:
            live.remove(-event)
    assert allocations > 500
    assert not live
