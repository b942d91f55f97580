"""Likelihood of which tags were written, given how many: comparable between models of the writer.

The number of written tags of an image depends on the writer, and where every image has exactly one
of a few classes, tags that are independent given the image cannot explain it. The likelihood of
"some" tags leaves the number out, that of all tags includes it. Given the number, all models are
scored on the same event: which tags were chosen.

    P(S | n, x) = P(S | x) / P(n | x)

P(n | x) is the chance of n written tags, or for "some", that there are at least n.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tagfill.linear.line import best_line
from tagfill.losses.likelihood import Writer, written_tags_nll

ENTRIES = 1_000_000
"""Entries that are scored at most, so that very many classes take no longer."""
TINY = 1e-300


def choice_costs(logits: Tensor, observed: Tensor, writer: Writer) -> Tensor:
    """[n] -log P(S | n, x) after the best scale and shift of the scores.

    Of very many entries, images are taken at regular steps.

    Args:
        logits: [N, K] of images that had no part in them.
        observed: [N, K] of 1 and -1.
        writer: of these images; a single value of t means each tag by itself.
    """
    some = slice(None, None, max(1, -(-logits.numel() // ENTRIES)))
    given, observed, writer = logits[some].double(), observed[some], writer.rows(some)

    @torch.enable_grad()
    def cost(line: Tensor) -> tuple[float, Tensor]:
        leaf = line.clone().requires_grad_()
        value = given_number(leaf[0].exp() * given + leaf[1], observed, writer).mean()
        (slope,) = torch.autograd.grad(value, leaf)
        return float(value.detach()), slope

    best = best_line(cost)
    return given_number(float(np.exp(best.log_scale)) * given + best.shift, observed, writer)


def given_number(logits: Tensor, observed: Tensor, writer: Writer) -> Tensor:
    """[N] -log P(S | n, x)."""
    written = (observed == 1).sum(1, keepdim=True)
    p, top = torch.sigmoid(logits), int(written.max())
    cost = written_tags_nll(logits, observed, writer)
    if writer.unwritten.shape[1] > 1:
        fewer = F.pad(number_chances(p, top).cumsum(1), (1, 0)).gather(1, written)
        return cost + (1 - fewer[:, 0]).clamp_min(TINY).log()
    share = 1 - writer.unwritten
    number = number_chances(share * p, top).gather(1, written).clamp_min(TINY)
    return cost + (number.log() - written * share.log())[:, 0]


def number_chances(chances: Tensor, top: int) -> Tensor:
    """[N, top + 1] that 0, 1, ... top of independent events [N, K] happen."""
    counts = torch.stack([1 - chances, chances], 2)[..., : top + 1]
    while counts.shape[1] > 1:
        if counts.shape[1] % 2:
            sure = torch.zeros_like(counts[:, :1])
            sure[..., 0] = 1
            counts = torch.cat([counts, sure], 1)
        one, other = counts[:, ::2], counts[:, 1::2]
        size = min(top + 1, one.shape[2] + other.shape[2] - 1)
        counts = torch.stack([_product(one, other, degree) for degree in range(size)], 2)
    return F.pad(counts[:, 0], (0, top + 1 - counts.shape[2]))


def _product(one: Tensor, other: Tensor, degree: int) -> Tensor:
    """[N, k] one coefficient of the products of polynomials."""
    low, high = max(0, degree - other.shape[2] + 1), min(degree + 1, one.shape[2])
    turned = other[..., degree - high + 1 : degree - low + 1].flip(2)
    return (one[..., low:high] * turned).sum(2)
