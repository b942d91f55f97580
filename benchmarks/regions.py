"""What looking at regions brings: the learner on whole images, and on whole and best region.

    python benchmarks/regions.py [--voc ../shared/data/voc2012] [--draws 3] [--write]

Three ways to score an image with the same features: by its mean only; by the head of that mean on
the whole and the best of 3 x 3 regions; and by the head that was refined for it (`auto`). Learned
from one tag per image and from all, on two thirds of the images; validation mAP on the last third.
Every choice is the learner's own. Data: photos of VOC 2012 (256 px) where they are there, and drawn
scenes. Writes the table of docs/results/regions.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from features import LITE0, LITE2, Data, scenes, voc
from pages import show_rows
from tagfill.evaluate import mean_average_precision
from tagfill.images import open_image, read_ahead
from tagfill.linear import fit_head
from tagfill.linear.regions import whole
from tagfill.models.factory import build_backbone
from tagfill.models.graphs import feature_engine
from tagfill.models.preprocess import eval_transform
from tagfill.observe import single_positive

PAGE = Path(__file__).parents[1] / "docs" / "results" / "regions.md"
HEADER = ["data", "features", "learned from", "whole", "best region at the end", "`auto`"]
BATCH = 8


def grids(data: Data, name: str, size: int) -> np.ndarray:
    """[N, D, 3, 3] features of the regions of all images."""
    backbone = build_backbone(name, size=size).eval()
    view, run = eval_transform(backbone.spec), feature_engine(backbone, "grid", torch.device("cpu"))
    inputs = read_ahead(
        lambda path: view(open_image(path, size)).numpy(), data.paths, workers=1, ahead=2 * BATCH
    )
    rows = []
    while batch := list(islice(inputs, BATCH)):
        rows.append(run.run(np.stack(batch)))
    return np.concatenate(rows)


def mean_ap(logits: np.ndarray, truth: np.ndarray) -> float:
    """In percent."""
    return float(mean_average_precision(logits, truth.astype(np.int8)).mAP)


def rows_of(data: Data, name: str, size: int, draws: int) -> Iterator[list[str]]:
    """One line for one tag, one for all."""
    features = grids(data, name, size)
    count = 2 * len(features) // 3
    unseen, truth = features[count:], data.labels[count:]
    kept = data.labels[:count].any(axis=1)
    labels, learned = data.labels[:count][kept].astype(np.int8), features[:count][kept]
    observed = [np.asarray(single_positive(labels, seed=seed)) for seed in range(draws)]
    for kind, draw in (("one tag", observed), ("all", [labels])):
        results = []
        for given in draw:
            plain, regional = fit_head(whole(learned), given), fit_head(learned, given)
            logits = (plain.logits(whole(unseen)), plain.logits(unseen), regional.logits(unseen))
            results.append([mean_ap(part, truth) for part in logits])
        means, spread = np.mean(results, axis=0), np.std(results, axis=0, ddof=len(results) > 1)
        shown = [
            f"{m:.1f}" + f" ± {s:.1f}" * (len(draw) > 1) for m, s in zip(means, spread, strict=True)
        ]
        yield [data.name, f"{name.removeprefix('efficientnet_')} {size} px", kind, *shown]


def main() -> None:
    """Print the table, or write it into its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--voc", type=Path, default=Path("../shared/data/voc2012"))
    parser.add_argument("--images", type=int, default=2400)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        sets = [(scenes(320, options.images // 2, Path(folder)), LITE2, 320)]
        sets.append((scenes(224, options.images // 2, Path(folder)), LITE0, 224))
        if options.voc.is_dir():
            photos = voc(options.voc, options.images)
            sets = [(photos, LITE2, 320), (photos, LITE0, 224), *sets]
        rows = (row for given in sets for row in rows_of(*given, options.draws))
        show_rows(HEADER, rows, PAGE if options.write else None)


if __name__ == "__main__":
    main()
