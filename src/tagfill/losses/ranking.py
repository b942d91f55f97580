"""Losses on pairs of entries of one image."""

from __future__ import annotations

import torch
from torch import Tensor

from tagfill.losses.terms import single


def pairwise_ranking(logits: Tensor, observed: Tensor) -> Tensor:
    """Every positive should beat every other entry of its image by a margin of 1 in probability.

    for each positive i: sum over j with z_j != 1 of max(0, 1 - p_i + p_j)

    Cole et al. 2021 (MLSPL), supplement A (PR); "0" there is an unknown label counted as negative.
    Probabilities differ by at most 1, so the hinge never cuts, and the sum over j is
    n (1 - p_i) + sum of p_j with n the number of such j: no pair has to be formed.

    Returns:
        [N, K]: at each positive the sum over its pairs, elsewhere 0.

    >>> pairwise_ranking(torch.zeros(1, 3), torch.tensor([[1, -1, 0]]))
    tensor([[2., 0., 0.]])
    """
    logits = single(logits)
    positive = observed == 1
    others = (~positive).sum(1, keepdim=True)
    beaten_by = (torch.sigmoid(logits) * ~positive).sum(1, keepdim=True)
    return positive * (others * torch.sigmoid(-logits) + beaten_by)
