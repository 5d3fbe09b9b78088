"""The long stress test of the allocators: `python -m tests.runtime_stress --help`."""

from __future__ import annotations

import argparse
import itertools
import re
from pathlib import Path

from tests.runtime_stress.build import FOLDER, KINDS, SANITIZERS, build, generate, run

# Threads and how many steps each does, by sanitizer.
RUNS = {
    "none": ((1, 20_000), (4, 20_000), (12, 10_000)),
    "address": ((1, 10_000), (4, 10_000), (12, 5_000)),
    "thread": ((1, 5_000), (4, 5_000), (12, 1_000)),
}

# What is used at random. Pinned memory is the same with each kind of device memory.
MEMORY = {"caching": ("device", "pinned"), "direct": ("device",)}


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
            seeds = range(1, arguments.seeds + 1)
            for memory, (threads, steps), seed in itertools.product(MEMORY[kind], RUNS[sanitizer], seeds):
                output = run(program, memory, seed, threads, steps, timeout=1800).strip()
                print(f"{kind} {sanitizer:<8} {memory} seed {seed} threads {threads:>2}: {output}", flush=True)
                total += int(re.findall(r"operations (\d+)", output)[0])
            if sanitizer == "none":
                print(f"{kind} {run(program, 'measure').strip()}", flush=True)
    print(f"{total} operations, none of which broke an invariant")


if __name__ == "__main__":
    main()
