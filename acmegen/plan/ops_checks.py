"""What can be wrong with an entry of the operators' manifests, given the operators that torch has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from acmegen.diagnostics import Diagnostic, Note, codes, sure_fix
from acmegen.facts.operator_history import versions_with
from acmegen.facts.operators import Group, Operator, Operators
from acmegen.manifest.load import PlacedOperator
from acmegen.plan.runtime_kernels import RUNTIME_KERNELS

_KERNELS = ("expr", "library", "user")
_BACKENDS = frozenset({"CPU", "CUDA"})
_ON_THE_CPU = ("reference", "fallback")
_SERVE_THE_PARTS = "leave it out, or write `composite`, and serve the operators that it decomposes into"


def unknown_operator(
    placed: PlacedOperator, operators: Operators, torch_version: str, *, suggest: bool = True
) -> Diagnostic:
    """torch has no operator of that name; other versions may. To `suggest` others takes some milliseconds."""
    message = f"torch {torch_version} has no operator `{placed.name}`"
    versions = versions_with(placed.name)
    if versions is not None:
        notes = (f"it is an operator of torch {versions}",)
        return Diagnostic(codes.UNKNOWN_OPERATOR, message, placed.span(key=True), notes=notes)
    if not suggest:
        return Diagnostic(codes.UNKNOWN_OPERATOR, message, placed.span(key=True))
    near = operators.nearest(placed.name)
    overloads = operators.overloads(placed.name.partition(".")[0])
    if overloads and "." not in placed.name:
        # Which overload was meant is plain only where there is one; else the help lists them.
        meant = likely = near[0] if len(near) == 1 else None
    else:
        meant = sure_fix(placed.name, overloads or _alike(placed.name, operators))
        likely = meant or next(iter(near), None)
    return Diagnostic(
        codes.UNKNOWN_OPERATOR,
        message,
        placed.span(key=True),
        label=f"did you mean `{likely}`?" if likely else "",
        help=f"near: {_listed(near)}" if near else None,
        edits=placed.renamed(meant) if meant else (),
    )


def _alike(name: str, operators: Operators) -> list[str]:
    """The operators with an underscore where `name` has one: `relu` is no slip of `relu_`, nor of `_relu`."""

    def underscores(name: str) -> tuple[bool, bool]:
        return name.startswith("_"), name.partition(".")[0].endswith("_")

    return [candidate for candidate in operators if underscores(candidate) == underscores(name)]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def cuts_autograd(operator: Operator) -> bool:
    """Whether a kernel would take the place of a decomposition that autograd sees.

    Where torch's own backends have kernels beside the decomposition, it calls the operator only where no gradient is
    needed.
    """
    return _only_decomposed(operator) and not operator.has_derivative


def _only_decomposed(operator: Operator) -> bool:
    """Whether torch's own backends have nothing but the decomposition."""
    return operator.composite_implicit and operator.dispatch.isdisjoint(_BACKENDS)


def check_operator(
    placed: PlacedOperator,
    operator: Operator,
    group: Group | None,
    group_entry: PlacedOperator | None,
    *,
    host_access: bool,
    library: bool,
) -> Iterator[Diagnostic]:
    """Everything that makes the entry's kernel kind impossible for `operator`; the first reason of each sort.

    `group_entry` is the entry of the group's functional variant, where there is one.
    """
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
            help=_SERVE_THE_PARTS,
        )
        return
    if kind in _KERNELS and group is not None and group.structured and operator.name != group.functional:
        yield _served_by_group(placed, operator, group, group_entry)
        return
    if kind in _ON_THE_CPU:
        yield from _check_on_the_cpu(placed, operator, host_access)
    elif kind == "expr":
        yield from _check_expr(placed, operator, group, host_access)
    elif kind == "library":
        yield from _check_library(placed, operator, group, library)


def _served_by_group(
    placed: PlacedOperator, operator: Operator, group: Group, group_entry: PlacedOperator | None
) -> Diagnostic:
    serves = f"it serves {_listed(group.variants)}"
    message = f"`{operator.name}` is served by the entry of `{group.functional}`"
    if group_entry is not None and not group_entry.preset:
        first = Note(group_entry.span(key=True), "served here already")
        return Diagnostic(
            codes.SERVED_BY_GROUP,
            message,
            placed.span(key=True),
            secondary=(first,),
            help=f"remove this entry: {serves}",
        )
    return Diagnostic(
        codes.SERVED_BY_GROUP,
        message,
        placed.span(key=True),
        help=f"write the entry as `{group.functional}`; {serves}",
        edits=placed.renamed(group.functional) if group.functional else (),
    )


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
    if _only_decomposed(operator):
        message = f"`{operator.name}` is not elementwise: torch decomposes it into other operators"
        yield Diagnostic(codes.WRONG_KIND, message, span, help=_SERVE_THE_PARTS)
    elif group is not None and group.structured and not group.tensor_iterator:
        yield Diagnostic(codes.WRONG_KIND, f"`{operator.name}` is not elementwise, so no expression can serve it", span)
    elif operator.variant != "functional":
        yield Diagnostic(
            codes.WRONG_KIND,
            f"`{operator.name}` is not the functional variant, which an expression is keyed by",
            span,
            help=f"write the entry as `{group.functional}`" if group and group.functional else None,
            edits=placed.renamed(group.functional) if group and group.functional else (),
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
            edits=placed.renamed(group.functional) if group and group.functional else (),
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
