"""Decisions back into labels: nothing a person said is lost, nothing else in the file changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.labels.applying import AFTER, DECISIONS, apply, labels, reviewed
from tests.labels.photo_files import packet, photo
from tests.labels.workbooks import xlsx
from tests.train.given import write_given_features

from tagfill.cli.main import main
from tagfill.labels.beside import REJECTED
from tagfill.labels.formats import formats
from tagfill.labels.io import load_labels

TABLES = {
    "wide": (
        "Photo;cat;Rating;dog;Note\r\na.jpg;x;5;;hi\r\nb.jpg;;4;X;\r\nc.jpg;x;1;;\r\n",
        "Photo;cat;Rating;dog;Note\r\na.jpg;x;5;x;hi\r\nb.jpg;no;4;X;\r\nc.jpg;x;1;;\r\n",
    ),
    "yes and no": (
        "image,cat,dog\na.jpg,yes,\nb.jpg,,Yes\nc.jpg,yes,\n",
        "image,cat,dog\na.jpg,yes,yes\nb.jpg,no,Yes\nc.jpg,yes,\n",
    ),
    "tags": (
        'Title,File,Keywords\nMine,a.jpg,"cat, sky"\n,b.jpg,dog\n"A, B",c.jpg,CAT\n',
        'Title,File,Keywords\nMine,a.jpg,"cat, sky, dog"\n,b.jpg,dog\n"A, B",c.jpg,CAT\n',
    ),
    "long": (
        "image,label,value,who\na.jpg,cat,1,me\nb.jpg,dog,1,\nc.jpg,cat,1,\n",
        "image,label,value,who\na.jpg,cat,1,me\nb.jpg,dog,1,\nc.jpg,cat,1,\na.jpg,dog,1,\n"
        "b.jpg,cat,0,\n",
    ),
    "long without values": (
        "image,label\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n",
        "image,label\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\na.jpg,dog\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), TABLES.values(), ids=TABLES)
def test_tables_keep_everything_else(tmp_path: Path, before: str, after: str) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_bytes(before.encode())
    result = apply(tmp_path, data, out)
    assert out.read_bytes().decode() == after
    assert {**labels(out)} == {**labels(data), **AFTER}
    assert result["changed"] == 2
    assert result["not_held"] == []
    assert result["changes"] == [
        {"image": "a.jpg", "tag": "dog", "from": -1, "to": 1},
        {"image": "b.jpg", "tag": "cat", "from": -1, "to": 0},
    ]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_encodings_are_kept(tmp_path: Path, encoding: str) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_bytes("Datei;Schlagwörter\na.jpg;cat\nb.jpg;dog\nc.jpg;cat\n".encode(encoding))
    apply(tmp_path, data, out)
    assert out.read_bytes().decode(encoding).startswith("Datei;Schlagwörter\na.jpg;cat, dog\n")
    assert labels(out) == AFTER


def test_spreadsheets_become_csv_of_the_same_columns(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.xlsx", tmp_path / "new.csv"
    rows: list[list[object]] = [["Bild", "Titel", "Tags"], ["a.jpg", "A", "cat"]]
    data.write_bytes(xlsx([*rows, ["b.jpg", "B", "dog"], ["c.jpg", None, "cat"]]))
    apply(tmp_path, data, out)
    assert out.read_text() == "Bild,Titel,Tags\na.jpg,A,cat;dog\nb.jpg,B,dog\nc.jpg,,cat\n"
    assert labels(out) == AFTER


JSON_LINES = {
    "tags": [
        {"file_name": "a.jpg", "tags": ["cat"], "n": 1},
        {"file_name": "b.jpg", "tags": ["dog"]},
    ],
    "values": [
        {"file_name": "a.jpg", "labels": {"cat": 1}},
        {"file_name": "b.jpg", "labels": {"dog": True}},
    ],
    "keys": [{"file_name": "a.jpg", "cat": 1, "note": "x"}, {"file_name": "b.jpg", "dog": 1}],
    "own": [
        {"file_name": "a.jpg", "positives": ["cat"], "negatives": []},
        {"file_name": "b.jpg", "positives": ["dog"], "negatives": []},
    ],
}


@pytest.mark.parametrize("lines", JSON_LINES.values(), ids=JSON_LINES)
def test_json_lines_keep_their_shape(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    data, out = tmp_path / "labels.jsonl", tmp_path / "new.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    apply(tmp_path, data, out, decisions=DECISIONS.replace("c.jpg,dog,0.7,\n", ""))
    assert labels(out) == {k: v for k, v in AFTER.items() if k[0] != "c.jpg"}
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert set(written[0]) >= set(lines[0])
    assert all(written[0][key] == lines[0][key] for key in ("n", "note") if key in lines[0])


def source(name: str, folder: Path) -> Path:
    """The labels BEFORE in a format."""
    photos = folder / "photos"
    for image in ("a.jpg", "b.jpg", "c.jpg"):
        photo(photos / image)
    table = folder / "table.csv"
    table.write_text("image,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    if name == "xmp":
        for image, tag in (("a.jpg", "cat"), ("b.jpg", "dog"), ("c.jpg", "cat")):
            photo(photos / image, packet(tag))
        return photos
    path = folder / f"source-{name}"
    arguments = ["convert", str(table), str(path), "--to", name, "--images", str(photos)]
    assert main(arguments) == 0
    return path


WRITABLE = [name for name, known in formats().items() if known.write]


@pytest.mark.parametrize("name", [*WRITABLE, "xmp"])
def test_a_no_survives_in_every_format(tmp_path: Path, name: str) -> None:
    data = source(name, tmp_path)
    out = [] if name == "xmp" else [tmp_path / "out"]
    decisions = DECISIONS
    if name == "image_folder":
        decisions = "image,tag,decision\ncat/a.jpg,dog,no\n"
    apply(tmp_path, data, *out, "--to", name, decisions=decisions)
    again = load_labels(data if name == "xmp" else tmp_path / "out")
    assert again.table.negatives == 1
    row, column = np.argwhere(again.table.values == 0)[0]
    expected = ("a.jpg", "dog") if name == "image_folder" else ("b.jpg", "cat")
    assert (again.table.images[row][-5:], again.table.classes[column]) == expected


def test_rejections_stay_when_a_person_adds_the_tag_after_all(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_text("image,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    apply(tmp_path, data, out)
    out.write_text(out.read_text().replace("b.jpg,dog", "b.jpg,dog;cat"))
    dataset = load_labels(out)
    assert dataset.table.negatives == 0
    assert any("rejected earlier" in problem.message for problem in dataset.problems)


@pytest.mark.parametrize("shape", sorted(TABLES))
def test_what_a_review_answered_is_recorded_and_adds_up(shape: str, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(TABLES[shape][0])
    assert load_labels(tmp_path / "labels.csv").table.reviewed is None
    apply(tmp_path, tmp_path / "labels.csv", tmp_path / "first.csv")
    answers = {("a.jpg", "dog"), ("b.jpg", "cat")}
    assert reviewed(tmp_path / "first.csv") == answers
    more = "image,tag,decision\nc.jpg,dog,yes\n"
    apply(tmp_path, tmp_path / "first.csv", tmp_path / "second.csv", decisions=more)
    assert reviewed(tmp_path / "second.csv") == answers | {("c.jpg", "dog")}


def test_an_answer_that_the_labels_no_longer_have_is_not_reviewed(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(TABLES["wide"][0])
    apply(tmp_path, tmp_path / "labels.csv", tmp_path / "out.csv")
    (tmp_path / "out.csv").write_text(TABLES["wide"][0])
    assert reviewed(tmp_path / "out.csv") == set()


def test_what_lies_beside_a_folder_is_found_from_inside_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "cat").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "data")
    for inside, place in ((".", "data"), ("..", "."), ("cat", "data/cat")):
        folder = (tmp_path / place).resolve()
        assert REJECTED.path(Path(inside)).resolve() == Path(f"{folder}.rejected.csv")
    write_given_features(tmp_path / "data", train=4, test=2)
    assert len(load_labels(Path()).table) == 6


def test_parquet_keeps_other_columns(tmp_path: Path) -> None:
    columns = {
        "image": ["a.jpg", "b.jpg", "c.jpg"],
        "cat": pa.array([1, None, 1], pa.int64()),
        "title": ["A", "B", None],
        "dog": [None, True, None],
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "labels.parquet")
    apply(tmp_path, tmp_path / "labels.parquet", tmp_path / "new.parquet")
    assert labels(tmp_path / "new.parquet") == AFTER
    table = pa.parquet.read_table(tmp_path / "new.parquet")
    assert table.column_names == list(columns)
    assert table.column("title").to_pylist() == ["A", "B", None]
    lists = {"image": columns["image"], "tags": [["cat"], ["dog"], ["cat"]]}
    pa.parquet.write_table(pa.table(lists), tmp_path / "lists.parquet")
    apply(tmp_path, tmp_path / "lists.parquet", tmp_path / "lists2.parquet")
    assert labels(tmp_path / "lists2.parquet") == AFTER


def test_label_studio_tasks_keep_their_data(tmp_path: Path) -> None:
    def task(number: int, image: str, tag: str) -> dict[str, Any]:
        result = [{"from_name": "tags", "value": {"choices": [tag]}}]
        data = {"image": f"/data/upload/1/8f3ab2c1-{image}", "author": "me"}
        return {"id": number, "data": data, "annotations": [{"id": 7, "result": result}]}

    tasks = [task(1, "a.jpg", "cat"), task(2, "b.jpg", "dog"), task(3, "c.jpg", "cat")]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    apply(tmp_path, tmp_path / "tasks.json", tmp_path / "new.json")
    assert labels(tmp_path / "new.json") == AFTER
    written = json.loads((tmp_path / "new.json").read_text())
    assert [task["data"] for task in written] == [task["data"] for task in tasks]
    assert written[2] == tasks[2]


def test_letters_the_old_encoding_lacks(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_bytes("Datei;Tags\na.jpg;Löwe\nb.jpg;dog\n".encode("cp1252"))
    decisions = "image,tag,decision\na.jpg,猫,yes\n"
    (tmp_path / "aliases.toml").write_text('"dog" = "猫"\n')
    apply(tmp_path, data, out, "--aliases", tmp_path / "aliases.toml", decisions=decisions)
    assert "猫" in out.read_text(encoding="utf-8-sig")


def test_titles_above_the_header_stay(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_text("My photos,\nimage,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    apply(tmp_path, data, out)
    assert out.read_text().startswith("My photos,\nimage,tags\na.jpg,cat;dog\n")
    assert labels(out) == AFTER
