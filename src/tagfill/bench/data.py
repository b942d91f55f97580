"""Data of a recipe: open a source once, hide labels, and write files that any run can read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tagfill.arrays import Floats, Mask, Matrix
from tagfill.bench.recipe import SCENES, LabelChoice, Source
from tagfill.errors import TagfillError
from tagfill.files import atomic_folder
from tagfill.labels import UNKNOWN, Dataset, Labels, Rows
from tagfill.labels.beside import write_reviewed
from tagfill.labels.io import load_labels, save_labels
from tagfill.labels.split import published_split
from tagfill.models.factory import build_backbone
from tagfill.models.preprocess import eval_transform
from tagfill.observe import observe_official, regimes
from tagfill.recover.choose import expected_gain
from tagfill.recover.posterior import known_entries, posterior
from tagfill.scenes import write_scenes
from tagfill.train.cache import content_hashes
from tagfill.train.config import DataConfig
from tagfill.train.data import image_paths
from tagfill.train.extract import Extractor

_PUBLISHED_CODE = np.array([-1, 1, 0], dtype=np.int8)
"""The published code of our 0, 1 and -1, the last by counting from the end."""
_PATCHES = 8
"""Features without a backbone: the image's colors on a grid with this many cells per side."""


@dataclass(frozen=True, eq=False)
class Opened:
    """The full labels of a source, with the splits train, val and test.

    Args:
        identity: changes when images or features do.
        features: [N, D] where runs read features.
    """

    dataset: Dataset
    identity: str
    features: Matrix | None = None


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
        matrix = _features(dataset, source)
        return Opened(dataset, hashlib.blake2b(matrix.tobytes()).hexdigest(), matrix)
    root = dataset.image_root if source.images is None else data / source.images
    hashes = content_hashes(image_paths(dataset.table, dataset, root))
    identity = hashlib.blake2b("".join(hashes).encode()).hexdigest()
    return Opened(replace(dataset, image_root=root), identity)


def _features(dataset: Dataset, source: Source) -> Matrix:
    if dataset.features:
        return dataset.load_features(source.features)
    if source.backbone is None:
        return _colors(dataset)
    backbone = build_backbone(source.backbone, size=source.pixels).eval()
    view = eval_transform(backbone.spec)
    extractor = Extractor(backbone, view, "plain", "pooled", torch.device("cpu"))
    return np.asarray(extractor.extract(image_paths(dataset.table, dataset, None))[:])


def _colors(dataset: Dataset) -> Matrix:
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
    values, answered = full.values.copy(), None
    if labels.regime != "full":
        regime = regimes.make(labels.regime, labels.settings)
        values[train] = observe_official(opened.dataset, regime, labels.seed).table.values[train]
    if labels.reviewed:
        answered = np.zeros(values.shape, dtype=bool)
        answered[train] = _reviewed(opened, train, values[train], labels)
        values[answered] = full.values[answered]
    used = np.sort(np.concatenate(list(splits.values())))
    masked = replace(
        opened.dataset,
        table=replace(full.with_values(values), reviewed=answered).take(used),
        truth=full.take(used),
        splits={name: np.searchsorted(used, rows) for name, rows in splits.items()},
    )
    identity = _identity(masked, opened.identity)
    folder = out / "data" / identity
    if not folder.is_dir():
        write_reviewed(masked.table, folder)
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


def _reviewed(opened: Opened, train: Rows, observed: Labels, labels: LabelChoice) -> Mask:
    """[N, K] the unknown entries that come first in a review."""
    if opened.features is None:
        raise TagfillError("reviewed labels need a source with features")
    unknown: Mask = np.asarray(observed == UNKNOWN)
    if labels.order == "random":
        keys: Floats = np.random.default_rng([labels.seed, 31]).random(observed.shape)
    else:
        chance = _chances(opened, train.tobytes(), observed.tobytes())
        keys = {
            "gain": expected_gain(chance, unknown),
            "likely": chance,
            "uncertain": -np.abs(chance - 0.5),
        }[labels.order]
    places = np.argsort(-np.where(unknown, keys, -np.inf), axis=None, kind="stable")
    asked = np.zeros_like(unknown)
    asked.ravel()[places[: labels.reviewed]] = True
    return asked & unknown


@lru_cache(maxsize=8)
def _chances(opened: Opened, train: bytes, labels: bytes) -> Floats:
    """[N, K] the probabilities of `tagfill recover`."""
    rows = np.frombuffer(train, dtype=np.intp)
    observed = np.frombuffer(labels, dtype=np.int8).reshape(len(rows), -1)
    assert opened.features is not None
    found = posterior(opened.features[rows], observed).unknown
    return known_entries(observed, found)


def _write_tables(folder: Path, masked: Dataset) -> None:
    for name, table in (("labels.csv", masked.table), ("truth.csv", masked.truth)):
        assert table is not None
        plain = Dataset(table, folder, "csv_wide", splits=masked.splits)
        save_labels(plain, folder / name, format="csv_wide")


def _write_arrays(folder: Path, masked: Dataset, features: Matrix) -> None:
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
