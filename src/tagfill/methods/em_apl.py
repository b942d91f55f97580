"""Entropy maximization with asymmetric pseudo-labels: the most likely negatives, round by round.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - [unknown] alpha H(p)
           + [pseudo-labeled] beta (-s log p - (1 - s) log(1 - p))

Zhou et al. 2022 (EM + APL), Algorithm 1 and Eq. 6-8. After T_w epochs of plain ``em``, and after
every later epoch but the last, each class c labels the n_c unknown entries of lowest
probability: n_c = int(theta U_c / (T_t - T_w)) of its U_c unknown entries before any pseudo-label,
over T_t epochs in all. The label is the probability s = p of that moment and is never refreshed.
There are no positive pseudo-labels by default.

Switches of the paper's Table 3: ``theta`` 0.1 (low proportion), ``soft`` off, ``beta`` 1 (no
down-weighting), ``positive_theta`` 0.1; of its Table 2: ``base`` "an", which takes the remaining
unknown entries for negative.

The published code labels once more after the last epoch, to no effect, and adds 1e-5 inside the
logarithms (``eps``); its probabilities come from the flipped views of the training loader
(``training_view``). The preset ``published`` has both. The presets ``voc``, ``coco``, ``nus`` and
``cub`` are its settings for these data sets; it trains for 10 epochs, 5, 5, 4 and 3 of them
warm-up, which are kept as shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.losses.entropy import entropy_with_pseudo_labels
from tagfill.losses.selection import lowest_per_class
from tagfill.methods._search import Range
from tagfill.methods._settings import Settings, require_range, setting
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step, filled_in

INFO = Info(
    title="Entropy maximization with asymmetric pseudo-labels",
    source="Zhou et al. 2022 (EM + APL), Algorithm 1, Eq. 6-8",
    needs=Needs(state=True, epoch_scores=True),
)


@dataclass(frozen=True)
class Config(Settings):
    alpha: float = setting(0.2, "weight of the entropy of unknown entries", 0)
    beta: float = setting(
        0.02, "weight of pseudo-labeled entries; 1 switches down-weighting off", 0
    )
    theta: float = setting(
        0.9,
        "share of a class's unknown entries that become negative pseudo-labels in all rounds",
        0,
        1,
    )
    warmup: float = setting(
        0.5,
        "T_w, the epochs before the first pseudo-labels; below 1 it is a share of all epochs, at "
        "least one",
        0,
    )
    soft: bool = setting(True, "pseudo-labels are probabilities, not 0 and 1")
    positive_theta: float = setting(
        0.0, "share of a class's unknown entries that become positive pseudo-labels", 0, 1
    )
    base: Literal["em", "an"] = setting(
        "em", 'what remaining unknown entries cost: "em" their entropy, "an" -log(1 - p)'
    )
    eps: float = setting(0.0, "added to probabilities inside the logarithms")
    training_view: bool = setting(
        False,
        "the probabilities come from augmented views, as in training, not from the plain image",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("theta + positive_theta", self.theta + self.positive_theta, 0, 1)
        if self.warmup > 1 and self.warmup != int(self.warmup):
            raise TagfillError(
                f"warmup = {self.warmup:g} is not valid",
                remedy="give a whole number of epochs, or a share below 1",
            )


PRESETS = {
    "published": Config(eps=1e-5, training_view=True),
    "voc": Config(alpha=0.2, beta=0.02, warmup=0.5, eps=1e-5, training_view=True),
    "coco": Config(alpha=0.1, beta=0.9, warmup=0.5, eps=1e-5, training_view=True),
    "nus": Config(alpha=0.1, beta=0.2, warmup=0.4, eps=1e-5, training_view=True),
    "cub": Config(alpha=0.01, beta=0.4, warmup=0.3, eps=1e-5, training_view=True),
}
SEARCH = {
    "alpha": Range(0.01, 1.0),
    "beta": Range(0.01, 1.0),
    "theta": Range(0.1, 0.9, log=False),
    "warmup": Range(0.1, 0.8, log=False),
}


class AsymmetricPseudoLabels(Method):
    """Entropy maximization that remembers a soft label for every entry it has decided on."""

    kept = ("pseudo", "chosen", "scores")

    def __init__(self, config: Config) -> None:
        self.config = config
        self.needs = replace(INFO.needs, augmented_scores=config.training_view)
        terms = config.given_to(entropy_with_pseudo_labels)
        self.terms = partial(terms, assume_negative=config.base == "an")

    def start(self, setup: Setup) -> None:
        """Fix the rounds and how many entries each labels; refuse a warm-up that is too long."""
        super().start(setup)
        self.epochs = setup.epochs
        self.warmup = _warmup(self.config.warmup, setup.epochs)
        self.observed = setup.observed.to(setup.device)
        self.pseudo = torch.full(self.observed.shape, -1.0, device=setup.device)
        self.chosen = torch.full_like(self.observed, -1)
        self.scores = torch.full_like(self.pseudo, 0.5)
        rounds = self.epochs - self.warmup
        unknown = (self.observed == -1).sum(dim=0)
        self.negatives = _per_round(unknown, self.config.theta, rounds)
        self.positives = _per_round(unknown, self.config.positive_theta, rounds)

    def loss(self, step: Step) -> LossTerms:
        terms = self.terms(step.output.logits, step.observed, self.pseudo[step.index])
        return {"em_apl": terms.mean()}

    def after_epoch(self, epoch: int, scores: Tensor | None) -> None:
        """Label the next entries of every class."""
        assert scores is not None
        self.scores = scores.to(self.pseudo)
        if self.warmup <= epoch < self.epochs:
            self._label(lowest_per_class(self.scores, self._undecided(), self.negatives), code=0)
            self._label(lowest_per_class(-self.scores, self._undecided(), self.positives), code=1)

    def _undecided(self) -> Tensor:
        return (self.observed == -1) & (self.pseudo < 0)

    def _label(self, chosen: Tensor, code: int) -> None:
        label = self.scores if self.config.soft else torch.full_like(self.scores, code)
        self.pseudo = torch.where(chosen, label, self.pseudo)
        self.chosen = self.chosen.masked_fill(chosen, code)

    def estimates(self) -> Tensor:
        """Pseudo-labels, elsewhere the last epoch's scores (0.5 before the first)."""
        guess = torch.where(self.pseudo >= 0, self.pseudo, self.scores)
        return filled_in(self.observed, guess)

    def pseudo_labels(self) -> Tensor:
        """The label each entry was chosen for; its soft label may differ."""
        return self.chosen


def _warmup(warmup: float, epochs: int) -> int:
    chosen = max(1, round(warmup * epochs)) if warmup < 1 else int(warmup)
    if chosen >= epochs:
        raise TagfillError(
            f"em_apl cannot start: {chosen} of {epochs} epochs are warm-up and none is left for "
            "pseudo-labels",
            remedy="train for more epochs or set a shorter --method.warmup",
        )
    return chosen


def _per_round(unknown: Tensor, share: float, rounds: int) -> Tensor:
    """int(share x U_c / rounds) of every class; rounding keeps 0.9 x 10 / 3 at 3."""
    return torch.tensor([int(round(share * count / rounds, 9)) for count in unknown.tolist()])


build = AsymmetricPseudoLabels
