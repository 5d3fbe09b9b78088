"""A cache of texts in the user's cache folder, by content. Whatever goes wrong with it only costs time."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path


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
