"""Lowering of operators that torch has no meta function for: the generated function checks, allocates and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acmegen.facts.operators import Operator
from acmegen.plan.kernels import Kernel, Otherwise
from acmegen.plan.ops_functions import (
    fallback_call,
    kernel_function,
    not_served,
    stack_result,
    tensor_operands,
)
from acmegen.plan.ops_library import Lowered, given_definitions
from acmegen.plan.pointwise import PointwiseKernel

# What torch's CPU kernels do with dtypes, where it is not to compute in the common dtype and return that.
_PROMOTION: Mapping[str, str] = {
    "abs": "Magnitude",
    "angle": "Float",
    "isnan": "Boolean",
    "isinf": "Boolean",
    "isreal": "Boolean",
    "logical_and": "Boolean",
    "logical_not": "Boolean",
    "logical_or": "Boolean",
    "logical_xor": "Boolean",
    "where.self": "Condition",
}


def pointwise_kernel(
    operator: Operator, kernel: PointwiseKernel, otherwise: str, namespace: str = "aten", name: str | None = None
) -> Kernel:
    """An overload of a group that an expression serves: functional, in-place or out.

    Args:
        operator: the overload.
        kernel: the loop of the group's functional overload.
        otherwise: `fallback` or `error`, for other dtypes.
        namespace: the operator's.
        name: the function's, by default torch's identifier.
    """
    inputs = [argument for argument in operator.arguments if not argument.is_out]
    tensors = ", ".join(argument.cpp_name for argument in inputs if argument.type == "Tensor")
    output = "at::Tensor()"
    result = "iterator.output(0)"
    if operator.variant == "inplace":
        output = result = operator.arguments[0].cpp_name
    elif operator.variant == "out":
        output = result = operator.out_arguments[0].cpp_name
    promotion = _PROMOTION.get(kernel.operator, "Common") if namespace == "aten" else "Common"
    passed = ", ".join(["iterator", *(parameter.cpp_name for parameter in kernel.parameters)])
    supported = f"pointwise::{kernel.name}_supports({kernel.dtype})"
    words = f"a common dtype among {', '.join(kernel.torch_dtypes)}"
    return Kernel(
        function=kernel_function(operator, name),
        summary=f"Serves {operator.name} by the expression of pointwise::{kernel.name}.",
        iterator=f"at::TensorIterator iterator = make_iterator(Promotion::{promotion}, {output}, {{{tensors}}});",
        guard="iterator.device(0)",
        otherwise=_otherwise(operator, namespace, ((supported, words),), otherwise),
        statement=f"pointwise::{kernel.name}({passed});",
        result=result,
    )


def library_kernel(
    operator: Operator,
    lowered: Lowered,
    outputs: Sequence[str],
    otherwise: str,
    namespace: str = "aten",
    name: str | None = None,
) -> Kernel:
    """An overload that the vendor's library serves."""
    result = outputs[0] if len(outputs) == 1 else f"{{{', '.join(outputs)}}}"
    return Kernel(
        function=kernel_function(operator, name),
        summary=f"Serves {operator.name} by {' and '.join(lowered.body.symbols)}.",
        device_check=tensor_operands(operator.arguments),
        guard="target_device",
        given=given_definitions(operator.arguments, lowered.texts),
        otherwise=_otherwise(operator, namespace, lowered.conditions, otherwise),
        allocations=lowered.allocations,
        library=lowered.body,
        leave=f"return {result};",
        result=result,
    )


def user_kernel(operator: Operator, name: str | None = None) -> Kernel:
    """An overload whose kernel the user writes."""
    function = kernel_function(operator, name)
    passed = ", ".join(parameter.name for parameter in function.parameters)
    returned = "return " if function.return_type != "void" else ""
    operands = tensor_operands(operator.arguments)
    return Kernel(
        function=function,
        summary=f"Serves {operator.name} by csrc/kernels/{function.name}.cpp.",
        device_check=operands,
        allow_cpu_scalars=True,
        guard="target_device" if operands else _device_without_operands(operator),
        statement=f"{returned}kernels::{function.name}({passed});",
    )


def _device_without_operands(operator: Operator) -> str:
    """C++ for the device of an overload that takes no single tensor; empty if nothing tells it."""
    for argument in operator.arguments:
        if argument.type == "Tensor[]":
            return f"list_device({argument.cpp_name})"
    for argument in operator.arguments:
        if argument.type == "Device?":
            return f"c10::device_or_default({argument.cpp_name})"
    return ""


def _otherwise(
    operator: Operator, namespace: str, conditions: Sequence[tuple[str, str]], otherwise: str
) -> Otherwise | None:
    if not conditions:
        return None
    if otherwise == "error":
        return not_served(operator.name, conditions)
    call = fallback_call(operator, namespace, (argument.cpp_name for argument in operator.arguments))
    statements: tuple[str, ...]
    if operator.variant == "functional":
        statements = (f"const torch::jit::Stack results = {call};", f"return {stack_result(operator, 'results')};")
    else:
        written = operator.out_arguments or operator.arguments[:1]
        returned = ", ".join(argument.cpp_name for argument in written)
        statements = (f"{call};", f"return {returned if len(written) == 1 else f'{{{returned}}}'};")
    return Otherwise(tuple(cpp for cpp, _ in conditions), statements)
