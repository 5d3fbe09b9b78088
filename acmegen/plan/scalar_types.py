"""What torch's C++ side calls the dtypes that manifests name as Python does."""

from __future__ import annotations

from collections.abc import Mapping

SCALAR_TYPES: Mapping[str, str] = {
    "float64": "Double",
    "float32": "Float",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
"""The enumerator of `at::ScalarType` for each dtype."""
