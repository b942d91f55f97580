"""Which features are worth their time: backbone, input size and views, by validation mAP and cost.

    python benchmarks/features.py [--voc ../shared/data/voc2012] [--images 1200] [--out table.md]

For each way of looking at images a ridge regression on signed square roots of the features learns
from two thirds of the images, once from all labels and once from one tag per image, and is measured
on the last third; the strength of the ridge is the best of five for every way alike. Cost is CPU
time of one thread per image, decoding included. Data: VOC 2012 (photos of 256 px) where it is
there, and drawn scenes of 224 and 448 px.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tagfill.evaluate import mean_average_precision
from tagfill.images import open_image, read_ahead
from tagfill.models.backbones import Backbone
from tagfill.models.factory import build_backbone
from tagfill.models.graphs import feature_engine
from tagfill.models.preprocess import eval_transform
from tagfill.scenes import generate

BATCH = 8
STRENGTHS = (30, 100, 300, 1000, 3000)
LITE0, LITE2 = "efficientnet_lite0", "efficientnet_lite2"
WAYS: tuple[tuple[tuple[str, int, bool], ...], ...] = (
    ((LITE0, 224, False),),
    ((LITE0, 224, False), (LITE0, 224, True)),
    ((LITE0, 320, False),),
    ((LITE2, 260, False),),
    ((LITE2, 320, False),),
    ((LITE0, 448, False),),
    ((LITE2, 448, False),),
)
"""Each a list of views: backbone, size, flipped. Views of one backbone are averaged."""


@dataclass(frozen=True, eq=False)
class Data:
    """Images with all their labels, and with one positive each."""

    name: str
    paths: list[Path]
    labels: np.ndarray
    single: np.ndarray


def voc(root: Path, images: int) -> Data:
    """Photos of VOC 2012 and the published single positives."""
    names = np.load(root / "mlspl" / "formatted_train_images.npy")
    rows = np.random.default_rng(0).permutation(len(names))[:images]
    folder = root / "VOCdevkit" / "VOC2012" / "JPEGImages"
    labels, single = (
        np.load(root / "mlspl" / f"formatted_train_{kind}.npy")[rows]
        for kind in ("labels", "labels_obs")
    )
    return Data("VOC, 256 px", [folder / str(names[row]) for row in rows], labels, single)


def scenes(side: int, images: int, folder: Path) -> Data:
    """Drawn scenes."""
    paths, labels = [], []
    for scene in generate(images, side, 5):
        paths.append(folder / f"{side}-{scene.index}.png")
        scene.image.save(paths[-1])
        labels.append(scene.labels)
    every = np.array(labels)
    single, rng = np.zeros_like(every), np.random.default_rng(1)
    for row in np.flatnonzero(every.any(axis=1)):
        single[row, rng.choice(np.flatnonzero(every[row]))] = 1
    return Data(f"scenes, {side} px", paths, every, single)


@lru_cache(maxsize=1)
def backbone_of(name: str, size: int) -> Backbone:
    """With its weights."""
    return build_backbone(name, size=size).eval()


@lru_cache(maxsize=64)
def features(data: Data, name: str, size: int, flipped: bool) -> tuple[np.ndarray, float]:
    """[N, D] pooled features, and CPU seconds an image."""
    backbone = backbone_of(name, size)
    view = eval_transform(backbone.spec)
    run = feature_engine(backbone, "pooled", torch.device("cpu")).run

    def read(path: Path) -> np.ndarray:
        image = open_image(path, size)
        mirrored = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flipped else image
        return view(mirrored).numpy()

    started, rows, batch = time.process_time(), [], []
    for pixels in read_ahead(read, data.paths, workers=1, ahead=2 * BATCH):
        batch.append(pixels)
        if len(batch) == BATCH:
            rows.append(run(np.stack(batch)))
            batch = []
    if batch:
        rows.append(run(np.stack(batch)))
    seconds = (time.process_time() - started) / len(data.paths)
    return np.concatenate(rows), seconds


def best_precision(x: np.ndarray, learned: np.ndarray, truth: np.ndarray) -> float:
    """mAP on the last third of ridge regression on the first two."""
    x = np.sign(x) * np.sqrt(np.abs(x))
    count = 2 * len(x) // 3
    x = (x - x[:count].mean(axis=0)) / x[:count].std()
    mean = learned[:count].mean(axis=0)
    values, vectors = np.linalg.eigh(x[:count] @ x[:count].T)
    projected = vectors.T @ (learned[:count] - mean)
    precisions = []
    for strength in STRENGTHS:
        dual = vectors @ (projected / (values + strength)[:, None])
        scores = x[count:] @ (x[:count].T @ dual) + mean
        precisions.append(mean_average_precision(scores, truth[count:].astype(np.int8)).mAP)
    return max(precisions)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voc", type=Path, default=Path("../shared/data/voc2012"))
    parser.add_argument("--images", type=int, default=1200)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        sets = [scenes(side, options.images // 2, Path(folder)) for side in (224, 448)]
        if options.voc.is_dir():
            sets.insert(0, voc(options.voc, options.images))
        names = " | ".join(f"{data.name}: all labels | one tag" for data in sets)
        lines = [f"| views | ms | {names} |", "|---|---|" + "---|---|" * len(sets)]
        for way in WAYS:
            cells, milliseconds = [], 0.0
            for data in sets:
                views = [features(data, *view) for view in way]
                x = np.mean([rows for rows, _ in views], axis=0)
                milliseconds = 1000 * sum(seconds for _, seconds in views)
                cells += [
                    f"{best_precision(x, learned.astype(float), data.labels):.1f}"
                    for learned in (data.labels, data.single)
                ]
            name = " and ".join(f"{n} {s} px{' flipped' if f else ''}" for n, s, f in way)
            lines.append(f"| {name} | {milliseconds:.0f} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
