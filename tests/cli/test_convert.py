"""`tagfill convert` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tagfill import load_labels
from tagfill.cli.main import main

LABELS = (
    "image,split,cat,dog\n"
    "a.jpg,train,1,\n"
    "sub/b ü.jpg,train,0,0\n"
    "c.jpg,train,,\n"
    "d.jpg,test,0,1\n"
    "e.jpg,,1,1\n"
)


@pytest.fixture
def labels(tmp_path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_text(LABELS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("format", "name"), [("jsonl", "o.jsonl"), ("parquet", "o.parquet"), ("csv_wide", "o.csv")]
)
def test_there_and_back_loses_nothing(labels, tmp_path, capsys, format, name):
    there, back = tmp_path / "new" / name, tmp_path / "back.csv"
    assert main(["convert", str(labels), str(there), "--to", format]) == 0
    assert main(["convert", str(there), str(back), "--to", "csv_wide", "--from", format]) == 0
    assert "not written" not in capsys.readouterr().err
    first, second = load_labels(labels), load_labels(back)
    assert first.table == second.table
    assert {name: rows.tolist() for name, rows in first.splits.items()} == {
        name: rows.tolist() for name, rows in second.splits.items()
    }


def test_says_what_the_target_cannot_hold(tmp_path, capsys):
    full = tmp_path / "full.csv"
    full.write_text("image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nc.jpg,1,1\n")
    arguments = ["convert", str(full), str(tmp_path / "tags.csv"), "--to", "tag_list"]
    assert main(arguments) == 0
    assert "not written: 2 negatives" in capsys.readouterr().err
    assert main([*arguments, "--force", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert any("negatives" in sentence for sentence in result["not_held"])
    assert (result["images"], result["classes"]) == (3, 2)
    assert (result["positives"], result["negatives"], result["unknowns"]) == (4, 2, 0)
    assert (result["format"], result["to"]) == ("csv_wide", "tag_list")


def test_single_negatives_are_kept_beside_a_list_of_tags(labels, tmp_path, capsys):
    tags = tmp_path / "tags.csv"
    assert main(["convert", str(labels), str(tags), "--to", "tag_list"]) == 0
    assert "not written" not in capsys.readouterr().err
    assert load_labels(tags).table.negatives == load_labels(labels).table.negatives == 3


def test_absence_is_the_users_choice(tmp_path, capsys):
    tags = tmp_path / "tags.csv"
    tags.write_text('image,tags\na.jpg,"cat;dog"\nb.jpg,cow\n')
    for absent, expected in (("unknown", 0), ("negative", 3)):
        out = tmp_path / f"{absent}.csv"
        arguments = ["convert", str(tags), str(out), "--to", "csv_wide", "--absent", absent]
        assert main([*arguments, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["negatives"] == expected
        assert load_labels(out).table.negatives == expected


def test_refuses_to_overwrite(labels, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    arguments = ["convert", str(labels), str(out), "--to", "jsonl"]
    assert main(arguments) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_text() == "precious"
    assert main([*arguments, "--force"]) == 0
    assert len(load_labels(out).table) == 5


def test_never_overwrites_its_source(labels, capsys):
    assert main(["convert", str(labels), str(labels), "--to", "csv_long", "--force"]) == 2
    assert "read from" in capsys.readouterr().err
    assert labels.read_text(encoding="utf-8") == LABELS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "o.csv", "--to", "csv_wide"], "missing.csv: no such file or folder"),
        (["labels.csv", "o.csv", "--to", "voc"], "voc can only be read — write one of"),
        (["labels.csv", "o.csv", "--to", "xls"], "unknown label format 'xls'"),
        (
            ["labels.csv", "o.csv", "--to", "exel"],
            "did you mean csv_wide? use one of csv_long, csv",
        ),
        (["missing.csv", "o.csv", "--to", "jsnl"], "did you mean jsonl? use one of"),
        (["labels.csv", "o.csv", "--to", "jsonl", "--from", "xls"], "unknown label format 'xls'"),
        (["labels.csv", "o.csv"], "--to"),
        (["labels.csv", "o.csv", "--to", "jsonl", "--absent", "maybe"], "--absent"),
        (["labels.csv", "o.csv", "--to", "jsonl", "--images", "nowhere"], "no such image folder"),
        (["labels.csv", "labels.csv/o.csv", "--to", "csv_wide"], "labels.csv"),
        (["labels.csv", "o.csv", "--to", "jsonl", "--classes", "nowhere"], "nowhere: no such file"),
    ],
)
def test_mistakes_are_one_message(labels, tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["convert", *arguments]) == 2
    streams = capsys.readouterr()
    assert message in streams.err
    assert streams.out == ""
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "no class name"), (b"cat\n\ncat\n", "row 1 too"), (b"caf\xe9", "not text in UTF-8")],
)
def test_class_lists_are_checked(labels, tmp_path, capsys, content, message):
    classes = tmp_path / "classes.txt"
    classes.write_bytes(content)
    out = str(tmp_path / "o.csv")
    assert main(["convert", str(labels), out, "--to", "csv_wide", "--classes", str(classes)]) == 2
    assert message in capsys.readouterr().err


def test_class_list_orders_and_adds_classes(tmp_path):
    tags, classes, out = (tmp_path / name for name in ("tags.csv", "classes.txt", "o.csv"))
    tags.write_text("image,tags\na.jpg,cat\n")
    classes.write_bytes("\ufeffdog\r\ncat\r\n".encode())
    arguments = ["convert", str(tags), str(out), "--to", "csv_wide", "--classes", str(classes)]
    assert main(arguments) == 0
    assert load_labels(out).table.classes == ("dog", "cat")
