"""Data of a recipe: open a source once, hide labels, and write files that any run can read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from tagfill.bench.recipe import SCENES, LabelChoice, Source
from tagfill.errors import TagfillError
from tagfill.files import atomic_folder
from tagfill.labels import UNKNOWN, Dataset, Labels, Rows
from tagfill.labels.dataset import Features
from tagfill.labels.io import load_labels, save_labels
from tagfill.labels.split import published_split
from tagfill.linear import fit_head, out_of_fold
from tagfill.losses.likelihood import posterior
from tagfill.observe import observe_official, regimes
from tagfill.scenes import write_scenes
from tagfill.train.cache import content_hashes
from tagfill.train.config import DataConfig
from tagfill.train.data import image_paths

_PUBLISHED_CODE = np.array([-1, 1, 0], dtype=np.int8)
"""The published code of our 0, 1 and -1, the last by counting from the end."""
_PATCHES = 8
"""Features of scenes: their colors on a grid with this many cells per side."""


@dataclass(frozen=True, eq=False)
class Opened:
    """The full labels of a source, with the splits train, val and test.

    Args:
        identity: changes when images or features do.
        features: [N, D] where runs read features.
    """

    dataset: Dataset
    identity: str
    features: Features | None = None


@dataclass(frozen=True)
class Variant:
    """Labels as a run sees them: location and identity."""

    config: DataConfig
    identity: str


@lru_cache(maxsize=8)
def open_source(source: Source, data: Path, out: Path) -> Opened:
    """Read a source from the folder ``data``; scenes are drawn once, into ``out``."""
    path = data / source.labels
    if source.labels == SCENES:
        path = out / "data" / f"scenes-{source.count}-{source.pixels}" / "labels.csv"
        if not path.is_file():
            write_scenes(path.parent, source.count, source.pixels, overwrite=True)
    elif not path.exists():
        raise TagfillError(
            "the data of this recipe are missing",
            file=path,
            remedy="set their folder with --data; docs/data.md says where to download them",
        )
    read = load_labels(path)
    dataset = replace(read, table=read.truth or read.table, truth=None, splits=_splits(read))
    if source.inputs == "features":
        has_features = bool(dataset.features)
        matrix = dataset.load_features(source.features) if has_features else _colors(dataset)
        return Opened(dataset, hashlib.blake2b(matrix.tobytes()).hexdigest(), matrix)
    root = dataset.image_root if source.images is None else data / source.images
    hashes = content_hashes(image_paths(dataset.table, dataset, root))
    identity = hashlib.blake2b("".join(hashes).encode()).hexdigest()
    return Opened(replace(dataset, image_root=root), identity)


def _colors(dataset: Dataset) -> Features:
    pictures = [Image.open(path) for path in image_paths(dataset.table, dataset, None)]
    small = [picture.resize((_PATCHES, _PATCHES), Image.Resampling.BOX) for picture in pictures]
    return np.stack([np.asarray(image, dtype=np.float32).ravel() / 255 for image in small])


def _splits(dataset: Dataset) -> dict[str, Rows]:
    splits = dict(dataset.splits)
    if not {"train", "test"} <= set(splits):
        raise TagfillError("a recipe needs the splits train and test", file=dataset.source)
    if "val" not in splits:
        train = splits["train"]
        rest, held_out = published_split(len(train))
        splits |= {"train": train[rest], "val": train[held_out]}
    return {name: splits[name] for name in ("train", "val", "test")}


@lru_cache(maxsize=64)
def make_variant(opened: Opened, labels: LabelChoice, out: Path) -> Variant:
    """Hide labels and write the rest; equal labels are written once.

    The draw goes through training and validation images together, in order, as the published one
    does; validation and test images then keep their full labels.
    """
    full, splits = opened.dataset.table, dict(opened.dataset.splits)
    splits["train"] = train = _some(splits["train"], labels.images)
    values = full.values.copy()
    if labels.regime != "full":
        regime = regimes.make(labels.regime, labels.settings)
        values[train] = observe_official(opened.dataset, regime, labels.seed).table.values[train]
    if labels.reviewed:
        values[train] = _reviewed(opened, train, values[train], labels)
    used = np.sort(np.concatenate(list(splits.values())))
    masked = replace(
        opened.dataset,
        table=full.with_values(values).take(used),
        truth=full.take(used),
        splits={name: np.searchsorted(used, rows) for name, rows in splits.items()},
    )
    identity = _identity(masked, opened.identity)
    folder = out / "data" / identity
    if not folder.is_dir():
        with atomic_folder(folder) as draft:
            if opened.features is None:
                _write_tables(draft, masked)
            else:
                _write_arrays(draft, masked, opened.features[used])
    if opened.features is not None:
        return Variant(DataConfig(labels=str(folder), format="mlspl").absolute(), identity)
    config = DataConfig(
        labels=str(folder / "labels.csv"),
        format="csv_wide",
        truth=str(folder / "truth.csv"),
        images=None if masked.image_root is None else str(masked.image_root),
    )
    return Variant(config.absolute(), identity)


def _identity(masked: Dataset, inputs: str) -> str:
    assert masked.truth is not None
    texts = (masked.table.content_hash, masked.truth.content_hash, inputs)
    digest = hashlib.blake2b("".join(texts).encode(), digest_size=10)
    for name in sorted(masked.splits):
        digest.update(masked.splits[name].astype(np.int64).tobytes())
    return digest.hexdigest()


def _some(rows: Rows, share: float) -> Rows:
    """A smaller share is always part of a larger one."""
    if share == 1:
        return rows
    order = np.random.default_rng(0).permutation(len(rows))
    return np.sort(rows[order[: max(1, round(share * len(rows)))]])


def _reviewed(opened: Opened, train: Rows, observed: Labels, labels: LabelChoice) -> Labels:
    """Answer unknown entries in the order of a review."""
    if opened.features is None:
        raise TagfillError("reviewed labels need a source with features")
    keys: npt.NDArray[np.floating]
    if labels.order == "random":
        keys = np.random.default_rng([labels.seed, 31]).random(observed.shape)
    else:
        chance = _chances(opened, train.tobytes(), observed.tobytes())
        keys = chance if labels.order == "likely" else -np.abs(chance - 0.5)
    keys = np.where(observed == UNKNOWN, keys, -np.inf)
    reviewed = np.argsort(-keys, axis=None, kind="stable")[: labels.reviewed]
    answered = observed.copy()
    answered.ravel()[reviewed] = opened.dataset.table.values[train].ravel()[reviewed]
    return answered


@lru_cache(maxsize=8)
def _chances(opened: Opened, train: bytes, labels: bytes) -> npt.NDArray[np.float32]:
    """[N, K] probability of every entry by heads trained without the image."""
    rows = np.frombuffer(train, dtype=np.intp)
    observed = np.frombuffer(labels, dtype=np.int8).reshape(len(rows), -1)
    assert opened.features is not None
    features = opened.features[rows]
    choice = fit_head(features, observed).choice
    logits = torch.from_numpy(out_of_fold(features, observed, choice))
    known = torch.from_numpy(observed.copy())
    return posterior(logits, known, choice.written_by(known)).numpy()


def _write_tables(folder: Path, masked: Dataset) -> None:
    for name, table in (("labels.csv", masked.table), ("truth.csv", masked.truth)):
        assert table is not None
        plain = Dataset(table, folder, "csv_wide", splits=masked.splits)
        save_labels(plain, folder / name, format="csv_wide")


def _write_arrays(folder: Path, masked: Dataset, features: Features) -> None:
    """The published layout: its train files hold training and validation, its val files test."""
    assert masked.truth is not None
    splits = masked.splits
    pool = np.sort(np.concatenate([splits["train"], splits["val"]]))
    for split, rows in (("train", pool), ("val", splits["test"])):
        observed, truth = masked.table.take(rows), masked.truth.take(rows)
        np.save(folder / f"formatted_{split}_labels.npy", truth.values)
        np.save(folder / f"formatted_{split}_labels_obs.npy", _PUBLISHED_CODE[observed.values])
        np.save(folder / f"formatted_{split}_images.npy", np.array(truth.images))
        np.save(folder / f"{split}_features_bench.npy", features[rows])
    for split in ("train", "val"):
        np.save(folder / f"split_{split}_index.npy", np.searchsorted(pool, splits[split]))
    (folder / "classes.txt").write_text("\n".join(masked.table.classes) + "\n", encoding="utf-8")
