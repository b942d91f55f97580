"""Which epoch is the best one, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_STATE = ("best_score", "best_epoch", "last_epoch")


@dataclass
class Selector:
    """Remembers the best epoch; higher scores are better, the earlier epoch wins a tie.

    Args:
        patience: stop once this many epochs in a row brought no better score; 0 stops at the first
            (the rule of the EM/APL code), None never stops.
    """

    patience: int | None = None
    best_score: float | None = None
    best_epoch: int = 0
    last_epoch: int = 0

    def update(self, epoch: int, score: float) -> bool:
        """Add an epoch's score; returns whether it is the best so far."""
        self.last_epoch = epoch
        if self.best_score is not None and not score > self.best_score:
            return False
        self.best_score, self.best_epoch = score, epoch
        return True

    @property
    def exhausted(self) -> bool:
        """Whether patience has run out."""
        if self.patience is None or self.best_score is None:
            return False
        return self.last_epoch - self.best_epoch > self.patience

    def metadata(self) -> dict[str, Any]:
        """State for a checkpoint."""
        return {name: getattr(self, name) for name in _STATE}

    def restore(self, metadata: Mapping[str, Any]) -> None:
        """Restore the state of ``metadata``."""
        for name in _STATE:
            setattr(self, name, metadata[name])
