"""Whatever a writer writes is detected as its format and read back as it was."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tagfill.labels import UNKNOWN, Dataset, LabelTable
from tagfill.labels.formats import ReadOptions, formats
from tagfill.labels.formats._ids import odd_ids
from tagfill.labels.io import detect, load_labels, save_labels

LOSSLESS = ("csv_wide", "csv_long", "jsonl", "parquet", "label_studio")
POSITIVES_ONLY = ("tag_list",)

letters = st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n,;|\"'\\ ")
names = st.text(letters, min_size=1, max_size=8).map(str.strip).filter(bool)
class_names = names | st.sampled_from(
    ["label", "value", "tags", "split", "image", "image_id", "1", "0", "a,b", 'say "x"', "a;b|c"]
)
image_ids = (names | st.sampled_from(["sub/dir/a b.jpg", "日本/é.png", "1", "train"])).filter(
    lambda name: "\\" not in name and not len(odd_ids([name]))
)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    images = draw(st.lists(image_ids, min_size=1, max_size=6, unique=True))
    classes = draw(st.lists(class_names, min_size=1, max_size=5, unique=True))
    cells = st.lists(st.sampled_from([1, 0, -1]), min_size=len(classes), max_size=len(classes))
    rows = draw(st.lists(cells, min_size=len(images), max_size=len(images)))
    splits = draw(
        st.lists(
            st.sampled_from(["", "train", "val", "test"]),
            min_size=len(images),
            max_size=len(images),
        )
    )
    splits = {
        name: np.flatnonzero(np.array(splits) == name) for name in dict.fromkeys(splits) if name
    }
    table = LabelTable(tuple(images), tuple(classes), np.array(rows, dtype=np.int8))
    return Dataset(table, Path("memory"), "memory", splits=splits)


def written(dataset: Dataset, name: str, folder: str) -> tuple[Dataset, list[str]]:
    path = Path(folder) / "labels"
    lost = save_labels(dataset, path, format=name)
    hits = [key for key, label_format in formats().items() if label_format.detect(path)]
    assert hits == [name]
    assert detect(path).name == name
    return load_labels(path), lost


def same_splits(one: Dataset, other: Dataset) -> bool:
    return {name: list(rows) for name, rows in one.splits.items()} == {
        name: list(rows) for name, rows in other.splits.items()
    }


ALL_ZERO_AND_ALL_UNKNOWN = Dataset(
    LabelTable(("none.jpg", "blank.jpg"), ("cat", "dog"), np.array([[0, 0], [-1, -1]])),
    Path("memory"),
    "memory",
)
ONLY_LABEL = Dataset(
    LabelTable(("a.jpg",), ("label", "value"), np.array([[1, 0]])), Path("memory"), "memory"
)


@pytest.mark.parametrize("name", LOSSLESS)
@given(dataset=datasets())
@example(dataset=ALL_ZERO_AND_ALL_UNKNOWN)
@example(dataset=ONLY_LABEL)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_round_trip(name: str, dataset: Dataset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        again, lost = written(dataset, name, folder)
    assert again.table == dataset.table
    assert again.format == name
    if not any("split" in sentence for sentence in lost):
        assert lost == []
        assert same_splits(again, dataset)


@pytest.mark.parametrize("name", POSITIVES_ONLY)
@given(dataset=datasets())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_round_trip_of_positives(name: str, dataset: Dataset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        again, lost = written(dataset, name, folder)
    values = dataset.table.values
    kept = values if dataset.table.unknowns else np.where(values == 1, 1, UNKNOWN)
    assert again.table == dataset.table.with_values(kept)
    assert bool(lost) == bool(dataset.table.negatives and not dataset.table.unknowns)
    assert same_splits(again, dataset)


@given(dataset=datasets())
@settings(max_examples=20, deadline=None)
def test_full_labels_survive_a_tag_list_read_with_absent_negative(dataset: Dataset) -> None:
    full = dataset.table.with_values(np.maximum(dataset.table.values, 0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        save_labels(Dataset(full, path, "memory"), path, format="tag_list")
        assert load_labels(path, options=ReadOptions(absent="negative")).table == full


def test_every_writable_format_is_covered() -> None:
    writable = {name for name, label_format in formats().items() if label_format.write}
    assert writable == {*LOSSLESS, *POSITIVES_ONLY, "image_folder"}


@pytest.mark.parametrize(
    "classes",
    [
        ("dog", "dog?", "cat"),
        ("<a>", "<b>", "<c>"),
        ("1. x", "2. y", "3. z"),
        ("a/b", "b/a", "a", "b"),
        ("animal/bird", "animal/dog", "animal/cat", "animal/cow", "animal/pig"),
        ("Lee, Ann", "Roy, Tom", "none"),
        ("x & y", "y and z", "- x"),
    ],
)
def test_names_of_a_class_list_are_never_taken_apart(
    classes: tuple[str, ...], tmp_path: Path
) -> None:
    rows = np.arange(30)[:, None] + np.arange(len(classes))[None]
    values = np.where(rows % 3 == 0, 1, -1)
    table = LabelTable(tuple(f"{n}.jpg" for n in range(30)), classes, values)
    path = tmp_path / "tags.csv"
    save_labels(Dataset(table=table, source=path, format="tag_list"), path, format="tag_list")
    assert load_labels(path).table == table
