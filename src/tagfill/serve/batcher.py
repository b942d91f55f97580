"""Images of many requests through the model at once."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np

from tagfill.arrays import Numbers
from tagfill.models.engines import Engine
from tagfill.serve.metrics import BATCHES, WAITING

Waiting = tuple[Numbers, "Future[Numbers]"]


class QueueFullError(Exception):
    """Too many images are waiting."""


class Batcher:
    """Collects what arrives within a few milliseconds and runs it as one batch.

    Args:
        engine: returns the function that runs a batch; called for each, as the model may change.
        wait: seconds to wait for more while the model is idle.
        room: images that may wait; more are refused.
    """

    def __init__(
        self, engine: Callable[[], Engine], most: int = 16, wait: float = 0.003, room: int = 256
    ) -> None:
        self._engine, self._most, self._wait = engine, most, wait
        self._queue: queue.Queue[Waiting | None] = queue.Queue(room)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, image: Numbers) -> Future[Numbers]:
        """Probabilities [K] of an image [3, H, W], later; ``QueueFullError`` if many wait."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="batcher")
                self._thread.start()
        future: Future[Numbers] = Future()
        try:
            self._queue.put_nowait((image, future))
        except queue.Full:
            raise QueueFullError from None
        WAITING.set(self._queue.qsize())
        return future

    def close(self) -> None:
        """Finish what is waiting and stop."""
        thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join(timeout=10)

    def _run(self) -> None:
        open_for_more = True
        while open_for_more:
            batch, open_for_more = self._collect()
            alive = [item for item in batch if item[1].set_running_or_notify_cancel()]
            if alive:
                self._answer(alive)

    def _collect(self) -> tuple[list[Waiting], bool]:
        first = self._queue.get()
        if first is None:
            return [], False
        batch, until = [first], time.monotonic() + self._wait
        while len(batch) < self._most:
            try:
                item = self._queue.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                break
            if item is None:
                return batch, False
            batch.append(item)
        WAITING.set(self._queue.qsize())
        return batch, True

    def _answer(self, batch: list[Waiting]) -> None:
        BATCHES.observe(len(batch))
        try:
            engine = self._engine()
            size = engine.metadata.size
            fits = [image for image, _ in batch if image.shape[-1] == size]
            rows = iter(engine.probabilities(np.stack(fits))) if fits else iter(())
            for image, future in batch:
                if image.shape[-1] == size:
                    future.set_result(next(rows))
                else:
                    future.set_exception(QueueFullError())  # the model changed while it waited
        except Exception as error:  # any error goes to those who wait
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
