"""Settings of a fit of a linear head, and the candidate models of the writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor

from tagfill.linear.basis import TRANSFORMS, Transform
from tagfill.linear.solve import Likelihood
from tagfill.losses.likelihood import Writer, each_written, number_positive, some_written

WriterName = Literal["some", "each"]
_FEATURES: dict[Transform, str] = {
    "roots": "square roots of features",
    "plain": "features as they are",
    "standard": "standardized features",
}

SMOOTHING = 0.05
"""The best or nearly the best on all data tried. Held-out likelihood cannot choose it: it always
prefers less."""
STEP = 10**0.5
"""Ratio of neighboring strengths."""
FIRST = 0.1
"""The strength that is tried first."""
DECADES = 1.0
"""Standard deviation, in powers of ten, of the prior of the strength around the first one. It
matters where a few dozen labels could be fitted with next to no penalty."""
MOSTLY = 0.7
SHARES = (MOSTLY / 2, MOSTLY, 1.0)
"""Probabilities of being written that are tried for writers of "each" tag."""
UNTAGGED = 0.05
"""Share of images without a positive above which tags must be missing."""


@dataclass(frozen=True)
class Choice:
    """Everything a fit needs besides features and labels.

    Args:
        writer: "some": any n of the tags that are there were written; "each": each by itself.
        share: chance of being written for "each"; 0 means entries known at random.
        max_written: for "some", an image's ones beyond so many were confirmed by a review, where
            that is not recorded; 0: none were.
        strength: of the L2 penalty, relative to the features' mean sum of squares.
        smoothing: of entries, see ``Likelihood``.
        transform: of the features.
    """

    writer: WriterName = "some"
    share: float = 0.5
    max_written: int = 0
    strength: float = FIRST
    smoothing: float = SMOOTHING
    transform: Transform = "roots"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Choice | None:
        """The choice that ``as_dict`` wrote, or None; other keys are ignored."""
        given = {field.name: values.get(field.name) for field in fields(cls)}
        numbers = [given[name] for name in ("share", "max_written", "strength", "smoothing")]
        if given["writer"] not in ("some", "each") or given["transform"] not in TRANSFORMS:
            return None
        sound = all(isinstance(one, int | float) and 0 <= one < np.inf for one in numbers)
        return cls(**cast(dict[str, Any], given)) if sound else None

    def describe(self) -> str:
        """In a few words."""
        kinds = {0.0: "labels are known at random", 1.0: "all tags were written"}
        alone = f"each tag was written on its own, with a chance of {self.share:.0%} in the loss"
        share = kinds.get(self.share, alone)
        how = "any of the tags that are there were written" if self.writer == "some" else share
        return f"{how}; {_FEATURES[self.transform]}; L2 penalty {self.strength:.2g}"

    @property
    def surprise(self) -> float:
        """Cost of the strength before anything is seen."""
        return 0.5 * float(np.log10(max(self.strength, 1e-300) / FIRST) / DECADES) ** 2

    def stepped(self, steps: float) -> Choice:
        """With a penalty this many steps stronger."""
        return replace(self, strength=float(f"{self.strength * STEP**steps:.6g}"))

    def written_by(self, observed: Tensor, reviewed: Tensor | None = None) -> Writer:
        """The writer of these labels.

        Args:
            observed: [N, K] labels 1, 0, -1.
            reviewed: [N, K] entries that a review answered, where that is recorded.
        """
        if self.writer == "each":
            return each_written(observed, self.share)
        return some_written(observed, self.written(observed, reviewed))

    def written(self, observed: Tensor, reviewed: Tensor | None = None) -> Tensor:
        """[N] how many of the ones were written; the others were confirmed by a review."""
        if reviewed is not None:
            return ((observed == 1) & ~reviewed).sum(1)
        positives = number_positive(observed)
        return positives.clamp(max=self.max_written) if self.max_written else positives

    def objective(self, observed: Tensor, reviewed: Tensor | None = None) -> Likelihood:
        """The objective on these labels."""
        return Likelihood(observed, self.written_by(observed, reviewed), self.smoothing)


def candidates(observed: Tensor, choice: Choice) -> list[Choice]:
    """Writers that could have left these labels."""
    if not bool((observed < 0).any()):
        return [replace(choice, writer="each", share=1.0)]
    shares = (0.0, *SHARES) if bool((observed == 0).any()) else SHARES
    independent = [replace(choice, writer="each", share=share) for share in shares]
    return [
        replace(choice, writer="some", max_written=usual_number_written(observed)),
        *independent,
    ]


def usual_number_written(observed: Tensor) -> int:
    """The number of ones of an image beyond which a review confirmed them; 0 without a review.

    Where entries are known to be absent there was a review, and which ones it confirmed is not
    written down: images have as many written tags as most images have, if they have so many.
    """
    counts = torch.bincount(number_positive(observed))[1:]
    return int(counts.argmax()) + 1 if bool((observed == 0).any()) and len(counts) else 0


def untagged(observed: Tensor) -> float:
    """Share of images without a known positive."""
    return float((observed != 1).all(1).double().mean())
