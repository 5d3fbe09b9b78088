"""What the runtime templates print: the device, its driver, its allocators and the torch they are built for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DriverFunction:
    """One function of the driver's API, bound by name.

    Attributes:
        role: what it does here, the manifest's key (`malloc`).
        symbol: the driver's name for it (`simMalloc`).
        signature: the C++ function type that it must have (`simError_t(void**, size_t)`).
        manifest_key: where it was bound, for the compile error (`driver.functions.malloc`).
    """

    role: str
    symbol: str
    signature: str
    manifest_key: str


@dataclass(frozen=True)
class DriverPlan:
    """The driver that the adapter calls: the simulator's or a vendor's."""

    simulator: bool
    headers: tuple[str, ...]
    link: tuple[str, ...]
    status_type: str
    status_success: str
    status_not_ready: str
    status_out_of_memory: str
    status_message: str
    stream_type: str
    event_type: str
    memcpy_kind_type: str
    memcpy_host_to_device: str
    memcpy_device_to_host: str
    memcpy_device_to_device: str
    event_disable_timing: str
    functions: Mapping[str, DriverFunction]
    host_access: bool

    def has(self, role: str) -> bool:
        """Whether the manifest binds the optional function `role`."""
        return role in self.functions

    def symbol(self, role: str) -> str:
        """The driver's name of the function bound as `role`."""
        return self.functions[role].symbol


@dataclass(frozen=True)
class GraphsPlan:
    """What the driver calls what is captured, and the ways to capture. Its functions are the driver's."""

    graph_type: str
    executable_type: str
    capture_mode_type: str
    capture_mode_global: str
    capture_mode_thread_local: str
    capture_mode_relaxed: str
    capture_status_type: str
    capture_status_active: str


@dataclass(frozen=True)
class LibraryPlan:
    """The vendor's maths library that `library` entries call. Its functions return the driver's status type."""

    headers: tuple[str, ...]
    link: tuple[str, ...]
    dtype_type: str
    dtypes: Mapping[str, str]


@dataclass(frozen=True)
class BackendPlan:
    """Facts about the device as a whole.

    Attributes:
        license: SPDX identifier, printed in each file.
        torch_range: the supported torch versions as a PEP 440 specifier (`>=2.9,<2.15`).
        max_devices: the largest number of devices of one process.
        stream_pool_size: streams per device and priority.
        stream_priorities: the priorities, lowest number is most urgent (as torch has it), default first.
        fallback_policy: `reference`, `cpu`, `error` or `user`.
        autocast_default: torch's C++ name of the default autocast dtype (`at::kBFloat16`).
        autocast_dtypes: torch's Python names of the dtypes that autocast supports.
        supported_dtypes: torch's C++ enumerators that the device claims (`Float`, `BFloat16`).
    """

    description: str
    license: str
    torch_range: str
    max_devices: int
    stream_pool_size: int
    stream_priorities: tuple[int, ...]
    fallback_policy: str
    autocast_default: str
    autocast_dtypes: tuple[str, ...]
    supported_dtypes: tuple[str, ...]


@dataclass(frozen=True)
class AllocatorPlan:
    """The device allocator and the pinned host allocator. All sizes are in bytes.

    Attributes:
        device_kind: `caching` or `direct`; all that follows `history_size` is of the former.
        alignment: of each allocation.
        host_kind: `caching`, `direct` or `none`.
        memory_fraction: the part of a device's memory that the process may use.
        history_size: the most events that the history of one device keeps.
        small_limit: the largest allocation of the small pool, which grows by `small_segment_size`.
        large_limit: from this size on, a segment is as large as what it is for, rounded up to `large_rounding`; below,
            it has `large_segment_size`.
        roundup_power2_divisions: the steps between two powers of two that sizes are rounded up to; 1 is off.
        max_split_size: blocks of this size and more are not split; None: all are.
        max_non_split_rounding: how much larger such a block may be than what it is given out for.
        garbage_collection_threshold: the part of the usable memory above which cached memory goes back; None: never.
    """

    device_kind: str
    alignment: int
    host_kind: str
    memory_fraction: float
    history_size: int
    small_limit: int
    small_segment_size: int
    large_limit: int
    large_segment_size: int
    large_rounding: int
    roundup_power2_divisions: int
    max_split_size: int | None
    max_non_split_rounding: int
    garbage_collection_threshold: float | None


@dataclass(frozen=True)
class TorchPlan:
    """The torch that is generated for, as far as a runtime template must know it.

    Attributes:
        version: `2.13.0`, without the local part.
        guard_methods: virtual methods of `c10::impl::DeviceGuardImplInterface`.
        hooks_methods: those of `at::PrivateUse1HooksInterface` and of the bases it derives from.
        generator_methods: those of `c10::GeneratorImpl`.
        allocator_methods: those of `c10::DeviceAllocator` and its base; empty where torch has none (before 2.9).
        host_allocator_methods: those of `at::HostAllocator`.
        graph_methods: those of `at::GraphImplInterface`; empty where torch has none (before 2.12).
        host_statistics: how this torch calls the counters of `at::HostStats`, by their names since 2.10.
    """

    version: str
    guard_methods: frozenset[str]
    hooks_methods: frozenset[str]
    generator_methods: frozenset[str]
    allocator_methods: frozenset[str]
    host_allocator_methods: frozenset[str]
    graph_methods: frozenset[str]
    host_statistics: Mapping[str, str]
