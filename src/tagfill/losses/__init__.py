"""Losses for incomplete labels: pure functions from logits and observed labels to terms.

Where a function does not say otherwise, ``logits`` are [N, K] raw scores, ``observed`` are [N, K]
labels (1 positive, 0 negative, -1 unknown), and it returns [N, K] terms, unreduced.
"""

from __future__ import annotations

from tagfill.losses.assume import (
    assume_negative,
    assume_negative_smoothed,
    count_weight,
    durand_weight,
    ignore_unknown,
    ignore_unknown_smoothed,
    ignore_unobserved_negatives,
    pairwise_ranking,
    partial_cross_entropy,
    sample_unknown,
    sampled_negative,
    weak_negative,
)
from tagfill.losses.consistency import (
    confident_labels,
    label_aware_consistency,
    pseudo_label_consistency,
    supervised_contrast,
)
from tagfill.losses.entropy import (
    entropy_maximization,
    entropy_minimization,
    entropy_with_pseudo_labels,
)
from tagfill.losses.estimation import count_penalty, expected_positives, learn_from
from tagfill.losses.focusing import (
    asymmetric,
    focal,
    generalized_robust,
    hill,
    partial_asymmetric,
    self_paced_correction,
)
from tagfill.losses.likelihood import (
    each_written,
    posterior,
    some_written,
    spread_penalty,
    written_tags_nll,
)
from tagfill.losses.pu import (
    adaptive_temperature,
    known_negative_risk,
    mixup_consistency,
    non_negative_risk,
    unbiased_risk,
    variational_risk,
)
from tagfill.losses.selection import large_loss_correction, large_loss_rejection
from tagfill.losses.transfer import blended_mean, co_occurrence, known_mean, label_contrast
from tagfill.models.plain_heads import boosted_logits

__all__ = [
    "adaptive_temperature",
    "assume_negative",
    "assume_negative_smoothed",
    "asymmetric",
    "blended_mean",
    "boosted_logits",
    "co_occurrence",
    "confident_labels",
    "count_penalty",
    "count_weight",
    "durand_weight",
    "each_written",
    "entropy_maximization",
    "entropy_minimization",
    "entropy_with_pseudo_labels",
    "expected_positives",
    "focal",
    "generalized_robust",
    "hill",
    "ignore_unknown",
    "ignore_unknown_smoothed",
    "ignore_unobserved_negatives",
    "known_mean",
    "known_negative_risk",
    "label_aware_consistency",
    "label_contrast",
    "large_loss_correction",
    "large_loss_rejection",
    "learn_from",
    "mixup_consistency",
    "non_negative_risk",
    "pairwise_ranking",
    "partial_asymmetric",
    "partial_cross_entropy",
    "posterior",
    "pseudo_label_consistency",
    "sample_unknown",
    "sampled_negative",
    "self_paced_correction",
    "some_written",
    "spread_penalty",
    "supervised_contrast",
    "unbiased_risk",
    "variational_risk",
    "weak_negative",
    "written_tags_nll",
]
