"""Which of several files a piece of code goes into."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


K = TypeVar("K", bound=_Keyed)
S = TypeVar("S")


def shards(items: Iterable[K], per_file: int, make: Callable[[int, tuple[K, ...]], S]) -> tuple[S, ...]:
    """Sort `items` into files by a stable hash of their keys, so that a new one changes one file.

    The number of files is a power of two, so that it changes seldom; a file that nothing falls into is left out.

    Args:
        items: what is sorted, in any order.
        per_file: how many a file should have at most; the hash makes it a mean.
        make: builds a file from its index and its items, which are sorted by key.
    """
    ordered = sorted(items, key=lambda item: item.key)
    count = 1
    while count * per_file < len(ordered):
        count *= 2
    places: dict[int, list[K]] = {}
    for item in ordered:
        places.setdefault(zlib.crc32(item.key.encode()) % count, []).append(item)
    return tuple(make(index, tuple(places[index])) for index in sorted(places))
