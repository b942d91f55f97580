"""Regularized online label estimation: estimate the missing tags while training on them.

    loss = (L'(F | Y) + L'(Y | F)) / 2,
    L'(F | Y) = mean over images and classes of CE(p, stop-gradient(q))
                + mean over images of sum over classes of -[z=1] log p - [z=0] log(1 - p)
                + lambda ((mean over images of sum over classes of p - k) / K)^2

with p the classifier's and q the estimated probabilities. Cole et al. 2021 (MLSPL), Sec. 5.4,
Eq. 11, with Eq. 10 inside; Sec. 6.1 for the estimates: one logit per entry, initially uniform
between the logits of 0.4 and 0.6 where unknown ("0" there) and the logit of 0.995 at positives,
with 10 times the classifier's learning rate. Here known negatives are used and start at the logit
of 0.005; lambda, for which the paper has no value, is the published code's; k is a number you
give or an estimate from the observed labels. With lambda = K, as in ``epr``, a linear classifier
on VOC 2012 predicts a little better (86.6 against 86.1 mAP on validation images after 8 epochs)
and recovers the hidden training tags much worse (77 against 93).

Estimators: ``dense`` is the paper's table of N x K logits. ``low_rank`` and ``network`` are the
smaller ones that Sec. 7 names; ``memory_mapped`` stores the table and its moments in a file.
``network`` is a hidden layer from the classifier's probabilities and the observed labels of an
image to its estimates; its size does not depend on the number of images.

Updates: with dense ones the training loop's optimizer updates all estimates at every step, as in
the published code. Sparse ones update only the images of the batch, to the same values as Adam over
the whole table at the initial learning rate.

Published code: divides the second term by K; the preset ``published`` does so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.losses.estimation import Estimation, learn_from
from tagfill.methods._estimators import (
    Estimator,
    Factors,
    SmallNetwork,
    StoredRows,
    Table,
    start_values,
)
from tagfill.methods._settings import CountSettings, setting
from tagfill.methods.base import (
    MLSPL_K,
    Info,
    LossTerms,
    Method,
    Needs,
    ParameterGroup,
    Setup,
    Step,
    filled_in,
    resolve_k,
)

INFO = Info(
    title="Regularized online label estimation (ROLE)",
    source="Cole et al. 2021 (MLSPL), Sec. 5.4, Eq. 10-11",
    needs=Needs(state=True, expected_positives=True),
)


@dataclass(frozen=True)
class Config(CountSettings):
    weight: float | Literal["classes"] = setting(1.0, 'lambda of the regularizer; "classes" is K')
    per_class: bool = setting(
        False, "divide the second term by the number of classes, as the published code does"
    )
    rate: float | Literal["auto"] = setting(
        "auto",
        'learning rate of the estimates, as a multiple of the classifier\'s; "auto" is 10, and '
        '1 for "network", whose every step changes the estimates of all images',
        0,
    )
    estimator: Literal["dense", "low_rank", "memory_mapped", "network"] = setting(
        "dense", "where the estimates live"
    )
    updates: Literal["auto", "dense", "sparse"] = setting(
        "auto", '"dense" or "sparse"; "auto" is sparse for "memory_mapped" and dense otherwise'
    )
    rank: int = setting(16, 'of the "low_rank" estimator', 1)
    hidden: int = setting(64, 'units of the "network" estimator', 1)
    directory: str | None = setting(
        None, 'for the file of the "memory_mapped" estimator; a temporary one by default'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        impossible = {"memory_mapped": "dense", "network": "sparse"}.get(self.estimator)
        if self.updates == impossible:
            raise TagfillError(
                f"role: the {self.estimator} estimator has no {self.updates} updates",
                remedy="leave updates at auto",
            )


PRESETS = {
    "published": Config(per_class=True),
    **{name: Config(k, per_class=True) for name, k in MLSPL_K.items()},
}
"""``published``: the published code; ``voc`` to ``cub``: with the paper's k of these data sets."""


class OnlineEstimation(Method):
    """Trains the classifier and the label estimates on each other."""

    kept = ("estimator",)

    def __init__(self, config: Config) -> None:
        self.config = config
        network = config.estimator == "network"
        self.needs = Needs(
            state=not network, epoch_scores=network, expected_positives=config.k == "auto"
        )
        self.k = float("nan")
        self.rate = float("nan")

    def start(self, setup: Setup) -> None:
        """Resolve k and start with random estimates."""
        super().start(setup)
        self.k = resolve_k(self.config.k, setup, "role")
        self.rate = self._multiple() * setup.learning_rate
        self.observed = setup.observed
        self.estimator = self._estimator(setup)

    def loss(self, step: Step) -> LossTerms:
        guess = self.estimator.logits(step)
        classifier = self._learn_from(step.output.logits, guess, step)
        estimates = self._learn_from(guess, step.output.logits, step)
        return {"classifier": classifier.total / 2, "estimates": estimates.total / 2}

    def after_step(self, step: Step) -> None:
        """Let an estimator with sparse updates take its step."""

        def objective(guess: Tensor) -> Tensor:
            return self._learn_from(guess, step.output.logits, step).total / 2

        self.estimator.learn(step, objective)

    def after_epoch(self, epoch: int, scores: Tensor | None) -> None:
        """Keep the scores that are the input of the small network's estimates."""
        if isinstance(self.estimator, SmallNetwork) and scores is not None:
            self.estimator.scores = scores.detach()

    def parameter_groups(self) -> list[ParameterGroup]:
        """The estimates, where the loop's optimizer learns them."""
        parameters = self.estimator.parameters()
        return [ParameterGroup(parameters, self.rate)] if parameters else []

    def inherit(self, previous: Method) -> None:
        """Start from the estimates of an earlier stage (MLSPL's LinearInit)."""
        assert isinstance(previous, OnlineEstimation)
        self.estimator.inherit(previous.estimator)

    def estimates(self) -> Tensor | None:
        """Probabilities of the estimator."""
        logits = self.estimator.all_logits()
        return None if logits is None else filled_in(self.observed, torch.sigmoid(logits))

    def _learn_from(self, logits: Tensor, other: Tensor, step: Step) -> Estimation:
        return learn_from(
            logits,
            other,
            step.observed,
            k=self.k,
            weight=None if self.config.weight == "classes" else self.config.weight,
            per_class=self.config.per_class,
        )

    def _multiple(self) -> float:
        if self.config.rate != "auto":
            return self.config.rate
        return 1.0 if self.config.estimator == "network" else 10.0

    def _estimator(self, setup: Setup) -> Estimator:
        config = self.config
        mapped = config.estimator == "memory_mapped"
        sparse = config.updates == "sparse" or mapped
        if config.estimator == "network":
            return SmallNetwork(setup, config.hidden)
        if config.estimator == "low_rank":
            return Factors(setup, config.rank, self.rate if sparse else None)
        if not sparse:
            table = torch.cat([values for _, values in start_values(setup)])
            return Table(setup, nn.Parameter(table.to(setup.device)))
        rows = StoredRows(
            (setup.images, setup.classes),
            self.rate,
            device=setup.device,
            mapped=mapped,
            directory=config.directory,
        )
        for start, values in start_values(setup):
            rows.fill(values, start)
        return Table(setup, rows)


build = OnlineEstimation
