"""A plan of the simulator's backend put together by hand, for tests of single templates."""

from __future__ import annotations

from pathlib import Path

import yaml

from acmegen.manifest.driver_roles import GRAPHS_OPTIONAL, GRAPHS_REQUIRED, HOST_ACCESS, OPTIONAL, REQUIRED
from acmegen.plan.device import (
    AllocatorPlan,
    BackendPlan,
    DriverFunction,
    DriverPlan,
    GraphsPlan,
    LibraryPlan,
    TorchPlan,
)
from acmegen.plan.names import derive_names
from acmegen.plan.ops import OpsPlan
from acmegen.plan.plan import Plan


def sample_plan(device: str = "acme") -> Plan:
    preset = Path(__file__).parent.parent / "manifests" / "presets" / "simulator.yaml"
    binding = yaml.safe_load(preset.read_text())
    driver, library = binding["driver"], binding["library"]
    graphs = driver["graphs"]
    types = {
        "status": driver["status"]["type"],
        "stream": driver["stream"],
        "event": driver["event"],
        "kind": driver["memcpy_kind"]["type"],
        "graph": graphs["graph"],
        "executable": graphs["executable"],
        "capture_mode": graphs["capture_mode"]["type"],
        "capture_status": graphs["capture_status"]["type"],
    }
    signatures = {**REQUIRED, **OPTIONAL, **GRAPHS_REQUIRED, **GRAPHS_OPTIONAL}
    functions = {
        role: DriverFunction(role, symbol, signatures[role].format(**types), f"{section}.functions.{role}")
        for section, bound in (("driver", driver["functions"]), ("driver.graphs", graphs["functions"]))
        for role, symbol in bound.items()
    }
    every = frozenset()
    return Plan(
        names=derive_names(device),
        backend=BackendPlan(
            description="A simulated accelerator.",
            license="Apache-2.0",
            torch_range=">=2.9,<2.15",
            max_devices=16,
            stream_pool_size=32,
            stream_priorities=(0, -1),
            fallback_policy="reference",
            autocast_default="at::kBFloat16",
            autocast_dtypes=("bfloat16", "float16"),
            supported_dtypes=(
                *("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"),
                *("ComplexFloat", "ComplexDouble", "Bool", "BFloat16"),
            ),
        ),
        driver=DriverPlan(
            simulator=True,
            headers=tuple(driver["headers"]),
            link=tuple(driver["link"]),
            status_type=types["status"],
            status_success=driver["status"]["success"],
            status_not_ready=driver["status"]["not_ready"],
            status_out_of_memory=driver["status"]["out_of_memory"],
            status_message=driver["status"]["message"],
            stream_type=types["stream"],
            event_type=types["event"],
            memcpy_kind_type=types["kind"],
            memcpy_host_to_device=driver["memcpy_kind"]["host_to_device"],
            memcpy_device_to_host=driver["memcpy_kind"]["device_to_host"],
            memcpy_device_to_device=driver["memcpy_kind"]["device_to_device"],
            event_disable_timing=driver["event_disable_timing"],
            functions=functions,
            host_access=functions.keys() >= HOST_ACCESS,
        ),
        library=LibraryPlan(tuple(library["headers"]), tuple(library["link"]), library["dtype"], library["dtypes"]),
        graphs=GraphsPlan(
            graph_type=types["graph"],
            executable_type=types["executable"],
            capture_mode_type=types["capture_mode"],
            capture_mode_global=graphs["capture_mode"]["mode_global"],
            capture_mode_thread_local=graphs["capture_mode"]["mode_thread_local"],
            capture_mode_relaxed=graphs["capture_mode"]["mode_relaxed"],
            capture_status_type=types["capture_status"],
            capture_status_active=graphs["capture_status"]["active"],
        ),
        allocator=AllocatorPlan(
            device_kind="caching",
            alignment=512,
            host_kind="caching",
            memory_fraction=1.0,
            history_size=1_000_000,
            small_limit=1 << 20,
            small_segment_size=2 << 20,
            large_limit=10 << 20,
            large_segment_size=20 << 20,
            large_rounding=2 << 20,
            roundup_power2_divisions=1,
            max_split_size=None,
            max_non_split_rounding=20 << 20,
            garbage_collection_threshold=None,
        ),
        torch=TorchPlan("2.13.0", every, every, every, every, every, every, {}),
        ops=OpsPlan(),
        tileops=None,
    )
