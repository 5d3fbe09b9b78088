"""Documents cached by the digest of what they were read from. Whatever is wrong with the cache only costs time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from acmegen.cache import hold, read, write


def digest(parts: Iterable[bytes]) -> str:
    """The sha256 of `parts`, each kept apart from the next."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()


def cached(kind: str, key: str, compute: Callable[[], Any]) -> Any:
    """The JSON document cached as `kind` under `key`; where there is none or a damaged one, `compute()`, then cached.

    `compute` returns what JSON can hold, and gets the same lists and mappings back that the cache would give.
    """
    body = _stored(kind, key)
    if body is None:
        with hold(kind, key):
            body = _stored(kind, key)  # by another process meanwhile
            if body is None:
                body = json.dumps(compute(), separators=(",", ":"))
                write(kind, key, f"{_checksum(body)}\n{body}")
    return json.loads(body)


def _stored(kind: str, key: str) -> str | None:
    checksum, _, body = (read(kind, key) or "").partition("\n")
    return body if checksum == _checksum(body) else None


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
