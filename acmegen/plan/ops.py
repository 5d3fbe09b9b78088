"""The plan of the operators: what is registered, and which C++ serves it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from acmegen.plan.pointwise import PointwisePlan


@dataclass(frozen=True)
class Parameter:
    """One parameter of a C++ function.

    Attributes:
        name: a legal C++ identifier.
        type: the C++ type, fully qualified (`const at::Tensor &`).
    """

    name: str
    type: str

    @property
    def declaration(self) -> str:
        """As it stands in a parameter list."""
        return f"{self.type} {self.name}"


@dataclass(frozen=True)
class Function:
    """A C++ function that the dispatcher calls for one overload.

    Attributes:
        operator: the overload without a namespace (`add.Tensor`).
        name: its C++ identifier (`add_Tensor`).
        return_type: the C++ type, `void` when nothing is returned.
        parameters: in the schema's order, with concrete integers in place of symbolic ones.
        schema: torch's schema, for comments.
    """

    operator: str
    name: str
    return_type: str
    parameters: tuple[Parameter, ...]
    schema: str

    @property
    def declaration(self) -> str:
        """The prototype without the semicolon."""
        return f"{self.return_type} {self.name}({self.parameter_list})"

    @property
    def parameter_list(self) -> str:
        """The parameters as in a prototype."""
        return ", ".join(parameter.declaration for parameter in self.parameters)

    @property
    def pointer_type(self) -> str:
        """The type of a pointer to it, which the registration casts to."""
        return f"{self.return_type} (*)({', '.join(parameter.type for parameter in self.parameters)})"


@dataclass(frozen=True)
class Otherwise:
    """What happens to a call that a kernel does not serve.

    Attributes:
        conditions: C++ conditions that all hold for a call that is served.
        statements: what is done when one of them does not hold; they return or throw.
    """

    conditions: tuple[str, ...]
    statements: tuple[str, ...]

    @property
    def refusal(self) -> str:
        """The C++ condition under which a call is not served."""
        if len(self.conditions) == 1 and " " not in self.conditions[0].partition("(")[0]:
            return f"!{self.conditions[0]}"
        return f"!({' && '.join(self.conditions)})"


@dataclass(frozen=True)
class Definition:
    """One local constant of a function: `const {type} {name} = {value};`."""

    type: str
    name: str
    value: str


@dataclass(frozen=True)
class LibraryBody:
    """A call of the vendor's library, ready to be printed.

    Attributes:
        symbols: the library's functions that it calls.
        skip: a C++ condition under which there is nothing to compute, or empty.
        definitions: operands in the layout that the library needs, and temporaries.
        statements: the copies and calls, in order.
        stores: outputs that were computed in a temporary and are copied back at the end.
    """

    symbols: tuple[str, ...]
    skip: str
    definitions: tuple[Definition, ...]
    statements: tuple[str, ...]
    stores: tuple[str, ...]


@dataclass(frozen=True)
class StructuredVariant:
    """One overload of a structured group.

    Attributes:
        function: what the dispatcher calls.
        construction: the arguments of the kernel class's constructor.
        device_check: C++ operands of its outputs for the check that all are on one device.
        result: the C++ expression that is returned.
    """

    function: Function
    construction: str
    device_check: tuple[str, ...]
    result: str


@dataclass(frozen=True)
class StructuredKernel:
    """A structured group: one class that serves the functional, the in-place and the out variant.

    Attributes:
        name: the class.
        label: the functional overload, for error messages.
        summary: what it serves and how, for its comment; inert in a C++ comment.
        meta_class: its base class, without `at::meta::`.
        meta_header: the header of that class.
        parameters: those of `run`, the functional variant's.
        device_check: C++ operands that must lie on one device; empty where the TensorIterator checks it.
        meta_arguments: C++ expressions for `meta`.
        precomputes: whether the kernel uses what `meta` returns.
        binds_iterator: whether the body names the TensorIterator that the class is.
        given: the tensors behind optional arguments.
        outputs: names that the body uses for the outputs, or none.
        otherwise: when the body does not serve a call; None when it serves all.
        statement: the body, when it is one call.
        library: the body, when the vendor's library is called.
        stores: whether the meta function may have put temporaries in place of outputs.
        variants: the overloads.
    """

    name: str
    label: str
    summary: str
    meta_class: str
    meta_header: str
    parameters: tuple[Parameter, ...]
    device_check: tuple[str, ...]
    meta_arguments: tuple[str, ...]
    precomputes: bool
    binds_iterator: bool
    given: tuple[Definition, ...]
    outputs: tuple[str, ...]
    otherwise: Otherwise | None
    statement: str
    library: LibraryBody | None
    stores: bool
    variants: tuple[StructuredVariant, ...]

    @property
    def key(self) -> str:
        """What the shard is chosen by."""
        return self.label

    @property
    def functions(self) -> tuple[Function, ...]:
        """What the dispatcher calls."""
        return tuple(variant.function for variant in self.variants)

    @property
    def parameter_list(self) -> str:
        """The parameters of `run` as in a prototype."""
        return ", ".join(parameter.declaration for parameter in self.parameters)

    @property
    def argument_list(self) -> str:
        """The same as the arguments of a call."""
        return ", ".join(parameter.name for parameter in self.parameters)


@dataclass(frozen=True)
class Kernel:
    """An operator without a meta function: one function that checks, allocates and calls.

    Attributes:
        function: what the dispatcher calls.
        summary: how it is served, for its comment; inert in a C++ comment.
        device_check: C++ operands that must lie on one device.
        allow_cpu_scalars: whether tensors without dimensions may be on the CPU.
        iterator: the statement that builds the TensorIterator of a pointwise kernel, or empty.
        guard: the C++ expression of the device that is made current, or empty.
        given: the tensors behind optional arguments.
        otherwise: when the body does not serve a call; None when it serves all.
        allocations: the outputs.
        library: the body, when the vendor's library is called.
        leave: the statement that ends the function before the library is called.
        statement: the body, when it is one call.
        result: the C++ expression that is returned; empty when `statement` returns or nothing is returned.
    """

    function: Function
    summary: str
    device_check: tuple[str, ...] = ()
    allow_cpu_scalars: bool = False
    iterator: str = ""
    guard: str = ""
    given: tuple[Definition, ...] = ()
    otherwise: Otherwise | None = None
    allocations: tuple[Definition, ...] = ()
    library: LibraryBody | None = None
    leave: str = ""
    statement: str = ""
    result: str = ""

    @property
    def key(self) -> str:
        """What the shard is chosen by."""
        return self.function.operator

    @property
    def functions(self) -> tuple[Function, ...]:
        """What the dispatcher calls."""
        return (self.function,)


@dataclass(frozen=True)
class UserKernel:
    """A kernel whose body the user writes, in `csrc/kernels/<name>.cpp`.

    Attributes:
        function: its declaration.
        summary: what it must do, line by line, for the comment above the declaration and in the stub.
    """

    function: Function
    summary: tuple[str, ...]

    @property
    def name(self) -> str:
        """The C++ identifier, which is also the file's name."""
        return self.function.name

    @property
    def file(self) -> str:
        """Where the body is."""
        return f"csrc/kernels/{self.name}.cpp"

    @property
    def stub_declaration(self) -> str:
        """The prototype for a body that uses no parameter: their names stand in comments."""
        parameters = ", ".join(f"{parameter.type} /*{parameter.name}*/" for parameter in self.function.parameters)
        return f"{self.function.return_type} {self.name}({parameters})"


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
        meta: the results of the meta function; None when it is written in Python.
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
    def includes(self) -> tuple[str, ...]:
        """The headers that it needs, below `generated/`, sorted."""
        return tuple(sorted({include for entry in self.registrations for include in entry.includes}))


@dataclass(frozen=True)
class StructuredShard:
    """The structured kernels of one file, sorted."""

    index: int
    kernels: tuple[StructuredKernel, ...]

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


@dataclass(frozen=True)
class Served:
    """How one overload is served, for reports and generated tests.

    Attributes:
        operator: the overload (`add.out`), with a namespace if it is not torch's (`acme::rms_norm`).
        kind: the kernel kind of its entry.
        entry: the manifest's key that serves it (`add.Tensor` for `add.out`).
        dtypes: torch's Python names of the dtypes that a kernel serves itself, empty when it does not depend on them.
        otherwise: `fallback` or `error`, for the other dtypes; empty where there are none.
        detail: the expression, the library's functions, or the reason.
    """

    operator: str
    kind: str
    entry: str
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
