"""How many positives to expect: for the methods that need k or class priors."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from tagfill.methods.base import Needs
from tagfill.priors import estimate_prior
from tagfill.train.assemble import Assembly
from tagfill.train.events import Events


def positives_of(
    needs: Needs, k: object, observed: Tensor, assembly: Assembly, events: Events
) -> tuple[float | None, Tensor | None]:
    """The expected number of positives per image and the class priors, as far as needed.

    Args:
        needs: of the method.
        k: the method's setting; a number makes an estimate of k unnecessary.
        observed: [N, K] labels.
        assembly: gives the features the estimate is made from.
        events: tells the user.
    """
    wants_k = needs.expected_positives and isinstance(k, str)
    if not (wants_k or needs.class_prior):
        return None, None
    estimate = estimate_prior(observed.numpy(), features=assembly.pooled_features())
    events.note(
        f"expected positives per image: {estimate.expected_positives:.2f}, estimated from the"
        f" observed labels ({estimate.how})"
    )
    prior = torch.from_numpy(np.asarray(estimate.prior, dtype=np.float32))
    return float(estimate.expected_positives), prior
