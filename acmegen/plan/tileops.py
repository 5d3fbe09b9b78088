"""The plan of the TileOPs side."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TileOpsPlan:
    """The TileOPs target of one backend."""
