"""The written data set: readable, consistent, the same with any number of workers."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagfill import scenes
from tagfill.cli.main import main
from tagfill.cli.scenes import scenes as scenes_command
from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.io import load_labels


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scenes") / "out"
    scenes.write_scenes(out, count=40, size=64, seed=4)
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_labels_read_back_in_full(folder: Path):
    dataset = load_labels(folder / "labels.csv")
    drawn = np.stack([scene.labels for scene in scenes.generate(40, size=64, seed=4)])
    assert dataset.table.classes == scenes.CLASSES
    assert np.array_equal(dataset.table.values, drawn)
    assert dataset.image_root == folder
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {"train": 30, "test": 10}


def test_images_are_square_rgb_jpegs(folder: Path):
    for image in load_labels(folder / "labels.csv").table.images:
        with Image.open(folder / image) as picture:
            assert (picture.format, picture.mode, picture.size) == ("JPEG", "RGB", (64, 64))


def test_coco_boxes_agree_with_the_labels(folder: Path):
    coco = json.loads((folder / "boxes.json").read_text())
    table = load_labels(folder / "labels.csv").table
    image = {entry["id"]: entry["file_name"] for entry in coco["images"]}
    name = {entry["id"]: entry["name"] for entry in coco["categories"]}
    assert list(image.values()) == list(table.images)
    assert tuple(name.values()) == table.classes
    values = np.zeros_like(table.values)
    for entry in coco["annotations"]:
        row = table.row_of[image[entry["image_id"]]]
        values[row, table.classes.index(name[entry["category_id"]])] = 1
        left, top, width, height = entry["bbox"]
        assert 0 <= left < left + width <= 64
        assert 0 <= top < top + height <= 64
        assert 0 < entry["area"] <= width * height
    assert np.array_equal(values, table.values)


def test_returned_data_set_equals_the_written_one(tmp_path: Path):
    made = scenes.write_scenes(tmp_path / "new", count=5, size=48)
    read = load_labels(tmp_path / "new" / "labels.csv")
    assert isinstance(made, Dataset)
    assert made.table == read.table
    assert made.boxes is not None
    assert made.boxes.xywh.min() >= 0
    assert (made.boxes.xywh[:, :2] + made.boxes.xywh[:, 2:]).max() <= 1


@pytest.mark.slow
def test_workers_do_not_change_a_byte(tmp_path: Path):
    for workers in (1, 2):
        scenes.write_scenes(tmp_path / str(workers), count=70, size=48, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_count_does_not_change_pictures_or_splits(folder: Path, tmp_path: Path):
    scenes.write_scenes(tmp_path / "few", count=10, size=64, seed=4)
    few, many = contents(tmp_path / "few"), contents(folder)
    pictures = [name for name in few if name.endswith(".jpg")]
    assert len(pictures) == 10
    assert all(few[name] == many[name] for name in pictures)
    assert many["labels.csv"].startswith(few["labels.csv"])


def test_a_full_folder_is_kept_unless_told_otherwise(tmp_path: Path):
    out = tmp_path / "out"
    scenes.write_scenes(out, count=6, size=32)
    (out / "images" / "holiday.jpg").write_bytes(b"mine")
    before = contents(out)
    with pytest.raises(TagfillError, match="already"):
        scenes.write_scenes(out, count=3, size=32)
    assert contents(out) == before
    scenes.write_scenes(out, count=3, size=32, overwrite=True)
    assert len(list((out / "images").glob("0*.jpg"))) == 3
    assert (out / "images" / "holiday.jpg").read_bytes() == b"mine"


@pytest.mark.parametrize(
    "arguments",
    [{"test_fraction": 1.0}, {"test_fraction": -0.1}, {"workers": 0}, {"count": 0}, {"size": 4}],
)
def test_bad_arguments_leave_no_folder(arguments: dict, tmp_path: Path):
    with pytest.raises(TagfillError):
        scenes.write_scenes(tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way_is_reported(tmp_path: Path):
    (tmp_path / "out").write_text("")
    with pytest.raises(TagfillError, match="file"):
        scenes.write_scenes(tmp_path / "out", count=1)


def test_no_test_split_when_none_is_wanted(tmp_path: Path):
    made = scenes.write_scenes(tmp_path / "out", count=4, size=32, test_fraction=0)
    assert list(made.splits) == ["train"]


def test_command_reports_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    arguments = ["scenes", str(out), "--count", "8", "--size", "48", "--workers", "1", "--json"]
    assert main(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    table = load_labels(out / "labels.csv").table
    assert report["images"] == 8
    assert report["positives"] == table.positives
    assert sum(report["positives_per_class"].values()) == table.positives
    assert report["splits"] == {"train": 6, "test": 2}
    with Image.open(out / "contact_sheet.png") as sheet:
        assert sheet.width > sheet.height


def test_command_shows_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["scenes", str(tmp_path / "out"), "--count", "4", "--size", "32"]) == 0
    printed = capsys.readouterr().out
    assert "cloud" in printed
    assert "3 train, 1 test" in printed


@pytest.mark.parametrize("option", ["difficulty", "count", "size", "seed", "workers"])
def test_command_answers_a_mistake_with_one_message(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["scenes", str(tmp_path / "out"), f"--{option}", "9" * 20]) == 2
    assert f"{option} must be from " in capsys.readouterr().err


def test_command_and_function_share_their_defaults():
    def defaults(function: Callable[..., object]) -> dict[str, object]:
        parameters = inspect.signature(function).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    command, function = defaults(scenes_command), defaults(scenes.write_scenes)
    shared = (command.keys() & function.keys()) - {"out", "workers"}
    assert len(shared) == 6
    assert {name: command[name] for name in shared} == {name: function[name] for name in shared}


def test_the_folder_is_read_as_its_label_table_not_its_boxes(tmp_path: Path) -> None:
    scenes.write_scenes(tmp_path / "drawn", 6, 48, seed=1)
    dataset = load_labels(tmp_path / "drawn")
    assert dataset.source.name == "labels.csv"
    assert len(dataset.table) == 6
