"""Reads torch's operators ahead, while acmegen itself is still being imported: a second's work if none are cached."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import get_all_start_methods, get_context

from acmegen import cache
from acmegen.workers import uninterrupted

_COMMANDS = frozenset({"new-backend", "regen", "upgrade", "check"})


def read_operators_ahead(arguments: Sequence[str]) -> None:
    """If a command will need the operators and none are cached, start to read them in a process beside this one.

    Who needs them waits for that process, since it holds their place in the cache. It ends with this one.
    """
    if _COMMANDS.isdisjoint(arguments) or cache.holds("operators") or "fork" not in get_all_start_methods():
        return
    with uninterrupted():
        get_context("fork").Process(target=_read, daemon=True).start()


def _read() -> None:
    gc.disable()
    # Whatever is wrong with torch, the command will find it and say it.
    with suppress(Exception):
        from acmegen.facts.operators import load_operators
        from acmegen.facts.torch_install import find_torch

        load_operators(find_torch())
