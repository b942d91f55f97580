"""The label table and the data set around it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tagfill.errors import TagfillError
from tagfill.labels import Dataset, LabelTable

TABLE = LabelTable(
    ("a.jpg", "sub/b c.jpg", "ü.jpg"), ("cat", "dog"), np.array([[1, 0], [-1, 1], [0, 0]])
)


def test_counts_and_rows():
    assert (TABLE.positives, TABLE.negatives, TABLE.unknowns) == (2, 3, 1)
    assert TABLE.row_of["ü.jpg"] == 2
    assert TABLE.values.dtype == np.int8


def test_values_cannot_be_changed_from_outside():
    source = np.array([[1]], dtype=np.int8)
    table = LabelTable(("a",), ("x",), source)
    source[0, 0] = 0
    assert table.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 0


@pytest.mark.parametrize(
    ("images", "classes", "values", "message"),
    [
        (("a", "a"), ("x",), [[1], [1]], "image id 'a' appears twice"),
        (("a",), ("x", "x"), [[1, 1]], "class 'x' appears twice"),
        (("",), ("x",), [[1]], "empty image id"),
        (("a",), ("",), [[1]], "empty class"),
        (("a",), ("x",), [[2]], "labels must be 1 .positive., 0 .negative. or -1 .unknown., got"),
        (("a",), ("x",), [[0.5]], "labels must be"),
        (("a",), ("x",), [[float("nan")]], "labels must be"),
        (("a",), ("x",), [1], "matrix"),
        (("a", "b"), ("x",), [[1]], "do not fit"),
        (("a",), (), np.empty((1, 0)), "at least one class"),
    ],
)
def test_validation(images, classes, values, message):
    with pytest.raises(TagfillError, match=message):
        LabelTable(images, classes, np.array(values))


def test_take_and_select():
    assert TABLE.take([2, 0]).images == ("ü.jpg", "a.jpg")
    assert TABLE.take(np.array([False, True, False])).values.tolist() == [[-1, 1]]
    assert TABLE.select(["sub/b c.jpg"]).images == ("sub/b c.jpg",)
    assert len(TABLE.take([])) == 0
    with pytest.raises(TagfillError, match=r"1 images are not in the table, first: 'z\.jpg'"):
        TABLE.select(["a.jpg", "z.jpg"])


def test_with_classes_adds_unknowns_and_drops_columns():
    changed = TABLE.with_classes(("bird", "cat"))
    assert changed.classes == ("bird", "cat")
    assert changed.values.tolist() == [[-1, 1], [-1, -1], [-1, 0]]


def test_merge_fills_in_what_is_unknown():
    other = LabelTable(("sub/b c.jpg", "d.jpg"), ("cat", "cow"), np.array([[0, 1], [1, -1]]))
    merged = TABLE.merge(other)
    assert merged.images == ("a.jpg", "sub/b c.jpg", "ü.jpg", "d.jpg")
    assert merged.classes == ("cat", "dog", "cow")
    assert merged.values.tolist() == [[1, 0, -1], [0, 1, 1], [0, 0, -1], [1, -1, -1]]


def test_merge_refuses_contradictions():
    other = LabelTable(("a.jpg",), ("cat",), np.array([[0]]))
    with pytest.raises(TagfillError, match=r"image 'a\.jpg', class 'cat'"):
        TABLE.merge(other)


@given(
    hnp.arrays(np.int8, (4, 3), elements=st.sampled_from([1, 0, -1])),
    hnp.arrays(np.bool_, (4, 3)),
)
def test_merging_two_halves_gives_the_whole(values, mine):
    table = LabelTable(tuple("abcd"), tuple("xyz"), values)
    halves = [table.with_values(np.where(split, values, -1)) for split in (mine, ~mine)]
    assert halves[0].merge(halves[1]) == table


def test_content_hash_is_that_of_the_content():
    same = LabelTable(TABLE.images, TABLE.classes, TABLE.values.astype(float))
    assert same == TABLE
    assert same.content_hash == TABLE.content_hash
    others = [
        TABLE.take([0, 1]),
        TABLE.take([1, 0, 2]),
        TABLE.with_classes(("dog", "cat")),
        TABLE.with_values(np.zeros((3, 2))),
        LabelTable(("a.jpg", "sub/b c.jpg", "u.jpg"), TABLE.classes, TABLE.values),
    ]
    assert all(other != TABLE for other in others)
    assert len({TABLE.content_hash, *(other.content_hash for other in others)}) == 6


def test_names_that_run_together_hash_apart():
    values = np.zeros((2, 1))
    first = LabelTable(("ab", "c"), ("x",), values)
    second = LabelTable(("a", "bc"), ("x",), values)
    assert first.content_hash != second.content_hash


def test_part_of_a_dataset():
    dataset = Dataset(TABLE, Path("labels.csv"), "csv_wide", splits={"train": np.array([2, 0])})
    assert dataset.split("train").images == ("ü.jpg", "a.jpg")
    with pytest.raises(TagfillError, match=r"labels\.csv: there is no split 'val' .*train"):
        dataset.split("val")
