from __future__ import annotations

import csv
import io
import json
import os
import shutil
import threading

import numpy as np
import pytest
from pyarrow import parquet
from tests.predict.tiny import CLASSES, by_hand, feature_bundle, image_bundle, pictures

from tagfill.cli.main import main
from tagfill.console import unquote_name
from tagfill.evaluate import load_scores
from tagfill.images import read_ahead
from tagfill.labels import LabelTable


@pytest.fixture
def model(tmp_path):
    return str(image_bundle().save(tmp_path / "run" / "model").parent)


@pytest.fixture
def photos(tmp_path):
    pictures(tmp_path / "photos")
    return tmp_path / "photos"


def records(capsys) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_folder_with_subfolders_in_order(model, photos, capsys):
    assert main(["predict", model, str(photos), "--format", "jsonl", "--batch-size", "2"]) == 0
    written = records(capsys)
    names = ["a.jpg", "b.PNG", "c.jpg", "d.jpg", "sub/e.webp"]
    assert [record["image"] for record in written] == [str(photos / name) for name in names]
    bundle = image_bundle()
    expected = by_hand(bundle, [photos / name for name in names])
    for record, row in zip(written, expected, strict=True):
        for tag, value in record["tags"].items():
            assert value == pytest.approx(row[CLASSES.index(tag)], abs=1e-4)
            assert value >= bundle.thresholds[CLASSES.index(tag)]


def test_patterns_and_names_on_standard_input(model, photos, capsys, monkeypatch):
    main(["predict", model, str(photos / "**/*.jpg"), "--format", "jsonl"])
    assert len(records(capsys)) == 3
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{photos / 'c.jpg'}\n\n{photos / 'a.jpg'}\n"))
    assert main(["predict", model, "-", "--format", "jsonl"]) == 0
    assert [record["image"][-5:] for record in records(capsys)] == ["c.jpg", "a.jpg"]


def test_what_cannot_be_read_is_named_and_skipped_with_exit_code_1(model, photos, capsys):
    (photos / "broken.jpg").write_bytes(b"no picture")
    places = [str(photos), str(photos / "gone.jpg"), str(photos / "*.tiff")]
    assert main(["predict", model, *places, "--json"]) == 1
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["images"] == len(result["predictions"]) == 5
    named = {entry["image"]: entry["reason"] for entry in result["unreadable"]}
    assert named == {
        str(photos / "broken.jpg"): "is not an image of a known kind",
        str(photos / "gone.jpg"): "no such file",
        str(photos / "*.tiff"): "no file matches this pattern",
    }
    assert all(name in err for name in named)
    assert "5 images, 3 skipped" in err


@pytest.mark.parametrize(
    ("place", "reason"), [("empty", "there is no image file"), ("nowhere", "no such file")]
)
def test_nothing_to_read_is_a_mistake(place, reason, model, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["predict", model, str(tmp_path / place)]) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert "none of the images can be read" in told


def test_people_get_one_line_an_image(model, photos, capsys):
    assert main(["predict", model, str(photos / "a.jpg"), "--top", "2"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(str(photos / "a.jpg"))
    assert line.count(",") == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_score_files_are_what_evaluate_reads(model, photos, tmp_path, suffix):
    out = tmp_path / f"scores.{suffix}"
    assert main(["predict", model, str(photos), "--out", str(out), "--quiet"]) == 0
    names = [str(path) for path in sorted(photos.rglob("*.*"))]
    table = LabelTable(tuple(names), CLASSES, np.zeros((5, 3)))
    expected = by_hand(image_bundle(), [photos / name for name in names])
    np.testing.assert_allclose(load_scores(out, table).scores, expected, atol=1e-4)
    if suffix == "csv":
        tags = [row["tags"].split(";") for row in csv.DictReader(out.open())]
    else:
        tags = parquet.read_table(out)["tags"].to_pylist()
    assert [[t for t in names_of_row if t] for names_of_row in tags] == [
        list(prediction.tags) for prediction in image_bundle().predict(names)
    ]


def test_out_is_not_overwritten_unless_forced(model, photos, tmp_path, capsys):
    out = tmp_path / "tags.json"
    arguments = ["predict", model, str(photos), "--out", str(out)]
    assert main(arguments) == 0
    assert json.loads(out.read_text())["images"] == 5
    assert main(arguments) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0


def test_features_in_files(tmp_path, capsys):
    model = str(feature_bundle().save(tmp_path / "model"))
    features = np.random.default_rng(0).normal(size=(5, 5)).astype(np.float16)
    np.save(tmp_path / "x.npy", features)
    np.save(tmp_path / "y.npy", features[:, :4])
    assert main(["predict", model, str(tmp_path), "--format", "jsonl", "--threshold", "0"]) == 1
    out, err = capsys.readouterr()
    written = [json.loads(line) for line in out.splitlines()]
    assert [record["image"] for record in written] == [
        f"{tmp_path / 'x.npy'}#{n}" for n in range(5)
    ]
    expected = feature_bundle().predict(features.astype(np.float32), threshold=0.0)
    assert written[2]["tags"] == pytest.approx(expected[2].tags, abs=1e-4)
    assert "shape [images, 5]" in err


def test_images_for_a_model_of_features_are_a_clear_error(photos, tmp_path, capsys):
    model = str(feature_bundle().save(tmp_path / "model"))
    assert main(["predict", model, str(photos / "a.jpg")]) == 2
    assert "trained on given features and cannot read images" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give image files"),
        (["x.jpg", "--treshold", "0.5"], "unknown option --treshold"),
        (["x.jpg", "--format", "parquet"], "parquet is not text"),
        (["x.jpg", "--out", "tags.xyz"], "does not determine the format"),
        (["x.jpg", "--workers", "0"], "must be at least 1"),
        (["x.jpg", "--workers", "9" * 20], "at most 1,024"),
        (["x.jpg", "--batch-size", "9" * 20], "at most 65,536"),
        (["x.jpg", "--top", "0"], "at least 1"),
    ],
)
def test_mistakes(model, arguments, message, capsys):
    assert main(["predict", model, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_reading_ahead_holds_few_items_and_keeps_the_order():
    lock, taken, handed, most = threading.Lock(), 0, 0, 0

    def items():
        nonlocal taken, most
        for number in range(500):
            with lock:
                taken += 1
                most = max(most, taken - handed)
            yield number

    for expected, doubled in enumerate(read_ahead(lambda n: n * 2, items(), workers=3, ahead=8)):
        assert doubled == expected * 2
        handed += 1
    assert handed == 500
    assert most <= 10


@pytest.mark.parametrize("format", ["table", "json", "jsonl", "csv", "parquet"])
def test_odd_files_neither_stop_nor_block_it(format, model, photos, tmp_path, capsys):
    odd = os.fsdecode(os.fsencode(photos) + b"/caf\xe9.png")
    shutil.copy(photos / "b.PNG", odd)
    os.mkfifo(photos / "pipe.jpg")
    (photos / "empty.jpg").touch()
    out = tmp_path / f"out.{format}"
    words = ["predict", model, str(photos), "--format", format, "--out", str(out)]
    assert main(words) == 1
    err = capsys.readouterr().err
    assert "pipe.jpg: is not a regular file" in err
    assert "empty.jpg" in err
    written = out.read_bytes()
    assert b"caf" in written
    if format in ("jsonl", "csv"):
        written.decode("utf-8")
        assert len(written.splitlines()) == 6 + (format == "csv")
    if format == "jsonl":
        names = [unquote_name(json.loads(line)["image"]) for line in written.splitlines()]
        assert odd in names


def test_names_on_standard_input_need_not_be_utf8(model, photos, monkeypatch, capsys):
    odd = os.fsencode(photos) + b"/caf\xe9.png"
    shutil.copy(photos / "b.PNG", odd)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(odd + b"\n"), "utf-8"))
    assert main(["predict", model, "-", "--format", "jsonl"]) == 0
    assert unquote_name(records(capsys)[0]["image"]) == os.fsdecode(odd)
