"""The shapes each open format comes in, what readers make of them, and what writers cannot hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.labels.reading import known

from tagfill.errors import LabelError, TagfillError
from tagfill.labels import Boxes, Dataset, LabelTable, Suggestions
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels, save_labels


def make(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "image,cat,dog\na.jpg,1,0\n",
        "cat,dog,file_name\n1,0,a.jpg\n",
        "picture,cat,dog\na.jpg,1,0\n",
        "Filename, cat , dog\na.jpg, 1, 0\n",
        "image;cat;dog\na.jpg;1;0\n",
        "image\tcat\tdog\na.jpg\t1\t0\n",
        '"image","cat","dog"\n"a.jpg","1","0"\n',
    ],
)
def test_wide_csv_dialects(tmp_path: Path, text: str) -> None:
    dataset = load_labels(make(tmp_path, text))
    assert dataset.format == "csv_wide"
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}}


def test_wide_csv_splits(tmp_path: Path) -> None:
    text = "image,split,cat\na,train,1\nb,Validation,0\nc,,1\nd,fold 1,1\ne,test,\n"
    dataset = load_labels(make(tmp_path, text))
    assert dataset.table.classes == ("cat",)
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {
        "train": [0],
        "val": [1],
        "fold 1": [3],
        "test": [4],
    }


def test_a_column_called_split_with_labels_in_it_is_a_class(tmp_path: Path) -> None:
    dataset = load_labels(make(tmp_path, "image,split,cat\na,1,0\nb,,1\n"))
    assert known(dataset) == {"a": {"split": 1, "cat": 0}, "b": {"cat": 1}}


def test_images_beside_the_labels_are_found(tmp_path: Path) -> None:
    make(tmp_path, "", "images/a.jpg")
    path = make(tmp_path, "image,cat\na.jpg,1\n")
    assert load_labels(path).image_root == tmp_path / "images"
    make(tmp_path, "", "a.jpg")
    assert load_labels(path).image_root == tmp_path
    elsewhere = tmp_path / "elsewhere"
    assert load_labels(path, options=ReadOptions(image_root=elsewhere)).image_root == elsewhere


def test_long_csv_without_values(tmp_path: Path) -> None:
    path = make(tmp_path, "image,label\na,cat\na,dog\nb,\n")
    dataset = load_labels(path)
    assert dataset.format == "csv_long"
    assert known(dataset) == {"a": {"cat": 1, "dog": 1}, "b": {}}
    full = load_labels(path, options=ReadOptions(absent="negative"))
    assert known(full)["b"] == {"cat": 0, "dog": 0}


def test_long_csv_with_values_classes_and_splits(tmp_path: Path) -> None:
    text = "split,value,class,path\n,,eel,\ntrain,1,cat,a\ntrain,0,eel,a\n,,cat,b\n"
    dataset = load_labels(make(tmp_path, text))
    assert dataset.format == "csv_long"
    assert dataset.table.classes == ("eel", "cat")
    assert known(dataset) == {"a": {"cat": 1, "eel": 0}, "b": {}}
    assert dataset.splits["train"].tolist() == [0]


@pytest.mark.parametrize(
    ("cells", "tags", "separator"),
    [
        (["cat;dog", "eel"], [{"cat", "dog"}, {"eel"}], ";"),
        (['"cat, dog"', "eel"], [{"cat", "dog"}, {"eel"}], ","),
        (["cat | polar bear", ""], [{"cat", "polar bear"}, set()], "|"),
        ([r"a\;b;c", "d"], [{"a;b", "c"}, {"d"}], ";"),
    ],
)
def test_tag_separators(
    tmp_path: Path, cells: list[str], tags: list[set[str]], separator: str
) -> None:
    text = "image,tags\n" + "".join(f"{n}.jpg,{cell}\n" for n, cell in enumerate(cells))
    dataset = load_labels(make(tmp_path, text))
    assert dataset.format == "tag_list"
    assert [set(labels) for labels in known(dataset).values()] == tags
    assert f"tags are separated by {separator!r}" in dataset.notes


def test_several_separators_all_split_unless_one_is_named(tmp_path: Path) -> None:
    path = make(tmp_path, 'image,labels\na,"cat;red, dark|sea"\n')
    dataset = load_labels(path)
    assert known(dataset) == {"a": {"cat": 1, "red": 1, "dark": 1, "sea": 1}}
    assert any("separated by ';', '|', ','" in note for note in dataset.notes)
    named = load_labels(path, options=ReadOptions(separator=";"))
    assert known(named) == {"a": {"cat": 1, "red, dark|sea": 1}}


JSON_SHAPES: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({"positives": ["cat"], "negatives": ["dog"]}, {"cat": 1, "dog": 0}),
    ({"tags": ["cat", "dog"]}, {"cat": 1, "dog": 1}),
    ({"labels": ["cat"]}, {"cat": 1}),
    ({"label": "cat"}, {"cat": 1}),
    ({"labels": {"cat": 1, "dog": 0, "eel": None}}, {"cat": 1, "dog": 0}),
    ({"cat": True, "dog": False, "eel": None}, {"cat": 1, "dog": 0}),
    ({"cat": 1, "dog": 0, "split": "train"}, {"cat": 1, "dog": 0}),
]


@pytest.mark.parametrize(("line", "labels"), JSON_SHAPES)
def test_json_line_shapes(tmp_path: Path, line: dict[str, Any], labels: dict[str, int]) -> None:
    text = json.dumps({**line, "file_name": "a.jpg"}) + "\n"
    path = make(tmp_path, text, "metadata.jsonl")
    for place in (path, tmp_path):
        dataset = load_labels(place)
        assert dataset.format == "jsonl"
        assert known(dataset) == {"a.jpg": labels}
    assert ("train" in dataset.splits) == ("split" in line)
    assert ("eel" in dataset.table.classes) == ("eel" in text)


def test_json_keys_that_are_no_labels_are_named(tmp_path: Path) -> None:
    lines = [
        {"file_name": "a", "tags": ["cat"], "width": 640, "caption": "A cat"},
        {"file_name": "b", "tags": [], "caption": "Nothing"},
    ]
    path = make(tmp_path, "\n".join(map(json.dumps, lines)))
    dataset = load_labels(path)
    assert "keys that are not labels were skipped: width, caption" in dataset.notes
    assert known(dataset) == {"a": {"cat": 1}, "b": {}}


def test_json_line_without_id_or_object(tmp_path: Path) -> None:
    path = make(tmp_path, '{"file_name": "a", "tags": ["cat"]}\n{"tags": ["dog"]}\n[1]\n')
    with pytest.raises(LabelError) as caught:
        load_labels(path)
    assert [problem.row for problem in caught.value.problems] == [2, 3]


def test_parquet_of_others(tmp_path: Path) -> None:
    columns = {
        "cat": pa.array([1, None, 0], pa.int64()),
        "dog": pa.array([True, False, None]),
        "eel": pa.array([1.0, float("nan"), None]),
        "fox": pa.nulls(3),
        "path": pa.array(["a", "b", "c"]).dictionary_encode(),
        "split": pa.array(["train", None, "test"]),
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "labels.pq")
    dataset = load_labels(tmp_path / "labels.pq")
    assert known(dataset) == {
        "a": {"cat": 1, "dog": 1, "eel": 1},
        "b": {"dog": 0},
        "c": {"cat": 0},
    }
    assert dataset.table.classes == ("cat", "dog", "eel", "fox")
    assert dataset.splits["test"].tolist() == [2]


def test_parquet_flaws(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    columns = {"image": ["a", "b"], "cat": [1, 7], "mood": ["one", "two"]}
    pa.parquet.write_table(pa.table(columns), path)
    with pytest.raises(LabelError) as caught:
        load_labels(path)
    assert [problem.row for problem in caught.value.problems] == [2, 1]
    path.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(TagfillError, match="not readable as parquet"):
        load_labels(path)


def pictures(folder: Path, *names: str) -> Path:
    for name in names:
        make(folder, name, name)
    return folder


def test_image_folder(tmp_path: Path) -> None:
    root = pictures(tmp_path, "cat/a.jpg", "dog/a.jpg", "dog/more/b.PNG", "loose.jpg", "cat/x.txt")
    (root / "eel").mkdir()
    dataset = load_labels(root)
    assert dataset.format == "image_folder"
    assert dataset.table.classes == ("cat", "dog", "eel")
    assert known(dataset) == {
        "loose.jpg": {},
        "cat/a.jpg": {"cat": 1},
        "dog/a.jpg": {"dog": 1},
        "dog/more/b.PNG": {"dog": 1},
    }
    assert dataset.image_root == root
    assert "1 files are not images and were skipped" in dataset.notes
    messages = [problem.message for problem in dataset.problems]
    assert any("1 images are in no class folder" in message for message in messages)


def test_links_in_circles_end(tmp_path: Path) -> None:
    root = pictures(tmp_path / "set", "cat/a.jpg", "dog/b.jpg")
    (root / "cat" / "again").symlink_to(root)
    (root / "dog" / "self").symlink_to(root / "dog" / "self")
    assert known(load_labels(root)) == {"cat/a.jpg": {"cat": 1}, "dog/b.jpg": {"dog": 1}}


def test_image_folder_with_splits(tmp_path: Path) -> None:
    root = pictures(tmp_path, "train/cat/a.jpg", "valid/dog/b.jpg", "train/dog/c.jpg")
    dataset = load_labels(root)
    assert dataset.table.classes == ("cat", "dog")
    assert {name: dataset.split(name).images for name in dataset.splits} == {
        "train": ("train/cat/a.jpg", "train/dog/c.jpg"),
        "val": ("valid/dog/b.jpg",),
    }


@pytest.mark.parametrize(
    "names", [("cat/a.jpg", "dog/in/a.jpg"), ("train/cat/a.jpg", "test/dog/b.jpg")]
)
def test_image_folder_round_trip(tmp_path: Path, names: tuple[str, ...]) -> None:
    dataset = load_labels(pictures(tmp_path / "from", *names))
    assert save_labels(dataset, tmp_path / "to", format="image_folder") == []
    again = load_labels(tmp_path / "to")
    assert again.format == "image_folder"
    assert again.table == dataset.table
    assert again.splits.keys() == dataset.splits.keys()
    for name in names:
        assert (tmp_path / "to" / name).read_text() == name


def test_image_folder_says_what_it_cannot_hold(tmp_path: Path) -> None:
    root = pictures(tmp_path / "from", "a.jpg", "b.jpg", "c.jpg")
    values = np.array([[1, 1], [0, 0], [-1, -1]])
    table = LabelTable(("a.jpg", "b.jpg", "c.jpg"), ("cat", "dog"), values)
    dataset = Dataset(table, root, "memory", image_root=root)
    lost = " / ".join(save_labels(dataset, tmp_path / "to", format="image_folder"))
    assert "1 images have several positives" in lost
    assert known(load_labels(tmp_path / "to")) == {
        "b.jpg": {"cat": 0, "dog": 0},
        "c.jpg": {},
        "cat/a.jpg": {"cat": 1},
    }
    with pytest.raises(TagfillError, match="not empty"):
        save_labels(dataset, tmp_path / "to", format="image_folder")
    with pytest.raises(TagfillError, match="not known"):
        save_labels(Dataset(table, root, "memory"), tmp_path / "new", format="image_folder")
    for name in ("a/b", "..", "x" * 300):
        renamed = Dataset(LabelTable(("a.jpg",), (name,), [[1]]), root, "memory", image_root=root)
        with pytest.raises(TagfillError, match="cannot be the name of a folder"):
            save_labels(renamed, tmp_path / "new", format="image_folder")
    gone = Dataset(LabelTable(("z.jpg",), ("cat",), [[1]]), root, "memory", image_root=root)
    with pytest.raises(TagfillError, match="1 images are missing"):
        save_labels(gone, tmp_path / "new", format="image_folder")


def test_a_folder_with_metadata_is_not_an_image_folder(tmp_path: Path) -> None:
    pictures(tmp_path, "cat/a.jpg")
    make(tmp_path, '{"file_name": "cat/a.jpg", "tags": ["tabby"]}\n', "metadata.jsonl")
    dataset = load_labels(tmp_path)
    assert dataset.format == "jsonl"
    assert dataset.image_root == tmp_path


def rich_dataset() -> Dataset:
    table = LabelTable(("a", "b"), ("cat", "dog"), np.array([[1, -1], [0, 0]]))
    return Dataset(
        table,
        Path("memory"),
        "memory",
        splits={"train": np.array([0, 1]), "val": np.array([1]), "test": np.array([], int)},
        truth=table.with_values([[1, 1], [0, 0]]),
        boxes=Boxes(np.array([0]), np.array([0]), np.array([[0, 0, 1, 1.0]])),
        suggestions=Suggestions(np.array([0]), np.array([1]), np.array([0.75]), "net 1"),
    )


@pytest.mark.parametrize("name", ["csv_wide", "csv_long", "tag_list", "jsonl", "parquet"])
def test_writers_say_what_is_lost(tmp_path: Path, name: str) -> None:
    lost = " / ".join(save_labels(rich_dataset(), tmp_path / "x", format=name))
    assert "1 images of split 'val' are in an earlier split too" in lost
    assert "split 'test' has no images" in lost
    assert "1 boxes are not written" in lost
    assert "full labels behind" in lost
    assert "1 suggested tags are not written" in lost
    assert "negatives are not written" not in lost
    assert load_labels(tmp_path / "x").table.negatives == 2


def test_split_names_a_wide_csv_cannot_show(tmp_path: Path) -> None:
    table = LabelTable(("a", "b"), ("cat", "dog"), np.array([[1, -1], [0, 0]]))
    dataset = Dataset(table, Path("m"), "m", splits={"1": np.array([0]), "0": np.array([1])})
    (sentence,) = save_labels(dataset, tmp_path / "x.csv", format="csv_wide")
    assert "look like labels" in sentence
    assert load_labels(tmp_path / "x.csv").table == table


def test_saving_into_a_new_folder_and_onto_a_folder(tmp_path: Path) -> None:
    save_labels(rich_dataset(), tmp_path / "new" / "x.csv", format="csv_wide")
    assert (tmp_path / "new" / "x.csv").is_file()
    with pytest.raises(TagfillError, match="cannot be written"):
        save_labels(rich_dataset(), tmp_path / "new", format="csv_wide")
    empty = Dataset(LabelTable((), ("cat",), np.zeros((0, 1))), tmp_path, "memory")
    with pytest.raises(TagfillError, match="no images to write"):
        save_labels(empty, tmp_path / "y.csv", format="csv_wide")
