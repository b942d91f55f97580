"""Regimes: pure, seeded functions from full labels to observed labels.

Each takes the full labels [N, K] as ``truth`` and the ``seed`` of the draw, and gives the observed
labels [N, K]. Entries that are unknown in the full labels stay unknown.
"""

from tagfill.observe.dataset import ALL, default_split, observe_dataset, observe_official
from tagfill.observe.regimes import (
    REGIMES,
    Masking,
    biased_by_frequency,
    biased_by_place,
    biased_by_size,
    defaults,
    false_negatives,
    fixed_per_class,
    k_positives_m_negatives,
    known_proportion,
    make,
    positive_proportion,
    single_positive,
    weighted_single_positive,
)

__all__ = [
    "ALL",
    "REGIMES",
    "Masking",
    "biased_by_frequency",
    "biased_by_place",
    "biased_by_size",
    "default_split",
    "defaults",
    "false_negatives",
    "fixed_per_class",
    "k_positives_m_negatives",
    "known_proportion",
    "make",
    "observe_dataset",
    "observe_official",
    "positive_proportion",
    "single_positive",
    "weighted_single_positive",
]
