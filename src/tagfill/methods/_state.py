"""State of methods: what a checkpoint keeps of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tagfill.models.weights import below

EMPTY = -1


class Stateful:
    """An object whose state are the attributes that ``kept`` names.

    These are tensors, parameters, integers, modules, or stateful themselves.
    """

    kept: tuple[str, ...] = ()

    def state(self) -> dict[str, Tensor]:
        """Everything ``load_state`` needs to continue exactly; not a copy."""
        state: dict[str, Tensor] = {}
        for name in self.kept:
            part: Any = getattr(self, name)
            if isinstance(part, Stateful | nn.Module):
                own = part.state() if isinstance(part, Stateful) else part.state_dict()
                state |= {f"{name}.{key}": tensor for key, tensor in own.items()}
            else:
                state[name] = torch.as_tensor(part).detach()
        return state

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore ``state``."""
        for name in self.kept:
            part: Any = getattr(self, name)
            if isinstance(part, Stateful | nn.Module):
                load = part.load_state if isinstance(part, Stateful) else part.load_state_dict
                load(below(state, f"{name}."))
            elif isinstance(part, int):
                setattr(self, name, int(state[name]))
            elif isinstance(part, nn.Parameter) or part.shape == state[name].shape:
                with torch.no_grad():
                    part.copy_(state[name])
            else:  # allocated when the first batch was seen
                setattr(self, name, state[name].to(part))


class Queue(Stateful):
    """A ring buffer of the newest entries with their classes: new entries replace the oldest."""

    kept = ("entries", "classes", "pointer")

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


class Averages(Stateful):
    """Running averages of something per image; the first visit sets them.

    Args:
        momentum: share of the past.
    """

    kept = ("table",)

    def __init__(self, images: int, device: torch.device, momentum: float) -> None:
        self.images, self.device, self.momentum = images, device, momentum
        self.table = torch.zeros(0, device=device)

    def of(self, rows: Tensor, now: Tensor) -> Tensor:
        """The averages of some images; the current values on their first visit."""
        if not self.table.numel():
            return now.detach()
        past = self.table[rows].to(now)
        return torch.where(past.isnan(), now.detach(), past)

    def update(self, rows: Tensor, now: Tensor) -> None:
        """Move the averages of some images towards the current values."""
        past = self.of(rows, now)
        if not self.table.numel():
            self.table = torch.full((self.images, *now.shape[1:]), torch.nan, device=self.device)
        self.table[rows] = past.lerp(now.detach(), 1 - self.momentum).to(self.table)
