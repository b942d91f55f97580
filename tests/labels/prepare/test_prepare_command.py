"""`tagfill prepare`: files on disk, the published draw, and the real VOC 2012."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.labels.prepare.layouts import (
    write_coco,
    write_cub,
    write_nuswide,
    write_published,
    write_voc,
)

from tagfill.cli.main import main
from tagfill.labels.io import load_labels
from tagfill.labels.prepare import prepare
from tagfill.observe import make, observe_official, single_positive

SHARED = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "voc2012"
TRAIN = {f"2008_{n:06d}": (1, 1 if n % 3 else -1) for n in range(20)}
TEST = {f"2009_{n:06d}": (1, -1) for n in range(4)}


@pytest.fixture
def devkit(tmp_path: Path) -> Path:
    return write_voc(tmp_path / "VOCdevkit" / "VOC2012", {"train": TRAIN, "val": TEST})


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_writes_a_table_with_splits(
    devkit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(capsys, "prepare", "voc2012", tmp_path, "--out", tmp_path / "voc")
    assert result["out"] == str(tmp_path / "voc.csv")
    assert result["images"] == {"train": 16, "val": 4, "test": 4}
    assert not result["as_published"]
    assert result["images_missing"] == 24
    assert result["split"] == "differs"
    differences = "train 16 instead of 4,574, val 4 instead of 1,143, test 4 instead of 5,823"
    assert f"these are not the published numbers of images: {differences}" in result["notes"]
    written = load_labels(result["out"])
    official = prepare("voc2012", tmp_path).dataset
    assert written.table == official.table
    for split, rows in official.splits.items():
        np.testing.assert_array_equal(written.splits[split], rows)


def test_masks_before_validation_is_held_out(
    devkit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "one.parquet"
    arguments = ("prepare", "voc2012", tmp_path, "--out", out, "--regime", "single_positive")
    result = run(capsys, *arguments)
    masked, truth = load_labels(out), load_labels(result["truth"])
    assert Path(result["truth"]).name == "one-truth.parquet"
    expected = truth.table.values.copy()
    train = truth.splits["train"]
    expected[train] = single_positive(truth.table.values[:20])[train]
    np.testing.assert_array_equal(masked.table.values, expected)
    assert main([*map(str, arguments)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_mistakes_end_with_2(
    devkit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prepare", "coco2014", str(tmp_path)]) == 2
    assert "COCO project page" in capsys.readouterr().err
    assert main(["prepare", "voc2012", str(tmp_path), "--out", str(tmp_path / "a.xlsx")]) == 2
    assert "cannot write .xlsx" in capsys.readouterr().err
    assert main(["prepare", "voc2012", str(tmp_path), "--count", "3"]) == 2
    assert "--regime" in capsys.readouterr().err


def test_shows_sizes_and_the_next_command(
    devkit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "voc.csv"
    assert main(["prepare", "voc2012", str(tmp_path), "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert f"next: tagfill train {out} --images {devkit / 'JPEGImages'}" in shown.out
    assert "24 image files are not in" in shown.err


def test_a_made_up_coco_is_not_called_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train2014", "val2014"):
        write_coco(tmp_path, split, {1: [3]}, {3: "cat"})
    out = tmp_path / "coco.csv"
    assert main(["prepare", "coco2014", str(tmp_path), "--out", str(out)]) == 0
    shown = capsys.readouterr()
    title = " ".join(shown.out.partition("┏")[0].split())
    assert title == "COCO 2014, 1 class; split: not the published one"
    assert "train 1 instead of 65,665, val 0 instead of 16,416" in shown.err
    assert f"next: tagfill train {out} --images FOLDER" in shown.out


@pytest.mark.parametrize("name", ["voc2012", "cub", "nuswide", "published"])
def test_a_missing_image_folder_is_left_to_fill_in(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, rows = tmp_path / "data", [[1, 0], [0, 1]]
    if name == "voc2012":
        write_voc(home, {"train": TRAIN, "val": TEST})
        (home / "JPEGImages").rmdir()
    elif name == "cub":
        write_cub(home, images=3, attributes=2, training={1, 2})
    else:
        {"nuswide": write_nuswide, "published": write_published}[name](home, rows, rows)
    official = "nuswide" if name == "published" else name
    out = tmp_path / "out.csv"
    assert main(["prepare", official, str(home), "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "the image folder was not found" in shown.err
    assert f"next: tagfill train {out} --images FOLDER" in shown.out
    assert "split: published" not in " ".join(shown.out.split())


def test_one_missing_image(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    devkit = write_voc(tmp_path / "VOC2012", {"train": {"a": (1, 1)}, "val": {"b": (1, -1)}})
    (devkit / "JPEGImages" / "a.jpg").touch()
    assert main(["prepare", "voc2012", str(tmp_path), "--out", str(tmp_path / "voc.csv")]) == 0
    assert "1 image file is not in" in capsys.readouterr().err


@pytest.mark.voc
def test_voc2012_equals_the_published_files() -> None:
    if not (SHARED / "mlspl").is_dir():
        pytest.skip("needs ../shared/data/voc2012 beside the project")
    prepared = prepare("voc2012", SHARED / "VOCdevkit")
    assert prepared.as_published
    assert prepared.sizes == {"train": 4574, "val": 1143, "test": 5823}
    table, splits = prepared.dataset.table, prepared.dataset.splits
    files = SHARED / "mlspl"
    published = {
        name: np.load(files / f"formatted_{name}.npy")
        for name in ("train_images", "val_images", "train_labels", "val_labels", "train_labels_obs")
    }
    images = [*published["train_images"].tolist(), *published["val_images"].tolist()]
    assert list(table.images) == images
    labels = np.concatenate([published["train_labels"], published["val_labels"]])
    np.testing.assert_array_equal(table.values, labels)
    for split in ("train", "val"):
        np.testing.assert_array_equal(splits[split], np.load(files / f"split_{split}_index.npy"))
    observed = observe_official(prepared.dataset, make("single_positive"), 1200)
    drawn = published["train_labels_obs"][splits["train"]] == 1
    np.testing.assert_array_equal(observed.table.values[splits["train"]] == 1, drawn)
    assert (observed.table.values[splits["train"]] != 0).all()
