"""A cache of texts in the user's cache folder, by content. Whatever goes wrong with it only costs time."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_cache_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LONGEST_WAIT = 10.0  # seconds
_POLL_SECONDS = 0.01


def cache_folder() -> Path:
    """`ACMEGEN_CACHE_DIR`, or the platform's cache folder for acmegen."""
    chosen = os.environ.get("ACMEGEN_CACHE_DIR")
    return Path(chosen) if chosen else user_cache_path("acmegen", appauthor=False)


def read(kind: str, key: str) -> str | None:
    """The cached text, or None when there is none that can be read."""
    try:
        return (cache_folder() / kind / key).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def holds(kind: str) -> bool:
    """Whether anything was ever stored as `kind`."""
    return (cache_folder() / kind).is_dir()


def write(kind: str, key: str, text: str) -> None:
    """Store `text` atomically; a folder that cannot be written is no error."""
    folder = cache_folder() / kind
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(name).replace(folder / key)
        except OSError:
            with suppress(OSError):
                Path(name).unlink()


@contextmanager
def hold(kind: str, key: str) -> Iterator[None]:
    """For who computes what will be stored: another process that is about to compute the same is waited for.

    Where files cannot be locked, or the other one takes too long, both of them compute it.
    """
    path = cache_folder() / "locks" / f"{kind}-{key}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError:
        yield
        return
    with file:  # the lock ends with it
        deadline = time.monotonic() + _LONGEST_WAIT
        while fcntl is not None and time.monotonic() < deadline:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_POLL_SECONDS)
            except OSError:
                break
        yield
