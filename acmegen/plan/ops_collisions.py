"""Names of custom operators that become one: as C++ identifiers, or as names of files where case does not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from acmegen.diagnostics import Diagnostic, Note, Span, codes
from acmegen.facts.operators import Operator
from acmegen.manifest.load import PlacedCustom
from acmegen.manifest.ops import ExprEntry
from acmegen.plan.kernels import Function

# What stands beside the function that comes from an expression.
_POINTWISE_SUFFIXES = ("_dtypes", "_supports")


def collisions(
    functions: Iterable[tuple[Function, Span | None]],
    operators: Mapping[str, Operator],
    entries: Mapping[str, PlacedCustom],
) -> Iterator[Diagnostic]:
    """Report custom operators whose names are taken, with both places.

    Args:
        functions: the kernels of torch's operators, each with its entry's place.
        operators: the custom operators, by qualified name.
        entries: their entries.
    """
    taken: dict[str, tuple[str, Span | None]] = {
        function.name.lower(): (f"aten::{function.operator}", span) for function, span in functions
    }
    for name, operator in sorted(operators.items()):
        placed = entries[name]
        span = placed.span(key=True)
        identifiers = [operator.kernel_name]
        if isinstance(placed.entry, ExprEntry):
            identifiers += [operator.kernel_name + suffix for suffix in _POINTWISE_SUFFIXES]
        for identifier in identifiers:
            other, first = taken.setdefault(identifier.lower(), (name, span))
            if other != name:
                message = f"`{name}` and `{other}` are both `{identifier}` as a C++ name or as a file's"
                yield _collision(message, span, first)
                break
    yield from _namespaces(entries)


def _namespaces(entries: Mapping[str, PlacedCustom]) -> Iterator[Diagnostic]:
    """Namespaces that differ in case alone: a file is named after each."""
    spelled: dict[str, PlacedCustom] = {}
    for placed in entries.values():
        other = spelled.setdefault(placed.namespace.lower(), placed)
        if other.namespace != placed.namespace:
            message = f"the namespaces `{other.namespace}` and `{placed.namespace}` differ in case alone"
            yield _collision(message, placed.span("namespace"), other.span("namespace"))


def _collision(message: str, span: Span, first: Span | None) -> Diagnostic:
    secondary = (Note(first, "and this"),) if first is not None else ()
    return Diagnostic(codes.NAMES_COLLIDE, message, span, secondary=secondary, help="rename one of them")
