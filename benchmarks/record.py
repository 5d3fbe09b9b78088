"""Record what training allocates and frees on a generated device, for replay.py.

    python benchmarks/record.py [--device acme]

The allocator's reports to torch's profiler are recorded, so sizes are those that it rounded to. Each recording begins
with the making of the model and ends when everything is freed again.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

import torch
from allocation_trace import write_trace
from character_model import Size, Training
from torch import nn
from torch.nn import functional as F

DEVICE_TYPE = 20
"""The number of c10::DeviceType::PrivateUse1."""


def main() -> None:
    """Record the transformer of the demo, a larger one, and a convolutional network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="acme", help="the generated device (default: %(default)s)")
    device: str = parser.parse_args().device
    importlib.import_module(f"torch_{device}")
    torch.ones(1, device=device).add(1).item()  # What the first use makes is not recorded.
    runs: dict[str, Callable[[], None]] = {
        "transformer": lambda: train_transformer(device, Size(), 20),
        "transformer_wide": lambda: train_transformer(device, Size(context=64, width=128, layers=4), 10),
        "cnn": lambda: train_cnn(device),
    }
    for name, run in runs.items():
        events = record(run)
        path = write_trace(name, events)
        allocations = sum(event >= 0 for event in events)
        print(f"{path.name}: {allocations} allocations, {path.stat().st_size:,} bytes")


def train_transformer(device: str, size: Size, steps: int) -> None:
    """Train the demo's model."""
    training = Training(device, size, seed=20)
    for _ in range(steps):
        training.step()


def train_cnn(device: str) -> None:
    """Train a small convolutional network on noise, with images of two sizes and a smaller last batch."""
    torch.manual_seed(20)
    model = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        *(nn.Flatten(), nn.Linear(64, 10)),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for batch, side in ((32, 32), (32, 48), (32, 32), (32, 48), (13, 32)) * 4:
        images, labels = torch.randn(batch, 3, side, side), torch.randint(10, (batch,))
        optimizer.zero_grad()
        F.cross_entropy(model(images.to(device)), labels.to(device)).backward()
        optimizer.step()


def record(run: Callable[[], None]) -> list[int]:
    """Run a function and return the trace of what it allocated and freed on the device."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
        gc.collect()
        torch.accelerator.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())["traceEvents"]
    reports = [entry for entry in trace if entry.get("name") == "[memory]"]
    count = 0
    numbers: dict[int, int] = {}
    events = []
    for report in sorted(reports, key=lambda entry: entry["ts"]):
        values = report["args"]
        if values["Device Type"] != DEVICE_TYPE:
            continue
        if values["Bytes"] > 0:
            events.append(values["Bytes"])
            count += 1
            numbers[values["Addr"]] = count
        elif values["Addr"] in numbers:
            events.append(-numbers.pop(values["Addr"]))
    return [*events, *(-number for number in numbers.values())]


if __name__ == "__main__":
    main()
