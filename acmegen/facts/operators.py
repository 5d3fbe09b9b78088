"""The operators of the installed torch: schemas, C++ signatures, and how their variants belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from acmegen.facts.cache import cached, digest
from acmegen.facts.near_names import near_names
from acmegen.facts.torch_install import TorchInstall

Variant = Literal["functional", "inplace", "out", "mutable"]

# Belongs to the cache's key: raise it whenever the document of torchgen_reader.py changes.
FORMAT = 1


@dataclass(frozen=True)
class Argument:
    """One argument of an operator, or of the meta or kernel function of a structured group.

    Attributes:
        name: as in the schema.
        cpp_name: the same as a legal C++ identifier.
        type: the schema's type without aliasing (`Tensor`, `Tensor?[]`, `SymInt[2]?`).
        cpp_type: the C++ type, fully qualified (`const at::Tensor &`).
        default: the schema's default value as text; None where there is none.
        is_mutable: whether the schema says that it is written to.
        is_out: whether it is an out argument.
        keyword_only: whether it can only be passed by name; out arguments are.
    """

    name: str
    cpp_name: str
    type: str
    cpp_type: str
    default: str | None
    is_mutable: bool
    is_out: bool
    keyword_only: bool

    @property
    def is_tensor_like(self) -> bool:
        """Whether it is a tensor, an optional tensor or a list of either."""
        return self.type.startswith("Tensor")


@dataclass(frozen=True)
class Return:
    """One value that an operator returns; `is_mutable` means that it is one of the arguments written to."""

    name: str | None
    type: str
    is_mutable: bool


@dataclass(frozen=True)
class Operator:
    """One overload of an ATen operator.

    Attributes:
        name: `add.Tensor`; without the dot when the overload has no name.
        base: `add`, `add_`.
        overload: `Tensor`, or empty.
        kernel_name: a C++ identifier for a kernel of it (`add_Tensor`, `add__Tensor`, `_copy_from`).
        ops_class: its class in `at::_ops`.
        header: the base name of its headers: `add` for `ATen/ops/add_ops.h`.
        schema: the whole schema, without namespace.
        arguments: in the dispatcher's order, which is the schema's; tensor options are four arguments.
        cpp_return_type: fully qualified; `void` when nothing is returned.
        dispatch: the dispatch keys for which torch has a kernel: those in `native_functions.yaml`, and for the variants
            of a structured group those that follow from its out variant.
        composite_implicit: whether torch decomposes it above autograd.
        composite_explicit: whether torch decomposes it below autograd, for every backend.
        is_view: whether a result aliases an argument that is not written to.
        has_derivative: whether `derivatives.yaml` has a formula for it, or for its functional variant.
        group: the name of its group's functional variant; None when it stands alone.
        tags: torch's tags (`core`, `inplace_view`, `nondeterministic_seeded`, `generated`).
        namespace: `aten`, or that of a custom operator.
    """

    name: str
    base: str
    overload: str
    kernel_name: str
    ops_class: str
    header: str
    schema: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]
    cpp_return_type: str
    variant: Variant
    dispatch: frozenset[str]
    composite_implicit: bool
    composite_explicit: bool
    is_view: bool
    has_derivative: bool
    group: str | None
    tags: frozenset[str] = frozenset()
    namespace: str = "aten"

    @property
    def qualified_name(self) -> str:
        """`name`, with the namespace if it is not torch's (`acme::rms_norm`)."""
        return self.name if self.namespace == "aten" else f"{self.namespace}::{self.name}"

    @property
    def cpp_signature(self) -> str:
        """The C++ function type that a kernel must have (`at::Tensor (const at::Tensor &, int64_t)`)."""
        return f"{self.cpp_return_type} ({', '.join(argument.cpp_type for argument in self.arguments)})"

    @property
    def tensor_arguments(self) -> tuple[Argument, ...]:
        """The arguments that are tensors, optional tensors or lists of either."""
        return tuple(argument for argument in self.arguments if argument.is_tensor_like)

    @property
    def out_arguments(self) -> tuple[Argument, ...]:
        """The out arguments."""
        return tuple(argument for argument in self.arguments if argument.is_out)

    @property
    def ops_header(self) -> str:
        """The header that declares `at::_ops::` for it."""
        return f"ATen/ops/{self.header}_ops.h"


@dataclass(frozen=True)
class Precomputed:
    """What the meta function of a structured group computes for the kernel.

    Attributes:
        replace: the arguments it replaces, each with the values that take their place.
        add: further values, passed after the other inputs.
    """

    replace: Mapping[str, tuple[Argument, ...]]
    add: tuple[Argument, ...]

    @property
    def elements(self) -> tuple[Argument, ...]:
        """All values, in the order of the fields of `precompute_out`."""
        return tuple(value for values in self.replace.values() for value in values) + self.add


@dataclass(frozen=True)
class Group:
    """The variants of one operator: functional, in-place, out and mutable, each the name of an overload or None.

    Attributes:
        structured: whether torch has a meta function that all variants share; the fields below are empty without one.
        meta_class: its class in `at::meta` (`structured_add_Tensor`).
        meta_header: the header of that class.
        tensor_iterator: whether that class is an `at::TensorIteratorBase`.
        meta_arguments: what `meta()` takes, with the C++ types of the structured API.
        impl_arguments: what a kernel takes: the inputs with the precomputed values, then the outputs.
    """

    functional: str | None
    inplace: str | None
    out: str | None
    mutable: str | None
    structured: bool
    meta_class: str
    meta_header: str
    tensor_iterator: bool
    precomputed: Precomputed | None
    meta_arguments: tuple[Argument, ...]
    impl_arguments: tuple[Argument, ...]

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the overloads that exist, functional first."""
        return tuple(name for name in (self.functional, self.inplace, self.out, self.mutable) if name is not None)


class Operators:
    """All operators by name. Each one is built when it is first asked for."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Read from `document`, which is what `torchgen_reader.read` returns."""
        self._arguments: list[list[Any]] = document["arguments"]
        self._rows: dict[str, dict[str, Any]] = document["operators"]
        self._group_rows: dict[str, dict[str, Any]] = document["groups"]
        self._operators: dict[str, Operator] = {}
        self._groups: dict[str, Group] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, name: str) -> Operator:
        """The operator `name` (`add.Tensor`), without a namespace.

        Raises:
            KeyError: this torch has no such operator.
        """
        if name not in self._operators:
            self._operators[name] = _operator_from_row(name, self._rows[name], self._arguments)
        return self._operators[name]

    def names(self) -> tuple[str, ...]:
        """Every name, sorted."""
        return tuple(self._rows)

    def overloads(self, base: str) -> tuple[str, ...]:
        """The names of all overloads of `base` (`add` gives `add.Scalar`, `add.Tensor`, `add.out`, …)."""
        return tuple(name for name in self._rows if name.partition(".")[0] == base)

    def nearest(self, name: str, n: int = 3) -> tuple[str, ...]:
        """Up to `n` names that `name` may have been meant to be, nearest first. Without a dot, it means a base name."""
        if "." in name:
            return near_names(name, self._rows, n)
        overloads: dict[str, list[str]] = {}
        for candidate, row in self._rows.items():
            if row["variant"] != "out":
                overloads.setdefault(candidate.partition(".")[0], []).append(candidate)
        bases = [name] if name in overloads else near_names(name, overloads, n)
        return tuple(candidate for base in bases for candidate in overloads[base])[:n]

    def group_of(self, name: str) -> Group | None:
        """The group that the operator `name` belongs to; None when it stands alone or does not exist."""
        functional = self._rows[name]["group"] if name in self._rows else None
        if functional is None:
            return None
        if functional not in self._groups:
            self._groups[functional] = _group_from_row(self._group_rows[functional], self._arguments)
        return self._groups[functional]


_COMPOSITE_EXPLICIT = frozenset({"CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"})


def _arguments(indices: Sequence[int], table: Sequence[Sequence[Any]]) -> tuple[Argument, ...]:
    return tuple(Argument(*table[index]) for index in indices)


def _operator_from_row(name: str, row: Mapping[str, Any], table: Sequence[Sequence[Any]]) -> Operator:
    """Build the operator `name` from its row in the document and the table of arguments that the row points into."""
    base, _, overload = name.partition(".")
    dispatch = frozenset(row["dispatch"])
    return Operator(
        name=name,
        base=base,
        overload=overload,
        kernel_name=row["ops_class"],
        ops_class=row["ops_class"],
        header=row["header"],
        schema=row["schema"],
        arguments=_arguments(row["arguments"], table),
        returns=tuple(Return(*values) for values in row["returns"]),
        cpp_return_type=row["cpp_return_type"],
        variant=cast(Variant, row["variant"]),
        dispatch=dispatch,
        composite_implicit="CompositeImplicitAutograd" in dispatch,
        composite_explicit=not dispatch.isdisjoint(_COMPOSITE_EXPLICIT),
        is_view=row["is_view"],
        has_derivative=row["has_derivative"],
        group=row["group"],
        tags=frozenset(row["tags"]),
    )


def _group_from_row(row: Mapping[str, Any], table: Sequence[Sequence[Any]]) -> Group:
    precomputed = row["precomputed"]
    return Group(
        functional=row["functional"],
        inplace=row["inplace"],
        out=row["out"],
        mutable=row["mutable"],
        structured=row["structured"],
        meta_class=row["meta_class"],
        meta_header=row["meta_header"],
        tensor_iterator=row["tensor_iterator"],
        precomputed=None
        if precomputed is None
        else Precomputed(
            {name: _arguments(values, table) for name, values in precomputed["replace"].items()},
            _arguments(precomputed["add"], table),
        ),
        meta_arguments=_arguments(row["meta_arguments"], table),
        impl_arguments=_arguments(row["impl_arguments"], table),
    )


def _sources(install: TorchInstall) -> tuple[Path, Path, Path]:
    packaged = install.torchgen / "packaged"
    native = packaged / "ATen" / "native"
    return native / "native_functions.yaml", native / "tags.yaml", packaged / "autograd" / "derivatives.yaml"


def operators_digest(install: TorchInstall) -> str:
    """A digest of the files that declare the operators."""
    return digest(path.read_bytes() for path in _sources(install))


def load_operators(install: TorchInstall) -> Operators:
    """The operators of `install`: from the cache, or else read through its torchgen, which takes about a second."""
    key = digest([operators_digest(install).encode(), install.version.encode(), str(FORMAT).encode()])

    def read() -> dict[str, Any]:
        # Imported here, since a warm run needs neither it nor torchgen.
        from acmegen.facts.torchgen_reader import read_operators

        return read_operators(install.torchgen, *_sources(install))

    return Operators(cached("operators", key, read))
