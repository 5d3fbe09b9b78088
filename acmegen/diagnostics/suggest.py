""" "Did you mean": the nearest of the names that would have been right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, candidates: Iterable[str], n: int = 1) -> tuple[str, ...]:
    """Up to `n` of `candidates` that `name` may be a slip of, best first. Case does not count."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    matches = get_close_matches(name.lower(), by_lower, n=n, cutoff=0.6)
    return tuple(by_lower[match] for match in matches)


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The label "did you mean `x`?", or an empty string when nothing is near."""
    return "".join(f"did you mean `{match}`?" for match in nearest(name, candidates))
