"""Dividing images into splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagfill.errors import TagfillError
from tagfill.labels import LabelTable
from tagfill.labels.split import published_split, stratified_split

MLSPL = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012" / "mlspl"

values = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=15),
    elements=st.sampled_from([1, 0, -1]),
)
fractions = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(
    lambda splits: {f"split{number}": split / sum(splits) for number, split in enumerate(splits)}
)


def table(labels: np.ndarray) -> LabelTable:
    images, classes = labels.shape
    return LabelTable(
        tuple(f"{row}.jpg" for row in range(images)),
        tuple(f"class{column}" for column in range(classes)),
        labels,
    )


def test_frozen_published_split():
    train, val = published_split(20)
    assert val.tolist() == [0, 7, 13, 19]
    assert train.tolist() == [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18]


@pytest.mark.parametrize(
    ("images", "train", "val"),
    [
        (5_717, 4_574, 1_143),
        (82_081, 65_665, 16_416),
        (150_000, 120_000, 30_000),
        (5_994, 4_795, 1_199),
    ],
)
def test_sizes_of_the_papers(images, train, val):
    assert tuple(map(len, published_split(images))) == (train, val)


@pytest.mark.voc
def test_equals_the_published_voc_split():
    if not MLSPL.is_dir():
        pytest.skip("needs ../shared/data/voc2012/mlspl")
    train, val = published_split(5_717)
    assert np.array_equal(train, np.load(MLSPL / "split_train_index.npy"))
    assert np.array_equal(val, np.load(MLSPL / "split_val_index.npy"))


@given(values, fractions, st.integers(0, 2**32 - 1))
def test_every_row_is_in_exactly_one_split(labels, shares, seed):
    splits = stratified_split(table(labels), shares, seed)
    assert list(splits) == list(shares)
    assert sorted(np.concatenate(list(splits.values())).tolist()) == list(range(len(labels)))
    assert all(np.array_equal(rows, np.sort(rows)) for rows in splits.values())
    again = stratified_split(table(labels), shares, seed)
    assert all(np.array_equal(splits[name], again[name]) for name in shares)


def test_another_seed_draws_another_split():
    labels = np.random.default_rng(0).integers(0, 2, (200, 3)).astype(np.int8)
    first, second = (stratified_split(table(labels), {"a": 0.5, "b": 0.5}, seed) for seed in (0, 1))
    assert not np.array_equal(first["a"], second["a"])


def test_stratified_parts_have_their_share_of_rare_classes():
    generator = np.random.default_rng(0)
    rates = np.geomspace(0.01, 0.4, 30)
    labels = (generator.random((2_000, 30)) < rates).astype(np.int8)
    shares = {"train": 0.7, "val": 0.1, "test": 0.2}
    splits = stratified_split(table(labels), shares, seed=0)
    for name, share in shares.items():
        expected = share * labels.sum(axis=0)
        assert (
            np.abs(labels[splits[name]].sum(axis=0) - expected) <= 0.03 * labels.sum(axis=0) + 1
        ).all()
        assert len(splits[name]) == pytest.approx(share * 2_000, abs=20)


def test_stratified_parts_share_images_without_positives():
    """Images confirmed to have nothing, and images nobody labeled, are shared out separately."""
    labels = np.zeros((300, 2), dtype=np.int8)
    labels[:100] = [1, 0]
    labels[100:200] = -1
    splits = stratified_split(table(labels), {"a": 0.5, "b": 0.5}, seed=0)
    for rows in splits.values():
        assert np.histogram(rows, [0, 100, 200, 300])[0].tolist() == [50, 50, 50]


@pytest.mark.parametrize(
    "shares", [{}, {"a": 0.5}, {"a": 0.5, "b": 0.6}, {"a": 1.0, "b": 0.0}, {"a": 1.5, "b": -0.5}]
)
def test_fractions_are_checked(shares):
    with pytest.raises(TagfillError, match="sum to 1"):
        stratified_split(table(np.ones((3, 1), dtype=np.int8)), shares, 0)
