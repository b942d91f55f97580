"""Regimes: how labels came to be known."""

from __future__ import annotations

from enum import StrEnum


class Regime(StrEnum):
    """What the known labels of a table look like."""

    FULL = "full"
    """Every label is known."""
    PARTIAL = "partial"
    """Positives and negatives are known, at random."""
    UNEVEN = "uneven"
    """Positives and negatives are known at different rates."""
    REVIEWED = "reviewed"
    """Some positives, and answers to suggestions."""
    SINGLE_POSITIVE = "single_positive"
    """One positive per image."""
    POSITIVE_ONLY = "positive_only"
    """Some positives and nothing else."""
    UNLABELED = "unlabeled"
    """No label is known."""
