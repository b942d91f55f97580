"""Readers of CUB, NUS-WIDE and Open Images."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet
import pytest

from tagfill.errors import LabelError, TagfillError
from tagfill.labels import Dataset
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels


def by_image(dataset: Dataset) -> dict[str, list[int]]:
    rows = dataset.table.values.tolist()
    return dict(zip(dataset.table.images, rows, strict=True))


@pytest.fixture
def cub(tmp_path: Path) -> Path:
    home = tmp_path / "CUB_200_2011"
    (home / "attributes").mkdir(parents=True)
    (tmp_path / "attributes.txt").write_text("1 has_bill::long\n2 has_wing::red (dark)\n")
    (home / "images.txt").write_text("1 001.Gull/a.jpg\n2 002.Tern/b.jpg\n")
    (home / "train_test_split.txt").write_text("1 1\n2 0\n")
    (home / "attributes" / "image_attribute_labels.txt").write_text(
        "1 1 1 4 10.2\n1 2 0 1 3.0\n2 1 0 3 0 7.1\n2 2 1 2 5.5\n"
    )
    return home


def test_cub(cub: Path) -> None:
    for place in (cub, cub.parent):
        dataset = load_labels(place)
        assert dataset.format == "cub"
        assert dataset.table.classes == ("has_bill::long", "has_wing::red (dark)")
        assert by_image(dataset) == {"001.Gull/a.jpg": [1, 0], "002.Tern/b.jpg": [0, 1]}
        assert dataset.splits["train"].tolist() == [0]
        assert dataset.splits["test"].tolist() == [1]
        assert dataset.image_root == cub / "images"
    assert any("1 labels of invisible parts" in note for note in dataset.notes)


def test_cub_min_certainty(cub: Path) -> None:
    dataset = load_labels(cub, options=ReadOptions(min_certainty=3))
    assert dataset.table.values.tolist() == [[1, -1], [0, -1]]
    assert any("2 labels of certainty below 3" in note for note in dataset.notes)


def test_cub_flaws(cub: Path) -> None:
    labels = cub / "attributes" / "image_attribute_labels.txt"
    for text, words in [("1 1 7 4 1\n", "7 is not 1"), ("9 1 1 4 1\n", "image 9"), ("x\n", "list")]:
        labels.write_text("1 1 1 4 1\n" + text)
        with pytest.raises(TagfillError, match=words):
            load_labels(cub)
    (cub / "images.txt").unlink()
    with pytest.raises(TagfillError, match="missing"):
        load_labels(cub)


@pytest.fixture
def nuswide(tmp_path: Path) -> Path:
    files = {
        "ConceptsList/Concepts81.txt": "bear\nsky\n",
        "ImageList/TrainImagelist.txt": "actor\\1.jpg\nactor\\2.jpg\n",
        "ImageList/TestImagelist.txt": "zoo\\3.jpg\n",
        "ImageList/Imagelist.txt": "actor\\1.jpg\nzoo\\3.jpg\nactor\\2.jpg\n",
        "Groundtruth/TrainTestLabels/Labels_bear_Train.txt": "1 \n0 \n",
        "Groundtruth/TrainTestLabels/Labels_sky_Train.txt": "0\r\n0\r\n",
        "Groundtruth/TrainTestLabels/Labels_bear_Test.txt": "0\n",
        "Groundtruth/TrainTestLabels/Labels_sky_Test.txt": "1\n",
        "Groundtruth/AllLabels/Labels_bear.txt": "1\n0\n0\n",
        "Groundtruth/AllLabels/Labels_sky.txt": "0\n1\n0\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_nuswide(nuswide: Path) -> None:
    dataset = load_labels(nuswide)
    expected = {"actor/1.jpg": [1, 0], "actor/2.jpg": [0, 0], "zoo/3.jpg": [0, 1]}
    assert dataset.format == "nuswide"
    assert by_image(dataset) == expected
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {
        "train": [0, 1],
        "test": [2],
    }
    assert any("1 images have none" in note for note in dataset.notes)
    shutil.rmtree(nuswide / "Groundtruth" / "TrainTestLabels")
    dataset = load_labels(nuswide)
    assert by_image(dataset) == expected
    assert dataset.splits == {}


def test_nuswide_flaws(nuswide: Path) -> None:
    file = nuswide / "Groundtruth" / "TrainTestLabels" / "Labels_sky_Train.txt"
    file.write_text("0\n2\n")
    with pytest.raises(TagfillError, match="expected 2 lines of 0 or 1"):
        load_labels(nuswide)
    file.unlink()
    with pytest.raises(TagfillError, match="missing"):
        load_labels(nuswide)


OPEN_IMAGES = """ImageID,Source,LabelName,Confidence
00a,verification,/m/01,1
00a,verification,/m/02,0
00a,machine,/m/03,0.8
00b,verification,/m/03,1
00c,machine,/m/04,0.2
"""


def test_open_images(tmp_path: Path) -> None:
    path = tmp_path / "train-annotations-human-imagelabels.csv"
    path.write_text(OPEN_IMAGES)
    dataset = load_labels(path)
    assert dataset.format == "open_images"
    assert dataset.table.classes == ("/m/01", "/m/02", "/m/03", "/m/04")
    assert by_image(dataset) == {
        "00a.jpg": [1, 0, -1, -1],
        "00b.jpg": [-1, -1, 1, -1],
        "00c.jpg": [-1, -1, -1, -1],
    }
    assert any("2 unverified labels" in note for note in dataset.notes)
    names = 'LabelName,DisplayName\n/m/01,Cat\n/m/02,"Dog, big"\n/m/03,Cat\n'
    (tmp_path / "oidv6-class-descriptions.csv").write_text(names)
    classes = load_labels(path).table.classes
    assert classes == ("Cat (/m/01)", "Dog, big", "Cat (/m/03)", "/m/04")


def test_open_images_flaws(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(OPEN_IMAGES + "00d,x,/m/01,high\n00a,x,/m/02,1\n")
    with pytest.raises(LabelError) as caught:
        load_labels(path)
    assert [problem.row for problem in caught.value.problems] == [7, 8]
    assert "rows 3 and 8" in str(caught.value)


def test_open_images_in_other_files_than_csv(tmp_path: Path) -> None:
    columns = {
        "ImageID": ["a1", "a1", "b2"],
        "Source": ["verification", "verification", "machine"],
        "LabelName": ["/m/cat", "/m/dog", "/m/cat"],
        "Confidence": [1.0, 0.0, 0.7],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "labels.parquet")
    table = load_labels(tmp_path / "labels.parquet").table
    assert (table.images, table.classes) == (("a1.jpg", "b2.jpg"), ("/m/cat", "/m/dog"))
    assert table.values.tolist() == [[1, 0], [-1, -1]]
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    (tmp_path / "labels.html").write_text(f"<table>{cells}</table>")
    dataset = load_labels(tmp_path / "labels.html")
    assert dataset.table == table
    with pytest.raises(TagfillError, match=r"cannot be edited .*--to csv_wide"):
        save_changes(dataset, table.with_values([[1, 1], [1, 1]]), tmp_path / "o", ReadOptions())
