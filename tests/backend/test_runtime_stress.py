"""Random use of the generated allocators by several threads, on several streams and devices, with little memory.

`make stress` runs the same program for longer, with more sanitizers.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.runtime_stress.build import FOLDER, KINDS, build, generate, run


@pytest.fixture(scope="module", params=KINDS)
def program(request: pytest.FixtureRequest) -> Path:
    folder = FOLDER / request.param
    return build(generate(request.param, folder), "thread", folder / "thread")


def test_single_behaviours(program: Path) -> None:
    assert int(run(program, "cases").split()[1]) >= 4


# Odd seeds record a history.
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("threads", "steps"), [(1, 500), (4, 1000)])
def test_random_use(program: Path, seed: int, threads: int, steps: int) -> None:
    counts = dict(re.findall(r"([a-z][a-z ]*) (\d+)", run(program, seed, threads, steps)))
    assert int(counts["operations"]) == threads * steps
    assert int(counts["compared"]) > threads * steps // 2
    assert min(int(counts[name]) for name in ("allocations", "recorded", "launched")) > 0
    # One thread alone does not always use all memory.
    assert int(counts["out of memory"]) > 0 or threads == 1
