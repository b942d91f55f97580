"""A folder in the published MLSPL layout with features the labels can be read off."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tagfill.observe import single_positive

CLASSES, FEATURES = 6, 12


def write_given_features(folder: Path, train: int = 160, test: int = 80, seed: int = 0) -> Path:
    """Labels, a single-positive draw and features for ``tagfill train``."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(CLASSES, FEATURES))
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", train), ("val", test)):
        truth = (rng.random((count, CLASSES)) < 0.3).astype(np.int8)
        truth[np.arange(count), rng.integers(CLASSES, size=count)] = 1
        features = (2.0 * truth - 1) @ directions + 1.5 * rng.normal(size=(count, FEATURES))
        observed = single_positive(truth, 1200)
        np.save(folder / f"formatted_{name}_labels.npy", truth)
        np.save(folder / f"formatted_{name}_labels_obs.npy", (observed == 1).astype(np.int8))
        images = np.array([f"{name}-{number:03}.jpg" for number in range(count)])
        np.save(folder / f"formatted_{name}_images.npy", images)
        np.save(folder / f"{name}_features_toy.npy", features.astype(np.float16))
    return folder
