"""Mask an official data set as published: one draw over all official training images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tagfill.labels import Dataset
from tagfill.observe.dataset import observe_dataset
from tagfill.observe.regimes import Masking


def observe_official(dataset: Dataset, regime: Masking, seed: int) -> Dataset:
    """Hide labels of the training images by a regime, before validation is held out.

    The published code draws over training and validation images together, in their order, and
    divides them afterwards; drawing over the training images alone would give other labels.
    Validation and test images keep their full labels.

    Args:
        dataset: full labels with the splits "train", maybe "val", and others.
        regime: see ``make``.
        seed: of the draw.

    Returns:
        The same data set with the observed labels as its table and the full ones as its truth.
    """
    held_out = [dataset.splits[name] for name in ("train", "val") if name in dataset.splits]
    together = replace(dataset, splits={"train": np.sort(np.concatenate(held_out))})
    observed = observe_dataset(together, regime, seed, "train")
    values = (observed.truth or observed.table).values.copy()
    train = dataset.splits["train"]
    values[train] = observed.table.values[train]
    return replace(observed, table=observed.table.with_values(values), splits=dataset.splits)
