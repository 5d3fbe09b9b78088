"""The plan of the operators: what is registered, and which C++ serves it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property

from acmegen.plan.kernels import Definition, Function, Kernel, StructuredKernel, UserKernel
from acmegen.plan.pointwise import PointwisePlan


@dataclass(frozen=True)
class Registration:
    """One call of `m.impl`.

    Attributes:
        operator: the overload without a namespace.
        kernel: the C++ expression that is registered.
        includes: the headers, below `generated/`, that it needs.
    """

    operator: str
    kernel: str
    includes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the shard is chosen by."""
        return self.operator


@dataclass(frozen=True)
class CustomBackward:
    """The autograd function of a custom operator that has a backward operator.

    Attributes:
        class_name: the C++ class.
        saved_tensors: C++ expressions of the tensors that `forward` saves, in order.
        saved_values: other arguments that are kept, by name.
        operator: the base name of the backward operator.
        overload: its overload name.
        type: its C++ function type.
        arguments: C++ expressions for its call.
        gradients: for each argument of the forward operator, the C++ expression of its gradient.
    """

    class_name: str
    saved_tensors: tuple[str, ...]
    saved_values: tuple[str, ...]
    operator: str
    overload: str
    type: str
    arguments: tuple[str, ...]
    gradients: tuple[str, ...]


@dataclass(frozen=True)
class CustomOperator:
    """An operator of the backend's own.

    Attributes:
        base: its name without the overload's.
        overload: the overload's name, mostly empty.
        schema: as in `m.def`, without a namespace.
        function: the C++ function behind it.
        function_type: its C++ function type.
        result_count: how many tensors it returns.
        given: the tensors behind optional arguments, for the meta function.
        meta: the results that the meta function makes, none where it returns arguments; None when it is in Python.
        meta_result: what the meta function returns.
        backward: None when no backward operator is declared.
    """

    base: str
    overload: str
    schema: str
    function: Function
    function_type: str
    result_count: int
    given: tuple[Definition, ...]
    meta: tuple[Definition, ...] | None
    meta_result: str
    backward: CustomBackward | None

    @property
    def name(self) -> str:
        """The overload without a namespace."""
        return f"{self.base}.{self.overload}" if self.overload else self.base

    @property
    def argument_list(self) -> str:
        """Its parameters as the arguments of a call."""
        return ", ".join(parameter.name for parameter in self.function.parameters)

    @property
    def forward_type(self) -> str:
        """What the forward function of an autograd function returns for it."""
        return "at::Tensor" if self.result_count == 1 else "torch::autograd::variable_list"

    @property
    def forward_result(self) -> str:
        """The same, from a call's `result`."""
        if self.result_count == 1:
            return "result"
        return f"{{{', '.join(f'std::get<{index}>(result)' for index in range(self.result_count))}}}"


@dataclass(frozen=True)
class CustomNamespace:
    """The operators of one namespace, which one C++ file defines: torch allows one definition of a namespace."""

    name: str
    operators: tuple[CustomOperator, ...]

    @property
    def serves(self) -> tuple[str, ...]:
        """The operators, as in `Served.operator`."""
        return tuple(operator.function.serves for operator in self.operators)

    def uses(self, function: str) -> bool:
        """Whether a meta function calls `function`."""
        definitions = (definition for operator in self.operators for definition in operator.meta or ())
        return any(f"{function}(" in definition.value for definition in definitions)


@dataclass(frozen=True)
class RegistrationShard:
    """The registrations of one file, sorted by operator."""

    index: int
    registrations: tuple[Registration, ...]

    @property
    def serves(self) -> tuple[str, ...]:
        """The overloads, as in `Served.operator`."""
        return tuple(registration.operator for registration in self.registrations)

    @property
    def includes(self) -> tuple[str, ...]:
        """The headers that it needs, below `generated/`, sorted."""
        return tuple(sorted({include for entry in self.registrations for include in entry.includes}))


@dataclass(frozen=True)
class StructuredShard:
    """The structured kernels of one file, sorted."""

    index: int
    kernels: tuple[StructuredKernel, ...]

    @property
    def serves(self) -> tuple[str, ...]:
        """The overloads, as in `Served.operator`."""
        return tuple(function.serves for kernel in self.kernels for function in kernel.functions)

    @property
    def headers(self) -> tuple[str, ...]:
        """torch's headers that it needs, sorted."""
        return tuple(sorted({kernel.meta_header for kernel in self.kernels}))

    @property
    def includes(self) -> tuple[str, ...]:
        """The headers that it needs, below `generated/`, sorted."""
        return _kernel_includes(self.kernels)


@dataclass(frozen=True)
class KernelShard:
    """The kernels without a meta function of one file, sorted."""

    index: int
    kernels: tuple[Kernel, ...]

    @property
    def serves(self) -> tuple[str, ...]:
        """The overloads, as in `Served.operator`."""
        return tuple(kernel.function.serves for kernel in self.kernels)

    @property
    def includes(self) -> tuple[str, ...]:
        """The headers that it needs, below `generated/`, sorted."""
        iterators = ("kernels/Iterators.h",) if any(kernel.iterator for kernel in self.kernels) else ()
        return tuple(sorted({*_kernel_includes(self.kernels), *iterators}))


def _kernel_includes(kernels: Iterable[StructuredKernel | Kernel]) -> tuple[str, ...]:
    includes = {"kernels/Functions.h", "kernels/KernelSupport.h"}
    for kernel in kernels:
        if kernel.library is not None:
            includes.add("kernels/LibraryCall.h")
        if kernel.statement.startswith("pointwise::"):
            includes.add("pointwise/Kernels.h")
        if "kernels::" in kernel.statement:
            includes.add("kernels.h")
    return tuple(sorted(includes))


@dataclass(frozen=True, order=True)
class Place:
    """Where an entry of a manifest stands.

    Attributes:
        manifest: the file, by its path in the manifests' folder; that of a preset is `presets/core.yaml`.
        line: counted from 1.
    """

    manifest: str
    line: int


@dataclass(frozen=True)
class Served:
    """How one overload is served, for reports and generated tests.

    Attributes:
        operator: the overload (`add.out`), with a namespace if it is not torch's (`acme::rms_norm`).
        kind: the kernel kind of its entry.
        entry: the manifest's key that serves it (`add.Tensor` for `add.out`).
        place: where that entry stands.
        dtypes: torch's Python names of the dtypes that a kernel serves itself, empty when it does not depend on them.
        otherwise: `fallback` or `error`, for the other dtypes; empty where there are none.
        detail: the expression, the library's functions, or the reason.
    """

    operator: str
    kind: str
    entry: str
    place: Place
    dtypes: tuple[str, ...] = ()
    otherwise: str = ""
    detail: str = ""


@dataclass(frozen=True)
class OpsPlan:
    """All operators of one backend.

    Attributes:
        meta_takes_names: whether torch's structured API passes dimension names (before 2.13).
        pointwise: the loops that come from expressions.
        structured: files of structured kernels.
        kernels: files of kernels without a meta function.
        registrations: files of registrations on PrivateUse1.
        custom: the custom operators, by namespace.
        users: the kernels that the user writes.
        functions: the C++ functions of `structured` and `kernels`, for their common header.
        library_dtypes: torch's enumerator and the library's constant of each dtype that the library knows.
        served: how each overload is served, sorted.
    """

    meta_takes_names: bool = False
    pointwise: PointwisePlan = field(default_factory=lambda: PointwisePlan((), ()))
    structured: tuple[StructuredShard, ...] = ()
    kernels: tuple[KernelShard, ...] = ()
    registrations: tuple[RegistrationShard, ...] = ()
    custom: tuple[CustomNamespace, ...] = ()
    users: tuple[UserKernel, ...] = ()
    functions: tuple[Function, ...] = ()
    library_dtypes: tuple[tuple[str, str], ...] = ()
    served: tuple[Served, ...] = ()

    @property
    def custom_names(self) -> frozenset[str]:
        """The names of the custom operators, without their namespaces."""
        return frozenset(operator.name for space in self.custom for operator in space.operators)

    @property
    def uses_library(self) -> bool:
        """Whether an entry calls the vendor's library."""
        return any(kernel.library is not None for shard in self.structured for kernel in shard.kernels) or any(
            kernel.library is not None for shard in self.kernels for kernel in shard.kernels
        )

    @property
    def uses_iterators(self) -> bool:
        """Whether a kernel without a meta function runs through a TensorIterator."""
        return any(kernel.iterator for shard in self.kernels for kernel in shard.kernels)

    def calls(self, function: str) -> bool:
        """Whether a kernel calls `function`, one of those that are emitted for the kernels that need them."""
        return function in self._called

    @cached_property
    def _called(self) -> frozenset[str]:
        texts = _texts((self.structured, self.kernels, self.custom))
        return frozenset(name for text in texts for name in re.findall(r"(\w+)\(", text))


def _texts(part: object) -> Iterator[str]:
    """All strings in a part of a plan."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for element in part:
            yield from _texts(element)
    elif is_dataclass(part):
        for attribute in fields(part):
            yield from _texts(getattr(part, attribute.name))
