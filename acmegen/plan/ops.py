"""The plan of the operators: what is registered, and which C++ serves it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OpsPlan:
    """All operators of one backend."""
