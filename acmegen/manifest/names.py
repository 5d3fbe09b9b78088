"""Which names a backend may have."""

from __future__ import annotations

import keyword
import re
import sys
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from acmegen.cpp_keywords import CPP_KEYWORDS
from acmegen.diagnostics import codes, quote
from acmegen.manifest.model import refuse

_DEVICE = re.compile(r"[a-z](_?[a-z])*")
_IDENTIFIER = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*")
_CHOOSE = "choose another name"
_MAX_LENGTH = 64
_DEVICE_HELP = "use lower-case letters and single underscores, as in `my_device`"

# Not in the data files: namespaces and packages that the generated code uses itself.
_CPP_NAMESPACES = frozenset(
    {"aten", "at", "c", "c10", "caffe", "caffe2", "fmt", "gnu", "pybind", "std", "torch", "torchgen"}
)
# Namespaces of torch's own operators, and attributes of `torch.ops`.
_OP_NAMESPACES = frozenset(
    """
    aten c10d c10d_functional debug_mode_ops debugprims export flex_lib fsdp higher_order import_module inductor
    inductor_prims load_library loaded_libraries mkl mkldnn mkldnn_prepacked name onednn onnx onnx_symbolic prim prims
    profiler quantization quantized rngprims sparse static_runtime streams symm_mem
    """.split()  # noqa: SIM905
)
_PYTHON_PACKAGES = frozenset({"acmegen", "numpy", "pytest", "tileops", "torch", "torchgen", "triton"})
# The other folders of a generated project, and what its build leaves there.
_FOLDERS = frozenset({"build", "csrc", "dist", "manifests", "tests", "third_party"})
# Targets of the generated CMakeLists.txt, of torch and of CMake itself.
_CMAKE_TARGETS = frozenset(
    {"all", "c10", "clean", "depend", "edit_cache", "help", "install", "package", "package_source", "preinstall"}
    | {"rebuild_cache", "sim", "test", "torch", "torch_cpu", "torch_headers", "torch_python"}
)
_INTEGER_TYPE = re.compile(r"u?int(_fast|_least)?[0-9]+_t")


@cache
def _reserved(file: str) -> frozenset[str]:
    text = (Path(__file__).parent / "reserved" / file).read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def _not_long(name: str) -> None:
    if len(name) > _MAX_LENGTH:
        refuse(codes.BAD_NAME, f"a name has {_MAX_LENGTH} characters at most, and this has {len(name)}")


def _not_keyword(name: str) -> None:
    if keyword.iskeyword(name):
        refuse(codes.BAD_NAME, f"`{name}` is a keyword of Python")
    if name in CPP_KEYWORDS:
        refuse(codes.BAD_NAME, f"`{name}` is a keyword of C++")


def _not_global(name: str) -> None:
    if name in _reserved("c_names.txt") or _INTEGER_TYPE.fullmatch(name):
        refuse(codes.RESERVED_NAME, f"`{name}` is taken: the C library declares it at global scope", help=_CHOOSE)
    if name in _CPP_NAMESPACES or name in _OP_NAMESPACES:
        refuse(
            codes.RESERVED_NAME,
            f"`{name}` is taken: it is a namespace of C++, of torch or of torch's operators",
            help=_CHOOSE,
        )


def check_device_name(name: str) -> str:
    """The device string, unless it cannot be one or is taken."""
    if not name:
        refuse(codes.BAD_NAME, "the name of a device cannot be empty", help=_DEVICE_HELP)
    _not_long(name)
    if not _DEVICE.fullmatch(name):
        refuse(codes.BAD_NAME, f"{quote(name)} is not a device name", help=_DEVICE_HELP)
    _not_keyword(name)
    if name in _reserved("torch_names.txt"):
        refuse(codes.RESERVED_NAME, f"`{name}` is taken: torch has a device or an attribute of this name", help=_CHOOSE)
    _not_global(name)
    return name


def _check_package(name: str) -> str:
    _not_long(name)
    if not _IDENTIFIER.fullmatch(name):
        refuse(codes.BAD_NAME, f"{quote(name)} is not the name of a Python package", help="use letters, digits and `_`")
    _not_keyword(name)
    if name.lower() in _PYTHON_PACKAGES:
        refuse(
            codes.RESERVED_NAME,
            f"`{name}` is taken: the generated package imports another one of this name",
            help=_CHOOSE,
        )
    if name in sys.stdlib_module_names:
        refuse(
            codes.RESERVED_NAME, f"`{name}` is taken: Python's standard library has a module of this name", help=_CHOOSE
        )
    if name.lower() in _FOLDERS:
        refuse(codes.RESERVED_NAME, f"`{name}` is taken: the generated project has a folder of this name", help=_CHOOSE)
    return name


def _check_library(name: str) -> str:
    _not_long(name)
    if not _IDENTIFIER.fullmatch(name):
        help = "use letters, digits and single underscores"
        refuse(codes.BAD_NAME, f"{quote(name)} is not the name of a library", help=help)
    if name in _CMAKE_TARGETS:
        refuse(codes.RESERVED_NAME, f"`{name}` is taken: the build has a library or a target of this name")
    return name


def _check_namespace(name: str) -> str:
    _not_long(name)
    if not _IDENTIFIER.fullmatch(name):
        refuse(
            codes.BAD_NAME, f"{quote(name)} is not a C++ namespace", help="use letters, digits and single underscores"
        )
    _not_keyword(name)
    _not_global(name)
    return name


_SCHEMA = Field(json_schema_extra={"pattern": f"^{_IDENTIFIER.pattern}$"})

DeviceName = Annotated[
    str, AfterValidator(check_device_name), Field(json_schema_extra={"pattern": f"^{_DEVICE.pattern}$"})
]
"""A device string that torch can read and does not use yet."""

PackageName = Annotated[str, AfterValidator(_check_package), _SCHEMA]
"""The name of an importable Python package."""

NamespaceName = Annotated[str, AfterValidator(_check_namespace), _SCHEMA]
"""A C++ namespace, and a namespace of operators."""

LibraryName = Annotated[str, AfterValidator(_check_library), _SCHEMA]
"""The name of a shared library without `lib` and `.so`, which is also a target of CMake."""
