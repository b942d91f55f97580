"""The memory queue is a ring buffer."""

from __future__ import annotations

import pytest
import torch

from tagfill.methods._state import Queue

CPU = torch.device("cpu")


def numbered(*numbers):
    """Entries [n, 2, 1] and classes that carry their number."""
    values = torch.tensor(numbers)
    return values.float()[:, None, None].expand(-1, 2, 1), values


def held(queue, incoming=0):
    entries, classes = queue.held(incoming)
    assert entries.flatten(1)[:, 0].tolist() == classes.tolist() if len(entries) else True
    return sorted(classes.tolist())


def test_fills_then_replaces_the_oldest():
    queue = Queue(4, CPU)
    assert held(queue) == []
    queue.push(*numbered(0, 1, 2))
    assert held(queue) == [0, 1, 2]
    queue.push(*numbered(3, 4, 5))
    assert held(queue) == [2, 3, 4, 5]
    queue.push(*numbered(6))
    assert held(queue) == [3, 4, 5, 6]
    assert len(queue) == 4


def test_exact_fit_wraps_to_the_start():
    queue = Queue(3, CPU)
    queue.push(*numbered(0, 1, 2))
    assert queue.pointer == 0
    queue.push(*numbered(3))
    assert held(queue) == [1, 2, 3]


@pytest.mark.parametrize("before", range(4))
def test_more_entries_than_slots_keep_the_newest(before):
    queue = Queue(3, CPU)
    if before:
        queue.push(*numbered(*range(100, 100 + before)))
    queue.push(*numbered(*range(8)))
    assert held(queue) == [5, 6, 7]
    queue.push(*numbered(8))
    assert held(queue) == [6, 7, 8]


def test_any_sequence_holds_the_newest():
    generator, queue, history = torch.Generator().manual_seed(0), Queue(7, CPU), []
    for _ in range(60):
        count = int(torch.randint(0, 12, (), generator=generator))
        fresh = list(range(len(history), len(history) + count))
        incoming = min(count, 7)
        expected = history[-7:]
        expected = expected[max(0, len(expected) + incoming - 7) :]
        assert held(queue, incoming) == expected
        queue.push(*numbered(*fresh)) if fresh else queue.push(torch.zeros(0, 2, 1), torch.zeros(0))
        history += fresh
        assert held(queue) == history[-7:]


def test_no_slots_hold_nothing():
    queue = Queue(0, CPU)
    queue.push(*numbered(1, 2))
    assert held(queue, incoming=5) == []
    assert len(queue) == 0


def test_stored_entries_are_copies_without_gradient():
    queue = Queue(2, CPU)
    entries = torch.ones(1, 2, 1, requires_grad=True)
    queue.push(entries, torch.tensor([0]))
    stored, _ = queue.held()
    assert not stored.requires_grad
    with torch.no_grad():
        entries.zero_()
    assert queue.held()[0].sum() == 2


@pytest.mark.parametrize("pushed", [0, 2, 5])
def test_state_goes_on_identically(pushed):
    first, second = Queue(3, CPU), Queue(3, CPU)
    first.push(*numbered(*range(pushed))) if pushed else None
    second.load_state({key: value.clone() for key, value in first.state().items()})
    for queue in (first, second):
        queue.push(*numbered(50, 51))
    assert held(first) == held(second)
    assert torch.equal(first.classes, second.classes)
