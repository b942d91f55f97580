"""A queue of the newest entries with their classes."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

EMPTY = -1


class Queue:
    """A ring buffer: new entries replace the oldest."""

    def __init__(self, slots: int, device: torch.device) -> None:
        self.slots, self.device = slots, device
        self.entries = torch.empty(0, device=device)
        self.classes = torch.full((slots,), EMPTY, dtype=torch.int64, device=device)
        self.pointer = 0

    def __len__(self) -> int:
        return int((self.classes != EMPTY).sum())

    def push(self, entries: Tensor, classes: Tensor) -> None:
        """Add n entries, oldest first; if they exceed the slots, the newest are stored.

        Args:
            entries: [n, ...], of the same shape at every call.
            classes: [n].
        """
        entries, classes = entries.detach()[-self.slots :], classes[-self.slots :]
        if not self.slots or not len(entries):
            return
        if not self.entries.numel():
            self.entries = torch.zeros(self.slots, *entries.shape[1:], device=self.device)
        slots = self._slots(len(entries))
        self.entries[slots] = entries.to(self.entries)
        self.classes[slots] = classes.to(self.classes)
        self.pointer = (self.pointer + len(entries)) % self.slots

    def held(self, incoming: int = 0) -> tuple[Tensor, Tensor]:
        """Entries [m, ...] and classes [m], less those that ``incoming`` new ones would replace."""
        valid = self.classes != EMPTY
        valid[self._slots(min(incoming, self.slots))] = False
        return self.entries[valid] if self.entries.numel() else self.entries, self.classes[valid]

    def _slots(self, count: int) -> Tensor:
        return (self.pointer + torch.arange(count, device=self.device)) % max(self.slots, 1)

    def state(self) -> dict[str, Tensor]:
        """Entries, classes and the slot of the next entry."""
        return {
            "queue": self.entries,
            "queue_classes": self.classes,
            "queue_pointer": torch.tensor(self.pointer),
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.entries = state["queue"].to(self.device)
        self.classes = state["queue_classes"].to(self.device)
        self.pointer = int(state["queue_pointer"])
