"""Readers of published layouts: COCO, VOC, MLSPL."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tagfill.errors import LabelError, Problems, TagfillError
from tagfill.labels import Dataset
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels, save_labels
from tagfill.labels.split import published_split

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012"


def by_image(dataset: Dataset) -> dict[str, list[int]]:
    rows = dataset.table.values.tolist()
    return dict(zip(dataset.table.images, rows, strict=True))


COCO = {
    "info": {},
    "images": [
        {"id": 7, "file_name": "b.jpg", "width": 100, "height": 50},
        {"id": 3, "file_name": "a.jpg", "width": 10, "height": 10},
        {"id": 9, "file_name": "none.jpg", "width": 10, "height": 10},
    ],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 18, "bbox": [10, 5, 50, 25]},
        {"id": 2, "image_id": 7, "category_id": 18, "bbox": [90, 40, 50, 25]},
        {"id": 3, "image_id": 3, "category_id": 2, "bbox": [0, 0, 0, 4]},
    ],
    "categories": [{"id": 18, "name": "dog"}, {"id": 2, "name": "cat"}, {"id": 5, "name": "eel"}],
}


def coco_file(folder: Path, content: object, indent: int | None = None) -> Path:
    path = folder / "instances.json"
    path.write_text(json.dumps(content, indent=indent))
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_coco(tmp_path: Path, indent: int | None) -> None:
    dataset = load_labels(coco_file(tmp_path, COCO, indent))
    assert dataset.format == "coco"
    assert dataset.table.classes == ("dog", "cat", "eel")
    assert by_image(dataset) == {"b.jpg": [1, 0, 0], "a.jpg": [0, 1, 0], "none.jpg": [0, 0, 0]}
    assert dataset.boxes is not None
    np.testing.assert_allclose(dataset.boxes.xywh, [[0.1, 0.1, 0.5, 0.5], [0.9, 0.8, 0.1, 0.2]])
    assert dataset.boxes.image.tolist() == [0, 0]
    assert dataset.boxes.label.tolist() == [0, 0]
    notes = " / ".join(dataset.notes)
    assert "1 images have no annotation" in notes
    assert "1 boxes without area" in notes
    assert "count as negative" in notes


def test_coco_absent_unknown(tmp_path: Path) -> None:
    dataset = load_labels(coco_file(tmp_path, COCO), options=ReadOptions(absent="unknown"))
    assert by_image(dataset)["b.jpg"] == [1, -1, -1]
    assert by_image(dataset)["none.jpg"] == [-1, -1, -1]


def test_coco_dangling_references_and_doubled_names(tmp_path: Path) -> None:
    broken = {
        **COCO,
        "annotations": [
            {"image_id": 1, "category_id": 18},
            {"image_id": 7, "category_id": 99},
            {"image_id": 7, "category_id": 18, "bbox": [1, 2, "3"]},
        ],
        "categories": [{"id": 18, "name": "dog"}, {"id": 2, "name": "dog"}],
    }
    with pytest.raises(LabelError) as caught:
        load_labels(coco_file(tmp_path, broken))
    text = str(caught.value)
    assert "annotations[0] refers to image 1" in text
    assert "annotations[1] refers to category 99" in text
    assert "annotations[2] has the bbox [1, 2, '3']" in text
    assert "categories 18 and 2 are both called 'dog'" in text


XML = """<annotation><size><width>{w}</width><height>{h}</height></size>{objects}</annotation>"""
OBJECT = (
    "<object><name>{name}</name><difficult>{hard}</difficult><bndbox><xmin>{x0}</xmin>"
    "<ymin>{y0}</ymin><xmax>{x1}</xmax><ymax>{y1}</ymax></bndbox></object>"
)


def voc_object(name: str, hard: int, *box: int) -> str:
    return OBJECT.format(
        name=name, hard=hard, **dict(zip(["x0", "y0", "x1", "y1"], box, strict=True))
    )


@pytest.fixture
def devkit(tmp_path: Path) -> Path:
    home = tmp_path / "VOCdevkit" / "VOC2012"
    main = home / "ImageSets" / "Main"
    for folder in (main, home / "Annotations", home / "JPEGImages"):
        folder.mkdir(parents=True)
    scenes = {
        "2008_2": voc_object("dog", 0, 1, 1, 100, 50) + voc_object("cat", 1, 1, 1, 10, 10),
        "2008_1": voc_object("cat", 0, 51, 26, 150, 75),
        "2008_3": "",
        "2008_9": voc_object("dog", 0, 1, 1, 2, 2),
    }
    for stem, objects in scenes.items():
        (home / "Annotations" / f"{stem}.xml").write_text(XML.format(w=200, h=100, objects=objects))
    (main / "train.txt").write_text("2008_2\n2008_1\n")
    (main / "val.txt").write_text("2008_3\n")
    (main / "trainval.txt").write_text("2008_2\n2008_1\n2008_3\n")
    (main / "dog_train.txt").write_text("2008_2  1\n2008_1 -1\n")
    (main / "cat_train.txt").write_text("2008_2  0\n2008_1  1\n")
    (main / "dog_val.txt").write_text("2008_3 -1\n")
    (main / "cat_val.txt").write_text("2008_3 -1\n")
    return home


@pytest.mark.parametrize(("difficult", "code"), [("negative", 0), ("positive", 1), ("unknown", -1)])
@pytest.mark.parametrize("lists", [True, False])
def test_voc_difficult(devkit: Path, difficult: str, code: int, lists: bool) -> None:
    if not lists:
        for file in (devkit / "ImageSets" / "Main").glob("*_*.txt"):
            file.unlink()
    dataset = load_labels(devkit, options=ReadOptions(difficult=difficult))  # type: ignore[arg-type]
    assert dataset.table.classes == ("cat", "dog")
    assert by_image(dataset) == {
        "2008_1.jpg": [1, 0],
        "2008_2.jpg": [code, 1],
        "2008_3.jpg": [0, 0],
    }
    assert dataset.boxes is not None
    assert len(dataset.boxes) == (3 if difficult == "positive" else 2)


def test_voc_splits_boxes_and_notes(devkit: Path) -> None:
    for place in (devkit, devkit.parent, devkit.parent.parent):
        dataset = load_labels(place)
        assert dataset.format == "voc"
        assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {
            "train": [0, 1],
            "val": [2],
        }
    assert dataset.image_root == devkit / "JPEGImages"
    assert dataset.boxes is not None
    np.testing.assert_allclose(dataset.boxes.xywh[0], [0.25, 0.25, 0.5, 0.5])
    assert dataset.boxes.image.tolist() == [0, 1]
    notes = " / ".join(dataset.notes)
    assert "1 objects are marked difficult" in notes
    assert "1 annotated images are in no image set" in notes


def test_voc_without_image_sets(devkit: Path) -> None:
    shutil.rmtree(devkit / "ImageSets")
    dataset = load_labels(devkit)
    assert dataset.splits == {}
    assert by_image(dataset)["2008_9.jpg"] == [0, 1]


def test_voc_list_without_annotation_is_unknown(devkit: Path) -> None:
    (devkit / "ImageSets" / "Main" / "test.txt").write_text("2008_7\n")
    dataset = load_labels(devkit)
    assert by_image(dataset)["2008_7.jpg"] == [-1, -1]
    assert any("1 images have neither" in note for note in dataset.notes)


def test_voc_flaws(devkit: Path) -> None:
    (devkit / "ImageSets" / "Main" / "dog_train.txt").write_text("2008_2 1\n2008_1 5\n")
    (devkit / "Annotations" / "2008_1.xml").write_text("<annotation><object>")
    bomb = '<!DOCTYPE a [<!ENTITY x "y">]><annotation>&x;</annotation>'
    (devkit / "Annotations" / "2008_3.xml").write_text(bomb)
    problems = Problems()
    load_labels(devkit, problems=problems)
    places = {(Path(str(problem.file)).name, problem.row) for problem in problems.errors}
    assert places == {("dog_train.txt", 2), ("2008_1.xml", None), ("2008_3.xml", None)}


def test_voc_with_two_years_must_be_named(devkit: Path) -> None:
    shutil.copytree(devkit, devkit.parent / "VOC2007")
    with pytest.raises(TagfillError, match="VOC2007, VOC2012"):
        load_labels(devkit.parent)


@pytest.mark.voc
def test_voc_2012_counts_as_published() -> None:
    if not (SHARED / "VOCdevkit" / "VOC2012").is_dir():
        pytest.skip("needs ../shared/data/voc2012/VOCdevkit/VOC2012")
    dataset = load_labels(SHARED / "VOCdevkit" / "VOC2012")
    assert len(dataset.table.classes) == 20
    train, val = dataset.split("train"), dataset.split("val")
    assert (len(train), train.positives, train.unknowns) == (5717, 8331, 0)
    assert (len(val), val.positives) == (5823, 8351)
    published = np.load(SHARED / "mlspl" / "formatted_train_labels.npy")
    assert np.array_equal(train.values, published)
    assert dataset.problems == ()


@pytest.mark.voc
def test_mlspl_voc_as_published() -> None:
    if not (SHARED / "mlspl").is_dir():
        pytest.skip("needs ../shared/data/voc2012/mlspl")
    dataset = load_labels(SHARED / "mlspl")
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {
        "train": 4574,
        "val": 1143,
        "test": 5823,
    }
    train = dataset.split("train")
    assert (train.positives, train.negatives) == (4574, 0)
    assert dataset.split("val").unknowns == dataset.split("test").unknowns == 0
    assert dataset.table.classes[-1] == "tvmonitor"
    assert dataset.load_features().shape == (11540, 1280)
    rows, _ = published_split(5717)
    assert np.array_equal(dataset.splits["train"], rows)


@pytest.fixture
def mlspl(tmp_path: Path) -> Path:
    arrays = {
        "formatted_train_labels": np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]]),
        "formatted_train_labels_obs": np.array(
            [[1, 0, 0], [-1, 1, -1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
        ),
        "formatted_train_images": np.array([f"t{n}.jpg" for n in range(5)]),
        "formatted_val_labels": np.array([[0, 0, 0], [1, 1, 1]]),
        "formatted_val_labels_obs": np.array([[0, 0, 0], [1, 0, 0]]),
        "formatted_val_images": np.array(["v0.jpg", "v1.jpg"]),
        "split_train_index": np.array([0, 1, 2, 4]),
        "split_val_index": np.array([3]),
        "train_features_net": np.arange(10.0).reshape(5, 2),
        "val_features_net": np.arange(10.0, 14.0).reshape(2, 2),
    }
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    return tmp_path


def test_mlspl_codes_splits_and_features(mlspl: Path) -> None:
    dataset = load_labels(mlspl)
    assert dataset.format == "mlspl"
    assert by_image(dataset) == {
        "t0.jpg": [1, -1, -1],
        "t1.jpg": [0, 1, 0],
        "t2.jpg": [-1, 1, -1],
        "t3.jpg": [0, 0, 1],
        "t4.jpg": [1, -1, -1],
        "v0.jpg": [0, 0, 0],
        "v1.jpg": [1, 1, 1],
    }
    assert dataset.table.classes == ("class_0", "class_1", "class_2")
    assert dataset.splits["val"].tolist() == [3]
    assert dataset.splits["test"].tolist() == [5, 6]
    assert dataset.truth is not None
    assert dataset.truth.values[2].tolist() == [1, 1, 0]
    assert dataset.load_features("net")[:, 0].tolist() == [0, 2, 4, 6, 8, 10, 12]
    with pytest.raises(TagfillError, match="feature sets here: net"):
        dataset.load_features("other")


def test_mlspl_without_split_files_uses_the_published_draw(mlspl: Path) -> None:
    (mlspl / "split_val_index.npy").unlink()
    (mlspl / "classes.txt").write_text("ant\nbee\ncat\n")
    dataset = load_labels(mlspl)
    train, val = published_split(5)
    assert np.array_equal(dataset.splits["train"], train)
    assert np.array_equal(dataset.splits["val"], val)
    assert dataset.table.classes == ("ant", "bee", "cat")
    assert any("seed 1200" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("formatted_train_labels", np.array([[2, 0, 0]]), "expected a matrix of 0, 1"),
        ("formatted_train_images", np.array(["a.jpg"]), "do not fit 3 images"),
        ("formatted_val_labels", np.array([[1, 0], [0, 1]]), "do not fit"),
        ("formatted_train_labels_obs", np.zeros((3, 3)), "is not that of the labels"),
        ("split_val_index", np.array([0]), "does not divide the 5 train rows"),
        ("formatted_train_images", np.array(["a", "a", "b", "c", "d"]), "'a' is listed twice"),
        ("formatted_train_images", np.array([{}, {}], dtype=object), "not a readable .npy file"),
    ],
)
def test_mlspl_flaws(mlspl: Path, name: str, array: np.ndarray, words: str) -> None:
    np.save(mlspl / f"{name}.npy", array)
    with pytest.raises(TagfillError, match=words):
        load_labels(mlspl)


def test_published_formats_are_only_read(mlspl: Path, tmp_path: Path) -> None:
    dataset = load_labels(mlspl)
    with pytest.raises(TagfillError, match="can only be read"):
        save_labels(dataset, tmp_path / "x", format="mlspl")
    lost = save_labels(dataset, tmp_path / "x.csv", format="csv_wide")
    assert any("full labels behind" in sentence for sentence in lost)
    assert any("feature files" in sentence for sentence in lost)
    assert load_labels(tmp_path / "x.csv").table == dataset.table
