"""What all tests share: one thread a process, folders of their own, the same examples each time.

`make torture` draws new examples; `make test` gives the same answer on the same code.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests import quick

os.environ.setdefault("OMP_NUM_THREADS", "1")
LONG = ("test_odd_data.py", "test_recovery.py", "test_sklearn.py", "test_solver.py")
"""Files of many quick tests that take long together."""
MEMORY, ENOUGH = Path("/dev/shm"), 8 * 2**30


def in_memory() -> bool:
    """Whether files can be kept in memory: runs wait for the disk 30 times each."""
    return os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH


if "TMPDIR" not in os.environ and in_memory():
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
CACHE = tempfile.mkdtemp(prefix="tagfill-test-cache-")
os.environ["TAGFILL_CACHE"] = CACHE

settings.register_profile("tagfill", deadline=None, derandomize="TAGFILL_TORTURE" not in os.environ)
settings.load_profile("tagfill")


@pytest.fixture(scope="module")
def quick_choices() -> Iterator[None]:
    """A module's runs with the quick learner of ``tests/quick.py``."""
    with quick.quick_choices():
        yield


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Tensors of a few entries are slower on several threads."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def pytest_collection() -> None:
    """Nothing that is imported or collected becomes garbage; looking for it takes seconds."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    shutil.rmtree(CACHE, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long first, so that with ``--dist loadfile`` all workers end together."""
    slow = {
        item.path
        for item in items
        if item.get_closest_marker("slow") or item.path.suffix == ".ipynb" or item.path.name in LONG
    }
    items.sort(key=lambda item: item.path not in slow)
