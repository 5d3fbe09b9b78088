"""The device's side of the plan: names, driver, allocators, and the torch that is generated for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from acmegen.diagnostics import DiagnosticError, codes, format_text
from acmegen.facts.headers import VirtualMethod
from acmegen.manifest.driver_roles import GRAPHS_REQUIRED, REQUIRED
from acmegen.manifest.load import Project, load_project
from acmegen.plan.device import AllocatorPlan, DriverFunction, GraphsPlan
from acmegen.plan.device_lowering import (
    check_torch_version,
    lower_allocator,
    lower_backend,
    lower_driver,
    lower_graphs,
    lower_library,
    lower_names,
    lower_torch,
)
from tests.sample_plan import sample_plan

VENDOR = """
driver:
  headers: [vendor/runtime.h]
  link: [vendorrt]
  status: {type: vn::Status, success: vn::OK, not_ready: vn::BUSY, out_of_memory: vn::OOM, message: vn::text}
  stream: vn::Stream
  event: vn::Event
  memcpy_kind: {type: vn::Kind, host_to_device: vn::H2D, device_to_host: vn::D2H, device_to_device: vn::D2D}
  event_disable_timing: vn::NO_TIMES
  functions:
"""


def project_of(folder: Path, backend: str = "", **files: str) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "backend.yaml").write_text("manifest: backend/v1\nname: nova\n" + backend)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(f"manifest: {name}/v1\n{text}")
    return load_project(folder)


def test_the_simulator(tmp_path: Path) -> None:
    """Lowering gives what the sample plan, written by hand, says."""
    project = project_of(tmp_path)
    sample = sample_plan("nova")
    assert lower_names(project.backend) == sample.names
    assert lower_driver(project.driver, project.simulator) == sample.driver
    assert lower_library(project.library) == sample.library
    assert lower_allocator(project.allocator) == sample.allocator


def test_the_device(tmp_path: Path) -> None:
    backend = lower_backend(
        project_of(
            tmp_path,
            """
description: Fast.
license: MIT
torch: ">=2.12"
devices: {max: 3}
dtypes: [float32, bool]
streams: {pool_size: 4, priorities: [0, -1, -2]}
fallback: {policy: cpu}
autocast: {default: float16, dtypes: [float16]}
""",
        ).backend
    )
    assert (backend.description, backend.license, backend.torch_range) == ("Fast.", "MIT", ">=2.12")
    assert (backend.max_devices, backend.stream_pool_size, backend.stream_priorities) == (3, 4, (0, -1, -2))
    assert (backend.fallback_policy, backend.supported_dtypes) == ("cpu", ("Float", "Bool"))
    assert (backend.autocast_default, backend.autocast_dtypes) == ("at::kHalf", ("float16",))


def test_every_dtype_has_its_enumerator(tmp_path: Path) -> None:
    backend = lower_backend(project_of(tmp_path, "dtypes: [all, complex]\n").backend)
    assert sorted(backend.supported_dtypes) == sorted(sample_plan().backend.supported_dtypes)


def test_names_of_its_own(tmp_path: Path) -> None:
    names = lower_names(project_of(tmp_path, "python_package: nova_torch\ncpp_namespace: nv\n").backend)
    assert (names.package, names.library, names.namespace) == ("nova_torch", "nova_torch", "nv")
    assert (names.device, names.pascal, names.upper) == ("nova", "Nova", "NOVA")
    names = lower_names(project_of(tmp_path, "python_package: nova_torch\ncpp_library: nova_core\n").backend)
    assert (names.package, names.library) == ("nova_torch", "nova_core")


@pytest.mark.parametrize("names", ["cpp_library: vn_rt\n", "python_package: vn_rt\n"])
def test_the_library_is_not_one_of_the_vendors(tmp_path: Path, names: str) -> None:
    functions = "".join(f"    {role}: vn::{role}\n" for role in REQUIRED)
    vendor = VENDOR.replace("[vendorrt]", "[vn_rt]")
    with pytest.raises(DiagnosticError) as caught:
        project_of(tmp_path, names + vendor + functions)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == codes.RESERVED_NAME and "`vn_rt`" in diagnostic.message


def test_a_vendor_s_driver(tmp_path: Path) -> None:
    functions = "".join(f"    {role}: vn::{role}\n" for role in REQUIRED)
    project = project_of(tmp_path, VENDOR + functions)
    driver = lower_driver(project.driver, project.simulator)
    assert (driver.simulator, driver.host_access) == (False, False)
    assert driver.functions.keys() == REQUIRED.keys()
    assert driver.functions["memset_async"] == DriverFunction(
        role="memset_async",
        symbol="vn::memset_async",
        signature="vn::Status(void*, int, size_t, vn::Stream)",
        manifest_key="driver.functions.memset_async",
    )
    assert driver.functions["memcpy_async"].signature == (
        "vn::Status(void*, const void*, size_t, vn::Kind, vn::Stream)"
    )
    assert not driver.has("get_device_name")
    assert lower_library(project.library) is None


def test_host_access_needs_both_functions(tmp_path: Path) -> None:
    functions = "".join(f"    {role}: vn::{role}\n" for role in (*REQUIRED, "host_pointer"))
    one = project_of(tmp_path / "one", VENDOR + functions)
    both = project_of(tmp_path / "both", VENDOR + functions + "    launch_host_function: vn::launch\n")
    assert not lower_driver(one.driver, one.simulator).host_access
    assert lower_driver(both.driver, both.simulator).host_access


GRAPHS = """
  graphs:
    graph: vn::Graph
    executable: vn::Executable
    capture_mode: {type: vn::Mode, mode_global: vn::ALL, mode_thread_local: vn::ONE, mode_relaxed: vn::NONE}
    capture_status: {type: vn::State, active: vn::CAPTURING}
    functions:
"""


def test_graphs(tmp_path: Path) -> None:
    """They need functions of the driver, a torch that has them, and an allocator with private pools."""
    functions = "".join(f"    {role}: vn::{role}\n" for role in REQUIRED)
    graph_functions = "".join(f"      {role}: vn::{role}\n" for role in GRAPHS_REQUIRED)
    project = project_of(tmp_path / "with", VENDOR + functions + GRAPHS + graph_functions)
    driver = lower_driver(project.driver, project.simulator)
    assert driver.functions.keys() == REQUIRED.keys() | GRAPHS_REQUIRED.keys()
    assert driver.functions["stream_get_capture_info"] == DriverFunction(
        role="stream_get_capture_info",
        symbol="vn::stream_get_capture_info",
        signature="vn::Status(vn::Stream, vn::State*, unsigned long long*)",
        manifest_key="driver.graphs.functions.stream_get_capture_info",
    )
    assert not driver.has("graph_debug_print")
    sample = sample_plan()
    torch = replace(sample.torch, graph_methods=frozenset({"replay"}))
    assert lower_graphs(project.driver, sample.allocator, torch) == GraphsPlan(
        graph_type="vn::Graph",
        executable_type="vn::Executable",
        capture_mode_type="vn::Mode",
        capture_mode_global="vn::ALL",
        capture_mode_thread_local="vn::ONE",
        capture_mode_relaxed="vn::NONE",
        capture_status_type="vn::State",
        capture_status_active="vn::CAPTURING",
    )
    without = project_of(tmp_path / "without", VENDOR + functions)
    assert lower_graphs(without.driver, sample.allocator, torch) is None
    assert lower_graphs(project.driver, replace(sample.allocator, device_kind="direct"), torch) is None
    assert lower_graphs(project.driver, sample.allocator, replace(torch, graph_methods=frozenset())) is None


def test_graphs_are_bound_whole_or_not_at_all(tmp_path: Path) -> None:
    functions = "".join(f"    {role}: vn::{role}\n" for role in REQUIRED)
    with pytest.raises(DiagnosticError) as caught:
        project_of(tmp_path, VENDOR + functions + GRAPHS + "      graph_lunch: vn::launch\n")
    # `graph_launch` is there, but misspelt.
    missing, unknown = sorted(caught.value.diagnostics, key=lambda diagnostic: diagnostic.code)
    roles = ", ".join(f"`{role}`" for role in GRAPHS_REQUIRED if role != "graph_launch")
    assert missing.message == f"missing driver functions {roles}"
    assert (unknown.message, unknown.label) == ("unknown driver function `graph_lunch`", "did you mean `graph_launch`?")


def test_allocators(tmp_path: Path) -> None:
    text = "device: {kind: direct, alignment: 2KiB}\nhost: {kind: none}\n"
    allocator = lower_allocator(project_of(tmp_path, allocator=text).allocator)
    assert (allocator.device_kind, allocator.alignment, allocator.host_kind) == ("direct", 2048, "none")


def test_a_caching_allocator(tmp_path: Path) -> None:
    """Each field of the manifest reaches the templates."""
    text = """
device:
  memory_fraction: 0.5
  history_size: 10
  small: {limit: 64KiB, segment: 1MiB}
  large: {limit: 4MiB, segment: 8MiB, round_to: 1MiB}
  roundup_power2_divisions: 8
  max_split_size: 16MiB
  max_non_split_rounding: 3MiB
  garbage_collection_threshold: 0.75
"""
    mib = 1 << 20
    assert lower_allocator(project_of(tmp_path, allocator=text).allocator) == AllocatorPlan(
        device_kind="caching",
        alignment=512,
        host_kind="caching",
        memory_fraction=0.5,
        history_size=10,
        small_limit=64 << 10,
        small_segment_size=mib,
        large_limit=4 * mib,
        large_segment_size=8 * mib,
        large_rounding=mib,
        roundup_power2_divisions=8,
        max_split_size=16 * mib,
        max_non_split_rounding=3 * mib,
        garbage_collection_threshold=0.75,
    )


def test_torch() -> None:
    def method(name: str) -> VirtualMethod:
        return VirtualMethod(name, "C", f"void {name}()", "void", (), False, False, False)

    plan = lower_torch(
        "2.13.0",
        {
            "DeviceGuardImplInterface": (method("record"), method("block")),
            "PrivateUse1HooksInterface": (method("init"),),
            "GeneratorImpl": (method("seed"),),
            "DeviceAllocator": (),
            "HostAllocator": (method("get_stats"),),
            "GraphImplInterface": (method("replay"),),
        },
        frozenset({"active_requests", "active_bytes", "allocations", "allocated_bytes"}),
    )
    assert plan.version == "2.13.0"
    assert plan.guard_methods == {"record", "block"}
    assert plan.hooks_methods == {"init"}
    assert plan.generator_methods == {"seed"}
    assert plan.allocator_methods == frozenset()
    assert plan.host_allocator_methods == {"get_stats"}
    assert plan.graph_methods == {"replay"}
    assert plan.host_statistics["allocations"] == "allocations"


def test_counters_of_host_memory_before_torch_2_10() -> None:
    old = frozenset({"allocation", "segment", "allocated_bytes", "reserved_bytes"})
    plan = lower_torch("2.9.1", defaultdict(tuple), old)
    assert plan.host_statistics == {
        "active_requests": "allocation",
        "active_bytes": "allocated_bytes",
        "allocations": "segment",
        "allocated_bytes": "reserved_bytes",
    }


@pytest.mark.parametrize("version", ["2.9.0", "2.13.0", "2.14.1", "2.14.0.dev20260101"])
def test_a_supported_torch(tmp_path: Path, version: str) -> None:
    check_torch_version(project_of(tmp_path, 'torch: ">=2.9,<2.15"\n'), version)


def test_a_torch_that_is_too_old(tmp_path: Path) -> None:
    project = project_of(tmp_path, 'torch: ">=2.9,<2.15"\n')
    with pytest.raises(DiagnosticError) as caught:
        check_torch_version(project, "2.8.0")
    (diagnostic,) = caught.value.diagnostics
    assert format_text(diagnostic).replace(f"{tmp_path.as_posix()}/", "") == (
        "error[ACME203]: the installed torch 2.8.0 is not in the range `>=2.9,<2.15`\n"
        "  --> backend.yaml:3:8\n"
        "   |\n"
        ' 3 | torch: ">=2.9,<2.15"\n'
        "   |        ^^^^^^^^^^^^^\n"
        "   = help: install a torch of that range, `pip install 'torch>=2.9,<2.15'`, or widen it"
    )


def test_the_default_range_has_a_place_too(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        check_torch_version(project_of(tmp_path), "1.0")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert diagnostic.span.path == tmp_path / "backend.yaml"
