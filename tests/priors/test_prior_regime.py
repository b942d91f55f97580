"""Which regime labels look like."""

from __future__ import annotations

import numpy as np
import pytest

from tagfill.observe import (
    k_positives_m_negatives,
    known_proportion,
    positive_proportion,
    single_positive,
)
from tagfill.priors import regime_of

TRUTH = (np.random.default_rng(7).random((200, 8)) < 0.4).astype(np.int8)
TRUTH[:, 0] = 1
TRUTH[:, 1] = 0


@pytest.mark.parametrize(
    ("observed", "regime"),
    [
        (TRUTH, "full"),
        (single_positive(TRUTH), "single_positive"),
        (positive_proportion(TRUTH, 0, proportion=0.5), "positive_only"),
        (known_proportion(TRUTH, 0, proportion=0.5), "partial"),
        (k_positives_m_negatives(TRUTH, positives=1, negatives=1), "single_positive"),
        (k_positives_m_negatives(TRUTH, positives=1, negatives=0), "single_positive"),
    ],
)
def test_regimes(observed, regime):
    assert regime_of(observed) == regime


def test_a_few_complete_images_do_not_hide_single_positives():
    observed = single_positive(TRUTH)
    observed[:5] = TRUTH[:5]
    assert regime_of(observed) == "single_positive"


def test_few_positives_with_most_images_bare_are_not_single_positives():
    observed = np.full((10, 3), -1, dtype=np.int8)
    observed[:3, 0] = 1
    assert regime_of(observed) == "positive_only"


def test_a_few_answers_from_a_review_do_not_make_entries_known_at_random():
    observed = single_positive(TRUTH)
    rows = np.arange(40)
    observed[rows, rows % 8] = TRUTH[rows, rows % 8]
    assert (observed == 0).any()
    assert regime_of(observed) == "reviewed"
