"""FiftyOne data sets in memory, read and written; users install ``fiftyone`` themselves."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import ReadOptions
from tagfill.labels.formats._write import known_labels, split_of_rows
from tagfill.labels.formats.base import Source
from tagfill.labels.formats.fiftyone import FORMAT, REJECTED, read_samples
from tagfill.labels.table import NEGATIVE, POSITIVE

GROUND_TRUTH, SUGGESTED = "ground_truth", "suggested"


def from_fiftyone(
    dataset: Any, fields: Collection[str] | None = None, options: ReadOptions | None = None
) -> Dataset:
    """The labels of a FiftyOne data set; ``tagfill.fit`` takes them.

    Labels of classifications, detections and polylines are positives, those in a field called
    ``rejected`` negatives, those with a confidence a model's suggestions. Sample tags called train,
    validation or test are splits.

    Args:
        dataset: a ``fiftyone.Dataset`` or view, or the name of a data set.
        fields: the fields to read; all by default.
        options: what absence means, the class list.
    """
    if isinstance(dataset, str):
        fiftyone = _fiftyone()
        if not fiftyone.dataset_exists(dataset):
            raise TagfillError(f"there is no FiftyOne data set {dataset!r}")
        dataset = fiftyone.load_dataset(dataset)
    samples = [sample.to_dict() for sample in dataset.iter_samples()]
    source = Source(Path(str(dataset.name)), FORMAT, options or ReadOptions())
    labels = read_samples(samples, source, fields)
    source.problems.raise_errors()
    return labels


def to_fiftyone(labels: Dataset, name: str, *, overwrite: bool = False) -> Any:
    """Make a FiftyOne data set of labels: ``ground_truth``, ``rejected`` and ``suggested``.

    Args:
        labels: with the folder of the images.
        name: of the new data set.
        overwrite: replace one of that name.

    Returns:
        The ``fiftyone.Dataset``, which persists.
    """
    fiftyone = _fiftyone()
    if labels.image_root is None:
        raise TagfillError(
            "FiftyOne needs the image files", remedy="read the labels with their image folder"
        )
    if fiftyone.dataset_exists(name) and not overwrite:
        raise TagfillError(
            f"there is a FiftyOne data set {name!r}", remedy="choose another name, or overwrite it"
        )
    splits, _ = split_of_rows(labels)
    suggested = labels.suggested
    samples = []
    for row, image in enumerate(labels.table.images):
        path = (labels.image_root / image).resolve()
        sample = fiftyone.Sample(filepath=str(path), tags=[splits[row]] if splits[row] else [])
        for field, value in ((GROUND_TRUTH, POSITIVE), (REJECTED, NEGATIVE)):
            names = known_labels(labels.table, row, value)
            if names:
                entries = [fiftyone.Classification(label=known) for known in names]
                sample[field] = fiftyone.Classifications(classifications=entries)
        if row in suggested:
            scores = suggested[row].items()
            entries = [fiftyone.Classification(label=tag, confidence=p) for tag, p in scores]
            sample[SUGGESTED] = fiftyone.Classifications(classifications=entries)
        samples.append(sample)
    made = fiftyone.Dataset(name, persistent=True, overwrite=overwrite)
    made.add_samples(samples)
    return made


def _fiftyone() -> Any:
    try:
        import fiftyone
    except ImportError:
        raise TagfillError("this needs FiftyOne", remedy="pip install fiftyone") from None
    return fiftyone
