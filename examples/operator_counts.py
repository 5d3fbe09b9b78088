"""Which operators ran on a device while some code ran, and what served each call.

torch's execution trace lists every call that goes through its dispatcher, those within composite operators too, with
the devices of its tensors. Calls with a tensor on the device are counted here. What the backend's fallback counted
meanwhile is taken off, and what remains was served by the backend's own kernel if it has registered one for that
operator; otherwise torch made the operator out of others, which are in the trace themselves.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.profiler import ExecutionTraceObserver


@dataclass(frozen=True)
class OperatorCounts:
    """Calls by operator, `aten::add.Tensor`, and by what served them."""

    native: Counter[str]
    fallback: Counter[str]
    composite: Counter[str]


def count_operators(run: Callable[[], object], device: str, module: ModuleType) -> OperatorCounts:
    """Run `run` and count the calls of operators on `device`.

    Args:
        run: what to count.
        device: the device type.
        module: the backend's device module, which counts the fallbacks. Its counts are reset.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        observer = ExecutionTraceObserver().register_callback(str(path))
        module.synchronize()
        module.reset_fallback_stats()
        observer.start()
        try:
            run()
        finally:
            observer.stop()
            observer.unregister_callback()
        nodes = json.loads(path.read_text())["nodes"]
    called = Counter(name for node in nodes if (name := _operator(node)) and _has_tensor_on(node, device))
    fallback = Counter({_with_overload(count.op): count.count for count in module.fallback_stats()})
    native, composite = Counter[str](), Counter[str]()
    for name, count in called.items():
        rest = count - fallback[name]
        if rest > 0:
            (native if _has_kernel(name) else composite)[name] += rest
    return OperatorCounts(native, +fallback, composite)


def _operator(node: dict[str, Any]) -> str | None:
    """The operator that a node of the trace calls, or None if it is another kind of node."""
    for attribute in node["attrs"]:
        if attribute["name"] == "op_schema" and attribute["value"]:
            return _with_overload(attribute["value"].partition("(")[0])
    return None


def _has_tensor_on(node: dict[str, Any], device: str) -> bool:
    """Whether a tensor among the arguments or results is on the device: its last field says where it is."""

    def search(value: Any) -> bool:
        if not isinstance(value, list):
            return False
        is_tensor = len(value) == 6 and isinstance(value[-1], str)
        return value[-1].startswith(device) if is_tensor else any(map(search, value))

    return search(node["inputs"]["values"]) or search(node["outputs"]["values"])


def _with_overload(name: str) -> str:
    return name.removesuffix(".default")


def _has_kernel(name: str) -> bool:
    """Whether the backend has registered a kernel of its own for an operator."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "PrivateUse1")
