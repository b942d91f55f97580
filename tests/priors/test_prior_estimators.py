"""Counts of class priors."""

from __future__ import annotations

import numpy as np
import pytest

from tagfill.priors.estimators import count_known, scaled


def test_count_among_known_entries():
    observed = np.array([[1, -1, -1], [0, 0, -1], [1, 1, -1]], dtype=np.int8)
    assert count_known(observed) == pytest.approx([2 / 3, 1 / 2, 3 / 5])


def test_scaled_keeps_shares_within_one():
    assert scaled(np.array([0.2, 0.1]), 0.6) == pytest.approx([0.4, 0.2])
    assert scaled(np.array([0.8, 0.1, 0.1]), 1.4) == pytest.approx([1.0, 0.2, 0.2])
    assert scaled(np.array([0.5, 0.5]), 2.0) == pytest.approx([1, 1])
