"""What a backend uses of torch and TileOPs, in words, which the lock keeps: so that a change of either can be told."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acmegen.facts import Facts
from acmegen.facts.headers import CLASSES, NAMESPACES, VirtualMethod
from acmegen.plan.plan import Plan

Surface = Mapping[str, Mapping[str, str]]

# The sections of a surface.
OPERATORS = "operators"
VIRTUAL_METHODS = "virtual_methods"
OVERRIDES = "overrides"
TILEOPS = "tileops"

_BASE = re.compile(r"\bpublic\s+(?:\w+::)*(\w+)")
# A declaration's parameters may have default values with parentheses or braces.
_OVERRIDE = re.compile(r"\b(\w+)\((?:[^(){};]|\([^()]*\)|\{[^{};]*\})*\)[^(){};]*\boverride\b")


def describe_surface(plan: Plan, facts: Facts, texts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The surface of the backend that `plan` describes.

    Args:
        plan: the backend.
        facts: what it was planned from.
        texts: its files, by path.

    Returns:
        `operators`: the schema of each operator that a manifest or a preset serves, by qualified name.
        `virtual_methods`: the declaration of each virtual method of the classes that it derives from.
        `overrides`: the file that overrides the method, for those that it does override.
        `tileops`: the signature of each TileOPs op that it serves, by key.
    """
    served = {entry.operator for entry in plan.ops.served if entry.operator in facts.operators}
    overrides = _overrides(facts.methods, texts)
    kernels = {kernel.op for kernel in plan.tileops.kernels} if plan.tileops is not None else set()
    signatures = facts.tileops.ops.items() if facts.tileops is not None else ()
    return {
        OPERATORS: {f"aten::{name}": facts.operators[name].schema for name in sorted(served)},
        VIRTUAL_METHODS: {
            qualified(name, method): declaration(method)
            for name in CLASSES
            if any(path.startswith(f"{qualified_class(name)}::") for path in overrides)
            for method in facts.methods[name]
        },
        OVERRIDES: overrides,
        TILEOPS: {key: op.signature for key, op in signatures if key in kernels},
    }


def qualified_class(name: str) -> str:
    """`DeviceAllocator` -> `c10::DeviceAllocator`."""
    return f"{NAMESPACES[name]}::{name}"


def qualified(class_name: str, method: VirtualMethod) -> str:
    """`c10::DeviceAllocator::emptyCache`, whichever base declares it: a method that moves to a base stays the same."""
    return f"{qualified_class(class_name)}::{method.name}"


def declaration(method: VirtualMethod) -> str:
    """The declaration as the header has it, with `= 0` when a backend has to override the method."""
    return f"{method.signature}{' = 0' * method.pure}"


def _overrides(methods: Mapping[str, tuple[VirtualMethod, ...]], texts: Mapping[str, str]) -> dict[str, str]:
    """The file that overrides it, for each virtual method that one of `texts` overrides."""
    found = {}
    for path, text in sorted(texts.items()):
        names = set(_OVERRIDE.findall(text)) if path.endswith((".h", ".cpp")) and "override" in text else set()
        for base in _BASE.findall(text) if names else ():
            for method in methods.get(base, ()):
                if method.name in names:
                    found[qualified(base, method)] = path
    return found
