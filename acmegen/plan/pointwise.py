"""Lowering of `expr` entries: a checked expression, the operator's iterator and its dtypes become one C++ function."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acmegen.facts.operators import Argument, Group, Operator
from acmegen.plan.dialects.host import HostLambda, host_lambda
from acmegen.plan.expression_nodes import TextIs
from acmegen.plan.expressions import ArgumentKind, Expression, ExpressionArgument, ExpressionError, check_expression
from acmegen.plan.ops_functions import inert, string_literal
from acmegen.plan.scalar_types import SCALAR_TYPES
from acmegen.plan.shards import shards

SHARD_SIZE = 20

# What Loops.h has room for.
MAX_TENSORS = 7
MAX_CAPTURES = 16

_KINDS: Mapping[str, ArgumentKind] = {
    "Scalar": ArgumentKind.NUMBER,
    "float": ArgumentKind.NUMBER,
    "int": ArgumentKind.NUMBER,
    "bool": ArgumentKind.TRUTH,
    "str": ArgumentKind.TEXT,
}

# The C++ type that a dtype is computed in.
_COMPUTING_TYPES: Mapping[str, str] = {
    "float32": "float",
    "float64": "double",
    "float16": "float",
    "bfloat16": "float",
    "uint8": "uint8_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "bool": "bool",
}

# Groups whose meta function gives TensorIterator other inputs than the schema's tensors in their order: exchanged ones,
# or a number wrapped into a tensor, so that it is converted like an element and never refused.
_ITERATOR_INPUTS: Mapping[str, tuple[str, ...]] = {
    "threshold_backward": ("self", "grad_output"),
    "leaky_relu_backward": ("self", "grad_output"),
    **{f"{comparison}.Scalar": ("self", "other") for comparison in ("eq", "ne", "lt", "le", "gt", "ge")},
}

# Groups that torch computes through a TensorIterator, but not element by element.
_NOT_ELEMENTWISE = frozenset({"glu", "index.Tensor", "mse_loss", "smooth_l1_loss"})


@dataclass(frozen=True)
class TextChoices:
    """What may be passed for a string argument, `texts` as C++ literals."""

    argument: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class PointwiseKernel:
    """One C++ function `void NAME(at::TensorIteratorBase& iterator, PARAMETERS)`, and `bool NAME_supports(dtype)`.

    Attributes:
        namespace: the operator's, `aten` or one of the backend's own.
        operator: the functional overload (`add.Tensor`).
        name: the C++ function (`add_Tensor`).
        parameters: what it takes after the iterator, in the schema's order: everything but tensors that are always
            there. Optional tensors are among them, because only they tell whether the iterator has that input.
        declared: the same as C++ text, with a leading comma.
        defined: the same where it is defined: those that the expression does not use have no name.
        dtypes: torch's enumerators of the dtypes that it computes in.
        computing_types: the C++ types that its loops are compiled for.
        dtype: C++ for the dtype that `iterator` asks it to compute in: the one to ask `NAME_supports` about.
        operands: C++ for the iterator's operand that belongs to each parameter of the loop.
        text: the expression as written, for a comment.
        loop: the lambda that the loop applies.
        torch_dtypes: torch's Python names of `dtypes`.
        inplace: the in-place overload that it serves too, or None.
        out: the out overload that it serves too, or None.
        truth_tensors: the tensors that are read as truth values, whatever their dtype.
        texts: for each string argument, the literals that the expression compares it with.
        choices: for those of them that have a default, all that may be passed: the default, and these literals.
    """

    namespace: str
    operator: str
    name: str
    parameters: tuple[Argument, ...]
    declared: str
    defined: str
    dtypes: tuple[str, ...]
    computing_types: tuple[str, ...]
    dtype: str
    operands: tuple[str, ...]
    text: str
    loop: HostLambda
    torch_dtypes: tuple[str, ...]
    inplace: str | None
    out: str | None
    truth_tensors: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]
    choices: tuple[TextChoices, ...]

    @property
    def key(self) -> str:
        """What the shard is chosen by."""
        return self.name

    @property
    def serves(self) -> str:
        """The functional overload, as in `Served.operator`."""
        return self.operator if self.namespace == "aten" else f"{self.namespace}::{self.operator}"


@dataclass(frozen=True)
class PointwiseShard:
    """The kernels of one C++ file."""

    index: int
    kernels: tuple[PointwiseKernel, ...]

    @property
    def serves(self) -> tuple[str, ...]:
        """The functional overloads, as in `Served.operator`."""
        return tuple(kernel.serves for kernel in self.kernels)


@dataclass(frozen=True)
class PointwisePlan:
    """All kernels that come from expressions, by name, and the files that they are in."""

    kernels: tuple[PointwiseKernel, ...]
    shards: tuple[PointwiseShard, ...]

    @property
    def torch_kernels(self) -> tuple[PointwiseKernel, ...]:
        """Those of torch's own operators, which the generated tests compare with the CPU's."""
        return tuple(kernel for kernel in self.kernels if kernel.namespace == "aten")


def _check_elementwise(operator: Operator, group: Group | None, text: str) -> None:
    if group is not None and group.structured:
        elementwise = group.tensor_iterator and operator.name not in _NOT_ELEMENTWISE
    else:
        elementwise = [value.type for value in operator.returns] == ["Tensor"]
    if not elementwise:
        raise ExpressionError(
            f"`{operator.name}` is not computed element by element",
            0,
            len(text),
            "serve it by `library`, `user`, `reference` or `fallback`",
        )


def _expression_argument(argument: Argument, is_input: bool) -> ExpressionArgument:
    kind = ArgumentKind.TENSOR if is_input else _KINDS.get(argument.type.removesuffix("?"), ArgumentKind.OTHER)
    return ExpressionArgument(kind, optional=argument.type.endswith("?"))


def _aliases(arguments: Sequence[Argument], own: Mapping[str, str]) -> dict[str, str]:
    tensors = [argument.name for argument in arguments if argument.type in ("Tensor", "Tensor?")]
    return {**dict(zip("abc", tensors, strict=False)), **own}


def _inputs(operator: Operator, arguments: Sequence[Argument], structured: bool) -> dict[str, Argument]:
    """The arguments that are inputs of the iterator, in its order."""
    by_name = {argument.name: argument for argument in arguments}
    known = ("Tensor", "Tensor?") if structured else ("Tensor",)
    tensors = tuple(argument.name for argument in arguments if argument.type in known)
    return {name: by_name[name] for name in _ITERATOR_INPUTS.get(operator.name, tensors)}


def _places(inputs: Mapping[str, Argument]) -> dict[str, str]:
    """C++ for the operand of each input. Operand 0 is the output; absent optional tensors take no place."""
    places: dict[str, str] = {}
    fixed, counted = 1, ""
    for name, argument in inputs.items():
        place = f"{fixed}{counted}"
        if argument.type == "Tensor?":
            present = f"{argument.cpp_name}.has_value()"
            places[name] = f"{present} ? {place} : kAbsent"
            counted += f" + {present}"
        else:
            places[name] = place
            fixed += 1
    return places


def _dtype(expression: Expression) -> str:
    """C++ for the computing dtype: the output's where the inputs' cannot be common because some are truth values."""
    numbers = set(expression.tensors) - expression.truth_tensors
    return "iterator.dtype()" if expression.truth_tensors and numbers else "iterator.common_dtype()"


def lower_expr(
    operator: Operator,
    group: Group | None,
    text: str,
    dtypes: Sequence[str],
    aliases: Mapping[str, str] | None = None,
    namespace: str = "aten",
) -> PointwiseKernel:
    """Lower one `expr` entry.

    Args:
        operator: the functional overload.
        group: its variants.
        text: the expression.
        dtypes: torch's names of the dtypes to compute in, sets expanded.
        aliases: the entry's own names for arguments.
        namespace: the operator's.

    Raises:
        ExpressionError: the expression is not valid for this operator and these dtypes, or no expression can be.
    """
    _check_elementwise(operator, group, text)
    structured = group is not None and group.structured
    arguments = group.meta_arguments if group is not None and structured else operator.arguments
    inputs = _inputs(operator, arguments, structured)
    known = {argument.name: _expression_argument(argument, argument.name in inputs) for argument in arguments}
    expression = check_expression(text, known, dtypes, _aliases(arguments, aliases or {}))
    if len(expression.tensors) > MAX_TENSORS or len(expression.scalars) + len(expression.conditions) > MAX_CAPTURES:
        message = f"an expression reads at most {MAX_TENSORS} tensors and {MAX_CAPTURES} other arguments"
        raise ExpressionError(message, 0, len(text))
    parameters = tuple(argument for argument in arguments if argument.type != "Tensor")
    names = {argument.name: argument.cpp_name for argument in arguments}
    places = _places(inputs)
    used = {*expression.scalars, *(condition.name for condition in expression.conditions)}
    used |= {name for name in expression.tensors if inputs[name].type == "Tensor?"}
    texts: dict[str, tuple[str, ...]] = {}
    for condition in expression.conditions:
        if isinstance(condition, TextIs):
            texts[condition.name] = (*texts.get(condition.name, ()), condition.text)
    return PointwiseKernel(
        namespace=namespace,
        operator=operator.name,
        name=operator.kernel_name,
        parameters=parameters,
        declared="".join(f", {argument.cpp_type} {argument.cpp_name}" for argument in parameters),
        defined="".join(
            f", {argument.cpp_type} " + (argument.cpp_name if argument.name in used else f"/*{argument.cpp_name}*/")
            for argument in parameters
        ),
        dtypes=tuple(SCALAR_TYPES[dtype] for dtype in dtypes),
        computing_types=tuple(dict.fromkeys(_COMPUTING_TYPES[dtype] for dtype in dtypes)),
        dtype=_dtype(expression),
        operands=tuple(places[name] for name in expression.tensors),
        text=inert(expression.text),
        loop=host_lambda(expression, known, names, dtypes),
        torch_dtypes=tuple(dtypes),
        inplace=group.inplace if group is not None else None,
        out=group.out if group is not None else None,
        truth_tensors=tuple(name for name in expression.tensors if name in expression.truth_tensors),
        texts=texts,
        choices=tuple(_choices(arguments, texts)),
    )


def _choices(arguments: Iterable[Argument], texts: Mapping[str, tuple[str, ...]]) -> Iterator[TextChoices]:
    for argument in arguments:
        if argument.name in texts and argument.type == "str" and argument.default is not None:
            # The schema writes a default as Python does.
            known = (str(literal_eval(argument.default)), *texts[argument.name])
            yield TextChoices(argument.cpp_name, tuple(string_literal(text) for text in dict.fromkeys(known)))


def plan_pointwise(kernels: Iterable[PointwiseKernel]) -> PointwisePlan:
    """Sort the kernels by name, and into files."""
    ordered = tuple(sorted(kernels, key=lambda kernel: kernel.name))
    return PointwisePlan(ordered, shards(ordered, SHARD_SIZE, PointwiseShard))
