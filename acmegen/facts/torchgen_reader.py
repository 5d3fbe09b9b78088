"""Read torch's operators through the torchgen of the same wheel, into a document of plain JSON values.

torchgen does not import torch. Only this module imports torchgen, and only when the cache has no answer.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from acmegen.cpp_keywords import CPP_KEYWORDS


@contextlib.contextmanager
def _torchgen_from(folder: Path) -> Iterator[None]:
    """Make `import torchgen` mean the package in `folder`, whatever else is on the path or already imported."""
    displaced = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "torchgen"}
    spec = importlib.util.spec_from_file_location(
        "torchgen", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is not a Python package")
    package = importlib.util.module_from_spec(spec)
    sys.modules["torchgen"] = package
    try:
        spec.loader.exec_module(package)
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchgen"]:
            del sys.modules[name]
        sys.modules.update(displaced)


class _Table:
    """The arguments that occur, each once: most operators share theirs."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self._index: dict[tuple[Any, ...], int] = {}

    def add(self, row: tuple[Any, ...]) -> int:
        if row not in self._index:
            self._index[row] = len(self.rows)
            self.rows.append(row)
        return self._index[row]


def _argument_row(argument: Any, cpp_type: str, *, is_out: bool, keyword_only: bool) -> tuple[Any, ...]:
    name = argument.name
    return (
        name,
        f"{name}_" if name in CPP_KEYWORDS else name,
        str(argument.type),
        cpp_type,
        argument.default,
        argument.is_write,
        is_out,
        keyword_only,
    )


def _derivative_names(path: Path) -> frozenset[str]:
    """The overloads that `derivatives.yaml` has a formula for."""
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return frozenset(entry["name"].partition("(")[0] for entry in entries)


def _variants(native_functions: Sequence[Any]) -> list[dict[str, Any]]:
    """The variants of each operator, by kind; also of those without an out variant, which torchgen does not group."""
    from torchgen.native_function_generation import pre_group_native_functions

    grouped = pre_group_native_functions(native_functions).values()
    return [{kind.name: function for kind, function in variants.items()} for variants in grouped]


def _kernels(backend_indices: Mapping[Any, Any]) -> dict[Any, list[str]]:
    """For each operator name, the dispatch keys that `native_functions.yaml` names a kernel for."""
    kernels: dict[Any, list[str]] = {}
    for key, index in backend_indices.items():
        for name in index.index:
            kernels.setdefault(name, []).append(str(key))
    return kernels


def _dispatch(function: Any, kernels: Mapping[Any, list[str]]) -> list[str]:
    """The dispatch keys that torch has a kernel for, sorted.

    torch generates the kernels of a structured group from its out variant: each backend's, Meta's, and one of the other
    variants that allocates and calls the out variant, for the backends without kernels.
    """
    keys = set(kernels.get(function.func.name, ()))
    if function.structured_delegate is not None:
        keys.update(kernels.get(function.structured_delegate, ()))
        keys.add("CompositeExplicitAutogradNonFunctional")
    if function.part_of_structured_group:
        keys.add("Meta")
    return sorted(keys)


def _operator_row(
    function: Any, dispatch: list[str], has_derivative: bool, group: str | None, table: _Table
) -> dict[str, Any]:
    from torchgen.api import dispatcher
    from torchgen.context import native_function_manager

    schema = function.func
    out = {argument.name for argument in schema.arguments.out}
    positional = {argument.name for argument in schema.arguments.flat_positional}
    with native_function_manager(function):
        bindings = dispatcher.arguments(schema, symint=True)
        cpp_return_type = dispatcher.returns_type(schema.returns, symint=True).cpp_type()
    arguments = [
        _argument_row(
            binding.argument,
            binding.type,
            is_out=binding.name in out,
            keyword_only=binding.name not in positional,
        )
        for binding in bindings
    ]
    return {
        "ops_class": schema.name.unambiguous_name(),
        "header": function.root_name,
        "schema": str(schema),
        "arguments": [table.add(row) for row in arguments],
        "returns": [(value.name, str(value.type), value.is_write) for value in schema.returns],
        "cpp_return_type": cpp_return_type.replace(",", ", "),
        "variant": schema.kind().name,
        "dispatch": dispatch,
        "is_view": function.is_view_op,
        "has_derivative": has_derivative,
        "group": group,
        "tags": sorted(function.tags),
    }


def _structured_row(variants: Mapping[str, Any], table: _Table) -> dict[str, Any]:
    from torchgen.api import structured
    from torchgen.context import native_function_manager
    from torchgen.model import NativeFunctionsGroup

    group = NativeFunctionsGroup(**{kind: variants.get(kind) for kind in ("functional", "inplace", "mutable", "out")})
    out = {argument.name for argument in group.out.func.arguments.out}

    def add(bindings: Sequence[Any]) -> list[int]:
        return [
            table.add(_argument_row(binding.argument, binding.type, is_out=binding.name in out, keyword_only=False))
            for binding in bindings
        ]

    def add_precomputed(arguments: Sequence[Any]) -> list[int]:
        return add([binding for argument in arguments for binding in structured.argument(argument)])

    precomputed = group.out.precomputed
    with native_function_manager(group):
        return {
            "meta_class": f"structured_{group.functional.func.name.unambiguous_name()}",
            "meta_header": f"ATen/ops/{group.root_name}_meta.h",
            "tensor_iterator": group.out.structured_inherits == "TensorIteratorBase",
            "precomputed": None
            if precomputed is None
            else {
                "replace": {name: add_precomputed(values) for name, values in precomputed.replace.items()},
                "add": add_precomputed(precomputed.add),
            },
            "meta_arguments": add(structured.meta_arguments(group)),
            "impl_arguments": add(structured.impl_arguments(group)),
        }


_UNSTRUCTURED: dict[str, Any] = {
    "meta_class": "",
    "meta_header": "",
    "tensor_iterator": False,
    "precomputed": None,
    "meta_arguments": [],
    "impl_arguments": [],
}


def read_operators(torchgen: Path, native_functions: Path, tags: Path, derivatives: Path) -> dict[str, Any]:
    """Parse the YAML files through the `torchgen` package in that folder.

    Returns:
        `arguments`: the rows of `Argument`, each once; `operators`: a row per overload, sorted by name, whose arguments
        are indices into those; `groups`: a row per group, by the name of the functional variant.
    """
    differentiable = _derivative_names(derivatives)
    with _torchgen_from(torchgen):
        from torchgen.gen import parse_native_yaml

        parsed = parse_native_yaml(str(native_functions), str(tags))
        kernels = _kernels(parsed.backend_indices)
        table = _Table()
        operators: dict[str, Any] = {}
        groups: dict[str, Any] = {}
        for variants in _variants(parsed.native_functions):
            names = {kind: str(function.func.name) for kind, function in variants.items()}
            functional = names.get("functional") if len(variants) > 1 else None
            for kind, function in variants.items():
                name = names[kind]
                has_derivative = kind != "out" and (name in differentiable or names.get("functional") in differentiable)
                dispatch = _dispatch(function, kernels)
                operators[name] = _operator_row(function, dispatch, has_derivative, functional, table)
            if functional is not None:
                is_structured = "out" in variants and variants["out"].structured
                groups[functional] = {
                    **{kind: names.get(kind) for kind in ("functional", "inplace", "out", "mutable")},
                    "structured": is_structured,
                    **(_structured_row(variants, table) if is_structured else _UNSTRUCTURED),
                }
        return {"arguments": table.rows, "operators": dict(sorted(operators.items())), "groups": groups}
