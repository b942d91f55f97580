"""`tagfill inspect` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagfill.cli.main import main

VOC = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012"

LABELS = (
    "image,split,cat,dog [small],cow\n"
    "a.jpg,train,1,1,0\n"
    "b.jpg,train,1,,0\n"
    "c.jpg,test,0,0,0\n"
    "d.jpg,test,,,\n"
)


@pytest.fixture
def labels(tmp_path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(LABELS)
    return path


def inspect(capsys, *arguments: object, code: int = 0) -> dict:
    assert main(["inspect", *map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_figures(labels, capsys):
    summary = inspect(capsys, labels)
    assert (summary["images"], summary["classes"]) == (4, 3)
    assert summary["class_names"] == ["cat", "dog [small]", "cow"]
    assert (summary["positives"], summary["negatives"], summary["unknowns"]) == (3, 5, 4)
    assert summary["regime"] == "partial"
    assert (summary["confirmed_none"], summary["no_known_label"]) == (1, 1)
    assert summary["per_class"][0] == {
        "class": "cat",
        "positives": 2,
        "negatives": 1,
        "unknowns": 1,
    }
    assert summary["labels_per_image"] == [2, 1, 1]
    assert summary["co_occurrence"] == [{"classes": ["cat", "dog [small]"], "images": 1}]
    train = summary["splits"]["train"]
    assert (train["images"], train["positives"], train["regime"]) == (2, 3, "partial")
    assert summary["format"] == "csv_wide"


def test_regime_of_each_split(tmp_path, capsys):
    path = tmp_path / "labels.csv"
    path.write_text("image,split,cat,dog\na,train,1,\nb,train,,1\nc,test,0,1\n")
    summary = inspect(capsys, path)
    assert summary["regime"] == "partial"
    assert summary["splits"]["train"]["regime"] == "single_positive"
    assert summary["splits"]["test"]["regime"] == "full"


def test_class_without_positive_is_reported(labels, capsys):
    summary = inspect(capsys, labels)
    assert summary["classes_without_positive"] == ["cow"]
    assert summary["classes_without_negative"] == []
    (problem,) = summary["problems"]
    assert problem["severity"] == "warning"
    assert "no positive: 'cow'" in problem["message"]
    assert problem["file"] == str(labels)


def test_absence_is_the_users_choice(tmp_path, capsys):
    path = tmp_path / "tags.csv"
    path.write_text('image,tags\na.jpg,cat\nb.jpg,"dog"\n')
    unknown = inspect(capsys, path, "--absent", "unknown")
    assert (unknown["regime"], unknown["negatives"]) == ("single_positive", 0)
    negative = inspect(capsys, path, "--absent", "negative")
    assert (negative["regime"], negative["negatives"]) == ("full", 2)
    assert any("--absent unknown" in note for note in negative["notes"])


def test_image_files(labels, tmp_path, capsys):
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.new("RGB", (8, 6), "red").save(folder / "a.jpg")
    Image.new("RGB", (8, 6), "red").save(folder / "b.JPG")
    (folder / "c.jpg").write_bytes(b"not an image")
    summary = inspect(capsys, labels, "--images", folder)
    files = summary["image_files"]
    assert files["missing"] == ["d.jpg"]
    assert files["unreadable"] == ["c.jpg"]
    assert files["duplicates"] == [["a.jpg", "b.jpg"]]
    assert files["largest"] == [8, 6]
    messages = [problem["message"] for problem in summary["problems"]]
    assert "missing image" in messages
    assert "2 images are identical: a.jpg, b.jpg" in messages


def test_implied_folders_are_searched_but_not_read(labels, tmp_path, capsys):
    for name in "abc":
        (tmp_path / f"{name}.jpg").write_bytes(b"not an image")
    summary = inspect(capsys, labels)
    assert summary["image_files"]["opened"] is False
    assert summary["image_files"]["missing"] == ["d.jpg"]
    assert main(["inspect", str(labels)]) == 0
    shown = capsys.readouterr().out
    assert "1 missing" in shown
    assert "unreadable" not in shown


def test_for_people(labels, capsys):
    assert main(["inspect", str(labels)]) == 0
    shown = capsys.readouterr().out
    for expected in (
        "4 images x 3 classes, regime: partial",
        "3 positives (25.0 %)",
        "dog [small]",
        "positives in an image: 0 in 2, 1 in 1, 2 in 1 images",
        "often together: cat + dog [small] 1",
        "warning: ",
        "images confirmed to have none of the classes: 1, with no known label: 1",
    ):
        assert expected in shown


def test_many_classes_problems_and_bins_are_cut_short_for_people(tmp_path, capsys):
    path = tmp_path / "labels.csv"
    names = [f"class{number}" for number in range(100)]
    rows = [f"{n}.jpg," + ",".join("1" if k < n else "0" for k in range(100)) for n in range(30)]
    path.write_text("\n".join([f"image,{','.join(names)}", *rows]))
    Image.new("RGB", (8, 6)).save(tmp_path / "0.jpg")
    assert main(["inspect", str(path), "--images", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "... and 60 rarer classes" in shown
    assert "... and 10 more; --json lists them all" in shown
    assert "... up to 29 images" in shown


@pytest.mark.parametrize(
    ("content", "row", "message"),
    [
        (b"image,cat\na.jpg,1\nb.jpg,often\n", 3, "often"),
        (b"image,cat\na.jpg,1\na.jpg,0\n", 3, "a.jpg"),
        (b"image,cat\na.jpg,1\n../b.jpg,1\n", 3, "../b.jpg"),
        (b"image,cat\n\xc3\xa9.jpg,1\nb\xe9.jpg,1\n", 3, "UTF-8"),
        (b"", None, ""),
        (b"image\na.jpg\n", None, ""),
        (b"image,cat\n", None, ""),
    ],
)
def test_unusable_labels(tmp_path, capsys, content, row, message):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    summary = inspect(capsys, path, code=2)
    assert summary["usable"] is False
    errors = [problem for problem in summary["problems"] if problem["severity"] == "error"]
    assert errors
    assert any(problem["row"] == row and message in problem["message"] for problem in errors)
    assert main(["inspect", str(path)]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("tagfill: ")
    assert str(path) in streams.err
    assert message in streams.err


def test_errors_are_grouped_by_column_with_three_examples(tmp_path, capsys):
    path = tmp_path / "labels.csv"
    good = "".join(f"good{number}.jpg,1\n" for number in range(100))
    bad = "".join(f"{number}.jpg,bad{number}\n" for number in range(30))
    path.write_text("image,cat\n" + good + bad)
    assert main(["inspect", str(path)]) == 2
    shown = capsys.readouterr().err
    assert len(shown.splitlines()) == 3
    assert "30 entries in column 'cat'" in shown
    assert "'bad0' (row 102), 'bad1' (row 103) and 'bad2' (row 104)" in shown


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_marks_and_windows_line_ends_do_not_matter(tmp_path, capsys, newline, mark):
    path = tmp_path / "labels.csv"
    path.write_bytes((mark + LABELS.replace("\n", newline)).encode())
    assert inspect(capsys, path)["class_names"] == ["cat", "dog [small]", "cow"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "nothing.csv: no such file or folder"),
        (["labels.csv", "--format", "xls"], "unknown label format 'xls'"),
        (["labels.csv", "--images", "nowhere"], "nowhere: no such image folder"),
        (["labels.csv", "--difficult", "maybe"], "--difficult"),
        (["labels.csv", "--images", ".", "--workers", "0"], "workers must be at least 1"),
        ([], "DATA"),
    ],
)
def test_mistakes_are_one_message(labels, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["inspect", *arguments]) == 2
    streams = capsys.readouterr()
    assert message in streams.err
    assert streams.out == ""


@pytest.mark.slow
@pytest.mark.voc
def test_voc(capsys):
    if not VOC.is_dir():
        pytest.skip("needs ../shared/data/voc2012")
    summary = inspect(capsys, VOC / "VOCdevkit" / "VOC2012")
    assert summary["classes"] == 20
    train, val = summary["splits"]["train"], summary["splits"]["val"]
    assert (train["images"], train["positives"]) == (5_717, 8_331)
    assert (val["images"], val["positives"]) == (5_823, 8_351)
    assert summary["image_files"]["missing"] == []
    truth = np.load(VOC / "mlspl" / "formatted_train_labels.npy")
    assert train["positives"] == int(truth.sum())
