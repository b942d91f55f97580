"""Scores of a trained model for labeled data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from tagfill.errors import TagfillError
from tagfill.labels import Dataset, LabelTable
from tagfill.models.bundle import Bundle
from tagfill.train.cache import FeatureRows
from tagfill.train.data import Sources, Split, prepare, readable
from tagfill.train.extract import plain_extractor
from tagfill.train.folder import RunFolder
from tagfill.train.gather import World
from tagfill.train.inputs import FeatureInputs, scores
from tagfill.train.trained import TrainedRun


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores and their images.

    Args:
        split: the images that could be read.
        logits: [N, K] of the model's classes.
        notes: what was left out.
    """

    split: Split
    logits: npt.NDArray[np.float32]
    notes: tuple[str, ...] = ()


def score_images(
    bundle: Bundle,
    dataset: Dataset,
    table: LabelTable,
    *,
    images: Sequence[Path | None] = (None,),
    workers: int = 2,
) -> Scored:
    """Scores of the model's classes for the images of a table; unreadable ones are left out.

    Args:
        dataset: where the table comes from; it knows the image folder or the features.
        images: image folders to try; None is the one that the data set implies.

    Raises:
        TagfillError: the model needs images but the data are features, or the reverse.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = bundle.network.to(device)
    spec = network.backbone.spec
    notes: list[str]
    features: torch.Tensor | FeatureRows
    if spec.library == "features":
        split, notes = Split(table), []
        features = torch.from_numpy(_features(dataset, table, spec.channels))
    else:
        extractor = plain_extractor(network, device, workers)
        split, notes = readable(table, dataset, images, extractor.fill)
        features = extractor.extract(split.paths or ())
    logits = scores(network.head, FeatureInputs(features), World(), device)
    return Scored(split, logits.numpy(), tuple(notes))


def _features(dataset: Dataset, table: LabelTable, channels: int) -> npt.NDArray[np.float32]:
    if not dataset.features:
        raise TagfillError(
            "the model needs features, but these data have none", file=dataset.source
        )
    rows = [dataset.table.row_of[image] for image in table.images]
    matrix = np.asarray(dataset.load_features()[rows], dtype=np.float32)
    if matrix.shape[1] != channels:
        raise TagfillError(
            f"the model reads {channels} features, these have {matrix.shape[1]}",
            file=dataset.source,
        )
    return matrix


def run_of(model: Path) -> TrainedRun | None:
    """The run a model belongs to; a model folder alone has none."""
    return TrainedRun.open(model) if RunFolder(model).config.is_file() else None


def trained_on(run: TrainedRun, split: Split, sources: Sources | None = None) -> int:
    """How many of the images a run was trained on, if its data still exist.

    Args:
        sources: label files that have been read already, with the settings of the run.
    """
    try:
        train = prepare(run.config.data, sources).train
    except TagfillError:
        return 0
    seen = {path.resolve() for path in train.paths or ()}
    return sum(path.resolve() in seen for path in split.paths or ())
