"""JSON of annotation programs and of pandas: read as meant."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.labels.reading import known

from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels

TAGS = {"a.jpg": ["cat", "polar bear"], "b.jpg": ["dog"], "c.jpg": ["cat"]}
NAMES = ["cat", "dog", "polar bear"]
OPTIONS = [{"id": number, "text": name} for number, name in enumerate(NAMES)]


def stated() -> dict[str, dict[str, int]]:
    return {image: dict.fromkeys(sorted(tags), 1) for image, tags in TAGS.items()}


def _labelbox(image: str, tags: list[str]) -> dict[str, Any]:
    answers = [{"name": tag, "value": tag} for tag in tags[1:]]
    chosen = [{"name": "what", "checklist_answers": answers}]
    boxes = [{"name": tag, "bounding_box": {"top": 1}} for tag in tags[:1]]
    labels = [{"annotations": {"objects": boxes, "classifications": chosen}}]
    row = {"id": "c1", "external_id": image, "row_data": f"https://x.org/{image}"}
    return {"data_row": row, "projects": {"p1": {"name": "P", "labels": labels}}}


RECORDS: dict[str, Callable[[str, list[str]], dict[str, Any]]] = {
    "prodigy choices": lambda image, tags: {
        "image": image,
        "options": OPTIONS,
        "accept": [NAMES.index(tag) for tag in tags],
        "answer": "accept",
        "_input_hash": 1,
    },
    "prodigy spans": lambda image, tags: {
        "image": "data:image/jpeg;base64,AAAA",
        "path": image,
        "spans": [{"label": tag, "points": [[0, 0]]} for tag in tags],
        "answer": "accept",
    },
    "labelbox": _labelbox,
    "old labelbox": lambda image, tags: {
        "ID": "c",
        "Labeled Data": "https://x.org/1",
        "External ID": image,
        "Label": {
            "objects": [{"title": tag, "value": tag} for tag in tags[1:]],
            "classifications": [{"title": "what", "answer": {"title": tags[0]}}],
        },
    },
    "superannotate": lambda image, tags: {
        "metadata": {"name": image, "width": 8},
        "instances": [{"type": "bbox", "className": tag} for tag in tags[1:]],
        "tags": tags[:1],
    },
    "scale": lambda image, tags: {
        "task_id": "t",
        "params": {"attachment": image},
        "response": {"annotations": [{"label": tag, "left": 1} for tag in tags]},
    },
    "darwin": lambda image, tags: {
        "version": "2.0",
        "item": {"name": image, "path": "/"},
        "annotations": [{"id": "1", "name": tag, "tag": {}} for tag in tags],
    },
    "createml": lambda image, tags: {
        "image": image,
        "annotations": [{"label": tag, "coordinates": {"x": 1}} for tag in tags],
    },
    "vertex": lambda image, tags: {
        "imageGcsUri": image,
        "classificationAnnotations": [{"displayName": tag} for tag in tags],
    },
    "sagemaker": lambda image, tags: {
        "source-ref": image,
        "seen": [NAMES.index(tag) for tag in tags],
        "seen-metadata": {"class-map": {str(NAMES.index(tag)): tag for tag in tags}},
    },
}


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("program", RECORDS)
def test_records_of_programs(program: str, lines: bool, tmp_path: Path) -> None:
    records = [RECORDS[program](image, tags) for image, tags in TAGS.items()]
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records, indent=1)
    (tmp_path / "export.json").write_text(text)
    dataset = load_labels(tmp_path / "export.json")
    assert dataset.format == "json_export"
    assert known(dataset) == stated()


@pytest.mark.parametrize(
    "document",
    [
        {"image": list(TAGS), "tags": list(TAGS.values())},
        {"image": dict(enumerate(TAGS)), "tags": dict(enumerate(TAGS.values()))},
        {
            "columns": ["image", "tags"],
            "index": [0, 1, 2],
            "data": [[i, t] for i, t in TAGS.items()],
        },
        [[image, tags] for image, tags in TAGS.items()],
        {name: [image for image in TAGS if name in TAGS[image]] for name in NAMES},
        {
            "categories": {"label": {"labels": [{"name": name} for name in NAMES]}},
            "items": [
                {"id": i, "annotations": [{"label_id": NAMES.index(t)} for t in TAGS[i]]}
                for i in TAGS
            ],
        },
    ],
)
def test_tables_as_json(document: object, tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(json.dumps(document))
    assert known(load_labels(tmp_path / "table.json")) == stated()


def test_objects_on_several_lines_each(tmp_path: Path) -> None:
    records = [{"image": image, "tags": tags} for image, tags in TAGS.items()]
    text = "\n".join(json.dumps(record, indent=1) for record in records)
    (tmp_path / "l.json").write_text(text)
    assert known(load_labels(tmp_path / "l.json")) == stated()
    (tmp_path / "l.json").write_text(text + "\n{")
    with pytest.raises(TagfillError, match="not readable as JSON"):
        load_labels(tmp_path / "l.json", format="json_export")


def test_a_no_in_prodigy_is_a_negative_and_a_skipped_image_says_nothing(tmp_path: Path) -> None:
    answers = {"a.jpg": "accept", "b.jpg": "reject", "c.jpg": "ignore"}
    lines = [json.dumps({"image": i, "label": "CAT", "answer": a}) for i, a in answers.items()]
    (tmp_path / "l.jsonl").write_text("\n".join(lines))
    labels = known(load_labels(tmp_path / "l.jsonl"))
    assert labels == {"a.jpg": {"CAT": 1}, "b.jpg": {"CAT": 0}, "c.jpg": {}}


def test_scores_of_models_are_one_error(tmp_path: Path) -> None:
    guesses = [{"name": "cat", "confidence": 0.97}, {"name": "dog", "confidence": 0.2}]
    records = [{"file": f"{n}.jpg", "tags": guesses[: 1 + n % 2]} for n in range(9)]
    (tmp_path / "l.json").write_text(json.dumps(records))
    with pytest.raises(TagfillError, match=r"is not a list of class names \(9 such") as caught:
        load_labels(tmp_path / "l.json")
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    ("place", "program"),
    [("{}___objects.json", "superannotate"), ("{}.json", "darwin"), ("../ann/{}.json", "createml")],
)
def test_files_beside_images(place: str, program: str, tmp_path: Path) -> None:
    folder = tmp_path / "img"
    for image, tags in TAGS.items():
        file = folder / place.format(image)
        folder.mkdir(exist_ok=True)
        (tmp_path / "ann").mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(folder / image)
        file.write_text(json.dumps(RECORDS[program](image, tags)))
    dataset = load_labels(tmp_path)
    assert dataset.format == "tag_files"
    assert known(dataset) == {f"img/{image}": labels for image, labels in stated().items()}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda records: {"project": "x", "items": {"list": records}},
        lambda records: {"photos": [{**record, "exif": {"iso": 100}} for record in records]},
        lambda records: {"data": [{"image": r["image"], **_things(r)} for r in records]},
    ],
)
def test_records_inside_other_objects(wrap: Callable[[Any], object], tmp_path: Path) -> None:
    records = [{"image": image, "tags": tags} for image, tags in TAGS.items()]
    (tmp_path / "l.json").write_text(json.dumps(wrap(records)))
    assert known(load_labels(tmp_path / "l.json")) == stated()


def _things(record: dict[str, Any]) -> dict[str, Any]:
    return {"annotations": [{"name": tag} for tag in record["tags"]]}


def test_tags_as_objects_of_custom_vision(tmp_path: Path) -> None:
    tags = [{"tagId": "1", "tagName": "cat"}, {"tagId": "2", "tagName": "dog"}]
    lines = [{"id": "7", "originalImageUri": f"https://x.org/{n}.jpg", "tags": tags} for n in "ab"]
    (tmp_path / "l.json").write_text(json.dumps(lines))
    dataset = load_labels(tmp_path / "l.json")
    assert known(dataset)["https://x.org/a.jpg"] == {"cat": 1, "dog": 1}


def test_datumaro_without_label(tmp_path: Path) -> None:
    content = {
        "categories": {"label": {"labels": [{"name": "cat"}, {"name": "dog"}]}},
        "items": [
            {"id": "a", "image": {"path": "a.jpg"}, "annotations": [{"label_id": -1}]},
            {"id": "b", "image": {"path": "b.jpg"}, "annotations": [{"label_id": 0}]},
        ],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    table = load_labels(tmp_path / "a.json").table
    assert (table.classes, table.values.tolist()) == (("cat",), [[-1], [1]])
