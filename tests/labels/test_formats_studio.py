"""Label Studio: what submitted, empty, skipped and missing annotations mean; predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.labels.reading import known

from tagfill.errors import LabelError, TagfillError
from tagfill.labels import Dataset, LabelTable, Suggestions
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels, save_labels


def chosen(*names: str, control: str = "tags") -> dict[str, Any]:
    return {
        "from_name": control,
        "to_name": "image",
        "type": "choices",
        "value": {"choices": list(names)},
    }


def annotation(*results: dict[str, Any], skipped: bool = False) -> dict[str, Any]:
    return {"id": 1, "was_cancelled": skipped, "result": list(results)}


def task(image: str, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 5, "data": {"image": image}, "annotations": list(annotations), **more}


BOX = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["cat"]}}
TASKS = [
    task("two.jpg", annotation(chosen("cat", "dog"))),
    task("one.jpg", annotation(chosen("cat"))),
    task("none.jpg", annotation()),
    task("waiting.jpg"),
    task("skipped.jpg", annotation(chosen("dog"), skipped=True)),
    task("boxed.jpg", annotation(BOX)),
    task("partly.jpg", annotation(chosen("cat"), chosen("eel", control="not_present"))),
    task("disputed.jpg", annotation(chosen("cat")), annotation(chosen("cat", "dog"))),
]


def write(folder: Path, tasks: object) -> Path:
    path = folder / "tasks.json"
    path.write_text(json.dumps(tasks))
    return path


def rows(dataset: Dataset) -> dict[str, list[int]]:
    values = dataset.table.values.tolist()
    return {image[:-4]: row for image, row in zip(dataset.table.images, values, strict=True)}


def test_meaning_of_annotations(tmp_path: Path) -> None:
    dataset = load_labels(write(tmp_path, TASKS))
    assert dataset.format == "label_studio"
    assert dataset.table.classes == ("cat", "dog", "eel")
    assert rows(dataset) == {
        "two": [1, 1, -1],
        "one": [1, -1, -1],
        "none": [0, 0, 0],
        "waiting": [-1, -1, -1],
        "skipped": [-1, -1, -1],
        "boxed": [-1, -1, -1],
        "partly": [1, -1, 0],
        "disputed": [1, 1, -1],
    }
    notes = " / ".join(dataset.notes)
    assert "2 of 8 tasks have no submitted annotation" in notes
    assert "the 3 choices that occur" in notes
    assert "in submitted annotations tags that are not mentioned count as unknown" in notes


def test_unticked_is_negative_on_request(tmp_path: Path) -> None:
    dataset = load_labels(write(tmp_path, TASKS), options=ReadOptions(absent="negative"))
    assert rows(dataset)["two"] == [1, 1, 0]
    assert rows(dataset)["one"] == [1, 0, 0]
    assert rows(dataset)["disputed"] == [1, -1, 0]
    assert rows(dataset)["none"] == [0, 0, 0]
    assert rows(dataset)["waiting"] == [-1, -1, -1]
    messages = [problem.message for problem in dataset.problems]
    assert any("annotators disagree on 1 labels" in message for message in messages)


def test_class_list(tmp_path: Path) -> None:
    only_none = write(tmp_path, [task("none.jpg", annotation())])
    with pytest.raises(TagfillError, match="no class"):
        load_labels(only_none)
    listed = load_labels(only_none, options=ReadOptions(classes=("cat", "yak")))
    assert rows(listed) == {"none": [0, 0]}
    with pytest.raises(LabelError) as caught:
        load_labels(write(tmp_path, TASKS), options=ReadOptions(classes=("cat", "dog")))
    assert [problem.row for problem in caught.value.problems] == [7]


@pytest.mark.parametrize(
    ("address", "image"),
    [
        ("/data/local-files/?d=set%201/a%2Bb.jpg", "set 1/a+b.jpg"),
        ("/data/upload/12/ab-cat%20x.jpg", "upload/12/ab-cat x.jpg"),
        ("/data/upload/12/8f3ab2c1-cat%20x.jpg", "cat x.jpg"),
        ("s3://bucket/a.jpg", "s3://bucket/a.jpg"),
        ("https://example.org/a.jpg?size=2", "https://example.org/a.jpg?size=2"),
        ("plain/a.jpg", "plain/a.jpg"),
    ],
)
def test_addresses(tmp_path: Path, address: str, image: str) -> None:
    dataset = load_labels(write(tmp_path, [task(address, annotation(chosen("cat")))]))
    assert dataset.table.images == (image,)
    assert dataset.problems == ()


def test_predictions_are_suggestions_and_survive_writing(tmp_path: Path) -> None:
    prediction = {
        "model_version": "net 2",
        "score": 0.5,
        "result": [{**chosen("cat", "dog"), "meta": {"scores": {"cat": 0.9}}}],
    }
    old = {"model_version": "net 1", "result": [chosen("eel")]}
    tasks = [
        task("a.jpg", predictions=[old, prediction]),
        task("b.jpg", annotation(chosen("dog")), predictions=[]),
    ]
    dataset = load_labels(write(tmp_path, tasks))
    assert rows(dataset) == {"a": [-1, -1], "b": [-1, 1]}
    assert any("1 predictions were left out" in note for note in dataset.notes)
    lost = save_labels(dataset, tmp_path / "again.json", format="label_studio")
    assert lost == []
    for read in (dataset, load_labels(tmp_path / "again.json")):
        assert read.table == dataset.table
        assert read.suggestions is not None
        assert read.suggestions.model == "net 2"
        assert read.suggestions.image.tolist() == [0, 0]
        assert read.suggestions.label.tolist() == [0, 1]
        assert read.suggestions.score.tolist() == [0.9, 0.5]


def test_written_tasks_are_what_label_studio_imports(tmp_path: Path) -> None:
    table = LabelTable(("a b.jpg", "c.jpg"), ("cat", "dog"), np.array([[1, -1], [-1, -1]]))
    suggestions = Suggestions(np.array([1]), np.array([1]), np.array([0.75]), "net")
    dataset = Dataset(table, Path("m"), "m", suggestions=suggestions)
    save_labels(dataset, tmp_path / "tasks.json", format="label_studio")
    first, second = json.loads((tmp_path / "tasks.json").read_text())
    assert first["data"]["image"] == "/data/local-files/?d=a%20b.jpg"
    assert [entry["from_name"] for entry in first["annotations"][0]["result"]] == [
        "tags",
        "not_present",
    ]
    assert second["annotations"] == []
    (prediction,) = second["predictions"]
    assert prediction["model_version"] == "net"
    assert prediction["score"] == 0.75
    assert prediction["result"][0]["value"] == {"choices": ["dog"]}


def test_other_exports_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="no data") as caught:
        load_labels(write(tmp_path, [*TASKS, {"image": "a.jpg", "tags": "cat"}]))
    assert caught.value.row == 9
    assert "JSON-MIN" in str(caught.value.remedy)
    with pytest.raises(TagfillError, match="list of Label Studio tasks"):
        load_labels(write(tmp_path, {"data": {}}), format="label_studio")


@pytest.mark.parametrize("key", ["annotations", "completions"])
@pytest.mark.parametrize("single", [True, False])
def test_label_studio_tasks_of_all_ages(key: str, single: bool, tmp_path: Path) -> None:
    result = [{"from_name": "c", "type": "choices", "value": {"choices": ["cat", "dog"]}}]
    task = {"data": {"image": "a.jpg"}, key: [{"result": result}]}
    dataset = load_labels(write(tmp_path, task if single else [task]))
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 1}}


def test_boxes_of_label_studio_are_refused_by_name(tmp_path: Path) -> None:
    result = [{"type": "rectanglelabels", "value": {"rectanglelabels": ["cat"]}}]
    tasks = [{"data": {"image": "a.jpg"}, "annotations": [{"result": result}]}]
    with pytest.raises(TagfillError, match=r"hold rectanglelabels, but no choices.*as COCO"):
        load_labels(write(tmp_path, tasks))
