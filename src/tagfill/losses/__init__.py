"""Losses for incomplete labels: pure functions from logits and observed labels to terms."""

from __future__ import annotations

from tagfill.losses.activation import boosted_logits
from tagfill.losses.entropy import (
    entropy_maximization,
    entropy_minimization,
    entropy_with_pseudo_labels,
)
from tagfill.losses.focusing import asymmetric, focal, partial_asymmetric
from tagfill.losses.large_loss import large_loss_correction, large_loss_rejection
from tagfill.losses.robust import generalized_robust, hill, self_paced_correction

__all__ = [
    "asymmetric",
    "boosted_logits",
    "entropy_maximization",
    "entropy_minimization",
    "entropy_with_pseudo_labels",
    "focal",
    "generalized_robust",
    "hill",
    "large_loss_correction",
    "large_loss_rejection",
    "partial_asymmetric",
    "self_paced_correction",
]
