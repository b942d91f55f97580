"""One thread for small matrices, and several of them side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar, cast

import torch

from tagfill.arrays import Matrix
from tagfill.linear.basis import is_large

Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item")
Result = TypeVar("Result")
_spare: ContextVar[int] = ContextVar("spare", default=1)
"""Threads that may be used where torch has been told to use one."""
_thread = threading.local()
"""``stop``, in the threads of ``side_by_side``: set when nobody waits for their results."""


@contextmanager
def single_thread(enabled: bool = True) -> Iterator[None]:
    """Use one thread for matrices so small that threads would mostly wait.

    The same bytes then come out however many threads there are.
    """
    before = torch.get_num_threads()
    spare = _spare.set(max(before, _spare.get()) if enabled else 1)
    if enabled:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        _spare.reset(spare)


def side_by_side(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Results in order: small problems at the same time, each on a thread; large ones in turn.

    The same bytes come out either way.
    """
    workers = min(_spare.get(), len(items))
    if workers < 2:
        yield from map(function, items)
        return
    stop = threading.Event()

    def begin() -> None:
        torch.set_num_threads(1)
        _thread.stop = stop

    with ThreadPoolExecutor(workers, initializer=begin) as pool:
        try:
            yield from pool.map(function, items)
        finally:  # after an error, or Ctrl-C, the others end with their next step
            stop.set()


def end_if_unwanted() -> None:
    """Called at every step of a long computation."""
    stop = getattr(_thread, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


def on_one_thread(function: Function) -> Function:
    """A function of ``features`` that uses one thread unless they are large."""

    @wraps(function)
    def call(features: Matrix, *args: Any, **settings: Any) -> Any:
        with single_thread(not is_large(features)):
            return function(features, *args, **settings)

    return cast(Function, call)
