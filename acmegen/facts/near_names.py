"""Close names among thousands, fast enough for an error message."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache
from heapq import nlargest

MAX_LENGTH = 100
"""Nothing is near a longer name."""

_SHORT = 2  # letters: of a name as short as that, half of a longer one is no likeness


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
    least = 0.8 if len(name) <= _SHORT else 0.6
    best = sorted((pair for pair in scored if pair[0] >= least), key=lambda pair: (-pair[0], pair[1]))
    return tuple(candidate for _, candidate in best[:n])
