"""What the runtime of a generated backend costs, next to what a peer costs in the same run.

    python benchmarks/runtime.py [--device acme] [--rounds 15]

It needs an environment in which the backend is installed, editably, and a C++ compiler: loops of nanoseconds are in
native.cpp. Times are the calling thread's own, so that the simulator's threads, which may share its processor, don't
count; what is enqueued is waited for outside of the measured time. Rows that say "waits" show the time that passes.
Subject and peer take turns, and the best round of each counts, since what other processes do only adds time. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

import torch
from character_model import Size, Training
from native import load_native

Measurement = Callable[[], float]
"""Measures one round and returns nanoseconds for one operation."""


@dataclass(frozen=True)
class Row:
    """One comparison."""

    title: str
    peer: str
    measure: Measurement
    measure_peer: Measurement


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="acme", help="the generated device (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each measurement (default: %(default)s)")
    arguments = parser.parse_args()
    importlib.import_module(f"torch_{arguments.device}")
    torch.set_num_threads(1)

    native = load_native(arguments.device)
    print(f"torch {torch.__version__}, {os.cpu_count()} processors, device {arguments.device}\n")
    print(f"{'':<50}{'time':>11}{'peer':>11}{'ratio':>8}   peer")
    for row in [*native_rows(native), *python_rows(arguments.device), model_row(arguments.device)]:
        subject, peer = best_of_turns(row, arguments.rounds)
        ratio = f"{subject / peer:.2f}"
        print(f"{row.title:<50}{format_time(subject):>11}{format_time(peer):>11}{ratio:>8}   {row.peer}", flush=True)


def best_of_turns(row: Row, rounds: int) -> tuple[float, float]:
    """Measure a row's subject and peer in turns and return the best time of each, in nanoseconds."""
    times = [(row.measure(), row.measure_peer()) for _ in range(rounds + 1)][1:]
    return min(subject for subject, _ in times), min(peer for _, peer in times)


def format_time(nanoseconds: float) -> str:
    """A time with a unit that suits it."""
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.2f} {unit}"
    return f"{nanoseconds:.0f} ns"


def native_rows(native: ctypes.CDLL) -> list[Row]:
    """What is measured without Python."""

    def allocation(accelerator: bool, size: int) -> Measurement:
        return lambda: native.allocate_and_free(accelerator, ctypes.c_size_t(size), 2000)

    rows = []
    for size, text in ((4096, "4 KiB"), (4 << 20, "4 MiB")):
        title = f"allocate and free {text}"
        malloc = lambda size=size: native.malloc_and_free(ctypes.c_size_t(size), 2000)  # noqa: E731
        rows.append(Row(title, "malloc and free", allocation(True, size), malloc))
        rows.append(Row(title, "torch's CPU allocator", allocation(True, size), allocation(False, size)))
    return [
        *rows,
        Row("at::empty({1024})", "on the CPU", lambda: native.empty(True, 500), lambda: native.empty(False, 500)),
        Row("at::add, 16 elements", "on the CPU", lambda: native.add(True, 200), lambda: native.add(False, 200)),
        Row(
            "launch of an empty kernel",
            "a function handed to a thread",
            lambda: native.launch(1000),
            lambda: native.hand_over(1000),
        ),
        Row(
            "launch and synchronize of an empty kernel, waits",
            "the same, and waiting for it",
            lambda: native.launch_and_synchronize(200),
            lambda: native.hand_over_and_wait(200),
        ),
        Row(
            "record of an event",
            "launch of an empty kernel",
            lambda: native.record_event(1000),
            lambda: native.launch(1000),
        ),
    ]


def python_rows(device: str) -> list[Row]:
    """What a user's Python code sees."""

    def measurement(code: str, place: str, timer: Callable[[], float]) -> Measurement:
        one, sixteen = (torch.ones(size, device=place) for size in (1, 16))
        names = {"torch": torch, "device": torch.device(place), "one": one, "sixteen": sixteen}
        statement = timeit.Timer(code, globals=names, timer=timer)
        number = 200

        def measure() -> float:
            seconds = statement.timeit(number)
            torch.accelerator.synchronize()
            return seconds / number * 1e9

        return measure

    statements = {
        "torch.empty(1024)": "torch.empty(1024, device=device)",
        "torch.add, 16 elements": "torch.add(sixteen, sixteen)",
        "tensor.add_, 16 elements": "sixteen.add_(sixteen)",
        "tensor.abs(), 16 elements": "sixteen.abs()",
    }
    rows = [
        Row(title, "on the CPU", *(measurement(code, place, time.thread_time) for place in (device, "cpu")))
        for title, code in statements.items()
    ]
    item = (measurement("one.item()", place, time.perf_counter) for place in (device, "cpu"))
    return [*rows, Row("tensor.item(), waits", "on the CPU", *item)]


def model_row(device: str) -> Row:
    """One step of the demo's training: forward, backward, AdamW, and reading the loss."""

    def step_on(place: str) -> Measurement:
        training = Training(place, Size(), seed=20)
        return lambda: timeit.timeit(training.step, number=1) * 1e9

    return Row("training step of the demo, waits", "on the CPU", step_on(device), step_on("cpu"))


if __name__ == "__main__":
    main()
