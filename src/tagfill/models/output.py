"""The output of a network for a batch."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Output:
    """A network's output for B images and K classes.

    Args:
        logits: [B, K] raw scores.
        embeddings: [B, K, E] label-wise embeddings of unit length (``lem`` head), else None.
        maps: [B, K, H, W] class-activation maps whose spatial mean, boosted if the head boosts, is
            the logits (``cam`` head), or attention maps of the query heads when asked for; else
            None.
        features: [B, K, D] label-wise features that ``Head.classify`` takes (``ssgrl`` head), else
            None.
    """

    logits: Tensor
    embeddings: Tensor | None = None
    maps: Tensor | None = None
    features: Tensor | None = None
