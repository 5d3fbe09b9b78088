"""Lowering of the operators' manifests: entries and facts become the plan of what is registered and what serves it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from acmegen.diagnostics import Diagnostic, DiagnosticError, Note, codes, did_you_mean, sure_fix
from acmegen.facts import Facts
from acmegen.facts.operators import Group, Operator
from acmegen.manifest.library import Allocation
from acmegen.manifest.load import PlacedCustom, PlacedOperator, Project
from acmegen.manifest.ops import CustomFields, ExprEntry, LibraryEntry, UnsupportedEntry
from acmegen.manifest.source import NodePath
from acmegen.plan.device import DriverPlan, LibraryPlan
from acmegen.plan.expressions import ExpressionError
from acmegen.plan.kernels import Function, Kernel, StructuredKernel, UserKernel
from acmegen.plan.ops import (
    CustomBackward,
    CustomNamespace,
    CustomOperator,
    KernelShard,
    OpsPlan,
    Place,
    Registration,
    RegistrationShard,
    Served,
    StructuredShard,
)
from acmegen.plan.ops_checks import check_operator, unknown_operator
from acmegen.plan.ops_claims import Claims
from acmegen.plan.ops_collisions import collisions
from acmegen.plan.ops_custom import custom_operator, like_definitions, lower_backward
from acmegen.plan.ops_functions import kernel_function, structured_user_function
from acmegen.plan.ops_kernels import library_kernel, pointwise_kernel, user_kernel
from acmegen.plan.ops_library import Lowered, lower_library
from acmegen.plan.ops_registrations import (
    boxed_registrations,
    kernel_registration,
    runtime_registration,
    unsupported_registration,
)
from acmegen.plan.ops_schema import SchemaError, parse_schema
from acmegen.plan.ops_structured import StructuredLowering
from acmegen.plan.pointwise import PointwiseKernel, lower_expr, plan_pointwise
from acmegen.plan.scalar_types import SCALAR_TYPES
from acmegen.plan.shards import shards

# Chosen so that a file compiles in about ten seconds.
_STRUCTURED_PER_FILE = 40
_KERNELS_PER_FILE = 60
_REGISTRATIONS_PER_FILE = 200

# Where so many operators are unknown, the manifest was written for another torch.
_SUGGESTIONS = 25


def lower_ops(project: Project, facts: Facts, driver: DriverPlan, library: LibraryPlan | None) -> OpsPlan:
    """Resolve the entries of all operators against the installed torch.

    Raises:
        DiagnosticError: every entry that does not fit, sorted by place.
    """
    return _Lowering(project, facts, driver, library).plan()


class _Lowering:
    """One run of `lower_ops`: what has been lowered so far, and what was wrong with the rest."""

    def __init__(self, project: Project, facts: Facts, driver: DriverPlan, library: LibraryPlan | None) -> None:
        self._project = project
        self._facts = facts
        self._operators = facts.operators
        self._driver = driver
        self._library = library
        self._structured_lowering = StructuredLowering(facts.operators)
        self._diagnostics: list[Diagnostic] = []
        self._unknown = 0
        self._pointwise: list[PointwiseKernel] = []
        self._structured: list[StructuredKernel] = []
        self._kernels: list[Kernel] = []
        self._registrations: list[Registration] = []
        self._users: list[UserKernel] = []
        self._served: list[Served] = []
        self._custom: dict[str, list[CustomOperator]] = {}

    def plan(self) -> OpsPlan:
        usable = [placed for placed in self._project.operators.values() if self._check(placed)]
        claims = Claims(usable, self._operators)
        self._diagnostics += claims.diagnostics
        for placed in usable:
            self._lower(placed, claims.overloads(placed))
        self._lower_custom(claims)
        if self._diagnostics:
            raise DiagnosticError(self._diagnostics)
        return OpsPlan(
            meta_takes_names=_release(self._facts.torch.public_version) < (2, 13),
            pointwise=plan_pointwise(self._pointwise),
            structured=shards(self._structured, _STRUCTURED_PER_FILE, StructuredShard),
            kernels=shards(self._kernels, _KERNELS_PER_FILE, KernelShard),
            registrations=shards(self._registrations, _REGISTRATIONS_PER_FILE, RegistrationShard),
            custom=tuple(CustomNamespace(name, tuple(entries)) for name, entries in sorted(self._custom.items())),
            users=tuple(sorted(self._users, key=lambda kernel: kernel.name)),
            functions=self._functions(),
            library_dtypes=self._library_dtypes(),
            served=tuple(sorted(self._served, key=lambda served: served.operator)),
        )

    def _functions(self) -> tuple[Function, ...]:
        structured = (function for kernel in self._structured for function in kernel.functions)
        others = (kernel.function for kernel in self._kernels)
        return tuple(sorted((*structured, *others), key=lambda function: function.name))

    def _library_dtypes(self) -> tuple[tuple[str, str], ...]:
        dtypes = self._library.dtypes if self._library else {}
        return tuple((SCALAR_TYPES[dtype], constant) for dtype, constant in dtypes.items())

    # Checks.

    def _check(self, placed: PlacedOperator) -> bool:
        """Whether the entry can be lowered. A preset's entry of an operator that this torch lacks does not count."""
        if placed.name not in self._operators:
            if not placed.preset:
                version, suggest = self._facts.torch.public_version, self._unknown < _SUGGESTIONS
                self._unknown += 1
                self._diagnostics.append(unknown_operator(placed, self._operators, version, suggest=suggest))
            return False
        if placed.unknown:
            return False
        group = self._operators.group_of(placed.name)
        found = list(
            check_operator(
                placed,
                self._operators[placed.name],
                group,
                self._project.operators.get(group.functional or "") if group is not None else None,
                host_access=self._driver.host_access,
                library=self._library is not None,
            )
        )
        self._diagnostics += found
        return not found

    # Entries.

    def _lower(self, placed: PlacedOperator, claimed: Sequence[str]) -> None:
        if not claimed:
            return
        operator = self._operators[placed.name]
        group = self._operators.group_of(placed.name)
        entry = placed.entry
        dtypes: tuple[str, ...] = ()
        detail = otherwise = ""
        match entry:
            case ExprEntry():
                self._lower_expr(placed, entry, operator, group, claimed)
                detail, dtypes, otherwise = entry.expr, entry.dtypes, entry.otherwise
            case LibraryEntry():
                self._lower_library(placed, entry, operator, group, claimed)
                detail, dtypes, otherwise = entry.library, entry.dtypes, entry.otherwise
            case UnsupportedEntry():
                detail = entry.unsupported
                self._registrations += [unsupported_registration(name, detail) for name in claimed]
            case _:
                self._lower_plain(placed, operator, group, claimed)
        place = _place(placed)
        self._served += [Served(name, entry.kind, placed.name, place, dtypes, otherwise, detail) for name in claimed]

    def _lower_plain(
        self, placed: PlacedOperator, operator: Operator, group: Group | None, claimed: Sequence[str]
    ) -> None:
        match placed.entry.kind:
            case "user":
                self._lower_user(operator, group, claimed)
            case "runtime":
                self._registrations.append(runtime_registration(operator))
            case "reference" | "fallback" as kind:
                self._registrations += boxed_registrations(kind, operator, group, claimed)

    def _lower_expr(
        self, placed: PlacedOperator, entry: ExprEntry, operator: Operator, group: Group | None, claimed: Sequence[str]
    ) -> None:
        try:
            kernel = lower_expr(operator, group, entry.expr, entry.dtypes, entry.arguments)
        except ExpressionError as error:
            self._report_expression(placed, error)
            return
        self._pointwise.append(kernel)
        if group is not None and group.structured:
            self._add_structured(self._structured_lowering.pointwise(group, kernel, entry.otherwise, claimed))
        else:
            for name in claimed:
                self._add_kernel(pointwise_kernel(self._operators[name], kernel, entry.otherwise))

    def _lower_library(
        self,
        placed: PlacedOperator,
        entry: LibraryEntry,
        operator: Operator,
        group: Group | None,
        claimed: Sequence[str],
    ) -> None:
        structured = group is not None and group.structured
        if structured == bool(entry.outputs):
            message = (
                f"torch determines the outputs of `{operator.name}` itself"
                if structured
                else f"`{operator.name}` is not structured, so its {len(operator.returns)} outputs are described here"
            )
            self._report(placed, codes.WRONG_KIND, ("outputs",) if structured else (), message)
            return
        if group is not None and structured:
            outputs = tuple(argument.cpp_name for argument in self._operators[group.out or ""].out_arguments)
            lowered = self._library_body(placed, entry, operator, outputs, ())
            self._add_structured(self._structured_lowering.library(group, lowered, entry.otherwise, claimed))
            return
        if len(entry.outputs) != len(operator.returns):
            message = f"`{operator.name}` has {len(operator.returns)} results, and this describes {len(entry.outputs)}"
            self._report(placed, codes.WRONG_KIND, ("outputs",), message)
            return
        outputs = tuple(f"out{index}" for index in range(len(entry.outputs)))
        lowered = self._library_body(placed, entry, operator, outputs, entry.outputs)
        self._add_kernel(library_kernel(operator, lowered, outputs, entry.otherwise))

    def _library_body(
        self,
        placed: PlacedOperator | PlacedCustom,
        entry: LibraryEntry,
        operator: Operator,
        outputs: Sequence[str],
        allocations: Sequence[Allocation],
    ) -> Lowered:
        def report(path: NodePath, error: ExpressionError) -> None:
            names_a_tensor = path[0] in ("layouts", "scratch") and len(path) == 2
            whole = (*placed.path, *path)
            self._diagnostics.append(
                error.diagnostic(codes.BAD_LIBRARY_ENTRY, placed.source, whole, key=names_a_tensor)
            )

        return lower_library(entry, operator.arguments, outputs, allocations, report)

    def _lower_user(self, operator: Operator, group: Group | None, claimed: Sequence[str]) -> None:
        if group is not None and group.structured:
            outputs = ", ".join(f"`{argument.name}`" for argument in group.impl_arguments if argument.is_out)
            self._users.append(
                UserKernel(
                    structured_user_function(operator, group),
                    (
                        f"Serves {', '.join(claimed)}.",
                        operator.schema,
                        "",
                        f"torch has checked the arguments, and made {outputs} of the right shape and dtype: fill it.",
                        "The device of the outputs is current; work goes to its current stream.",
                    ),
                )
            )
            self._add_structured(self._structured_lowering.user(group, claimed))
            return
        self._users.append(UserKernel(kernel_function(operator), _user_summary(operator)))
        self._add_kernel(user_kernel(operator))

    # Custom operators.

    def _lower_custom(self, claims: Claims) -> None:
        parsed: dict[str, Operator] = {}
        for name, placed in self._project.custom.items():
            try:
                parsed[name] = parse_schema(placed.schema, placed.namespace)
            except SchemaError as error:
                self._diagnostics += error.diagnostics(codes.BAD_SCHEMA, placed.source, placed.path, key=True)
        functions = ((function, claims.span(function.operator)) for function in self._functions())
        self._diagnostics += collisions(functions, parsed, self._project.custom)
        for name, operator in sorted(parsed.items()):
            placed = self._project.custom[name]
            backward = self._backward(placed, operator, parsed)
            self._lower_one_custom(placed, operator, backward)

    def _backward(
        self, placed: PlacedCustom, operator: Operator, parsed: Mapping[str, Operator]
    ) -> CustomBackward | None:
        wanted = _custom_fields(placed).backward
        if wanted is None:
            return None
        backward = parsed.get(f"{placed.namespace}::{wanted}")
        if backward is None:
            if f"{placed.namespace}::{wanted}" not in self._project.custom:
                message = f"there is no custom operator `{placed.namespace}::{wanted}`"
                known = [other.name for other in self._project.custom.values() if other.namespace == placed.namespace]
                self._report(placed, codes.BAD_BACKWARD, ("backward",), message, (wanted, known))
            return None
        other = Note(self._project.custom[f"{placed.namespace}::{wanted}"].span(key=True), "this is its schema")

        def report(message: str) -> None:
            span = placed.span("backward")
            self._diagnostics.append(Diagnostic(codes.BAD_BACKWARD, message, span, secondary=(other,)))

        return lower_backward(operator, backward, report)

    def _lower_one_custom(self, placed: PlacedCustom, operator: Operator, backward: CustomBackward | None) -> None:
        entry = placed.entry
        if isinstance(entry, (LibraryEntry, ExprEntry)) and operator.variant == "mutable":
            message = f"`{operator.name}` writes to its arguments, which only a `user` kernel of a custom operator does"
            self._report(placed, codes.BAD_SCHEMA, (), message)
            return
        fields = _custom_fields(placed)
        outputs = tuple(f"out{index}" for index in range(len(operator.returns)))
        allocations = self._custom_allocations(placed, operator, fields)
        if allocations is None:
            return
        function = "at::empty_like" if isinstance(entry, ExprEntry) else "meta_like"
        meta = like_definitions(operator, fields.like, function) if fields.like else None
        dtypes: tuple[str, ...] = ()
        detail = otherwise = ""
        match entry:
            case LibraryEntry():
                lowered = self._library_body(placed, entry, operator, outputs, allocations)
                if not fields.like and fields.meta is None:
                    meta = lowered.meta
                self._add_kernel(
                    library_kernel(operator, lowered, outputs, "error", placed.namespace, operator.kernel_name),
                    register=False,
                )
                detail, dtypes, otherwise = entry.library, entry.dtypes, "error"
            case ExprEntry():
                try:
                    kernel = lower_expr(operator, None, entry.expr, entry.dtypes, entry.arguments, placed.namespace)
                except ExpressionError as error:
                    self._report_expression(placed, error)
                    return
                self._pointwise.append(kernel)
                self._add_kernel(pointwise_kernel(operator, kernel, "error", placed.namespace), register=False)
                detail, dtypes, otherwise = entry.expr, entry.dtypes, "error"
            case _:
                self._users.append(UserKernel(kernel_function(operator), _user_summary(operator)))
                self._add_kernel(user_kernel(operator), register=False)
        self._custom.setdefault(placed.namespace, []).append(custom_operator(operator, meta, backward))
        name, place = placed.qualified_name, _place(placed)
        self._served.append(Served(name, entry.kind, name, place, dtypes, otherwise, detail))

    def _custom_allocations(
        self, placed: PlacedCustom, operator: Operator, fields: CustomFields
    ) -> tuple[Allocation, ...] | None:
        """How the outputs of a custom operator are allocated; None when that is not said as it has to be."""
        tensors = {argument.name for argument in operator.arguments if argument.type in ("Tensor", "Tensor?")}
        for name in fields.like:
            if name not in tensors:
                message = f"`{operator.name}` has no tensor argument `{name}`"
                path = ("like", fields.like.index(name))
                self._report(placed, codes.META_MISSING, path, message, (name, tensors))
                return None
        count = len(operator.returns)
        if fields.like and len(fields.like) not in (1, count):
            message = f"`{operator.name}` has {count} results, and `like` names {len(fields.like)} arguments"
            self._report(placed, codes.META_MISSING, ("like",), message)
            return None
        own = placed.entry.outputs if isinstance(placed.entry, LibraryEntry) else ()
        if own and len(own) != count:
            message = f"`{operator.name}` has {count} results, and this describes {len(own)}"
            self._report(placed, codes.META_MISSING, ("outputs",), message)
            return None
        if own:
            return own
        if fields.like:
            names = fields.like * count if len(fields.like) == 1 else fields.like
            return tuple(Allocation(like=name) for name in names)
        if fields.meta is None or isinstance(placed.entry, LibraryEntry):
            how = "`like`, `outputs`" if isinstance(placed.entry, LibraryEntry) else "`like`"
            message = f"`{operator.name}` needs {how} or `meta: user` to tell what it returns"
            self._report(placed, codes.META_MISSING, (), message)
            return None
        return ()

    # Parts of the plan.

    def _add_structured(self, kernel: StructuredKernel) -> None:
        self._structured.append(kernel)
        self._registrations += [kernel_registration(function) for function in kernel.functions]

    def _add_kernel(self, kernel: Kernel, *, register: bool = True) -> None:
        self._kernels.append(kernel)
        if register:
            self._registrations += [kernel_registration(function) for function in kernel.functions]

    def _report(
        self,
        placed: PlacedOperator | PlacedCustom,
        code: str,
        path: NodePath,
        message: str,
        name: tuple[str, Collection[str]] | None = None,
    ) -> None:
        """Note a mistake; `name` is one that is not known, with those that are."""
        span = placed.span(*path) if path else placed.span(key=True)
        label, edits = ("", ()) if name is None else (did_you_mean(*name), placed.replaced(path, sure_fix(*name)))
        self._diagnostics.append(Diagnostic(code, message, span, label=label, edits=edits))

    def _report_expression(self, placed: PlacedOperator | PlacedCustom, error: ExpressionError) -> None:
        self._diagnostics += error.diagnostics(codes.BAD_EXPRESSION, placed.source, (*placed.path, "expr"))


def _place(placed: PlacedOperator | PlacedCustom) -> Place:
    return Place(placed.file, placed.span(key=True).line)


def _custom_fields(placed: PlacedCustom) -> CustomFields:
    if not isinstance(placed.entry, CustomFields):
        raise TypeError(placed.entry)
    return placed.entry


def _user_summary(operator: Operator) -> tuple[str, ...]:
    return (
        f"Serves {operator.name}.",
        operator.schema,
        "",
        "The device of the tensors is current; work goes to its current stream.",
    )


def _release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
