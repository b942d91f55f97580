"""Losses that assume something about unknown cells and otherwise are cross-entropy."""

from __future__ import annotations

from torch import Tensor

from tagfill.losses.cells import by_label, negative_term, positive_term


def assume_negative(logits: Tensor, observed: Tensor) -> Tensor:
    """Cross-entropy with every unknown cell taken for a negative.

    -[z=1] log p - [z!=1] log(1 - p)

    Cole et al. 2021 (MLSPL), Eq. 4.

    Args:
        logits: [N, K] raw scores.
        observed: [N, K] labels 1, 0, -1.

    Returns:
        [N, K] terms, unreduced.
    """
    negative = negative_term(logits)
    return by_label(observed, positive_term(logits), negative, negative)
