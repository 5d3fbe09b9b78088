"""Lowering of the device's side: names, driver, allocators, and the torch that is generated for."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.specifiers import SpecifierSet

from acmegen.diagnostics import Diagnostic, DiagnosticError, codes
from acmegen.facts.headers import VirtualMethod
from acmegen.manifest.allocator import AllocatorManifest
from acmegen.manifest.backend import BackendManifest
from acmegen.manifest.driver import DriverBinding, GraphsBinding, LibraryBinding
from acmegen.manifest.driver_roles import GRAPHS_OPTIONAL, GRAPHS_REQUIRED, HOST_ACCESS, OPTIONAL, REQUIRED
from acmegen.manifest.load import BACKEND, Project
from acmegen.plan.device import (
    AllocatorPlan,
    BackendPlan,
    DriverFunction,
    DriverPlan,
    GraphsPlan,
    LibraryPlan,
    TorchPlan,
)
from acmegen.plan.names import Names, derive_names
from acmegen.plan.scalar_types import SCALAR_TYPES


def check_torch_version(project: Project, version: str) -> None:
    """Check that the backend supports torch `version`; a nightly build counts as the version that it leads up to.

    Raises:
        DiagnosticError: it does not.
    """
    supported = project.backend.torch
    if not SpecifierSet(supported).contains(version, prereleases=True):
        raise DiagnosticError(
            [
                Diagnostic(
                    codes.TORCH_OUT_OF_RANGE,
                    f"the installed torch {version} is not in the range `{supported}`",
                    project.span(BACKEND, "torch"),
                    help=f"install a torch of that range, `pip install 'torch{supported}'`, or widen it",
                )
            ]
        )


def lower_names(backend: BackendManifest) -> Names:
    """The names of everything that is generated."""
    return derive_names(backend.name, backend.python_package, backend.cpp_namespace, backend.cpp_library)


def lower_backend(backend: BackendManifest) -> BackendPlan:
    """The device as a whole."""
    return BackendPlan(
        description=backend.description,
        license=backend.license,
        torch_range=backend.torch,
        max_devices=backend.devices.max,
        stream_pool_size=backend.streams.pool_size,
        stream_priorities=backend.streams.priorities,
        fallback_policy=backend.fallback.policy,
        autocast_default=f"at::k{SCALAR_TYPES[backend.autocast.default]}",
        autocast_dtypes=backend.autocast.dtypes,
        supported_dtypes=tuple(SCALAR_TYPES[dtype] for dtype in backend.dtypes),
    )


def lower_driver(binding: DriverBinding, simulator: bool) -> DriverPlan:
    """The driver's API, with the C++ signature that each bound function must have."""
    types = {
        "status": binding.status.type,
        "stream": binding.stream,
        "event": binding.event,
        "kind": binding.memcpy_kind.type,
    }
    signatures = {**REQUIRED, **OPTIONAL}
    functions = {
        role: DriverFunction(role, symbol, signatures[role].format(**types), f"driver.functions.{role}")
        for role, symbol in binding.functions.bound().items()
    }
    if binding.graphs is not None:
        functions |= _graph_functions(binding.graphs, types)
    return DriverPlan(
        simulator=simulator,
        headers=binding.headers,
        link=binding.link,
        status_type=binding.status.type,
        status_success=binding.status.success,
        status_not_ready=binding.status.not_ready,
        status_out_of_memory=binding.status.out_of_memory,
        status_message=binding.status.message,
        stream_type=binding.stream,
        event_type=binding.event,
        memcpy_kind_type=binding.memcpy_kind.type,
        memcpy_host_to_device=binding.memcpy_kind.host_to_device,
        memcpy_device_to_host=binding.memcpy_kind.device_to_host,
        memcpy_device_to_device=binding.memcpy_kind.device_to_device,
        event_disable_timing=binding.event_disable_timing,
        functions=functions,
        host_access=functions.keys() >= HOST_ACCESS,
    )


def _graph_functions(graphs: GraphsBinding, types: Mapping[str, str]) -> dict[str, DriverFunction]:
    types = {
        **types,
        "graph": graphs.graph,
        "executable": graphs.executable,
        "capture_mode": graphs.capture_mode.type,
        "capture_status": graphs.capture_status.type,
    }
    signatures = {**GRAPHS_REQUIRED, **GRAPHS_OPTIONAL}
    return {
        role: DriverFunction(role, symbol, signatures[role].format(**types), f"driver.graphs.functions.{role}")
        for role, symbol in graphs.functions.bound().items()
    }


def lower_graphs(binding: DriverBinding, allocator: AllocatorPlan, torch: TorchPlan) -> GraphsPlan | None:
    """How graphs are captured; None where the driver or torch knows none, or the allocator has no private pools."""
    graphs = binding.graphs
    if graphs is None or not torch.graph_methods or allocator.device_kind != "caching":
        return None
    return GraphsPlan(
        graph_type=graphs.graph,
        executable_type=graphs.executable,
        capture_mode_type=graphs.capture_mode.type,
        capture_mode_global=graphs.capture_mode.mode_global,
        capture_mode_thread_local=graphs.capture_mode.mode_thread_local,
        capture_mode_relaxed=graphs.capture_mode.mode_relaxed,
        capture_status_type=graphs.capture_status.type,
        capture_status_active=graphs.capture_status.active,
    )


def lower_library(binding: LibraryBinding | None) -> LibraryPlan | None:
    """The maths library; None when the backend has none."""
    if binding is None:
        return None
    return LibraryPlan(binding.headers, binding.link, binding.dtype, binding.dtypes)


def lower_allocator(allocator: AllocatorManifest) -> AllocatorPlan:
    """The allocators."""
    device = allocator.device
    return AllocatorPlan(
        device_kind=device.kind,
        alignment=device.alignment,
        host_kind=allocator.host.kind,
        memory_fraction=device.memory_fraction,
        history_size=device.history_size,
        small_limit=device.small.limit,
        small_segment_size=device.small.segment,
        large_limit=device.large.limit,
        large_segment_size=device.large.segment,
        large_rounding=device.large.round_to,
        roundup_power2_divisions=device.roundup_power2_divisions,
        max_split_size=device.max_split_size,
        max_non_split_rounding=device.max_non_split_rounding,
        garbage_collection_threshold=device.garbage_collection_threshold,
    )


# The counters of `at::HostStats` since torch 2.10, and what each was called before.
_HOST_STATISTICS = {
    "active_requests": "allocation",
    "active_bytes": "allocated_bytes",
    "allocations": "segment",
    "allocated_bytes": "reserved_bytes",
}


def lower_torch(
    version: str, methods: Mapping[str, tuple[VirtualMethod, ...]], host_statistics: frozenset[str]
) -> TorchPlan:
    """The torch `version` whose classes have the virtual `methods`, and `at::HostStats` the counters."""

    def names(class_name: str) -> frozenset[str]:
        return frozenset(method.name for method in methods[class_name])

    return TorchPlan(
        version=version,
        guard_methods=names("DeviceGuardImplInterface"),
        hooks_methods=names("PrivateUse1HooksInterface"),
        generator_methods=names("GeneratorImpl"),
        allocator_methods=names("DeviceAllocator"),
        host_allocator_methods=names("HostAllocator"),
        graph_methods=names("GraphImplInterface"),
        host_statistics={
            new: new if host_statistics >= _HOST_STATISTICS.keys() else old for new, old in _HOST_STATISTICS.items()
        },
    )
