"""What the loop remembers of its epochs: the position, the best one, and summaries for the log.

The loop's outputs for the training images are collected and summarized at the end of the epoch.
Nothing here changes weights or random states. The full labels behind masked ones, where known, are
used for the log only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tagfill.methods.base import Method, Step

BINS = 20
"""Bins of the histograms of probabilities."""
LARGEST = 50_000_000
"""Largest number of entries for which this is computed."""


@dataclass
class Position:
    """Progress of training: the next batch, and the sums of the current epoch."""

    epoch: int = 1
    batch: int = 0
    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)


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
        if self.patience is None or self.best_score is None:
            return False
        return self.last_epoch - self.best_epoch > self.patience


class EpochMetrics:
    """Summarizes the logits of each epoch.

    Args:
        truth: [N, K] the full labels, where known.
    """

    def __init__(self, observed: Tensor, truth: Tensor | None, device: torch.device) -> None:
        self.observed, self.truth = observed, truth
        self.active = observed.numel() <= LARGEST
        self.logits = torch.full(
            observed.shape if self.active else (0, 0), torch.nan, device=device
        )
        self._seen = False

    def see(self, step: Step) -> None:
        if self.active:
            self.logits.index_copy_(0, step.index, step.output.logits.detach())
            self._seen = True

    def finish(self, method: Method) -> dict[str, Any]:
        """Summarize the epoch, and reset.

        Returns:
            ``positive_loss``, the mean of -log p over observed positives; where the truth is known,
            counts of probabilities in ``BINS`` equal bins by kind of entry, the same loss of
            unobserved positives, and precision and recall of the method's pseudo-labels.
        """
        if not self._seen:
            return {}
        logits = self.logits.float().cpu()
        seen = ~logits.isnan()
        metrics: dict[str, Any] = {
            "positive_loss": _positive_loss(logits[seen & (self.observed == 1)])
        }
        if self.truth is not None:
            unknown = seen & (self.observed == -1)
            hidden = {
                "unobserved_positives": logits[unknown & (self.truth == 1)],
                "unobserved_negatives": logits[unknown & (self.truth == 0)],
            }
            metrics["unobserved_positive_loss"] = _positive_loss(hidden["unobserved_positives"])
            metrics["histograms"] = {name: _histogram(entries) for name, entries in hidden.items()}
            metrics["pseudo_labels"] = pseudo_label_metrics(method, self.observed, self.truth)
        self.logits.fill_(torch.nan)
        self._seen = False
        return metrics

    def state(self) -> dict[str, Tensor]:
        """State of an unfinished epoch."""
        return {"logits": self.logits} if self._seen else {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        if "logits" in state and self.active:
            self.logits.copy_(state["logits"])
            self._seen = True


def pseudo_label_metrics(method: Method, observed: Tensor, truth: Tensor) -> dict[str, Any] | None:
    """Precision and recall of a method's labels of unknown entries; None if it has none.

    Estimates without labels count as positive from a probability of 0.5 on, else as negative.
    Recall is the share of all unknown entries of the kind.
    """
    labels = method.pseudo_labels()
    estimates = method.estimates() if labels is None else None
    if estimates is not None:
        labels = (estimates >= 0.5).to(torch.int8)
    if labels is None:
        return None
    labels = labels.cpu()
    counted = (observed == -1) & (truth >= 0)
    metrics: dict[str, Any] = {}
    for name, code in (("positives", 1), ("negatives", 0)):
        labeled = counted & (labels == code)
        right = int((labeled & (truth == code)).sum())
        metrics[name] = {
            "count": int(labeled.sum()),
            "precision": _share(right, int(labeled.sum())),
            "recall": _share(right, int((counted & (truth == code)).sum())),
        }
    return metrics


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _positive_loss(logits: Tensor) -> float | None:
    return float(F.softplus(-logits).mean()) if len(logits) else None


def _histogram(logits: Tensor) -> list[int]:
    counts = torch.histc(logits.sigmoid(), bins=BINS, min=0.0, max=1.0)
    return [int(count) for count in counts.tolist()]
