"""Close names among thousands, fast enough for an error message."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache
from heapq import nlargest

from acmegen.diagnostics.suggest import MAX_LENGTH, least_likeness


@cache
def _pairs(name: str) -> frozenset[str]:
    padded = f" {name.lower()} "
    return frozenset(padded[index : index + 2] for index in range(len(padded) - 1))


def near_names(name: str, candidates: Iterable[str], n: int) -> tuple[str, ...]:
    """Up to `n` of `candidates` that resemble `name`, best first; empty when none does.

    Pairs of letters in common choose a few, and difflib, which would take a second for thousands, orders those.
    """
    if len(name) > MAX_LENGTH:
        return ()
    wanted = _pairs(name)

    def shared(candidate: str) -> float:
        return len(wanted & _pairs(candidate)) / (len(name) + len(candidate))

    few = nlargest(12 + n, candidates, key=shared)
    scored = [(SequenceMatcher(None, name.lower(), candidate.lower()).ratio(), candidate) for candidate in few]
    least = least_likeness(name)
    best = sorted((pair for pair in scored if pair[0] >= least), key=lambda pair: (-pair[0], pair[1]))
    return tuple(candidate for _, candidate in best[:n])
