"""C++ signatures of the functions that the dispatcher calls, and the expressions that pass arguments on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acmegen.facts.operators import Argument, Group, Operator
from acmegen.plan.kernels import Function, Otherwise, Parameter

# Kernels take concrete integers; the dispatcher guards symbolic ones for them.
_CONCRETE: Mapping[str, str] = {
    "c10::SymInt": "int64_t",
    "c10::SymIntArrayRef": "at::IntArrayRef",
    "at::OptionalSymIntArrayRef": "at::OptionalIntArrayRef",
    "::std::optional<c10::SymInt>": "std::optional<int64_t>",
}


def concrete_type(cpp_type: str) -> str:
    """`cpp_type` with concrete integers in place of symbolic ones."""
    return _CONCRETE.get(cpp_type, cpp_type).replace("c10::SymInt", "int64_t").replace("::std::", "std::")


def kernel_function(operator: Operator, name: str | None = None) -> Function:
    """The function that serves `operator`; `name` defaults to torch's identifier for it."""
    return Function(
        operator=operator.name,
        name=name or operator.kernel_name,
        return_type=concrete_type(operator.cpp_return_type),
        parameters=tuple(
            Parameter(argument.cpp_name, concrete_type(argument.cpp_type)) for argument in operator.arguments
        ),
        schema=operator.schema,
        serves=operator.qualified_name,
    )


def structured_user_arguments(group: Group) -> tuple[Argument, ...]:
    """What the user's kernel of a structured group takes: what torch's own takes, and tensors that torch's own finds in
    its iterator instead."""
    arguments = list(group.impl_arguments)
    names = {argument.name for argument in arguments}
    for index, argument in enumerate(group.meta_arguments):
        if "Tensor" in argument.type and argument.name not in names:
            arguments.insert(index, argument)
    return tuple(arguments)


def structured_user_function(operator: Operator, group: Group) -> Function:
    """The user's kernel of a structured group: it gets the inputs, and outputs whose shapes torch has determined."""
    return Function(
        operator=operator.name,
        name=operator.kernel_name,
        return_type="void",
        parameters=tuple(
            Parameter(argument.cpp_name, concrete_type(argument.cpp_type))
            for argument in structured_user_arguments(group)
        ),
        schema=operator.schema,
        serves=operator.qualified_name,
    )


def structured_argument(argument: Argument, dispatcher_type: str, expression: str) -> str:
    """C++ that passes `expression`, of the type that the dispatcher gives, as `argument` of the structured API."""
    is_reference = argument.cpp_type in ("at::OptionalTensorRef", "at::OptionalScalarRef")
    return f"optional_reference({expression})" if is_reference and dispatcher_type != argument.cpp_type else expression


def tensor_operands(arguments: Iterable[Argument]) -> tuple[str, ...]:
    """The single tensors among `arguments`, as operands of a check that they are on one device."""
    return tuple(
        f'{{"{argument.name}", {argument.cpp_name}}}'
        for argument in arguments
        if argument.type in ("Tensor", "Tensor?")
    )


def inert(text: str) -> str:
    """`text` on one line and harmless in a C++ comment, whatever it holds; what cannot be seen is spelled out."""
    flat = " ".join(text.split())
    flat = "".join(character if character.isprintable() else f"U+{ord(character):04X}" for character in flat)
    return flat.replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /").rstrip("\\")


def string_literal(text: str) -> str:
    """A C++ string literal with the value `text`, whatever it holds."""
    escaped = []
    for character in text:
        if character in '"\\':
            escaped.append("\\" + character)
        elif character == "\n":
            escaped.append("\\n")
        elif character == "?":
            escaped.append("\\?")
        elif not character.isprintable():
            escaped += (f"\\{byte:03o}" for byte in character.encode())
        else:
            escaped.append(character)
    return f'"{"".join(escaped)}"'


def fallback_call(operator: Operator, namespace: str, arguments: Iterable[str]) -> str:
    """C++ that runs `operator` through the backend-wide fallback and gives the stack of its results."""
    return f'run_fallback("{namespace}::{operator.base}", "{operator.overload}", {{{", ".join(arguments)}}})'


def stack_result(operator: Operator, stack: str) -> str:
    """C++ for the results of `operator`, all of them tensors, taken from `stack`."""
    if len(operator.returns) == 1:
        return f"{stack}[0].toTensor()"
    return f"{{{', '.join(f'{stack}[{index}].toTensor()' for index in range(len(operator.returns)))}}}"


def not_served(operator: str, conditions: Iterable[tuple[str, str]], tail: str = "") -> Otherwise:
    """Refuse calls that do not fulfil `conditions`: pairs of C++ and of what the message says is needed."""
    pairs = tuple(conditions)
    needs = " and ".join(words for _, words in pairs)
    message = string_literal(f"{operator} on this device needs {needs}")
    return Otherwise(tuple(cpp for cpp, _ in pairs), (f"TORCH_CHECK_NOT_IMPLEMENTED(false, {message});{tail}",))
