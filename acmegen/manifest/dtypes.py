"""The dtypes that manifests can name, and the names of sets of them."""

from __future__ import annotations

from collections.abc import Iterable

FLOATING = ("float64", "float32", "float16", "bfloat16")
INTEGRAL = ("uint8", "int8", "int16", "int32", "int64")
BOOLEAN = ("bool",)
COMPLEX = ("complex64", "complex128")

DTYPES: tuple[str, ...] = FLOATING + INTEGRAL + BOOLEAN + COMPLEX

# What other libraries, and torch's C++ side, call them; used to suggest the right name.
ALIASES: dict[str, str] = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}

SETS: dict[str, tuple[str, ...]] = {
    "floating": FLOATING,
    "integral": INTEGRAL,
    "boolean": BOOLEAN,
    "complex": COMPLEX,
    "all": FLOATING + INTEGRAL + BOOLEAN,
}


def expand_dtypes(names: Iterable[str]) -> tuple[str, ...]:
    """Replace names of sets by their members; each dtype once, in the order of `DTYPES`."""
    wanted = {dtype for name in names for dtype in SETS.get(name, (name,))}
    return tuple(dtype for dtype in DTYPES if dtype in wanted)
