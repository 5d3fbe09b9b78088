"""Lowering of `library` entries: their arguments, conditions and allocations become C++."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from acmegen.facts.operators import Argument
from acmegen.manifest.library import Allocation, CallStep, CopyStep
from acmegen.manifest.ops import LibraryEntry
from acmegen.manifest.source import NodePath
from acmegen.plan.expression_source import ExpressionError
from acmegen.plan.kernels import Definition, LibraryBody
from acmegen.plan.ops_functions import concrete_type
from acmegen.plan.ops_grammar import (
    RESERVED,
    Kind,
    Operand,
    Scope,
    Value,
    compile_argument,
    compile_condition,
    compile_dtype,
    compile_size,
    dtype_names,
)
from acmegen.plan.scalar_types import SCALAR_TYPES

T = TypeVar("T")

Report = Callable[[NodePath, ExpressionError], None]
"""Records a mistake in the text at a place below the entry."""

_VALUE_KINDS: Mapping[str, Kind] = {
    "int64_t": Kind.INT,
    "double": Kind.FLOAT,
    "bool": Kind.BOOL,
    "const at::Scalar &": Kind.SCALAR,
    "at::IntArrayRef": Kind.SHAPE,
    "at::ArrayRef<int64_t>": Kind.SHAPE,
    "at::OptionalIntArrayRef": Kind.OPTIONAL_SHAPE,
    "at::ScalarType": Kind.DTYPE,
    "std::optional<at::ScalarType>": Kind.OPTIONAL_DTYPE,
}


@dataclass(frozen=True)
class Lowered:
    """A lowered entry.

    Attributes:
        conditions: what holds for a call that is served: C++ and the words for it.
        allocations: the outputs that are allocated here.
        meta: the same without memory, for a meta function.
        body: the calls.
    """

    conditions: tuple[tuple[str, str], ...]
    allocations: tuple[Definition, ...]
    meta: tuple[Definition, ...]
    body: LibraryBody

    @property
    def texts(self) -> tuple[str, ...]:
        """All C++ of a kernel."""
        return (
            *(cpp for cpp, _ in self.conditions),
            *(definition.value for definition in (*self.allocations, *self.body.definitions)),
            *self.body.statements,
        )


def lower_library(
    entry: LibraryEntry,
    arguments: Sequence[Argument],
    outputs: Sequence[str],
    allocations: Sequence[Allocation],
    report: Report,
) -> Lowered:
    """Lower one `library` entry.

    Args:
        entry: the entry.
        arguments: the operator's inputs.
        outputs: C++ names of the outputs; `out0`, `out1`, …, and `out` for the first, are always aliases of them.
        allocations: how the outputs are allocated, when torch's meta function does not do it.
        report: called with each mistake; the result is of no use after one.
    """
    return _Lowering(entry, arguments, outputs, allocations, report).lower()


class _Lowering:
    def __init__(
        self,
        entry: LibraryEntry,
        arguments: Sequence[Argument],
        outputs: Sequence[str],
        allocations: Sequence[Allocation],
        report: Report,
    ) -> None:
        self.entry = entry
        self.outputs = tuple(outputs)
        self.allocations = tuple(allocations)
        self.report = report
        self.inputs = {argument.name: argument for argument in arguments if argument.type in ("Tensor", "Tensor?")}
        self.aliases = {name: name for name in outputs if name not in self.inputs}
        self.aliases |= {f"out{index}": name for index, name in enumerate(outputs)}
        if "out" not in self.inputs:
            self.aliases["out"] = outputs[0]
        self._check_layouts()
        tensors = {name: self._input(argument) for name, argument in self.inputs.items()}
        self.values = {
            argument.name: Value(kind, argument.cpp_name)
            for argument in arguments
            if (kind := _value_kind(argument)) is not None
        }
        self._check_scratch()
        self.input_scope = Scope(tensors, self.values)
        results = {alias: self._output(name) for alias, name in self.aliases.items()}
        self.condition_scope = Scope(tensors if self.allocations else {**tensors, **results}, self.values)
        scratch = {
            name: Operand(_scratch(name), _scratch(name), writable=True, optional=self._may_be_missing(allocation))
            for name, allocation in entry.scratch.items()
        }
        self.scope = Scope({**tensors, **results, **scratch}, self.values)

    def lower(self) -> Lowered:
        return Lowered(
            conditions=self._conditions(),
            allocations=self._results("empty_tensor"),
            meta=self._results("meta_tensor"),
            body=LibraryBody(
                symbols=tuple(dict.fromkeys([*(step.library for step in self._calls_before()), self.entry.library])),
                skip=self._skip(),
                definitions=(*self._laid_out(), *self._scratch()),
                statements=(*self._before(), self._call(self.entry.library, self.entry.args, ("args",))),
                stores=tuple(_buffer(name) for name in self._buffered()),
            ),
        )

    def _results(self, make: str) -> tuple[Definition, ...]:
        return tuple(
            self._allocate(name, allocation, ("outputs", index), make)
            for index, (name, allocation) in enumerate(zip(self.outputs, self.allocations, strict=False))
        )

    # Operands.

    def _layout(self, name: str) -> str:
        return self.entry.layouts.get(name, "contiguous")

    def _check_layouts(self) -> None:
        for name in self.entry.layouts:
            if name not in self.inputs and name not in self.aliases:
                known = ", ".join(f"`{tensor}`" for tensor in (*self.inputs, *self.aliases))
                error = ExpressionError(f"there is no tensor `{name}`; there are {known}", 0, len(name))
                self.report(("layouts", name), error)

    def _check_scratch(self) -> None:
        for name in self.entry.scratch:
            if name in self.inputs or name in self.values or name in self.aliases:
                self.report(("scratch", name), ExpressionError(f"`{name}` is an argument or an output", 0, len(name)))
            elif name in RESERVED:
                message = f"`{name}` is a word of the language"
                self.report(("scratch", name), ExpressionError(message, 0, len(name)))

    def _input(self, argument: Argument) -> Operand:
        optional = argument.type == "Tensor?"
        given = f"{argument.cpp_name}_given" if optional else argument.cpp_name
        laid_out = given if self._layout(argument.name) == "strided" else f"{argument.cpp_name}_contiguous"
        return Operand(given, laid_out, writable=argument.is_mutable, optional=optional)

    def _output(self, name: str) -> Operand:
        optional = self._output_may_be_missing(name)
        laid_out = f"{_buffer(name)}.tensor()" if name in self._buffered() else name
        return Operand(name, laid_out, writable=True, optional=optional)

    def _buffered(self) -> tuple[str, ...]:
        """The outputs that another allocated, so that their strides may not be those that the library needs."""
        if self.allocations:
            return ()
        strided = {self.aliases.get(name, name) for name, layout in self.entry.layouts.items() if layout == "strided"}
        return tuple(name for name in self.outputs if name not in strided)

    def _output_may_be_missing(self, name: str) -> bool:
        index = self.outputs.index(name)
        return index < len(self.allocations) and self._may_be_missing(self.allocations[index])

    def _may_be_missing(self, allocation: Allocation) -> bool:
        like = self.inputs.get(allocation.like or "")
        return allocation.when is not None or (like is not None and like.type == "Tensor?")

    # Parts of the body.

    def _conditions(self) -> tuple[tuple[str, str], ...]:
        named = [name for text in self._texts() for name in dtype_names(text)]
        decisive = next((name for name in named if name in self.inputs), next(iter(self.inputs), None))
        conditions: list[tuple[str, str]] = []
        if decisive is not None:
            conditions.append(self._dtype_condition(decisive))
        exempt = {*named, *(name for text in self.entry.requires for name in dtype_names(text))}
        for name in self.inputs:
            if decisive is not None and name != decisive and name not in exempt:
                text = f"dtype({name}) == dtype({decisive})"
                conditions.append((compile_condition(text, self.scope), f"`{text}`"))
        for index, text in enumerate(self.entry.requires):
            place = ("requires", index)
            conditions.append(
                (self._compiled(compile_condition, text, self.condition_scope, place, "true"), f"`{text}`")
            )
        return tuple(conditions)

    def _texts(self) -> Iterable[str]:
        steps = (step.args for step in self._calls_before())
        return (str(text) for args in (self.entry.args, *steps) for text in args)

    def _calls_before(self) -> Iterable[CallStep]:
        return (step for step in self.entry.before if isinstance(step, CallStep))

    def _dtype_condition(self, name: str) -> tuple[str, str]:
        tensor = self.input_scope.tensors[name].given
        names = ", ".join(f"at::ScalarType::{SCALAR_TYPES[dtype]}" for dtype in self.entry.dtypes)
        return f"is_one_of({tensor}.scalar_type(), {{{names}}})", f"`{name}` of dtype {' or '.join(self.entry.dtypes)}"

    def _skip(self) -> str:
        """Without elements there is nothing to write, and some libraries refuse an empty problem."""

        def empty(name: str) -> str:
            if self._output_may_be_missing(name):
                return f"(!{name}.defined() || {name}.numel() == 0)"
            return f"{name}.numel() == 0"

        return " && ".join(map(empty, self.outputs))

    def _laid_out(self) -> Iterable[Definition]:
        for name in self.inputs:
            operand = self.input_scope.tensors[name]
            if operand.laid_out != operand.given:
                yield Definition("at::Tensor", operand.laid_out, f" = contiguous({operand.given})")
        for name in self._buffered():
            yield Definition("ContiguousOutput", _buffer(name), f"({name})")

    def _scratch(self) -> Iterable[Definition]:
        for name, allocation in self.entry.scratch.items():
            yield self._allocate(_scratch(name), allocation, ("scratch", name), "empty_tensor")

    def _before(self) -> Iterable[str]:
        for index, step in enumerate(self.entry.before):
            place: NodePath = ("before", index)
            if isinstance(step, CopyStep):
                yield self._copy(step, place)
            else:
                yield self._call(step.library, step.args, (*place, "args"))

    def _copy(self, step: CopyStep, place: NodePath) -> str:
        if step.copy_ not in self.inputs:
            self.report((*place, "copy"), ExpressionError(f"`{step.copy_}` is no tensor argument", 0, len(step.copy_)))
            return ""
        if step.to not in self.aliases:
            self.report((*place, "to"), ExpressionError(f"`{step.to}` is no output", 0, len(step.to)))
            return ""
        return f"{self.scope.tensors[step.to].laid_out}.copy_({self.scope.tensors[step.copy_].given});"

    def _call(self, symbol: str, args: Sequence[str | int | float | bool], place: NodePath) -> str:
        texts = [str(text).lower() if isinstance(text, bool) else str(text) for text in args]
        compiled = [
            self._compiled(compile_argument, text, self.scope, (*place, index), "0") for index, text in enumerate(texts)
        ]
        return f'driver::check_launch({symbol}({", ".join(compiled)}), "{symbol}", stream.stream());'

    def _allocate(self, name: str, allocation: Allocation, place: NodePath, make: str) -> Definition:
        conditions = []
        if allocation.when is not None:
            when = self._compiled(compile_condition, allocation.when, self.input_scope, (*place, "when"), "true")
            conditions.append(when)
        if allocation.like is not None:
            like = self._like(allocation.like, (*place, "like"))
            conditions += [f"{like.given}.defined()"] if like.optional else []
            value = f"{make}({like.given}.sizes(), {like.given}.scalar_type())"
        else:
            value = f"{make}({self._sizes(allocation, place)}, {self._dtype(allocation, place)})"
        if conditions:
            value = f"{' && '.join(conditions)} ? {value} : at::Tensor()"
        return Definition("at::Tensor", name, f" = {value}")

    def _like(self, name: str, place: NodePath) -> Operand:
        if name not in self.inputs:
            known = ", ".join(f"`{tensor}`" for tensor in self.inputs)
            message = f"there is no tensor argument `{name}`; there are {known}"
            self.report(place, ExpressionError(message, 0, len(name)))
            return Operand(name, name)
        return self.input_scope.tensors[name]

    def _sizes(self, allocation: Allocation, place: NodePath) -> str:
        values = [
            self._compiled(compile_size, str(text), self.input_scope, (*place, "sizes", index), Value(Kind.INT, "0"))
            for index, text in enumerate(allocation.sizes or ())
        ]
        if len(values) == 1 and values[0].kind is Kind.SHAPE:
            return values[0].cpp
        if all(value.kind is Kind.INT for value in values):
            return f"{{{', '.join(value.cpp for value in values)}}}"
        parts = (v.cpp if v.kind is Kind.SHAPE else f"at::IntArrayRef({v.cpp})" for v in values)
        return f"joined({{{', '.join(parts)}}})"

    def _dtype(self, allocation: Allocation, place: NodePath) -> str:
        return self._compiled(compile_dtype, allocation.dtype or "", self.input_scope, (*place, "dtype"), "at::kFloat")

    def _compiled(self, compiler: Callable[[str, Scope], T], text: str, scope: Scope, place: NodePath, instead: T) -> T:
        try:
            return compiler(text, scope)
        except ExpressionError as error:
            self.report(place, error)
            return instead


def given_definitions(arguments: Iterable[Argument], texts: Iterable[str]) -> tuple[Definition, ...]:
    """The tensors behind those optional arguments that `texts` name as lowered entries do."""
    used = "\n".join(texts)
    return tuple(
        Definition("at::Tensor", f"{argument.cpp_name}_given", f" = given({argument.cpp_name})")
        for argument in arguments
        if argument.type == "Tensor?" and f"{argument.cpp_name}_given" in used
    )


def _scratch(name: str) -> str:
    return f"{name}_scratch"


def _buffer(output: str) -> str:
    return f"{output}_buffer"


def _value_kind(argument: Argument) -> Kind | None:
    if "std::array<bool," in argument.cpp_type:
        return Kind.BOOLS
    return _VALUE_KINDS.get(concrete_type(argument.cpp_type))
