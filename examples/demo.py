"""Train a small transformer on a generated device beside the CPU, then run two TileOPs operators on it.

    python examples/demo.py [--device acme] [--steps 50]

It needs the backend's package and its TileOPs side (`torch_acme` and `tileops_acme`) to be installed. Ends with 1 if a
loss or a result differs from the CPU's by more than it may.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from types import ModuleType

# torch's execution trace announces itself on stderr, unless only errors are wanted.
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

import torch
from character_model import Size, Training, sample
from operator_counts import OperatorCounts, count_operators
from torch.nn import functional as F

SEED = 20
LOSS_TOLERANCE = 1e-3


def main() -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="acme", help="the generated device (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=50, help="training steps (default: %(default)s)")
    arguments = parser.parse_args()
    device: str = arguments.device

    importlib.import_module(f"torch_{device}")
    module: ModuleType = torch.get_device_module(device)
    print(f"torch {torch.__version__}, {module.device_count()} {device} devices: {module.get_device_name(0)}")

    size = Size()
    runs = [Training(place, size, SEED) for place in ("cpu", device)]
    largest = train_side_by_side(runs, module, arguments.steps)
    print(f"The model on {device} goes on: {sample(runs[1].model, size, device, 'Alice was ', 60)!r}")
    print_operators(count_operators(runs[1].step, device, module), device)
    print_memory(module)
    wrong = run_tileops(device)

    if largest > LOSS_TOLERANCE:
        print(f"\nFAILED: a loss differs from the CPU's by {largest:.1e}, more than {LOSS_TOLERANCE}.")
    for name in wrong:
        print(f"\nFAILED: {name} differs from torch on the CPU.")
    return 1 if largest > LOSS_TOLERANCE or wrong else 0


def train_side_by_side(runs: list[Training], module: ModuleType, steps: int) -> float:
    """Train on the CPU and on the device in turns and print the losses. Returns their largest difference."""
    device = runs[1].device
    parameters = sum(parameter.numel() for parameter in runs[0].model.parameters())
    print(f"\nTraining a transformer with {parameters:,} parameters for {steps} steps (AdamW, float32)\n")
    print(f"{'step':>4}  {'loss on cpu':>12}  {'loss on ' + device:>14}  {'difference':>10}")
    seconds = [0.0, 0.0]
    differences = []
    module.reset_fallback_stats()
    for step in range(1, steps + 1):
        losses = []
        for index, run in enumerate(runs):
            begin = time.perf_counter()
            losses.append(run.step())
            seconds[index] += time.perf_counter() - begin
        differences.append(abs(losses[0] - losses[1]))
        print(f"{step:>4}  {losses[0]:>12.6f}  {losses[1]:>14.6f}  {differences[-1]:>10.1e}", flush=True)
    print(f"\nLargest difference {max(differences):.1e}; {seconds[0]:.1f} s on cpu, {seconds[1]:.1f} s on {device}.")
    fell_back = module.fallback_stats()
    print(f"\nCalls that fell back in {steps} steps: {sum(count.count for count in fell_back)}")
    for count in fell_back:
        print(f"  {count.count:>6}  {count.op}  ({count.kind})")
    return max(differences)


def print_operators(counts: OperatorCounts, device: str) -> None:
    """Print a table of what served the operators of one step."""
    kinds = {
        f"served by {device}'s own kernels": counts.native,
        "fell back to torch's CPU kernels": counts.fallback,
        "made by torch out of the above": counts.composite,
    }
    print("\nOperators of one training step, with forward, backward and optimizer:")
    for title, calls in kinds.items():
        print(f"\n  {calls.total()} calls of {len(calls)} operators {title}")
        for name, count in calls.most_common():
            print(f"  {count:>6}  {name}")


def print_memory(module: ModuleType) -> None:
    """Print the allocator's statistics."""
    free, total = module.mem_get_info()
    print(f"\nMemory: {free / 2**20:,.0f} MiB of {total / 2**20:,.0f} MiB are free\n")
    print(module.memory_summary(abbreviated=True))


def run_tileops(device: str) -> list[str]:
    """Run TileOPs' norms on tensors of the device and compare with torch on the CPU. Returns the wrong ones' names."""
    import tileops
    from tileops.norm import LayerNormFwdOp, RMSNormFwdOp

    shape, eps = (256,), 1e-5
    x, weight, bias = (torch.randn(sizes, dtype=torch.float16) for sizes in ((64, *shape), shape, shape))
    cases = [
        (RMSNormFwdOp(shape, eps=eps), (x, weight), F.rms_norm(x, shape, weight, eps)),
        (LayerNormFwdOp(shape, eps=eps), (x, weight, bias), F.layer_norm(x, shape, weight, bias, eps)),
    ]
    print("\nTileOPs")
    wrong = []
    for op, tensors, expected in cases:
        name = type(op).__name__
        found = op(*(tensor.to(device) for tensor in tensors))
        difference = (found.cpu() - expected).abs().max().item()
        print(
            f"  {name:<14}  {tuple(found.shape)} {found.dtype} on {found.device}, target {op.serving_target}, "
            f"largest difference {difference:.1e}"
        )
        equal = torch.allclose(found.cpu(), expected, rtol=2e-3, atol=2e-3)
        if found.device.type != device or op.serving_target != device or not equal:
            wrong.append(name)
    if failures := tileops.load_failures():
        print(f"  backends that could not be loaded: {', '.join(failures)}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
