"""Changed labels, written in the shape of the file they came from."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from tests.labels.reading import known, read

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    ("before", "after"),
    [("#cat", "#cat #dog"), ("none", "dog"), ("#cat #sea", "#cat #sea #dog"), ("cat", "cat;dog")],
)
def test_confirmed_tags_fit_the_entry(before: str, after: str, tmp_path: Path) -> None:
    labels, answers, out = (tmp_path / name for name in ("l.csv", "s.csv", "o.csv"))
    labels.write_text(f"image,tags\na.jpg,{before}\nb.jpg,dog;sea\n")
    answers.write_text("image,tag,decision\na.jpg,dog,yes\n")
    assert main(["apply", str(answers), str(labels), str(out), "--json"]) == 0
    assert out.read_text().splitlines()[1] == f"a.jpg,{after}"
    expected = known(load_labels(labels))
    expected["a.jpg"]["dog"] = 1
    assert known(load_labels(out)) == expected


@pytest.mark.parametrize("header", ["image;rejected tag\r\n", ""])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_rejections_that_a_spreadsheet_saved_are_kept(
    header: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na.jpg,cat\nb.jpg,Bär\nc.jpg,cat;Bär\n", encoding="utf-8")
    rejected = tmp_path / "l.csv.rejected.csv"
    rejected.write_bytes(f"{header}a.jpg;Bär\r\nb.jpg;cat\r\n;\r\n".encode(encoding))
    assert known(load_labels(path))["a.jpg"] == {"cat": 1, "Bär": 0}
    assert known(load_labels(path))["b.jpg"] == {"cat": 0, "Bär": 1}


def test_labels_of_a_table_without_header_are_changed(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("a.jpg,1,0\nb.jpg,1\nc.jpg,,1\n")
    options = ReadOptions(classes=("cat", "dog"))
    dataset = load_labels(tmp_path / "l.csv", options=options)
    values = dataset.table.values.copy()
    values[1, 1] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", options)
    assert (tmp_path / "o.csv").read_text() == "a.jpg,1,0\nb.jpg,1,0\nc.jpg,,1\n"


def test_a_no_to_a_counted_tag_removes_it(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,tags\na.jpg,cat (2);dog (1)\nb.jpg,dog (3)\n")
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("dog")] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "a.jpg,cat (2)"


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_a_class_called_split_is_changed(name: str, tmp_path: Path) -> None:
    columns = {"image": ["a.jpg", "b.jpg"], "cat": [1, 0], "split": [1, 0]}
    if name == "l.csv":
        (tmp_path / name).write_text("image,cat,split\na.jpg,1,1\nb.jpg,0,0\n")
    else:
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / name)
    dataset = load_labels(tmp_path / name)
    out = tmp_path / f"o{name}"
    save_changes(dataset, dataset.table.with_values([[1, 0], [0, 1]]), out, ReadOptions())
    assert known(load_labels(out)) == {
        "a.jpg": {"cat": 1, "split": 0},
        "b.jpg": {"cat": 0, "split": 1},
    }


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_edits_of_listed_classes_without_a_column(name: str, tmp_path: Path) -> None:
    file, out = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    options = ReadOptions(classes=("dog", "eel", "cat"))
    if name == "labels.csv":
        file.write_text("image,cat,dog\na.jpg,1,0\nb.jpg,0,1\n")
    else:
        columns = {"image": ["a.jpg", "b.jpg"], "cat": [1, 0], "dog": [0, 1]}
        pyarrow.parquet.write_table(pyarrow.table(columns), file)
    dataset = load_labels(file, options=options)
    save_changes(dataset, dataset.table.with_values([[0, 1, 1], [1, -1, 0]]), out, options)
    edited = load_labels(out).table
    assert edited.classes == ("cat", "dog", "eel")
    assert edited.values.tolist() == [[1, 0, 1], [0, 1, -1]]


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.parquet", "tasks.json"])
def test_edits_of_images_whose_ids_were_respelled(name: str, tmp_path: Path) -> None:
    file, images = tmp_path / name, [r".\photos\a.jpg", "photos//b.jpg"]
    if name == "labels.parquet":
        table = pyarrow.table({"image": images, "cat": [1, 0], "dog": [0, None]})
        pyarrow.parquet.write_table(table, file)
    elif name == "labels.jsonl":
        lines = [
            {"file_name": image, "positives": ["cat"], "negatives": ["dog"]} for image in images
        ]
        file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    else:
        result = [{"from_name": "tags", "type": "choices", "value": {"choices": ["cat", "dog"]}}]
        file.write_text(
            json.dumps(
                [{"data": {"image": i}, "annotations": [{"result": result}]} for i in images]
            )
        )
    dataset = load_labels(file)
    assert dataset.table.images == ("photos/a.jpg", "photos/b.jpg")
    out = tmp_path / f"out{file.suffix}"
    save_changes(dataset, dataset.table.with_values([[0, 1], [1, 0]]), out, ReadOptions())
    edited = load_labels(out).table.with_classes(dataset.table.classes)
    assert edited.values.tolist() == [[0, 1], [1, 0]]


def test_json_with_half_a_letter_is_written_again(tmp_path: Path) -> None:
    task = {"image": "/data/upload/1/8f3ab2c1-a.jpg", "annotator": "\ud800", "tags": ["cat"]}
    (tmp_path / "l.json").write_text(json.dumps([task]))
    dataset = load_labels(tmp_path / "l.json")
    save_changes(dataset, dataset.table.with_values([[0]]), tmp_path / "o.json", ReadOptions())
    assert known(load_labels(tmp_path / "o.json")) == {"a.jpg": {"cat": 0}}


def test_a_class_without_any_label_is_changed_in_parquet(tmp_path: Path) -> None:
    columns = {"image": ["a.jpg", "b.jpg"], "cat": [1, 0], "dog": [None, None]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "l.parquet")
    dataset = load_labels(tmp_path / "l.parquet")
    out = tmp_path / "o.parquet"
    save_changes(dataset, dataset.table.with_values([[1, 1], [0, -1]]), out, ReadOptions())
    assert known(load_labels(out)) == {"a.jpg": {"cat": 1, "dog": 1}, "b.jpg": {"cat": 0}}


def test_edits_of_parquet_with_an_image_in_two_rows(tmp_path: Path) -> None:
    file, out = tmp_path / "labels.parquet", tmp_path / "out.parquet"
    columns = {"image": ["a.jpg", "b.jpg", "a.jpg"], "cat": [1, 1, None], "dog": [None, 0, 1]}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    dataset = load_labels(file)
    save_changes(dataset, dataset.table.with_values([[0, 1], [1, 0]]), out, ReadOptions())
    assert load_labels(out).table.values.tolist() == [[0, 1], [1, 0]]


def test_parquet_with_one_row_per_statement_is_not_edited(tmp_path: Path) -> None:
    file, out = tmp_path / "labels.parquet", tmp_path / "out.parquet"
    columns = {"image": ["a.jpg", "a.jpg", "b.jpg"], "label": ["cat", "dog", "cat"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    dataset = load_labels(file)
    with pytest.raises(TagfillError, match=r"one row per statement .*--to csv_wide"):
        save_changes(dataset, dataset.table.with_values([[1, 1], [1, 1]]), out, ReadOptions())
    assert not out.exists()
