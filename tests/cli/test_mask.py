"""`tagfill mask` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tagfill import load_labels
from tagfill.cli.main import main
from tagfill.observe import REGIMES, single_positive

VOC = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012"

ROWS = [
    ("a.jpg", "1,1,0", "train"),
    ("b.jpg", "0,1,1", "train"),
    ("c.jpg", "0,0,0", "train"),
    ("d.jpg", "1,0,1", "test"),
]
TRUTH = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 1]], dtype=np.int8)


@pytest.fixture
def labels(tmp_path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(
        "image,cat,dog,cow\n" + "".join(f"{image},{cells}\n" for image, cells, _ in ROWS)
    )
    return path


@pytest.fixture
def split_labels(tmp_path) -> Path:
    path = tmp_path / "split.csv"
    lines = [f"{image},{split},{cells}\n" for image, cells, split in ROWS]
    path.write_text("image,split,cat,dog,cow\n" + "".join(lines))
    return path


def answer(capsys, *arguments: object) -> dict:
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def complaint(capsys, *arguments: object) -> str:
    assert main([*map(str, arguments)]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "Traceback" not in streams.err
    return streams.err


def test_masks_all_images_where_there_are_no_splits(labels, tmp_path, capsys):
    out = tmp_path / "new folder" / "masked.csv"
    result = answer(capsys, "mask", labels, out, "--regime", "single_positive", "--seed", "5")
    assert np.array_equal(load_labels(out).table.values, single_positive(TRUTH, 5))
    assert result["split"] == "all"
    assert result["images"] == 4
    assert result["before"] == {"positives": 6, "negatives": 6, "unknowns": 0}
    assert result["after"] == {"positives": 3, "negatives": 0, "unknowns": 9}
    assert (result["format"], result["seed"], result["regime"]) == (
        "csv_wide",
        5,
        "single_positive",
    )


def test_masks_train_and_leaves_test_fully_labeled(split_labels, tmp_path, capsys):
    out = tmp_path / "masked.csv"
    result = answer(capsys, "mask", split_labels, out, "--regime", "single_positive")
    masked = load_labels(out)
    assert np.array_equal(masked.table.values[:3], single_positive(TRUTH[:3], 1200))
    assert np.array_equal(masked.table.values[3], TRUTH[3])
    assert masked.splits["train"].tolist() == [0, 1, 2]
    assert (result["split"], result["left_fully_labeled"]) == ("train", ["test"])
    assert result["images"] == 3


def test_other_splits_by_name(split_labels, tmp_path, capsys):
    arguments = ["mask", split_labels, tmp_path / "masked.csv", "--regime", "single_positive"]
    result = answer(capsys, *arguments, "--split", "all")
    assert (result["images"], result["left_fully_labeled"]) == (4, [])
    result = answer(capsys, *arguments, "--split", "test", "--force")
    assert result["after"] == {"positives": 1, "negatives": 0, "unknowns": 2}
    assert "no split 'val'" in complaint(capsys, *arguments, "--split", "val", "--force")


@pytest.mark.parametrize(
    ("arguments", "after"),
    [
        ("k_positives_m_negatives --positives 1 --negatives all", (3, 6, 3)),
        ("known_proportion --proportion 0.34 --per-image", (None, None, 8)),
        ("known_proportion -p 0", (0, 0, 12)),
        ("positive_proportion -p 1", (6, 0, 6)),
        ("fixed_per_class --count 1", (3, 3, 6)),
        ("false_negatives --proportion 1", (0, 12, 0)),
        ("biased_by_frequency --power -1", (3, 0, 9)),
    ],
)
def test_settings_reach_the_regime(labels, tmp_path, capsys, arguments, after):
    result = answer(capsys, "mask", labels, tmp_path / "o.csv", "--regime", *arguments.split())
    counts = (result["after"][state] for state in ("positives", "negatives", "unknowns"))
    assert all(want in (None, got) for want, got in zip(after, counts, strict=True))


def test_settings_are_stated_in_full(labels, tmp_path, capsys):
    result = answer(
        capsys, "mask", labels, tmp_path / "o.csv", "--regime", "known_proportion", "-p", "0.25"
    )
    settings = {"proportion": 0.25, "per_image": False, "published": False}
    assert result["settings"] == settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--regime two_positives", "unknown regime 'two_positives' — use one of single_positive,"),
        ("--regime single_positive --count 3", "single_positive has no setting 'count'"),
        ("--regime known_proportion -p 1.5", "between 0 and 1"),
        ("--regime known_proportion --proportion much", "--proportion"),
        ("--regime k_positives_m_negatives --positives -2", "positives must be"),
        ("--regime biased_by_size", "needs object boxes"),
        ("--regime single_positive --seed -1", "seed must lie between"),
        ("--regime single_positive --to nonsense", "unknown label format 'nonsense'"),
        ("--regime single_positive --to coco", "coco can only be read"),
        ("--regime single_positive --split train", "no split 'train'"),
        ("", "--regime"),
    ],
)
def test_mistakes_are_one_message_and_leave_nothing_behind(
    labels, tmp_path, capsys, arguments, message
):
    out = tmp_path / "masked.csv"
    assert message in complaint(capsys, "mask", labels, out, *arguments.split())
    assert not out.exists()


def test_does_not_overwrite_unless_forced(labels, tmp_path, capsys):
    out = tmp_path / "masked.csv"
    out.write_text("precious")
    arguments = ["mask", labels, out, "--regime", "single_positive"]
    assert "exists already" in complaint(capsys, *arguments)
    assert out.read_text() == "precious"
    answer(capsys, *arguments, "--force")
    assert load_labels(out).table.positives == 3


def test_never_overwrites_its_source(labels, capsys):
    before = labels.read_text()
    message = complaint(capsys, "mask", labels, labels, "--regime", "single_positive", "--force")
    assert "read from" in message
    assert labels.read_text() == before


@pytest.mark.parametrize(
    ("name", "format"), [("o.csv", "csv_wide"), ("o.jsonl", "jsonl"), ("o.parquet", "parquet")]
)
def test_the_suffix_says_the_format(labels, tmp_path, capsys, name, format):
    result = answer(capsys, "mask", labels, tmp_path / name, "--regime", "single_positive")
    assert result["format"] == format
    assert load_labels(tmp_path / name).format == format


def test_for_people(split_labels, tmp_path, capsys):
    assert (
        main(["mask", str(split_labels), str(tmp_path / "o.csv"), "--regime", "fixed_per_class"])
        == 0
    )
    shown = capsys.readouterr().out
    assert "fixed_per_class, count 100, seed 1200" in shown
    assert "masked: train, 3 images; left fully labeled: test" in shown
    assert "positives" in shown


def test_help_lists_all_regimes(capsys):
    assert main(["mask", "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    assert all(name in shown for name in REGIMES)


@pytest.mark.slow
@pytest.mark.voc
def test_voc_single_positives_are_the_published_ones(tmp_path, capsys):
    devkit = VOC / "VOCdevkit" / "VOC2012"
    if not devkit.is_dir():
        pytest.skip("needs ../shared/data/voc2012")
    out = tmp_path / "masked.csv"
    result = answer(capsys, "mask", devkit, out, "--regime", "single_positive", "--split", "all")
    assert result["before"]["positives"] == 8_331 + 8_351
    masked = load_labels(out)
    for split in ("train", "val"):
        table = masked.split(split)
        published = np.load(VOC / "mlspl" / f"formatted_{split}_labels_obs.npy")
        assert np.array_equal(table.values == 1, published == 1)
        assert not (table.values == 0).any()
