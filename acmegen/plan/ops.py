"""The plan of the operators: what is registered, and which C++ serves it."""

from __future__ import annotations

from dataclasses import dataclass


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
    def condition(self) -> str:
        """All conditions in one expression."""
        return " && ".join(self.conditions)


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
        variant: the enumerator of the C++ `Variant`.
        outputs: the tensors that the caller gave, empty for the functional variant.
        result: the C++ expression that is returned.
    """

    function: Function
    variant: str
    outputs: tuple[str, ...]
    result: str


@dataclass(frozen=True)
class StructuredKernel:
    """A structured group: one class that serves the functional, the in-place and the out variant.

    Attributes:
        name: the class.
        summary: how it is served, for its comment; inert in a C++ comment.
        meta_class: its base class, without `at::meta::`.
        meta_header: the header of that class.
        output_count: how many tensors it computes.
        parameters: those of `run`, the functional variant's.
        device_check: C++ operands that must lie on one device; empty where the TensorIterator checks it.
        meta_arguments: C++ expressions for `meta`.
        precomputes: whether `meta` returns values for the kernel.
        outputs: names of the outputs, bound to `output(i)` where the body needs them.
        otherwise: when the body does not serve a call; None when it serves all.
        statement: the body, when it is one call.
        library: the body, when the vendor's library is called.
        variants: the overloads.
    """

    name: str
    summary: str
    meta_class: str
    meta_header: str
    output_count: int
    parameters: tuple[Parameter, ...]
    device_check: tuple[str, ...]
    meta_arguments: tuple[str, ...]
    precomputes: bool
    outputs: tuple[str, ...]
    otherwise: Otherwise | None
    statement: str
    library: LibraryBody | None
    variants: tuple[StructuredVariant, ...]

    @property
    def key(self) -> str:
        """What the shard is chosen by."""
        return self.name

    @property
    def parameter_list(self) -> str:
        """The parameters of `run` as in a prototype."""
        return ", ".join(parameter.declaration for parameter in self.parameters)

    @property
    def argument_list(self) -> str:
        """The same as the arguments of a call."""
        return ", ".join(parameter.name for parameter in self.parameters)


@dataclass(frozen=True)
class IteratorBody:
    """A pointwise kernel of an operator without a meta function, run through a TensorIterator that is built here.

    Attributes:
        build: the statement that builds `iterator`.
        statement: the call of the kernel.
    """

    build: str
    statement: str


@dataclass(frozen=True)
class Kernel:
    """An operator without a meta function: one function that checks, allocates and calls.

    Attributes:
        function: what the dispatcher calls.
        summary: how it is served, for its comment; inert in a C++ comment.
        device_check: C++ operands that must lie on one device.
        device: the C++ expression of the device that is made current, or empty.
        otherwise: when the body does not serve a call; None when it serves all.
        allocations: the outputs.
        statement: the body, when it is one expression that is returned.
        iterator: the body of a pointwise kernel.
        library: the body, when the vendor's library is called.
        result: the C++ expression that is returned, unless `statement` is.
    """

    function: Function
    summary: str
    device_check: tuple[str, ...]
    device: str
    otherwise: Otherwise | None
    allocations: tuple[Definition, ...]
    statement: str
    iterator: IteratorBody | None
    library: LibraryBody | None
    result: str

    @property
    def key(self) -> str:
        """What the shard is chosen by."""
        return self.function.name


@dataclass(frozen=True)
class UserKernel:
    """A kernel whose body the user writes, in `csrc/kernels/<name>.cpp`.

    Attributes:
        function: its declaration.
        summary: what it must do, for the comment above the declaration and in the stub.
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


@dataclass(frozen=True)
class Registration:
    """One call of `m.impl`.

    Attributes:
        operator: the overload without a namespace.
        kernel: the C++ expression that is registered.
        function: the function behind it, which must be declared; None for a boxed kernel.
        source: what declares the function: `kernels`, `native` or empty.
    """

    operator: str
    kernel: str
    function: Function | None = None
    source: str = ""


@dataclass(frozen=True)
class CustomBackward:
    """The autograd function of a custom operator.

    Attributes:
        name: the C++ class.
        function: the operator itself, with the dispatcher's types.
        operator: its qualified name (`acme::rms_norm`).
        result_count: how many tensors it returns.
        saved_inputs: tensors that are saved for backward, in order; optional ones may be undefined.
        optional_inputs: those among the inputs that are optional tensors.
        saved_outputs: indices of outputs that are saved.
        saved_values: other arguments that are kept, each with its C++ type.
        backward: the qualified name of the backward operator; empty when none is declared.
        backward_type: its C++ function type.
        backward_arguments: C++ expressions for its call.
        gradients: for each argument of the operator, the C++ expression of its gradient.
        reason: what the error says when there is no backward operator.
    """

    name: str
    function: Function
    operator: str
    result_count: int
    saved_inputs: tuple[str, ...]
    optional_inputs: tuple[str, ...]
    saved_outputs: tuple[int, ...]
    saved_values: tuple[Parameter, ...]
    backward: str
    backward_type: str
    backward_arguments: tuple[str, ...]
    gradients: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class CustomOperator:
    """An operator of the backend's own.

    Attributes:
        namespace: the operator namespace.
        schema: as in `m.def`, without a namespace.
        function: its kernel's type.
        kernel: what is registered for the device; None when it is registered elsewhere.
        meta: the function that gives shapes and dtypes; None when the user's kernel does (`meta: user`).
        allocations: the meta function's outputs.
        meta_result: what the meta function returns.
        backward: its autograd function.
    """

    namespace: str
    schema: str
    function: Function
    kernel: Registration
    meta: Function
    allocations: tuple[Definition, ...]
    meta_result: str
    backward: CustomBackward


@dataclass(frozen=True)
class RegistrationShard:
    """The registrations of one file; `index` is in its name."""

    index: int
    registrations: tuple[Registration, ...]


@dataclass(frozen=True)
class StructuredShard:
    """The structured kernels of one file."""

    index: int
    kernels: tuple[StructuredKernel, ...]

    @property
    def headers(self) -> tuple[str, ...]:
        """The meta headers that it includes, sorted."""
        return tuple(sorted({kernel.meta_header for kernel in self.kernels}))


@dataclass(frozen=True)
class KernelShard:
    """The kernels without a meta function of one file."""

    index: int
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True)
class Served:
    """How one overload is served, for reports and generated tests.

    Attributes:
        operator: the qualified name (`aten::add.Tensor`).
        kind: the kernel kind of its entry.
        entry: the manifest's key that serves it (`add.Tensor` for `add.out`).
        dtypes: torch's Python names of the dtypes that a kernel serves itself, empty when it does not depend on them.
        otherwise: `fallback` or `error`, for the other dtypes.
        detail: the expression, the library's symbol, the reason.
    """

    operator: str
    kind: str
    entry: str
    dtypes: tuple[str, ...]
    otherwise: str
    detail: str


@dataclass(frozen=True)
class OpsPlan:
    """All operators of one backend.

    Attributes:
        meta_takes_names: whether torch's structured API passes dimension names (before 2.13).
        structured: files of structured kernels.
        kernels: files of kernels without a meta function.
        registrations: files of registrations on PrivateUse1.
        custom: the custom operators, by namespace.
        users: the kernels that the user writes.
        functions: the C++ functions of `structured` and `kernels`, for their common header.
        served: how each overload is served, sorted.
    """

    meta_takes_names: bool = False
    structured: tuple[StructuredShard, ...] = ()
    kernels: tuple[KernelShard, ...] = ()
    registrations: tuple[RegistrationShard, ...] = ()
    custom: tuple[CustomOperator, ...] = ()
    users: tuple[UserKernel, ...] = ()
    functions: tuple[Function, ...] = ()
    served: tuple[Served, ...] = ()

    @property
    def custom_namespaces(self) -> tuple[str, ...]:
        """The namespaces of the custom operators, sorted."""
        return tuple(sorted({operator.namespace for operator in self.custom}))

    @property
    def uses_library(self) -> bool:
        """Whether an entry calls the vendor's library."""
        return any(kernel.library for shard in self.structured for kernel in shard.kernels) or any(
            kernel.library for shard in self.kernels for kernel in shard.kernels
        )
