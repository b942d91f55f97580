"""Folders of images: which names are classes, which are splits, and which table in them is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.labels.reading import known, make_images

from tagfill.errors import TagfillError
from tagfill.labels.formats import ReadOptions, _lists
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats.base import Source
from tagfill.labels.io import load_labels


def test_folders_of_servers_and_containers_are_no_classes(tmp_path: Path) -> None:
    names = ("images/cat/1.jpg", "images/Cat/2.jpg", "images/@eaDir/1.jpg", "__MACOSX/cat/1.jpg")
    dataset = load_labels(make_images(tmp_path, *names, "images/dog/3.jpg", "images/dog/4.jpg"))
    assert sorted(dataset.table.classes, key=str.lower) in (["cat", "dog"], ["Cat", "dog"])
    assert len(dataset.table) == 4


def test_folders_in_class_folders_are_classes_on_request(tmp_path: Path) -> None:
    folder = make_images(tmp_path, "animal/cat/1.jpg", "animal/dog/2.jpg", "car/3.jpg")
    dataset = load_labels(folder)
    assert dataset.table.classes == ("animal", "car")
    assert any("--hierarchy / makes them classes" in note for note in dataset.notes)
    deep = load_labels(folder, options=ReadOptions(hierarchy="/"))
    assert known(deep)["animal/cat/1.jpg"] == {"animal": 1, "cat": 1}
    assert deep.hierarchy == {"cat": ("animal",), "dog": ("animal",)}


def test_capitalized_splits_above_class_folders(tmp_path: Path) -> None:
    dataset = load_labels(make_images(tmp_path, "Training/cat/1.jpg", "Test/dog/2.jpg"))
    assert dataset.table.classes == ("cat", "dog")
    assert set(dataset.splits) == {"train", "test"}


@pytest.mark.parametrize(
    "name", ["2021/2021-05-01/a.jpg", "Photos from 2019/a.jpg", "100CANON/a.jpg"]
)
def test_folders_of_cameras_are_no_classes(name: str, tmp_path: Path) -> None:
    make_images(tmp_path, name)
    with pytest.raises(TagfillError, match="--format image_folder takes any folders as classes"):
        load_labels(tmp_path)
    assert len(load_labels(tmp_path, format="image_folder").table.classes) == 1


def test_a_stray_text_file_does_not_turn_class_folders_into_tags(tmp_path: Path) -> None:
    make_images(tmp_path, *(f"{name}/{n}.jpg" for name in ("cat", "dog") for n in range(8)))
    (tmp_path / "cat" / "0.txt").write_text("taken in Rome")
    assert load_labels(tmp_path).format == "image_folder"


@pytest.mark.parametrize("kind", ["csv", "coco"])
def test_a_folder_with_labels_in_each_split(kind: str, tmp_path: Path) -> None:
    for split in ("train", "valid"):
        names = [f"{split}{n}.jpg" for n in range(4)]
        make_images(tmp_path / split, *names)
        if kind == "csv":
            rows = [f"{name}, {n % 2}, {(n + 1) % 2}" for n, name in enumerate(names)]
            text = "\n".join(["filename, cat, dog", *rows]) + "\n"
            (tmp_path / split / "_classes.csv").write_text(text)
            continue
        document = {
            "images": [{"id": n, "file_name": name} for n, name in enumerate(names)],
            "annotations": [{"image_id": n, "category_id": 2 - n % 2} for n in range(4)],
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        }
        (tmp_path / split / "_annotations.coco.json").write_text(json.dumps(document))
    dataset = load_labels(tmp_path)
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {"train": 4, "val": 4}
    assert known(dataset)["train/train1.jpg"] == {"cat": 1, "dog": 0}
    assert dataset.image_root == tmp_path


def test_a_table_in_a_folder_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_images(tmp_path, "a.jpg", "b.jpg")
    (tmp_path / "labels.csv").write_text("image,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,\n")
    reads: list[Path] = []

    class Counted(LabelBuilder):
        def __init__(self, source: Source, **named: Any) -> None:
            reads.append(source.path)
            super().__init__(source, **named)

    monkeypatch.setattr(_lists, "LabelBuilder", Counted)
    assert load_labels(tmp_path).table.classes == ("cat", "dog")
    assert reads == [tmp_path / "labels.csv"]


def test_a_folder_of_images_with_one_table_is_read_by_the_table(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for name in "abc":
        Image.new("RGB", (4, 4)).save(tmp_path / "images" / f"{name}.png")
    with pytest.raises(TagfillError, match="in no class folders"):
        load_labels(tmp_path)
    text = "image,tags\na.png,cat\nb.png,dog\nc.png,\n"
    (tmp_path / "labels.csv").write_text(text)
    (tmp_path / "prices.csv").write_text("item,price\nbread,1\n")
    dataset = load_labels(tmp_path)
    assert dataset.table.classes == ("cat", "dog")
    assert dataset.source == tmp_path / "labels.csv"
    assert any("labels.csv was read" in note for note in dataset.notes)
    assert load_labels(tmp_path, format="image_folder").table.classes == ("images",)
    (tmp_path / "test.csv").write_text(text)
    with pytest.raises(TagfillError, match=r"labels\.csv, test\.csv"):
        load_labels(tmp_path)
