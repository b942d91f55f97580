"""Start a method: tell it what it learns from and, where it asks, how many positives to expect."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagfill import methods
from tagfill.labels import Labels
from tagfill.methods.base import Method, Needs, Setup
from tagfill.priors import PriorEstimate, complete_rows, estimate_prior, regime_of
from tagfill.train.config import StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData


class Positives:
    """How many positives to expect, estimated once and only if a method asks.

    Args:
        observed: [N, K] labels.
        features: gives the [N, D] pooled features the estimate is made from.
        events: tells the user.
        validation: labels of validation images; where training labels went through a review,
            those labeled in full tell more than what was reviewed.
    """

    def __init__(
        self,
        observed: Tensor,
        features: Callable[[], npt.NDArray[np.floating]],
        events: Events,
        validation: Labels | None = None,
    ) -> None:
        self._observed, self._features, self._events = observed, features, events
        self._validation = validation

    def of(self, needs: Needs, k: object) -> tuple[float | None, Tensor | None]:
        """The expected number of positives per image and the class priors, as far as needed.

        Args:
            needs: of the method.
            k: the method's setting; a number makes an estimate of k unnecessary.
        """
        wants_k = needs.expected_positives and isinstance(k, str)
        if not (wants_k or needs.class_prior):
            return None, None
        prior = torch.from_numpy(np.asarray(self._estimate.prior, dtype=np.float32))
        return float(self._estimate.expected_positives), prior

    @cached_property
    def _estimate(self) -> PriorEstimate:
        observed, val = self._observed.numpy(), self._validation
        complete = None
        if regime_of(observed) == "reviewed" and val is not None and complete_rows(val).any():
            complete = val[complete_rows(val)]
        estimate = estimate_prior(observed, features=self._features(), complete=complete)
        self._events.note(
            f"expected positives per image: {estimate.expected_positives:.2f}, estimated from the"
            f" observed labels ({estimate.how})"
        )
        return estimate


def begin(
    method: Method,
    stage: StageConfig,
    data: StageData,
    positives: Positives,
    *,
    seed: int,
    device: torch.device,
) -> None:
    """Start a method on the data of its stage.

    Args:
        method: made from ``stage.method``.
        stage: the length of training and the learning rates.
        data: the labels.
        positives: for the methods that need k or class priors.
        seed: of the run.
        device: where the method's tensors live.
    """
    name = stage.method
    config = methods.configure(name.name, name.settings, name.preset)
    expected, prior = positives.of(method.needs, getattr(config, "k", "auto"))
    method.start(
        Setup(
            observed=data.observed,
            epochs=stage.epochs,
            steps_per_epoch=-(-len(data.inputs) // (stage.batch_size * stage.accumulate)),
            learning_rate=head_learning_rate(stage),
            device=device,
            seed=seed,
            expected_positives=expected,
            class_prior=prior,
            truth=data.truth,
        )
    )


def head_learning_rate(stage: StageConfig) -> float:
    """Of the classification head, which may learn faster than a backbone beside it."""
    multiplier = stage.head_multiplier if stage.inputs == "images" else 1.0
    return stage.learning_rate * multiplier
