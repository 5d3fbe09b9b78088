"""Traces of allocations, as record.py writes and replay.py reads them.

A trace is a list of numbers: one of at least 0 is an allocation of so many bytes, and -n frees what the n-th
allocation, counted from 1, gave. On disk each is a line of a text, compressed by xz.
"""

from __future__ import annotations

import lzma
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "data"


def read_trace(name: str) -> list[int]:
    """Read the trace that was recorded under a name."""
    return [int(line) for line in lzma.decompress((FOLDER / f"{name}.trace.xz").read_bytes()).split()]


def write_trace(name: str, events: list[int]) -> Path:
    """Keep a trace under a name and return the file."""
    path = FOLDER / f"{name}.trace.xz"
    path.write_bytes(lzma.compress("".join(f"{event}\n" for event in events).encode()))
    return path
