"""Limits the guessing of tokens: few wrong ones per address and minute."""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable

MOST_WRONG = 10
PERIOD = 60.0
MOST_ADDRESSES = 10_000


class Throttle:
    """Counts wrong tokens by address, and says how long an address has to wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """Seconds until an address may try again; 0 if it may now."""
        times = self._wrong.get(address)
        if times is None or len(times) < MOST_WRONG:
            return 0
        return max(0, math.ceil(times[0] + PERIOD - self._clock()))

    def failed(self, address: str) -> None:
        """A wrong token came from an address; only the latest ones are remembered."""
        self._wrong.setdefault(address, deque(maxlen=MOST_WRONG)).append(self._clock())
        self._wrong.move_to_end(address)
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
