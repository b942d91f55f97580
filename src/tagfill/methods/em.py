"""Entropy maximization: unknown tags are acknowledged as unknown.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - [z=-1] alpha H(p),
           H(p) = -p log p - (1 - p) log(1 - p)

Zhou et al. 2022 (EM + APL), Eq. 3 and 4. By the logit g the unknown term has the gradient
-alpha e^-g log(e^-g) / (1 + e^-g)^2 (Eq. 5): none at g = 0 and little for confident guesses, so
that training follows the observed tags and leaves confident positives alone.

The paper has no observed negatives; they cost their cross-entropy here. The published code adds
1e-5 inside the logarithms (``eps``; preset ``published``). The presets ``voc``, ``coco``, ``nus``
and ``cub`` are its settings for these data sets. Scores of unknown entries hover near 0.5: the
authors advise 0.75 as threshold; thresholds fitted on validation find theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses.entropy import entropy_maximization
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, elementwise

INFO = Info(title="Entropy maximization", source="Zhou et al. 2022 (EM + APL), Eq. 3-5")


@dataclass(frozen=True)
class Config(Settings):
    alpha: float = setting(
        0.2, "weight of the entropy of unknown entries; the paper's best on VOC", 0
    )
    eps: float = setting(0.0, "added to probabilities inside the logarithms", 0, 1)


PRESETS = {
    "published": Config(eps=1e-5),
    "voc": Config(alpha=0.2, eps=1e-5),
    "coco": Config(alpha=0.1, eps=1e-5),
    "nus": Config(alpha=0.1, eps=1e-5),
    "cub": Config(alpha=0.01, eps=1e-5),
}


build = elementwise("em", entropy_maximization)
