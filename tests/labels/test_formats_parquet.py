"""Parquet tables of other programs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.labels.reading import TAGS, known

from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels


def write_parquet(path: Path, labels: pa.Array, images: list[object]) -> Path:
    pyarrow.parquet.write_table(pa.table({"image": images, "labels": labels}), path)
    return path


def test_parquet_with_objects_and_numbers_as_ids(tmp_path: Path) -> None:
    tags = pa.array([[{"name": "cat"}, {"name": "dog"}], [{"name": "dog"}]])
    dataset = load_labels(write_parquet(tmp_path / "l.parquet", tags, ["a.jpg", "b.jpg"]))
    assert known(dataset) == TAGS
    wide = pa.table({"image_id": [1, 2], "cat": [1, 0], "dog": [0, 1]})
    pyarrow.parquet.write_table(wide, tmp_path / "w.parquet")
    assert known(load_labels(tmp_path / "w.parquet"))["1"] == {"cat": 1, "dog": 0}


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([[1, 0, 1], [0, 1, 0]]),
        pa.array([{"cat": 1, "dog": 0}, {"cat": 0, "dog": 1}]),
        pa.array([[("cat", 1)], [("cat", 0)]], pa.map_(pa.string(), pa.int8())),
        pa.array([[{"name": "cat", "score": 0.5}], [{"name": "dog", "score": 0.9}]]),
    ],
    ids=["multi-hot", "struct", "map", "scores"],
)
def test_parquet_that_says_more_than_tags_is_refused(labels: pa.Array, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "l.parquet", labels, ["a.jpg", "b.jpg"])
    with pytest.raises(TagfillError, match=r"more than tags|lists of 1 and 0"):
        load_labels(path)
