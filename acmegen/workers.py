"""Processes that work beside this one: two cores halve a run that finds nothing in the cache."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_all_start_methods, get_context, parent_process
from threading import Thread
from typing import Any


class InThisProcess(Executor):
    """An executor that does what it is given at once, here."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Future[Any]:
        """Call `function`; the future is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **keywords))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def workers(much_to_do: bool, prepare: Callable[[], None]) -> Iterator[Executor | None]:
    """Processes that call `prepare` at once; None where there is not much to do.

    Only where processes can be forked: others would take longer to start than they save. At the end, what they have not
    begun is dropped.
    """
    if not much_to_do or "fork" not in get_all_start_methods():
        yield None
        return
    pool = ProcessPoolExecutor(mp_context=get_context("fork"), initializer=_begin, initargs=(prepare,))
    try:
        with uninterrupted():
            pool.submit(_nothing)  # with the first task all processes are started
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """What is forked meanwhile never gets Ctrl-C, which the terminal sends to it too; this process does, afterwards."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _nothing() -> None:
    pass


def _begin(prepare: Callable[[], None]) -> None:
    """Let this process end with the one that started it, even if that is killed: it would wait for ever."""
    Thread(target=_exit_after_parent, daemon=True).start()
    prepare()


def _exit_after_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
