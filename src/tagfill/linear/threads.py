"""One thread for small matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

import torch

from tagfill.linear.basis import Matrix, is_large

Function = TypeVar("Function", bound=Callable[..., Any])


@contextmanager
def single_thread(enabled: bool = True) -> Iterator[None]:
    """Use one thread for matrices so small that threads would mostly wait.

    The same bytes then come out however many threads there are.
    """
    before = torch.get_num_threads()
    if enabled:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def on_one_thread(function: Function) -> Function:
    """A function of ``features`` that uses one thread unless they are large."""

    @wraps(function)
    def call(features: Matrix, *args: Any, **settings: Any) -> Any:
        with single_thread(not is_large(features)):
            return function(features, *args, **settings)

    return cast(Function, call)
