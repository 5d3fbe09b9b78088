"""Random use of the generated allocators by several threads, on several streams and devices, with little memory.

`make stress` runs the same program for longer, with more sanitizers.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.runtime_stress.build import FOLDER, KINDS, build, generate, run


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(kind: str) -> Path:
    folder = FOLDER / kind
    return build(generate(kind, folder), "thread", folder / "thread")


def counts_of(output: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"([a-z][a-z ]*) (\d+)", output)}


def test_single_behaviours(program: Path) -> None:
    assert int(run(program, "cases").split()[1]) >= 4


# Odd seeds record a history; seed 1 has settings, too, and seed 2 has not.
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("threads", "steps"), [(1, 500), (4, 1000)])
def test_random_use(kind: str, program: Path, seed: int, threads: int, steps: int) -> None:
    counts = counts_of(run(program, "device", seed, threads, steps))
    assert counts["operations"] == threads * steps
    assert counts["compared"] > threads * steps // 2
    assert min(counts[name] for name in ("allocations", "recorded", "launched")) > 0
    # One thread alone does not always use all memory.
    assert min(counts["out of memory"], counts["injected"]) > 0 or threads == 1
    # A direct allocator has no private pools.
    assert (counts["redirected"] > 0) == (kind == "caching") or threads == 1


def test_random_use_of_pinned_memory(program: Path) -> None:
    threads, steps = 4, 1000
    counts = counts_of(run(program, "pinned", 1, threads, steps))
    assert counts["operations"] == threads * steps
    assert counts["compared"] > threads * steps // 2
    assert counts["recorded"] > 0
    # Some of it is given out again.
    assert 0 < counts["of the driver"] < counts["allocations"]
