"""Lowering of structured groups: torch's meta function and one body give the functional, in-place and out variant."""

from __future__ import annotations

from collections.abc import Sequence

from acmegen.facts.operators import Group, Operator, Operators
from acmegen.plan.kernels import Otherwise, StructuredKernel, StructuredVariant
from acmegen.plan.ops_functions import (
    fallback_call,
    inert,
    kernel_function,
    not_served,
    structured_argument,
    structured_user_arguments,
    tensor_operands,
)
from acmegen.plan.ops_library import Lowered, given_definitions
from acmegen.plan.pointwise import PointwiseKernel


class StructuredLowering:
    """Lowers entries of structured groups; `claimed` are the overloads that an entry serves."""

    def __init__(self, operators: Operators) -> None:
        self._operators = operators

    def pointwise(
        self, group: Group, kernel: PointwiseKernel, otherwise: str, claimed: Sequence[str]
    ) -> StructuredKernel:
        """A group that an expression serves."""
        functional = self._operators[group.functional or ""]
        arguments = self._arguments(functional, group)
        passed = ", ".join(["iterator", *(arguments[parameter.name] for parameter in kernel.parameters)])
        supported = f"pointwise::{kernel.name}_supports({kernel.dtype})"
        words = f"a common dtype among {', '.join(kernel.torch_dtypes)}"
        return self._kernel(
            group,
            claimed,
            functional,
            summary=f"the expression of pointwise::{kernel.name}",
            otherwise=self._otherwise(group, functional, ((supported, words),), otherwise),
            statement=f"pointwise::{kernel.name}({passed});",
        )

    def library(self, group: Group, lowered: Lowered, otherwise: str, claimed: Sequence[str]) -> StructuredKernel:
        """A group that the vendor's library serves."""
        functional = self._operators[group.functional or ""]
        return self._kernel(
            group,
            claimed,
            functional,
            summary=" and ".join(lowered.body.symbols),
            otherwise=self._otherwise(group, functional, lowered.conditions, otherwise),
            lowered=lowered,
        )

    def user(self, group: Group, claimed: Sequence[str]) -> StructuredKernel:
        """A group whose kernel the user writes."""
        functional = self._operators[group.functional or ""]
        arguments = self._arguments(functional, group)
        computed = {value.name for value in group.precomputed.elements} if group.precomputed else set()
        passed = [
            f"precomputed.{argument.cpp_name}"
            if argument.name in computed
            else arguments.get(argument.name, argument.cpp_name)
            for argument in structured_user_arguments(group)
        ]
        return self._kernel(
            group,
            claimed,
            functional,
            summary=f"csrc/kernels/{functional.kernel_name}.cpp",
            statement=f"kernels::{functional.kernel_name}({', '.join(passed)});",
        )

    def _arguments(self, functional: Operator, group: Group) -> dict[str, str]:
        """For each argument of the meta function, C++ that makes it from the dispatcher's."""
        types = {argument.name: argument.cpp_type for argument in functional.arguments}
        return {
            argument.name: structured_argument(argument, types[argument.name], argument.cpp_name)
            for argument in group.meta_arguments
        }

    def _outputs(self, group: Group) -> tuple[str, ...]:
        return tuple(argument.cpp_name for argument in self._operators[group.out or ""].out_arguments)

    def _otherwise(
        self, group: Group, functional: Operator, conditions: Sequence[tuple[str, str]], otherwise: str
    ) -> Otherwise:
        if otherwise == "error":
            return not_served(functional.name, conditions)
        out = self._operators[group.out or ""]
        call = fallback_call(out, "aten", (argument.cpp_name for argument in out.arguments))
        store = () if group.tensor_iterator else ("store();",)
        return Otherwise(tuple(cpp for cpp, _ in conditions), (f"{call};", *store, "return;"))

    def _kernel(
        self,
        group: Group,
        claimed: Sequence[str],
        functional: Operator,
        summary: str,
        otherwise: Otherwise | None = None,
        statement: str = "",
        lowered: Lowered | None = None,
    ) -> StructuredKernel:
        arguments = self._arguments(functional, group)
        outputs = self._outputs(group)
        function = kernel_function(functional)
        text = " ".join([statement, *(otherwise.statements if otherwise else ())])
        return StructuredKernel(
            name="".join(part.capitalize() for part in functional.kernel_name.split("_")) + "Kernel",
            label=functional.name,
            summary=f"Serves {', '.join(claimed)} by {inert(summary)}.",
            meta_class=group.meta_class,
            meta_header=group.meta_header,
            parameters=function.parameters,
            device_check=() if group.tensor_iterator else tensor_operands(functional.arguments),
            meta_arguments=tuple(arguments[argument.name] for argument in group.meta_arguments),
            precomputes=group.precomputed is not None and "precomputed." in statement,
            binds_iterator="iterator" in text or (otherwise is not None and "iterator" in otherwise.refusal),
            given=given_definitions(functional.arguments, lowered.texts) if lowered else (),
            outputs=outputs if lowered or "run_fallback(" in text or statement.startswith("kernels::") else (),
            otherwise=otherwise,
            statement=statement,
            library=lowered.body if lowered else None,
            stores=not group.tensor_iterator,
            variants=tuple(self._variant(self._operators[name], outputs) for name in claimed),
        )

    def _variant(self, operator: Operator, outputs: Sequence[str]) -> StructuredVariant:
        function = kernel_function(operator)
        match operator.variant:
            case "functional":
                taken = [f"kernel.take({index})" for index in range(len(outputs))]
                result = taken[0] if len(taken) == 1 else f"{{{', '.join(taken)}}}"
                return StructuredVariant(function, str(len(outputs)), (), result)
            case "inplace":
                name = operator.arguments[0].cpp_name
                return StructuredVariant(function, f"Variant::Inplace, {{{name}}}", (), name)
        names = tuple(argument.cpp_name for argument in operator.out_arguments)
        result = names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
        return StructuredVariant(
            function, f"Variant::Out, {{{', '.join(names)}}}", tensor_operands(operator.out_arguments), result
        )
