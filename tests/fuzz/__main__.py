"""`python -m tests.fuzz --count 20000 --seed 1`: many cases, on all cores; the exit code is 1 if any fails."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fuzz.harness import Failure, Harness

_BATCH = 100


def run_batch(seed: str, indices: range) -> tuple[list[tuple[int, str]], Counter[str], Counter[str], tuple[float, int]]:
    """Run the cases `indices`: the failures, how the others ended, the codes, and the slowest."""
    harness = Harness(seed)
    failures = []
    for index in indices:
        try:
            harness.run(index)
        except Failure as failure:
            failures.append((index, str(failure)))
    return failures, harness.outcomes, harness.codes, harness.slowest


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="how many cases")
    parser.add_argument("--seed", default="1", help="of all of them")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how many processes")
    parser.add_argument("--show", type=int, metavar="INDEX", help="write the manifests of one case to --to, and run it")
    parser.add_argument("--to", type=Path, default=Path("fuzz-case"), help="where --show writes [%(default)s]")
    options = parser.parse_args()
    if options.show is not None:
        show(options.seed, options.show, options.to)
        return
    start = time.monotonic()
    failed, outcomes, codes = 0, Counter[str](), Counter[str]()
    slowest = (0.0, -1)
    batches = [range(first, min(first + _BATCH, options.count)) for first in range(0, options.count, _BATCH)]
    with ProcessPoolExecutor(options.jobs) as pool:
        results = pool.map(run_batch, [options.seed] * len(batches), batches)
        for batch, (failures, some, found, slow) in zip(batches, results, strict=True):
            for index, message in failures:
                failed += 1
                print(
                    f"case {index} (python -m tests.fuzz --seed {options.seed} --show {index}):\n{message}\n",
                    flush=True,
                )
            outcomes += some
            codes += found
            slowest = max(slowest, slow)
            if batch.stop % 1000 == 0:
                print(f"{batch.stop} of {options.count}", file=sys.stderr, flush=True)
    print(f"{options.count} cases in {time.monotonic() - start:.0f} s: {dict(outcomes)}, {failed} failed")
    print(f"slowest: {slowest[0]:.2f} s of CPU, case {slowest[1]}; {len(codes)} codes: {dict(codes.most_common())}")
    sys.exit(1 if failed else 0)


def show(seed: str, index: int, folder: Path) -> None:
    """Write the manifests of one case into `folder`, and run it."""
    harness = Harness(seed)
    for path, data in harness.files(index).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    harness.run(index)
    print(f"case {index} is fine: {dict(harness.outcomes)}")


if __name__ == "__main__":
    main()
