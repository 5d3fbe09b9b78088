"""Feed recorded allocations to the allocators of generated backends and compare what they cost.

    python benchmarks/replay.py [--devices acme acme_direct]

For each device, in a process of its own, the traces in data/ are replayed on the allocator that its backend was
generated with. Printed are the peak of reserved over the peak of allocated memory, which is what caching and splitting
waste; the calls of the driver's malloc and free; what these would take on a real device; and the time of one event.

The cost model is a constant for each call of the driver, by default 50 µs for a malloc and 50 µs for a free: an
assumption about real devices, and mild, because a free may wait for the device there too. Time on the simulator says
nothing about it. The device is never behind in a replay, which is the best case for an allocator that caches nothing.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass

# A process can use one backend only, and several are installed.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

import torch
from allocation_trace import FOLDER, read_trace
from native import load_native

MIB = 2**20


@dataclass(frozen=True)
class Result:
    """What a replay of one trace came to. Sizes are in bytes."""

    trace: str
    events: int
    peak_allocated: int
    peak_reserved: int
    driver_mallocs: int
    driver_frees: int
    nanoseconds: float

    def cost(self, malloc: float, free: float) -> float:
        """Milliseconds in the driver, if a malloc and a free take so many microseconds."""
        return (self.driver_mallocs * malloc + self.driver_frees * free) / 1e3


def main() -> None:
    """Replay on each device and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--devices", nargs="+", default=["acme"], help="the generated devices (default: acme)")
    parser.add_argument("--malloc", type=float, default=50, help="µs of a driver's malloc (default: %(default)s)")
    parser.add_argument("--free", type=float, default=50, help="µs of a driver's free (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="replay on one device and print the results as JSON")
    arguments = parser.parse_args()
    if arguments.json:
        (device,) = arguments.devices
        print(json.dumps([asdict(result) for result in replay_all(device)]))
        return

    print(f"Cost model: {arguments.malloc:g} µs for a malloc of the driver's, {arguments.free:g} µs for a free\n")
    columns = ("device", "events", "allocated", "reserved", "ratio", "mallocs", "frees", "cost", "per event")
    print(f"{'trace':<18}" + "".join(f"{column:>13}" for column in columns))
    results = {device: replay_in_process(device) for device in arguments.devices}
    for row in zip(*results.values(), strict=True):
        costs = [result.cost(arguments.malloc, arguments.free) for result in row]
        for device, result, cost in zip(results, row, costs, strict=True):
            cells = (
                *(device, f"{result.events:,}"),
                *(f"{result.peak_allocated / MIB:.2f} MiB", f"{result.peak_reserved / MIB:.2f} MiB"),
                f"{result.peak_reserved / result.peak_allocated:.3f}",
                *(f"{result.driver_mallocs:,}", f"{result.driver_frees:,}"),
                *(f"{cost:,.1f} ms", f"{result.nanoseconds:.0f} ns"),
            )
            print(f"{result.trace:<18}" + "".join(f"{cell:>13}" for cell in cells))
        if len(row) > 1:
            print(f"{'':<18}saved by {arguments.devices[0]}: {costs[-1] - costs[0]:,.1f} ms\n")


def replay_in_process(device: str) -> list[Result]:
    """Replay all traces on a device in another process."""
    command = [sys.executable, __file__, "--devices", device, "--json"]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [Result(**result) for result in json.loads(output)]


def replay_all(device: str) -> list[Result]:
    """Replay all traces on a device."""
    importlib.import_module(f"torch_{device}")
    native = load_native(device)
    return [replay(native, path.name.partition(".")[0]) for path in sorted(FOLDER.glob("*.trace.xz"))]


def replay(native: ctypes.CDLL, name: str) -> Result:
    """Replay one trace on the device, beginning with nothing cached."""
    events = read_trace(name)
    torch.accelerator.synchronize()
    torch.accelerator.memory.empty_cache()
    torch.accelerator.memory.reset_peak_memory_stats()
    before = torch.accelerator.memory.memory_stats()
    nanoseconds = native.replay((ctypes.c_int64 * len(events))(*events), ctypes.c_size_t(len(events)))
    after = torch.accelerator.memory.memory_stats()
    return Result(
        trace=name,
        events=len(events),
        peak_allocated=after["allocated_bytes.all.peak"] - before["allocated_bytes.all.current"],
        peak_reserved=after["reserved_bytes.all.peak"] - before["reserved_bytes.all.current"],
        driver_mallocs=after["num_device_alloc"] - before["num_device_alloc"],
        driver_frees=after["num_device_free"] - before["num_device_free"],
        nanoseconds=nanoseconds,
    )


if __name__ == "__main__":
    main()
