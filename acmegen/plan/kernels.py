"""The plan of single kernels: C++ functions and classes, and what they are made of."""

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
        serves: the overload, with its namespace if that is not torch's (`acme::rms_norm`).
    """

    operator: str
    name: str
    return_type: str
    parameters: tuple[Parameter, ...]
    schema: str
    serves: str

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
    def serves(self) -> tuple[str, ...]:
        """The overloads that it is for, as in `Served.operator`."""
        return (self.function.serves,)

    @property
    def file(self) -> str:
        """Where the body is."""
        return f"csrc/kernels/{self.name}.cpp"

    @property
    def stub_declaration(self) -> str:
        """The prototype for a body that uses no parameter: their names stand in comments."""
        parameters = ", ".join(f"{parameter.type} /*{parameter.name}*/" for parameter in self.function.parameters)
        return f"{self.function.return_type} {self.name}({parameters})"
