"""Small problems side by side: in order, on as many threads as are free, with the same bytes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import numpy as np
import pytest
import torch
from tests.linear.test_regions import _data, _one_each

from tagfill.linear import fit_head, out_of_fold
from tagfill.linear.threads import end_if_unwanted, side_by_side, single_thread


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_as_many_at_once_as_there_are_threads(threads: int) -> None:
    together = threading.Barrier(2, timeout=20)

    def work(number: int) -> tuple[int, int]:
        if threads == 2:
            together.wait()  # passes only if two are at work
        return number, torch.get_num_threads()

    with single_thread(), single_thread():
        assert list(side_by_side(work, range(4))) == [(number, 1) for number in range(4)]
    assert torch.get_num_threads() == threads


def test_large_problems_come_one_after_the_other(threads: int) -> None:
    own = threading.get_ident()
    with single_thread(enabled=False):
        assert list(side_by_side(lambda _: threading.get_ident(), range(3))) == [own] * 3


def test_an_error_in_one_of_them_is_raised(threads: int) -> None:
    with single_thread(), pytest.raises(ZeroDivisionError):
        list(side_by_side(lambda number: 1 / number, [1, 0, 1]))


def test_after_an_error_the_others_end_with_their_next_step() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(number: int) -> None:
        if number == 0:
            begun.wait(20)
            raise ZeroDivisionError
        begun.set()
        try:
            while True:
                end_if_unwanted()
        except CancelledError:
            ended.set()
            raise

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with single_thread(), pytest.raises(ZeroDivisionError):
        list(side_by_side(work, range(2)))
    torch.set_num_threads(before)
    assert ended.is_set()
    end_if_unwanted()  # other threads are not concerned


def test_heads_have_the_same_bytes(threads: int) -> None:
    grids, truth = _data(3, 80)
    observed = _one_each(truth)
    head = fit_head(grids, observed)
    torch.set_num_threads(1)
    alone = fit_head(grids, observed)
    assert np.array_equal(head.weight, alone.weight)
    expected = out_of_fold(grids, observed, head.choice)
    torch.set_num_threads(threads)
    assert np.array_equal(out_of_fold(grids, observed, head.choice), expected)
