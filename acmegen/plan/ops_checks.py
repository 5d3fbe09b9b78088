"""What can be wrong with an entry of the operators' manifests, given the operators that torch has."""

from __future__ import annotations

from collections.abc import Iterator

from acmegen.diagnostics import Diagnostic, codes, did_you_mean
from acmegen.facts.operators import Group, Operator, Operators
from acmegen.manifest.load import PlacedOperator
from acmegen.plan.runtime_kernels import RUNTIME_KERNELS

_KERNELS = ("expr", "library", "user")
_BACKENDS = frozenset({"CPU", "CUDA"})
_ON_THE_CPU = ("reference", "fallback")


def unknown_operator(placed: PlacedOperator, operators: Operators, torch_version: str) -> Diagnostic:
    """torch has no operator of that name."""
    near = operators.nearest(placed.name)
    listed = ", ".join(f"`{name}`" for name in near)
    overloads = operators.overloads(placed.name.partition(".")[0])
    return Diagnostic(
        codes.UNKNOWN_OPERATOR,
        f"torch {torch_version} has no operator `{placed.name}`",
        placed.span(key=True),
        label=did_you_mean(placed.name, overloads) if overloads else "",
        help=f"near: {listed}" if near else None,
    )


def cuts_autograd(operator: Operator) -> bool:
    """Whether a kernel would take the place of a decomposition that autograd sees.

    Where torch's own backends have kernels beside the decomposition, it calls the operator only where no gradient is
    needed.
    """
    own_kernel = not operator.dispatch.isdisjoint(_BACKENDS)
    return operator.composite_implicit and not operator.has_derivative and not own_kernel


def check_operator(
    placed: PlacedOperator, operator: Operator, group: Group | None, *, host_access: bool, library: bool
) -> Iterator[Diagnostic]:
    """Everything that makes the entry's kernel kind impossible for `operator`; the first reason of each sort."""
    kind = placed.entry.kind
    span = placed.span(key=True)
    if kind == "composite":
        if not operator.composite_implicit and not operator.composite_explicit:
            yield Diagnostic(
                codes.NOT_COMPOSITE,
                f"torch has no decomposition of `{operator.name}`",
                span,
                help="use `reference` or `fallback`, or give it a kernel",
            )
        return
    if kind == "runtime":
        if operator.name not in RUNTIME_KERNELS:
            yield Diagnostic(codes.NO_RUNTIME_KERNEL, f"the runtime has no kernel for `{operator.name}`", span)
        return
    if kind != "unsupported" and cuts_autograd(operator):
        yield Diagnostic(
            codes.CUTS_AUTOGRAD,
            f"`{operator.name}` is decomposed by torch above autograd: a kernel would cut its gradient",
            span,
            help="leave it out, or write `composite`, and serve the operators that it decomposes into",
        )
        return
    if kind in _KERNELS and group is not None and group.structured and operator.name != group.functional:
        yield Diagnostic(
            codes.SERVED_BY_GROUP,
            f"`{operator.name}` is served by the entry of `{group.functional}`",
            span,
            help=f"write the entry as `{group.functional}`; it serves {', '.join(group.variants)}",
        )
        return
    if kind in _ON_THE_CPU:
        yield from _check_on_the_cpu(placed, operator, host_access)
    elif kind == "expr":
        yield from _check_expr(placed, operator, group, host_access)
    elif kind == "library":
        yield from _check_library(placed, operator, group, library)


def _check_on_the_cpu(placed: PlacedOperator, operator: Operator, host_access: bool) -> Iterator[Diagnostic]:
    span = placed.span(key=True)
    if operator.is_view:
        yield Diagnostic(
            codes.VIEW_OPERATOR,
            f"`{operator.name}` is a view: a fallback would return a copy that is detached from its input",
            span,
            help="leave it out, or use `composite` if torch decomposes it, or write it yourself with `user`",
        )
    elif "CPU" not in operator.dispatch and not operator.composite_explicit and not operator.composite_implicit:
        yield Diagnostic(
            codes.NO_CPU_KERNEL,
            f"torch has no CPU kernel for `{operator.name}`",
            span,
            help="give it a kernel, or write `unsupported` with a reason",
        )
    elif placed.entry.kind == "reference" and not host_access:
        yield _no_host_access(placed)


def _check_expr(
    placed: PlacedOperator, operator: Operator, group: Group | None, host_access: bool
) -> Iterator[Diagnostic]:
    span = placed.span(key=True)
    if group is not None and group.structured and not group.tensor_iterator:
        yield Diagnostic(codes.WRONG_KIND, f"`{operator.name}` is not elementwise, so no expression can serve it", span)
    elif operator.variant != "functional":
        yield Diagnostic(
            codes.WRONG_KIND,
            f"`{operator.name}` is not the functional variant, which an expression is keyed by",
            span,
            help=f"write the entry as `{group.functional}`" if group and group.functional else None,
        )
    elif [value.type for value in operator.returns] != ["Tensor"]:
        yield Diagnostic(codes.WRONG_KIND, f"`{operator.name}` does not return one tensor", span)
    elif (group is None or not group.structured) and any(
        argument.type != "Tensor" for argument in operator.tensor_arguments
    ):
        yield Diagnostic(codes.WRONG_KIND, f"`{operator.name}` takes more than plain tensors and numbers", span)
    elif not host_access:
        yield _no_host_access(placed)


def _check_library(
    placed: PlacedOperator, operator: Operator, group: Group | None, library: bool
) -> Iterator[Diagnostic]:
    span = placed.span(key=True)
    if not library:
        yield Diagnostic(
            codes.NO_LIBRARY,
            f"`{operator.name}` calls a maths library, and backend.yaml binds none",
            placed.span("library", key=True),
            help="add `library:` to backend.yaml",
        )
    elif operator.variant != "functional":
        yield Diagnostic(
            codes.WRONG_KIND,
            f"`{operator.name}` is not the functional variant, which a library entry is keyed by",
            span,
            help=f"write the entry as `{group.functional}`" if group and group.functional else None,
        )
    elif any(value.type != "Tensor" for value in operator.returns) or not operator.returns:
        yield Diagnostic(codes.WRONG_KIND, f"not all results of `{operator.name}` are tensors", span)


def _no_host_access(placed: PlacedOperator) -> Diagnostic:
    return Diagnostic(
        codes.HOST_ACCESS_MISSING,
        f"`{placed.name}` runs on the host, and the driver gives it no access to device memory",
        placed.span(key=True),
        help="bind `host_pointer` and `launch_host_function` in backend.yaml, or use `fallback`, `library` or `user`",
    )
