"""Class-activation maps turned into logits."""

from __future__ import annotations

import torch
from torch import Tensor


def boosted_logits(maps: Tensor, *, alpha: float = 5.0) -> Tensor:
    """Spatial mean of class-activation maps whose positive values are multiplied by alpha.

    mean over positions of a where a <= 0, alpha a where a > 0

    Kim et al. 2023 (BoostLU).

    Args:
        maps: [N, K, H, W].
        alpha: 1 gives the plain logits of average pooling.

    Returns:
        [N, K] logits.
    """
    return torch.where(maps > 0, alpha * maps, maps).mean(dim=(2, 3))
