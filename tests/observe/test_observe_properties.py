"""What holds for every regime, whatever the labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagfill.labels import Boxes
from tagfill.observe import (
    REGIMES,
    biased_by_frequency,
    false_negatives,
    fixed_per_class,
    k_positives_m_negatives,
    known_proportion,
    make,
    positive_proportion,
    single_positive,
)

labels = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.sampled_from([1, 0, -1]),
)
seeds = st.integers(0, 2**32 - 1)
proportions = st.floats(0, 1)
REVEALING = [name for name in REGIMES if name != "false_negatives"]
SINGLE = [name for name in REGIMES if name == "single_positive" or name.startswith("biased")]


def boxes_for(truth: np.ndarray) -> Boxes:
    image, label = np.nonzero(truth == 1)
    xywh = np.random.default_rng(0).random((len(image), 4)) / 2
    return Boxes(image, label, xywh)


@pytest.mark.parametrize("name", REVEALING)
@given(truth=labels, seed=seeds)
def test_observed_entries_agree_with_the_truth(name, truth, seed):
    observed = make(name).observe(truth, seed, boxes_for(truth))
    assert observed.dtype == np.int8
    assert observed.shape == truth.shape
    known = observed != -1
    assert np.array_equal(observed[known], truth[known])


@pytest.mark.parametrize("name", REGIMES)
@given(truth=labels, seed=seeds)
def test_same_seed_same_draw_and_the_truth_is_left_alone(name, truth, seed):
    before, boxes = truth.copy(), boxes_for(truth)
    first = make(name).observe(truth, seed, boxes)
    assert np.array_equal(first, make(name).observe(truth, seed, boxes))
    assert np.array_equal(truth, before)


@pytest.mark.parametrize("name", SINGLE)
@given(truth=labels, seed=seeds)
def test_one_positive_wherever_there_is_one(name, truth, seed):
    observed = make(name).observe(truth, seed, boxes_for(truth))
    assert not (observed == 0).any()
    assert np.array_equal((observed == 1).sum(axis=1), (truth == 1).any(axis=1))


@given(labels, seeds, st.integers(0, 5), st.integers(0, 5))
def test_counts_per_image(truth, seed, positives, negatives):
    observed = k_positives_m_negatives(truth, seed, positives=positives, negatives=negatives)
    for state, count in ((1, positives), (0, negatives)):
        available = (truth == state).sum(axis=1)
        assert np.array_equal((observed == state).sum(axis=1), np.minimum(available, count))


@given(labels, seeds, proportions)
def test_share_per_image(truth, seed, proportion):
    observed = known_proportion(truth, seed, proportion=proportion, per_image=True)
    expected = np.floor(proportion * (truth != -1).sum(axis=1) + 0.5)
    assert np.array_equal((observed != -1).sum(axis=1), expected)


@given(labels, seeds)
def test_proportions_at_their_ends(truth, seed):
    positive = truth == 1
    assert np.array_equal(known_proportion(truth, seed, proportion=1), truth)
    assert (known_proportion(truth, seed, proportion=0) == -1).all()
    assert np.array_equal(positive_proportion(truth, seed, proportion=1) == 1, positive)
    assert (positive_proportion(truth, seed, proportion=0) == -1).all()
    assert np.array_equal(false_negatives(truth, seed, proportion=0), truth)
    assert not (false_negatives(truth, seed, proportion=1) == 1).any()


@given(labels, seeds, proportions, proportions)
def test_a_larger_proportion_keeps_all_a_smaller_one_kept(truth, seed, one, other):
    small, large = sorted((one, other))
    for draw in (known_proportion, positive_proportion):
        few = draw(truth, seed, proportion=small) != -1
        many = draw(truth, seed, proportion=large) != -1
        assert not (few & ~many).any()


@given(labels, seeds, proportions)
def test_false_negatives_change_positives_only(truth, seed, proportion):
    observed = false_negatives(truth, seed, proportion=proportion)
    changed = observed != truth
    assert (truth[changed] == 1).all()
    assert (observed[changed] == 0).all()


@given(labels, seeds, st.integers(1, 6))
def test_counts_per_class(truth, seed, count):
    observed = fixed_per_class(truth, seed, count=count)
    for state in (1, 0):
        available = (truth == state).sum(axis=0)
        assert np.array_equal((observed == state).sum(axis=0), np.minimum(available, count))


@given(labels, seeds, st.randoms())
def test_class_order_does_not_matter_where_one_class_is_all_there_is(truth, seed, random):
    """With at most one positive an image there is no choice, so permuting classes permutes."""
    single = single_positive(truth, seed)
    order = list(range(truth.shape[1]))
    random.shuffle(order)
    for draw in (single_positive, biased_by_frequency):
        assert np.array_equal(draw(single[:, order], seed + 1 & 0xFFFF), single[:, order])
