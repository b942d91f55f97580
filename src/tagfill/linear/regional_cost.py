"""The held-out cost of heads that see images in regions, to choose the strength of their penalty.

The strength that is best for the whole image is too weak for regions, most of all after a review:
so it is chosen once more, between the neighbors of the one that was found for the whole.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from tagfill.linear.basis import Transform
from tagfill.linear.choice import Choice
from tagfill.linear.choose import TOLERANCE, Chooser
from tagfill.linear.costs import held_out_cost
from tagfill.linear.regions import Regions, Rows, refined, scores
from tagfill.linear.solve import solve

HELD_OUT = 600
"""Images that are scored, if there are so many."""


class RegionalCost:
    """Cost per image of held-out labels, by the whole and the best region.

    Args:
        chooser: has folds and labels of all images.
        features: [N, D, H, W].
        transform: of the features.
    """

    def __init__(self, chooser: Chooser, features: Rows, transform: Transform) -> None:
        self.chooser, self.regions = chooser, Regions(features, transform)
        self.basis = chooser.basis(transform)

    def __call__(self, choice: Choice) -> float:
        """The cost of a choice with this transform."""
        observed, reviewed = self.chooser.observed, self.chooser.reviewed
        objective = choice.objective(observed, reviewed)
        rows, logits = torch.empty(0, dtype=torch.long), []
        for fold in range(int(self.chooser.folds.max()) + 1):
            if len(rows) >= HELD_OUT:
                break
            kept, left = self.chooser.split(fold)
            part, strength = objective.subset(kept), choice.strength
            head = solve(self.basis, part, strength, rows=kept, tolerance=TOLERANCE)
            head = refined(self.basis, self.regions, part, strength, head, kept)
            rows = torch.cat([rows, left])
            logits.append(scores(self.basis, head, self.regions, left))
        answered = None if reviewed is None else reviewed[rows]
        plain = replace(choice, smoothing=0.0).objective(observed[rows], answered)
        return held_out_cost(plain, torch.cat(logits)) + choice.surprise / len(rows)
