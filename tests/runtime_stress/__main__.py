"""The long stress test of the allocators: `python -m tests.runtime_stress --help`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from tests.runtime_stress.build import FOLDER, KINDS, SANITIZERS, build, generate, run

# Threads and how many steps each does, by sanitizer.
RUNS = {
    "none": ((1, 20_000), (4, 20_000), (12, 10_000)),
    "address": ((1, 10_000), (4, 10_000), (12, 5_000)),
    "thread": ((1, 5_000), (4, 5_000), (12, 1_000)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, action="append", help="of allocator; default: all")
    parser.add_argument("--sanitizer", choices=SANITIZERS, action="append", help="default: all")
    parser.add_argument("--seeds", type=int, default=4, help="how many seeds each is run with (default: 4)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="for what is built")
    arguments = parser.parse_args()
    total = 0
    for kind in arguments.kind or KINDS:
        project = generate(kind, arguments.folder / kind)
        for sanitizer in arguments.sanitizer or SANITIZERS:
            program = build(project, sanitizer, arguments.folder / kind / sanitizer)
            print(f"{kind} {sanitizer:<8} {run(program, 'cases').strip()}", flush=True)
            for threads, steps in RUNS[sanitizer]:
                for seed in range(1, arguments.seeds + 1):
                    output = run(program, seed, threads, steps, timeout=1800).strip()
                    print(f"{kind} {sanitizer:<8} seed {seed} threads {threads:>2}: {output}", flush=True)
                    total += int(re.findall(r"operations (\d+)", output)[0])
            if sanitizer == "none":
                print(f"{kind} {run(program, 'measure').strip()}", flush=True)
    print(f"{total} operations, none of which broke an invariant")


if __name__ == "__main__":
    main()
