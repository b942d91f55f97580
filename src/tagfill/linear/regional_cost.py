"""The held-out cost of heads that see images in regions, to choose the strength of their penalty.

The strength that is best for the whole image is too weak for regions, most of all after a review:
so it is chosen once more, between the neighbors of the one that was found for the whole.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from tagfill.linear.basis import Transform
from tagfill.linear.choice import Choice
from tagfill.linear.choose import TOLERANCE, Chooser
from tagfill.linear.costs import held_out_cost
from tagfill.linear.regions import Features, Regions, refined, scores
from tagfill.linear.solve import solve
from tagfill.linear.threads import side_by_side

HELD_OUT = 600
"""Images that are scored, if there are so many."""


class RegionalCost:
    """Cost per image of held-out labels, by the whole and the best region.

    Args:
        chooser: has folds and labels of all images.
        features: [N, D, H, W].
        transform: of the features.
    """

    def __init__(self, chooser: Chooser, features: Features, transform: Transform) -> None:
        self.chooser, self.basis = chooser, chooser.basis(transform)
        self.regions = Regions(self.basis, features)

    def __call__(self, choice: Choice) -> float:
        """The cost of a choice with this transform."""
        observed, reviewed = self.chooser.observed, self.chooser.reviewed
        objective = choice.objective(observed, reviewed)

        def held_out(fold: int) -> tuple[Tensor, Tensor]:
            kept, left = self.chooser.split(fold)
            part, strength = objective.subset(kept), choice.strength
            start = self.chooser.head(choice.transform, fold)
            head = solve(self.basis, part, strength, rows=kept, start=start, tolerance=TOLERANCE)
            head = refined(self.basis, self.regions, part, strength, head, kept)
            return left, scores(self.basis, head, self.regions, left)

        rows, logits = map(torch.cat, zip(*side_by_side(held_out, self._folds()), strict=True))
        answered = None if reviewed is None else reviewed[rows]
        plain = replace(choice, smoothing=0.0).objective(observed[rows], answered)
        return held_out_cost(plain, logits) + choice.surprise / len(rows)

    def _folds(self) -> list[int]:
        """As many as have enough images together."""
        before = self.chooser.folds.bincount().cumsum(0).roll(1)
        before[0] = 0
        return (before < HELD_OUT).nonzero()[:, 0].tolist()
