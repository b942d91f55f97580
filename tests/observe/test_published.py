"""The published draws, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.observe import k_positives_m_negatives, known_proportion, make, single_positive

MLSPL = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012" / "mlspl"

TRUTH = np.array(
    [
        [1, 1, 0, 1, 0, 0],
        [0, 1, 1, 0, 1, 1],
        [1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 1, 1],
        [0, 0, 1, 1, 0, 1],
    ],
    dtype=np.int8,
)


def test_frozen_single_positive():
    expected = [0, 4, 0, None, 0, 5]
    observed = single_positive(TRUTH, seed=1200)
    assert [int(row.argmax()) if (row == 1).any() else None for row in observed] == expected
    assert (observed[observed != 1] == -1).all()


def test_frozen_two_positives_and_one_negative():
    observed = k_positives_m_negatives(TRUTH, seed=1200, positives=2, negatives=1)
    assert observed.tolist() == [
        [1, -1, -1, 1, 0, -1],
        [0, 1, -1, -1, 1, -1],
        [1, 0, -1, -1, -1, -1],
        [-1, -1, -1, -1, -1, 0],
        [1, -1, -1, 1, -1, -1],
        [-1, 0, 1, -1, -1, 1],
    ]


def test_kept_positive_does_not_depend_on_how_many_negatives_are_kept():
    """The negatives are shuffled in any case, so the random stream is the same."""
    alone = single_positive(TRUTH, seed=7) == 1
    for negatives in (0, 3, "all"):
        observed = k_positives_m_negatives(TRUTH, 7, positives=1, negatives=negatives)
        assert np.array_equal(observed == 1, alone)


def test_all_positives_and_all_negatives_are_the_truth():
    observed = k_positives_m_negatives(TRUTH, 0, positives="all", negatives="all")
    assert np.array_equal(observed, TRUTH)


def test_one_positive_and_all_negatives():
    observed = k_positives_m_negatives(TRUTH, 0, positives=1, negatives="all")
    assert np.array_equal(observed == 0, TRUTH == 0)
    assert (observed == 1).sum(axis=1).tolist() == [1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize("count", [-1, 1.5, "some"])
def test_counts_are_checked(count):
    with pytest.raises(TagfillError, match="positives must be"):
        k_positives_m_negatives(TRUTH, 0, positives=count)


@pytest.mark.voc
@pytest.mark.parametrize("phase", ["train", "val"])
def test_equals_the_published_voc_draw(phase):
    if not MLSPL.is_dir():
        pytest.skip("needs ../shared/data/voc2012/mlspl")
    truth = np.load(MLSPL / f"formatted_{phase}_labels.npy")
    published = np.load(MLSPL / f"formatted_{phase}_labels_obs.npy")
    assert np.array_equal(single_positive(truth, seed=1200) == 1, published == 1)


def test_published_draw_is_that_of_numpys_old_generator() -> None:
    truth = np.random.default_rng(3).integers(0, 2, (40, 7)).astype(np.int8)
    np.random.seed(0)
    kept = np.random.random(truth.shape) < 0.3
    observed = known_proportion(truth, 0, proportion=0.3, published=True)
    assert np.array_equal(observed, np.where(kept, truth, -1))
    assert not np.array_equal(observed, known_proportion(truth, 0, proportion=0.3))
    regime = make("known_proportion", {"proportion": 0.3, "published": True})
    assert np.array_equal(regime.observe(truth, 0), observed)


def test_published_draw_is_not_made_image_by_image() -> None:
    with pytest.raises(TagfillError, match="not made per image"):
        known_proportion(
            np.ones((2, 2), np.int8), 0, proportion=0.5, per_image=True, published=True
        )
