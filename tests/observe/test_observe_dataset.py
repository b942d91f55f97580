"""Masking splits of a data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.labels import Boxes, Dataset, LabelTable
from tagfill.observe import default_split, make, observe_dataset, single_positive

TRUTH = LabelTable(
    tuple(f"{row}.jpg" for row in range(8)),
    ("a", "b", "c"),
    np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]] * 2),
)
TRAIN, TEST = np.array([1, 3, 5, 7]), np.array([0, 2, 4])


def dataset(**more) -> Dataset:
    return Dataset(TRUTH, Path("labels.csv"), "csv_wide", **more)


def test_masks_train_and_leaves_the_rest_fully_labeled():
    masked = observe_dataset(
        dataset(splits={"train": TRAIN, "test": TEST}), make("single_positive"), seed=3
    )
    assert np.array_equal(masked.table.values[TRAIN], single_positive(TRUTH.values[TRAIN], 3))
    others = [0, 2, 4, 6]
    assert np.array_equal(masked.table.values[others], TRUTH.values[others])
    assert masked.truth == TRUTH
    assert masked.splits.keys() == {"train", "test"}


def test_all_masks_every_split_with_a_fresh_generator_and_the_rest_too():
    source = dataset(splits={"train": TRAIN, "test": TEST})
    masked = observe_dataset(source, make("single_positive"), seed=3, split="all")
    for rows in (TRAIN, TEST, [6]):
        assert np.array_equal(masked.table.values[rows], single_positive(TRUTH.values[rows], 3))


def test_a_row_in_two_splits_is_drawn_once():
    source = dataset(splits={"train": TRAIN, "trainval": np.arange(8)})
    masked = observe_dataset(source, make("single_positive"), seed=0, split="all")
    assert ((masked.table.values == 1).sum(axis=1) == 1).all()


def test_without_splits_everything_is_masked():
    assert default_split(dataset()) == "all"
    masked = observe_dataset(dataset(), make("single_positive"), seed=0)
    assert np.array_equal(masked.table.values, single_positive(TRUTH.values, 0))


def test_draws_from_the_truth_behind_masked_labels():
    hidden = TRUTH.with_values(np.full((8, 3), -1))
    source = Dataset(hidden, Path("x"), "mlspl", truth=TRUTH)
    masked = observe_dataset(source, make("single_positive"), seed=0)
    assert masked.table.positives == 8


def test_boxes_follow_their_images():
    """Of two positives only one has a box, so it is the one that is kept."""
    boxes = Boxes(np.array([3, 7]), np.array([2, 1]), np.full((2, 4), 0.5))
    source = dataset(splits={"train": TRAIN}, boxes=boxes)
    masked = observe_dataset(source, make("biased_by_size"), seed=0)
    assert masked.table.values[3].tolist() == [-1, -1, 1]
    assert masked.table.values[7].tolist() == [-1, 1, -1]


def test_splits_without_train_need_a_choice():
    with pytest.raises(TagfillError, match="--split: test or all"):
        observe_dataset(dataset(splits={"test": TEST}), make("single_positive"), seed=0)
    with pytest.raises(TagfillError, match="no split 'val'"):
        observe_dataset(dataset(splits={"test": TEST}), make("single_positive"), 0, "val")
