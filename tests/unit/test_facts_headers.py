"""Virtual methods, in small headers and in those of the installed torch, where the compiler is the judge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from acmegen.facts.headers import CLASSES, NAMESPACES, VirtualMethod, methods_digest, virtual_methods
from acmegen.facts.torch_install import TorchInstall, find_torch
from tests.unit.cpp import compile_errors

BASE = """
namespace c10 { struct Allocator; }
C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused-parameter")
namespace c10 {
struct C10_API Allocator {
  Allocator() = default;
  Allocator& operator=(const Allocator&) = delete;
  virtual ~Allocator() = default;
  // virtual void commented_out() = 0;
  virtual DataPtr allocate(size_t n) = 0;
  virtual const std::pair<size_t, int>& sizes(
      [[maybe_unused]] Device device /* of the block */, int priority = -1) const {
    TORCH_CHECK(false, "virtual in a string")
  }
  void plain() const;
  static int counter();
  int field;
  virtual void* raw(void** /*unused*/) const noexcept;
};
} // namespace c10
C10_DIAGNOSTIC_POP()
"""
DERIVED = """
namespace c10 {
class TORCH_API DeviceAllocator : public c10::Allocator {
 public:
  DataPtr allocate(size_t bytes) override;
  void* raw(void** p) const noexcept final { return nullptr; }
  void other();
 protected:
  virtual bool ready() = 0;
};
} // namespace c10
"""


def fake_install(root: Path, headers: Mapping[str, str]) -> TorchInstall:
    for name, text in headers.items():
        path = root / CLASSES[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return TorchInstall("2.99.0", root, root, root)


@pytest.fixture
def fake(tmp_path: Path) -> Mapping[str, tuple[VirtualMethod, ...]]:
    return virtual_methods(fake_install(tmp_path, {"Allocator": BASE, "DeviceAllocator": DERIVED}))


def test_a_class(fake: Mapping[str, tuple[VirtualMethod, ...]]) -> None:
    allocate, sizes, raw = fake["Allocator"]
    assert (allocate.signature, allocate.pure, allocate.const) == ("DataPtr allocate(size_t n)", True, False)
    assert sizes == VirtualMethod(
        name="sizes",
        declared_in="Allocator",
        signature="const std::pair<size_t, int>& sizes(Device device, int priority) const",
        return_type="const std::pair<size_t, int>&",
        parameters=("Device device", "int priority"),
        pure=False,
        const=True,
        noexcept=False,
    )
    assert (raw.signature, raw.noexcept) == ("void* raw(void **) const noexcept", True)


def test_a_derived_class(fake: Mapping[str, tuple[VirtualMethod, ...]]) -> None:
    """Inherited methods come along; an override takes the place of what it overrides."""
    assert [(method.name, method.declared_in, method.pure) for method in fake["DeviceAllocator"]] == [
        ("allocate", "DeviceAllocator", False),
        ("sizes", "Allocator", False),
        ("raw", "DeviceAllocator", False),
        ("ready", "DeviceAllocator", True),
    ]


def test_a_class_that_this_torch_lacks(fake: Mapping[str, tuple[VirtualMethod, ...]]) -> None:
    assert fake["HostAllocator"] == ()
    assert set(fake) == set(CLASSES)


def test_a_header_without_the_class(tmp_path: Path) -> None:
    methods = virtual_methods(fake_install(tmp_path, {"DeviceAllocator": "namespace c10 { struct DeviceAllocator; }"}))
    assert methods["DeviceAllocator"] == ()


def test_the_digest_is_of_signatures(tmp_path: Path) -> None:
    digests = []
    for index, text in enumerate((BASE, BASE.replace("of the block", "of it"), BASE.replace("size_t n", "int n"))):
        digests.append(methods_digest(virtual_methods(fake_install(tmp_path / str(index), {"Allocator": text}))))
    assert digests[0] == digests[1] != digests[2]


def test_the_installed_torch() -> None:
    methods = virtual_methods(find_torch())
    guard = {method.name for method in methods["DeviceGuardImplInterface"]}
    assert {"exchangeDevice", "deviceCount", "elapsedTime", "recordDataPtrOnStream"} <= guard
    assert next(method for method in methods["DeviceGuardImplInterface"] if method.name == "deviceCount").noexcept
    hooks = {method.name: method for method in methods["PrivateUse1HooksInterface"]}
    assert hooks["deviceCount"].declared_in == "AcceleratorHooksInterface"
    assert hooks["resizePrivateUse1Bytes"].declared_in == "PrivateUse1HooksInterface"
    assert not any(method.pure for method in hooks.values())
    assert {"allocate", "emptyCache"} <= {method.name for method in methods["DeviceAllocator"]}
    assert {"record_event", "get_stats"} <= {method.name for method in methods["HostAllocator"]}
    assert {"set_offset", "clone_impl"} <= {method.name for method in methods["GeneratorImpl"]}
    assert {"capture_begin", "replay"} <= {method.name for method in methods["GraphImplInterface"]}


@pytest.mark.parametrize("class_name", CLASSES)
def test_the_compiler_agrees(class_name: str, tmp_path: Path) -> None:
    """A class that overrides every method compiles, and overriding the pure ones alone makes it concrete."""
    install = find_torch()
    methods = virtual_methods(install)[class_name]
    constructor = "using GeneratorImpl::GeneratorImpl;" if class_name == "GeneratorImpl" else ""
    every = "\n".join(f"  {method.signature} override;" for method in methods)
    pure = "\n".join(f"  {method.signature} override;" for method in methods if method.pure)
    source = tmp_path / "methods.cpp"
    source.write_text(
        f"""#include <{CLASSES[class_name]}>
#include <type_traits>
namespace {NAMESPACES[class_name]} {{
struct Every final : {class_name} {{ {constructor}
{every}
}};
struct Pure final : {class_name} {{ {constructor}
{pure}
}};
static_assert(!std::is_abstract_v<Pure>);
}}
"""
    )
    assert methods
    assert compile_errors(source, install) == ""
