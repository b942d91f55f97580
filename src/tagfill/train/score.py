"""Scores of a trained model for labelled data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from tagfill.errors import TagfillError
from tagfill.labels import Dataset, LabelTable
from tagfill.models.bundle import Bundle
from tagfill.models.preprocess import eval_transform
from tagfill.train.data import image_paths
from tagfill.train.gather import World
from tagfill.train.inputs import FeatureInputs, ImageInputs, Inputs, scores


def score_images(
    bundle: Bundle,
    dataset: Dataset,
    table: LabelTable,
    *,
    images: Path | None = None,
    workers: int = 2,
) -> npt.NDArray[np.float32]:
    """[N, K] logits of the model's classes for the images of a table.

    Args:
        bundle: the model.
        dataset: where the table comes from; it knows the image folder or the features.
        table: some or all of its images.
        images: the image folder, where the data set does not imply it.
        workers: processes that read images.

    Raises:
        TagfillError: the model reads images and there are features only, or the other way round.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = bundle.network.to(device)
    inputs = _inputs(bundle, dataset, table, images, workers)
    found: npt.NDArray[np.float32] = scores(network, inputs, World(), device).numpy()
    return found


def _inputs(
    bundle: Bundle, dataset: Dataset, table: LabelTable, images: Path | None, workers: int
) -> Inputs:
    spec = bundle.network.backbone.spec
    if spec.library != "features":
        view = eval_transform(spec)
        paths = image_paths(table, dataset, images)
        return ImageInputs(paths, size=spec.size, plain_view=view, weak_view=view, workers=workers)
    if not dataset.features:
        raise TagfillError(
            "the model reads features, and these data have none", file=dataset.source
        )
    rows = [dataset.table.row_of[image] for image in table.images]
    matrix = np.asarray(dataset.load_features()[rows], dtype=np.float32)
    if matrix.shape[1] != spec.channels:
        raise TagfillError(
            f"the model reads {spec.channels} features, these have {matrix.shape[1]}",
            file=dataset.source,
        )
    return FeatureInputs(torch.from_numpy(matrix))
