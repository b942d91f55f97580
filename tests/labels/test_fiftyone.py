"""FiftyOne data sets in and out, against a stand-in with the part of its interface in use."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tagfill.errors import TagfillError
from tagfill.labels import Dataset, LabelTable, Suggestions
from tagfill.labels.fiftyone import from_fiftyone, to_fiftyone


class Label:
    """What all labels share: keyword arguments in, a JSON object out."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def as_json(self) -> dict[str, Any]:
        listed = {
            key: [entry.as_json() for entry in value] if isinstance(value, list) else value
            for key, value in self.fields.items()
        }
        return {"_cls": type(self).__name__, "logits": None, "confidence": None, **listed}


class Classification(Label): ...


class Classifications(Label): ...


class Sample:
    def __init__(self, filepath: str, tags: list[str]) -> None:
        self.document: dict[str, Any] = {"filepath": filepath, "tags": tags, "metadata": None}

    def __setitem__(self, field: str, value: Label) -> None:
        self.document[field] = value.as_json()

    def to_dict(self) -> dict[str, Any]:
        return self.document


class Samples:
    known: dict[str, Samples] = {}  # noqa: RUF012

    def __init__(self, name: str, persistent: bool = False, overwrite: bool = False) -> None:
        assert overwrite or name not in self.known
        self.name, self.persistent, self.samples = name, persistent, []
        self.known[name] = self

    def add_samples(self, samples: list[Sample]) -> None:
        self.samples += samples

    def iter_samples(self) -> Any:
        return iter(self.samples)


@pytest.fixture
def fiftyone(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    Samples.known.clear()
    module = SimpleNamespace(
        Classification=Classification,
        Classifications=Classifications,
        Sample=Sample,
        Dataset=Samples,
        dataset_exists=Samples.known.__contains__,
        load_dataset=Samples.known.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "fiftyone", module)
    return module


@pytest.fixture
def labels(tmp_path: Path) -> Dataset:
    for name in "abc":
        Image.new("RGB", (4, 4)).save(tmp_path / f"{name}.jpg")
    values = np.array([[1, 0, -1], [-1, 1, -1], [-1, -1, -1]])
    table = LabelTable(("a.jpg", "b.jpg", "c.jpg"), ("cat", "dog", "sea"), values)
    return Dataset(
        table,
        source=tmp_path,
        format="csv_wide",
        image_root=tmp_path,
        splits={"train": np.array([0, 2]), "val": np.array([1])},
        suggestions=Suggestions(np.array([2]), np.array([2]), np.array([0.75])),
    )


def test_labels_go_out_and_come_back(fiftyone: SimpleNamespace, labels: Dataset) -> None:
    made = to_fiftyone(labels, "photos")
    assert made.persistent
    for again in (from_fiftyone(made), from_fiftyone("photos")):
        assert again.table.images == labels.table.images
        columns = [again.table.classes.index(name) for name in labels.table.classes]
        assert (again.table.values[:, columns] == labels.table.values).all()
        assert again.splits["val"].tolist() == [1]
        assert again.image_root == labels.image_root
        suggested = again.suggestions
        assert suggested is not None
        assert suggested.score.tolist() == [0.75]
        assert again.table.classes[suggested.label[0]] == "sea"


def test_what_a_model_said_is_no_label(fiftyone: SimpleNamespace, labels: Dataset) -> None:
    made = to_fiftyone(labels, "photos")
    sure = Classification(label="dog", confidence=0.9)
    made.samples[0]["predictions"] = Classifications(classifications=[sure])
    assert from_fiftyone(made).table.positives == labels.table.positives
    only = from_fiftyone(made, fields=["ground_truth"])
    assert only.suggestions is None
    assert only.table.negatives == 0


def test_mistakes_are_named(fiftyone: SimpleNamespace, labels: Dataset) -> None:
    to_fiftyone(labels, "photos")
    with pytest.raises(TagfillError, match="there is a FiftyOne data set 'photos'"):
        to_fiftyone(labels, "photos")
    to_fiftyone(labels, "photos", overwrite=True)
    with pytest.raises(TagfillError, match="there is no FiftyOne data set 'nothing'"):
        from_fiftyone("nothing")


def test_without_fiftyone_the_remedy_is_named(
    labels: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fiftyone", None)
    with pytest.raises(TagfillError, match="pip install fiftyone"):
        to_fiftyone(labels, "photos")
