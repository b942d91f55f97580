"""JSON that lists images: read as meant, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from tests.labels.reading import TAGS, known, read

from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    "document",
    [
        {"by": "me", "images": [{"file": "a.jpg", "tags": ["cat", "dog"]}, {"file": "b.jpg"}]},
        [{"image": 1, "tags": ["cat", "dog", None, ""]}, {"image": 2, "tags": None}],
        [{"id": 1, "url": "http://x.org/a.jpg", "tags": [["cat", "dog"]]}],
        [{"image": {"path": "a.jpg", "bytes": None}, "tags": "cat, dog"}],
        [{"image": "a.jpg", "cat": "yes", "dog": "ja"}, {"image": "b.jpg", "cat": "", "dog": "?"}],
        [{"image": "a.jpg", "labels": [{"name": "cat", "score": 1}, {"name": "dog"}]}],
    ],
    ids=["wrapped", "numbers", "address", "object", "words", "certain"],
)
def test_json_of_other_programs(document: object, tmp_path: Path) -> None:
    dataset = read(tmp_path, json.dumps(document), "l.json")
    assert next(iter(known(dataset).values())) == {"cat": 1, "dog": 1}
    assert set(dataset.table.classes) == {"cat", "dog"}


JSON_LISTS = [
    [{"file": "a.jpg", "labels": [{"name": "cat", "score": 1}, {"name": "dog"}]}],
    [{"file": "a.jpg", "cat": 1, "dog": True, "width": 640}, {"file": "b.jpg", "width": 480}],
    [{"file": "a.jpg", "cat": 1.0, "dog": 1, "sea": float("nan")}],
]


@pytest.mark.parametrize("lines", JSON_LISTS, ids=["objects", "sizes", "not a number"])
def test_json_that_programs_write(lines: list[dict[str, object]], tmp_path: Path) -> None:
    dataset = read(tmp_path, json.dumps(lines), "l.json")
    assert known(dataset)["a.jpg"] == {"cat": 1, "dog": 1}


@pytest.mark.parametrize(
    ("key", "value", "names"),
    [
        ("label", 0, ["0"]),
        ("labels", [0, 2], ["0", "2"]),
        ("Keywords", [2020, "cat"], ["2020", "cat"]),
    ],
)
def test_numbers_in_json_are_names_of_tags(
    key: str, value: object, names: list[str], tmp_path: Path
) -> None:
    """Else the number of a class would be a yes or a no, and exiftool's 2020 an error."""
    lines = [{"file": "a.jpg", key: value}, {"file": "b.jpg", "tags": ["sea"]}]
    dataset = read(tmp_path, json.dumps(lines), "l.json")
    assert sorted(known(dataset)["a.jpg"]) == sorted(names)
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("sea")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.json", ReadOptions())
    assert sorted(known(load_labels(tmp_path / "o.json"))["a.jpg"]) == sorted([*names, "sea"])


def test_json_with_tags_called_classes(tmp_path: Path) -> None:
    """In our own files that key lists all classes; in others it has the tags of an image."""
    lines = [{"image": "a.jpg", "classes": ["cat", "dog"]}, {"image": "b.jpg", "classes": ["dog"]}]
    (tmp_path / "a.json").write_text(json.dumps(lines))
    dataset = load_labels(tmp_path / "a.json")
    assert dataset.table.values.tolist() == [[1, 1], [-1, 1]]
    out = tmp_path / "b.json"
    save_changes(dataset, dataset.table.with_values([[1, -1], [1, 1]]), out, ReadOptions())
    assert load_labels(out).table.values.tolist() == [[1, -1], [1, 1]]
    both = [{"image": "a.jpg", "tags": ["cat"], "classes": ["cat", "dog"]}]
    (tmp_path / "c.json").write_text(json.dumps(both))
    assert load_labels(tmp_path / "c.json").table.positives == 1
    images = tmp_path / "photos"
    images.mkdir()
    for name, tags in (("a", ["cat"]), ("b", ["dog"])):
        Image.new("RGB", (8, 8)).save(images / f"{name}.jpg")
        (images / f"{name}.json").write_text(json.dumps({"classes": tags}))
    assert load_labels(images).table.values.tolist() == [[1, -1], [-1, 1]]


def test_lines_of_json_with_commas(tmp_path: Path) -> None:
    text = '{"image": "a.jpg", "tags": ["cat", "dog"]},\n{"image": "b.jpg", "tags": ["dog"]},\n'
    assert known(read(tmp_path, text, "l.jsonl")) == TAGS


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([{"image": "a.jpg", "labels": [{"name": "cat", "score": 0.1}]}], "not a list of class"),
        ([{"image": "a.jpg", "labels": [1, 0, 1]}], "a list of 1 and 0 without names"),
        ([{"image_id": 1, "category_id": 1, "score": 0.3}], "the line has no image id"),
        ([{"image": "a.jpg", "cat": 0.1}, {"image": "b.jpg", "cat": 0.8}], "no key holds labels"),
        ({"images": [{"id": 1}], "annotations": [], "categories": []}, "has no file_name"),
    ],
)
def test_json_that_says_something_else_is_refused(
    document: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(TagfillError, match=message):
        read(tmp_path, json.dumps(document), "l.json")


def test_unknown_lines_of_json_are_called_so(tmp_path: Path) -> None:
    rows = [json.dumps({"row": {"id": n}, "projects": {"p": {}}}) for n in range(3)]
    with pytest.raises(TagfillError, match="no list of images with tags"):
        read(tmp_path, rows, "l.ndjson")
