"""Which entry of the manifests serves which overload."""

from __future__ import annotations

from collections.abc import Iterable

from acmegen.diagnostics import Diagnostic, Note, Span, codes
from acmegen.facts.operators import Operators
from acmegen.manifest.load import PlacedOperator
from acmegen.plan.ops_checks import cuts_autograd


class Claims:
    """The overloads that entries serve: the project's own entries come first, and presets yield to them.

    Attributes:
        diagnostics: an error for each overload that two entries of the same rank serve.
    """

    def __init__(self, entries: Iterable[PlacedOperator], operators: Operators) -> None:
        self._operators = operators
        self._entries: dict[str, PlacedOperator] = {}
        self.diagnostics: list[Diagnostic] = []
        for placed in sorted(entries, key=lambda placed: placed.preset):
            self._claim(placed)

    def span(self, overload: str) -> Span | None:
        """Where the entry that serves an overload is, if any does."""
        placed = self._entries.get(overload)
        return placed.span(key=True) if placed is not None else None

    def overloads(self, placed: PlacedOperator) -> tuple[str, ...]:
        """The overloads that an entry serves and that no other entry took over."""
        return tuple(name for name in self._variants(placed) if self._entries.get(name) is placed)

    def _claim(self, placed: PlacedOperator) -> None:
        for name in self._variants(placed):
            other = self._entries.setdefault(name, placed)
            if other is not placed and other.preset == placed.preset:
                self.diagnostics.append(
                    Diagnostic(
                        codes.CLAIMED_TWICE,
                        f"`{name}` is served by the entries of `{other.name}` and `{placed.name}`",
                        placed.span(key=True),
                        secondary=(Note(other.span(key=True), "served here already"),),
                        help="remove one of them",
                    )
                )

    def _variants(self, placed: PlacedOperator) -> tuple[str, ...]:
        """The overloads that an entry may serve."""
        group = self._operators.group_of(placed.name)
        if group is None or placed.name != group.functional:
            return (placed.name,)
        names = tuple(name for name in group.variants if name != group.mutable)
        if group.structured:
            return names
        if placed.entry.kind == "expr":
            return tuple(name for name in names if not cuts_autograd(self._operators[name]))
        return (placed.name,)
