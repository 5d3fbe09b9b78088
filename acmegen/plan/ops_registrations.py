"""What is registered with the dispatcher for an operator: calls of `m.impl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acmegen.facts.operators import Group, Operator
from acmegen.plan.kernels import Function
from acmegen.plan.ops import Registration
from acmegen.plan.ops_functions import string_literal

_BOXED: Mapping[str, tuple[str, str]] = {
    "reference": ("reference", "Reference.h"),
    "fallback": ("cpu_fallback", "Fallback.h"),
}

# torch's meta functions of these resize the output twice, which warns where the functional variant comes down to it.
_RESIZED_TWICE = frozenset({"mse_loss", "smooth_l1_loss"})


def kernel_registration(function: Function) -> Registration:
    """A kernel that the plan describes."""
    kernel = f"static_cast<{function.pointer_type}>(&ops::{function.name})"
    return Registration(function.operator, kernel, ("kernels/Functions.h",))


def runtime_registration(operator: Operator) -> Registration:
    """A kernel of the runtime, which takes symbolic integers, as the dispatcher has it."""
    pointer = f"{operator.cpp_return_type} (*)({', '.join(argument.cpp_type for argument in operator.arguments)})"
    kernel = f"static_cast<{pointer}>(&native::{operator.kernel_name})"
    return Registration(operator.name, kernel, ("native/NativeFunctions.h",))


def boxed_registrations(
    kind: str, operator: Operator, group: Group | None, claimed: Sequence[str]
) -> list[Registration]:
    """torch's CPU kernels, in the way that `kind` says, for an entry that serves the overloads `claimed`."""
    function, header = _BOXED[kind]
    kernel = f"torch::CppFunction::makeFromBoxedFunction<&{function}>()"
    return [Registration(name, kernel, (f"fallback/{header}",)) for name in _boxed_variants(operator, group, claimed)]


def _boxed_variants(operator: Operator, group: Group | None, claimed: Sequence[str]) -> tuple[str, ...]:
    """The overloads that a boxed kernel is registered for: those of a structured group come down to its out variant."""
    if group is None or not group.structured or group.out not in claimed:
        return (operator.name,)
    return tuple(name for name in claimed if name == group.out or name in _RESIZED_TWICE)


def unsupported_registration(name: str, reason: str) -> Registration:
    """A functor that raises the reason."""
    functor = f"std::make_unique<Unsupported>({string_literal(reason)})"
    kernel = f"torch::CppFunction::makeFromBoxedFunctor({functor})"
    return Registration(name, kernel, ("fallback/Unsupported.h",))
