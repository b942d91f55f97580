"""YOLO, VOC and COCO files as other programs write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from tests.labels.reading import WIDE, known, make_images, read, write_files

from tagfill.errors import TagfillError
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels

BOX = "0.5 0.5 0.2 0.2\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("classes.txt", "cat\ndog\n"),
        ("obj.names", "cat\ndog\n"),
        ("data.yaml", "train: x\nnc: 2\nnames: ['cat', \"dog\"]\n"),
        ("data.yaml", "path: .\nnames:\n  0: cat  # meow\n  1: dog\n"),
        ("data.yml", "names:\n- cat\n- dog\n"),
    ],
)
def test_yolo_beside_the_images(name: str, text: str, tmp_path: Path) -> None:
    make_images(tmp_path, "a.jpg", "b.jpg", "c.jpg", "d.jpg")
    write_files(tmp_path, a_txt=f"0 {BOX}1 {BOX}", b_txt="1 0.1 0.1 0.3 0.1 0.3 0.4\n", c_txt="")
    (tmp_path / name).write_text(text)
    dataset = load_labels(tmp_path)
    assert dataset.format == "yolo"
    assert known(dataset) == {
        "a.jpg": {"cat": 1, "dog": 1},
        "b.jpg": {"cat": 0, "dog": 1},
        "c.jpg": {"cat": 0, "dog": 0},
        "d.jpg": {},
    }
    assert dataset.boxes is not None
    assert dataset.boxes.xywh[2].tolist() == pytest.approx([0.1, 0.1, 0.2, 0.3])
    open_world = load_labels(tmp_path, options=ReadOptions(absent="unknown"))
    assert known(open_world)["b.jpg"] == {"dog": 1}


@pytest.mark.parametrize("by", ["{split}/{kind}/{name}", "{kind}/{split}/{name}"])
def test_yolo_folders_with_splits_are_no_classes(by: str, tmp_path: Path) -> None:
    for split, name, line in (("train", "a", f"0 {BOX}"), ("valid", "b", f"1 {BOX}")):
        make_images(tmp_path, by.format(split=split, kind="images", name=f"{name}.jpg"))
        file = tmp_path / by.format(split=split, kind="labels", name=f"{name}.txt")
        file.parent.mkdir(parents=True)
        file.write_text(line)
    (tmp_path / "data.yaml").write_text("names: [cat, dog]\n")
    for source in (tmp_path, tmp_path / "data.yaml"):
        dataset = load_labels(source)
        assert list(known(dataset).values()) == list(WIDE.values())
        assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {
            "train": [0],
            "val": [1],
        }


def test_yolo_faults_name_file_and_row(tmp_path: Path) -> None:
    make_images(tmp_path, "a.jpg", "b.jpg")
    write_files(tmp_path, a_txt=f"0 {BOX}7 {BOX}", b_txt=f"1 {BOX}", classes_txt="cat\ndog\n")
    with pytest.raises(TagfillError, match=r"a\.txt, row 2: class 7 is not in the list of 2 names"):
        load_labels(tmp_path)


def test_yolo_names_with_comments_between_them(tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_text("names:\n  0: cat  # a pet\n  # wild ones\n  1: fox\n")
    Image.new("RGB", (8, 8)).save(tmp_path / "a.jpg")
    (tmp_path / "a.txt").write_text("1 0.5 0.5 0.2 0.2\n")
    table = load_labels(tmp_path).table
    assert (table.classes, table.values.tolist()) == (("cat", "fox"), [[0, 1]])


def voc(*names: str) -> str:
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax></bndbox>"
    objects = "".join(f"<object><name>{name}</name>{box}</object>" for name in names)
    size = "<size><width>8</width><height>8</height></size>"
    return f"<annotation><filename>a.jpg</filename>{size}{objects}</annotation>"


@pytest.mark.parametrize(
    ("images_in", "labels_in"), [("", ""), ("images/", "annotations/"), ("JPEGImages/", "xmls/")]
)
def test_voc_files_without_a_devkit(images_in: str, labels_in: str, tmp_path: Path) -> None:
    make_images(tmp_path, *(f"{images_in}{name}.jpg" for name in "abc"))
    (tmp_path / labels_in).mkdir(exist_ok=True)
    for name, classes in {"a": ["cat", "dog"], "b": ["dog"]}.items():
        (tmp_path / labels_in / f"{name}.xml").write_text(voc(*classes))
    dataset = load_labels(tmp_path)
    assert dataset.format == "voc_xml"
    assert list(known(dataset).values()) == [{"cat": 1, "dog": 1}, {"cat": 0, "dog": 1}, {}]
    assert dataset.boxes is not None
    assert len(dataset.boxes) == 3


def test_one_annotation_alone_and_a_broken_one(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text(voc("cat"))
    assert known(load_labels(tmp_path / "x.xml")) == {"a.jpg": {"cat": 1}}
    assert known(load_labels(tmp_path)) == {"a.jpg": {"cat": 1}}
    (tmp_path / "y.xml").write_text("<annotation><object>")
    with pytest.raises(TagfillError, match=r"y\.xml: not readable as a VOC annotation"):
        load_labels(tmp_path)


@pytest.mark.parametrize(
    "annotations",
    [
        [{"image_id": 1.0, "category_id": 1.0}, {"image_id": 2.0, "category_id": 2.0}],
        [{"image_id": 1, "category_ids": [1]}, {"image_id": 2, "category_ids": [2]}],
        [
            {"image_id": 1, "segments_info": [{"category_id": 1}]},
            {"image_id": 2, "segments_info": [{"category_id": 2}]},
        ],
    ],
    ids=["floats", "several categories", "panoptic"],
)
def test_coco_of_other_programs(annotations: list[object], tmp_path: Path) -> None:
    document = {
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
        "annotations": annotations,
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    }
    assert known(read(tmp_path, json.dumps(document), "l.json")) == WIDE


def test_a_large_coco_file_is_detected_by_its_beginning(tmp_path: Path) -> None:
    listed = [{"id": n, "file_name": f"{n:012}.jpg", "license": 3} for n in range(25_000)]
    document = {
        "info": {"data": "2014"},
        "images": listed,
        "annotations": [{"image_id": 3, "category_id": 1}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    dataset = read(tmp_path, json.dumps(document), "l.json")
    assert dataset.format == "coco"
    assert dataset.table.positives == 1
