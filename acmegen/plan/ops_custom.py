"""Lowering of custom operators: their meta function and their autograd function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from acmegen.facts.operators import Argument, Operator
from acmegen.plan.kernels import Definition
from acmegen.plan.ops import CustomBackward, CustomOperator
from acmegen.plan.ops_functions import kernel_function
from acmegen.plan.ops_library import given_definitions

# How an argument that is no tensor comes out of the context in which autograd keeps it.
_FROM_VALUE: Mapping[str, str] = {
    "int": "toInt()",
    "float": "toDouble()",
    "bool": "toBool()",
    "Scalar": "toScalar()",
    "ScalarType": "toScalarType()",
    "str": "toStringView()",
    "int?": "toOptional<int64_t>()",
    "float?": "toOptional<double>()",
    "bool?": "toOptional<bool>()",
    "Scalar?": "toOptional<at::Scalar>()",
    "ScalarType?": "toOptional<at::ScalarType>()",
    "int[]": "toIntVector()",
    "float[]": "toDoubleVector()",
}

ReportBackward = Callable[[str], None]
"""Records what is wrong with the backward operator of an entry."""


def like_definitions(operator: Operator, like: Sequence[str], function: str = "meta_like") -> tuple[Definition, ...]:
    """The meta function's results, each like the argument named in its place; a single name is for all results.

    `function` makes one: `meta_like`, contiguous, or `at::empty_like`, with the strides that a pointwise loop gives it.
    """
    names = tuple(like) * len(operator.returns) if len(like) == 1 else tuple(like)
    arguments = {argument.name: argument for argument in operator.arguments}
    values = (_empty_like(function, arguments[name]) for name in names)
    return tuple(Definition("at::Tensor", f"out{index}", f" = {value}") for index, value in enumerate(values))


def _empty_like(function: str, argument: Argument) -> str:
    if argument.type == "Tensor?":
        return f"{argument.cpp_name}_given.defined() ? {function}({argument.cpp_name}_given) : at::Tensor()"
    return f"{function}({argument.cpp_name})"


def custom_operator(
    operator: Operator, meta: tuple[Definition, ...] | None, backward: CustomBackward | None
) -> CustomOperator:
    """Put the parts of one custom operator together. `operator` is its parsed schema."""
    function = kernel_function(operator)
    if operator.returns and all(value.is_mutable for value in operator.returns):
        # Such an operator returns the arguments that it writes to.
        meta = ()
        written = [argument.cpp_name for argument in operator.arguments if argument.is_mutable]
        names = written[: len(operator.returns)]
    else:
        names = [definition.name for definition in meta or ()]
    return CustomOperator(
        base=operator.base,
        overload=operator.overload,
        schema=operator.schema,
        function=function,
        function_type=_function_type(operator),
        result_count=len(operator.returns),
        given=given_definitions(operator.arguments, (definition.value for definition in meta or ())),
        meta=meta,
        meta_result=names[0] if len(names) == 1 else f"{{{', '.join(names)}}}",
        backward=backward,
    )


def lower_backward(operator: Operator, backward: Operator, report: ReportBackward) -> CustomBackward | None:
    """The autograd function of `operator` that calls `backward`.

    The backward operator takes the gradient of each result first. Each further argument has the name of an argument, or
    of a named result, of the forward operator. It returns a gradient for each tensor argument, in their order.
    """
    count = len(operator.returns)
    inputs = {argument.name: argument for argument in operator.arguments}
    results = {value.name: index for index, value in enumerate(operator.returns) if value.name is not None}
    differentiable = [argument for argument in operator.arguments if argument.type in ("Tensor", "Tensor?")]
    if any(value.is_mutable for value in operator.returns) or operator.variant == "mutable" or not operator.returns:
        report(f"`{operator.name}` writes to an argument or returns nothing, so it has no gradient")
        return None
    if len(backward.returns) != len(differentiable):
        names = ", ".join(f"`{argument.name}`" for argument in differentiable)
        report(f"`{backward.name}` returns {len(backward.returns)} tensors, but the gradients are those of {names}")
        return None
    saved_tensors: list[str] = []
    saved_values: list[str] = []
    passed: list[str] = []
    for index, argument in enumerate(backward.arguments):
        if index < count:
            if argument.type != "Tensor":
                report(f"`{argument.name}` of `{backward.name}` is the gradient of a result, so it is a `Tensor`")
                return None
            passed.append(f"gradients[{index}]")
        elif argument.name in results and argument.type == "Tensor":
            passed.append(f"saved[{len(saved_tensors)}]")
            saved_tensors.append(_result(results[argument.name], count))
        elif argument.name not in inputs:
            report(f"`{argument.name}` of `{backward.name}` is no argument or named result of `{operator.name}`")
            return None
        elif argument.type != inputs[argument.name].type:
            report(
                f"`{argument.name}` is `{argument.type}` in `{backward.name}` and "
                f"`{inputs[argument.name].type}` in `{operator.name}`"
            )
            return None
        elif argument.type in ("Tensor", "Tensor?"):
            saved = f"saved[{len(saved_tensors)}]"
            name = inputs[argument.name].cpp_name
            passed.append(f"optional({saved})" if argument.type == "Tensor?" else saved)
            saved_tensors.append(f"given({name})" if argument.type == "Tensor?" else name)
        elif argument.type in _FROM_VALUE:
            passed.append(f'context->saved_data["{argument.name}"].{_FROM_VALUE[argument.type]}')
            saved_values.append(inputs[argument.name].cpp_name)
        else:
            report(f"`{argument.name}` of `{backward.name}`: autograd cannot keep a `{argument.type}`")
            return None
    gradients = {argument.name: _result(index, len(differentiable)) for index, argument in enumerate(differentiable)}
    return CustomBackward(
        # Two underscores leave one, so that the names of two operators never become one.
        class_name="".join(part.capitalize() or "_" for part in operator.kernel_name.split("_")) + "Function",
        saved_tensors=tuple(saved_tensors),
        saved_values=tuple(saved_values),
        operator=backward.base,
        overload=backward.overload,
        type=_function_type(backward),
        arguments=tuple(passed),
        gradients=tuple(gradients.get(argument.name, "at::Tensor()") for argument in operator.arguments),
    )


def _result(index: int, count: int) -> str:
    return "result" if count == 1 else f"std::get<{index}>(result)"


def _function_type(operator: Operator) -> str:
    concrete = kernel_function(operator)
    return f"{concrete.return_type} ({', '.join(parameter.type for parameter in concrete.parameters)})"
