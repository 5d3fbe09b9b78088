""" "Did you mean": the nearest of the names that would have been right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

MAX_LENGTH = 100
"""Longer texts are no names: nothing is near them, and they are cut where a message quotes them."""

_SHORT = 2  # letters: of a name as short as that, half of a longer one is no likeness


def quote(text: object) -> str:
    """`text` as a message shows it: in backticks, on one line, and cut where it is long."""
    flat = " ".join(str(text)[: 2 * MAX_LENGTH].split())
    return f"`{flat}`" if len(flat) <= MAX_LENGTH else f"`{flat[:MAX_LENGTH]}…`"


def least_likeness(name: str) -> float:
    """The ratio of difflib from which on another name is near `name`."""
    return 0.8 if len(name) <= _SHORT else 0.6


def nearest(name: str, candidates: Iterable[str], n: int = 1) -> tuple[str, ...]:
    """Up to `n` of `candidates` that `name` may be a slip of, best first. Case does not count."""
    if len(name) > MAX_LENGTH:
        return ()
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    matches = get_close_matches(name.lower(), by_lower, n=n, cutoff=least_likeness(name))
    return tuple(by_lower[match] for match in matches)


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The label "did you mean `x`?", or an empty string when nothing is near."""
    return "".join(f"did you mean `{match}`?" for match in nearest(name, candidates))


def sure_fix(name: str, candidates: Iterable[str]) -> str | None:
    """The one of `candidates` that `name` is no doubt a slip of; None when that is open.

    It is no doubt one when letters were swapped, missed, doubled or mistyped, two such slips at most, no other
    candidate is as near, and the first letter and the numbers in it are the same: `conv2d` is no slip of `conv1d`, nor
    `calloc` of `malloc`.
    """
    if len(name) > MAX_LENGTH:
        return None
    numbers = re.findall(r"[0-9]+", name)
    limit = 0 if len(name) < 3 else 1 if len(name) < 6 else 2
    distances = sorted((_distance(name.lower(), candidate.lower(), limit), candidate) for candidate in set(candidates))
    if not distances or distances[0][0] > limit or [distance for distance, _ in distances[1:2]] == [distances[0][0]]:
        return None
    best = distances[0][1]
    same = best[:1].lower() == name[:1].lower() and re.findall(r"[0-9]+", best) == numbers
    return best if same else None


def _distance(left: str, right: str, limit: int) -> int:
    """How many letters were inserted, removed, replaced or swapped with the next; `limit + 1` stands for more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        before, previous, row = row, before, [i]
        for j, other in enumerate(right, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                best = min(best, previous[j - 2] + 1)
            row.append(best)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)
