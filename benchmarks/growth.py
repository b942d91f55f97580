"""How time grows with images and with classes: points, slopes, and a picture.

    python benchmarks/growth.py [--limit 60] [--points build/growth.jsonl] [--out growth.png]

One thread, processor seconds. Every point is kept as soon as it is measured, and not measured again
by the next call. A point is left out where the one before it took more than an eighth of the
limit. Features have 64 numbers; `predict` is what comes behind the backbone, whose time per image
does not depend on the number of images.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from csv_loading import write_file
from targets import made_features, single_positives

WIDTH = 64
IMAGES = (1_000, 10_000, 100_000, 1_000_000)
CLASSES = (10, 100, 1_000, 10_000)
FEW = {"images": 1_000, "classes": 10}
"""The size that stays while the other one grows."""
Work = Callable[[], object]


def inspect(folder: Path, images: int, classes: int) -> Work:
    """Reading a wide CSV."""
    from tagfill.labels.io import load_labels

    path = folder / "labels.csv"
    write_file(path, images, classes)

    def work() -> object:
        os.utime(path)  # what is remembered of the file is not used
        return load_labels(path)

    return work


def mean_ap(folder: Path, images: int, classes: int) -> Work:
    """Exact mAP."""
    from tagfill.evaluate import mean_average_precision

    rng = np.random.default_rng(0)
    labels = (rng.random((images, classes), np.float32) < 0.1).astype(np.int8)
    labels[0] = 1
    scores = rng.standard_normal((images, classes), np.float32) + labels
    return lambda: mean_average_precision(scores, labels)


def _data(folder: Path, images: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    features, hidden = made_features(folder, images, WIDTH)
    return features, single_positives(hidden, classes)


def learner(folder: Path, images: int, classes: int) -> Work:
    """All choices and the fit."""
    from tagfill.linear import fit_head

    features, labels = _data(folder, images, classes)
    return lambda: fit_head(features, labels)


def recover(folder: Path, images: int, classes: int) -> Work:
    """Probabilities of all missing tags."""
    from tagfill.recover.posterior import posterior

    features, labels = _data(folder, images, classes)
    return lambda: posterior(features, labels)


def predict(folder: Path, images: int, classes: int) -> Work:
    """Scores of a head."""
    from tagfill.linear import Choice, LikelihoodHead

    features, _ = made_features(folder, images, WIDTH)
    weight = np.random.default_rng(0).normal(size=(classes, WIDTH)).astype(np.float32)
    head = LikelihoodHead(weight, np.zeros(classes, np.float32), Choice())
    return lambda: head.logits(features)


PARTS = {
    "inspect": inspect,
    "mAP": mean_ap,
    "learner": learner,
    "recover": recover,
    "predict": predict,
}


def measured(part: str, size: dict[str, int]) -> float:
    """Processor seconds; the least of nine where they are short."""
    with tempfile.TemporaryDirectory() as name:
        work = PARTS[part](Path(name), **size)
        times: list[float] = []
        while not times or (len(times) < 9 and sum(times) < 3):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    return min(times)


def fill(path: Path, limit: float) -> dict[tuple[str, str], dict[int, float]]:
    """Measure what is missing; seconds by part, what grows, and size."""
    seconds: dict[tuple[str, str], dict[int, float]] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    for line in path.read_text().splitlines() if path.is_file() else ():
        point = json.loads(line)
        seconds.setdefault((point["part"], point["grows"]), {})[point["size"]] = point["seconds"]
    for grows, sizes in (("images", IMAGES), ("classes", CLASSES)):
        for part in PARTS:
            points, before = seconds.setdefault((part, grows), {}), 0.0
            for size in sizes:
                if size not in points and before > limit / 8:
                    print(f"{part}: {size:,} {grows} left out", file=sys.stderr, flush=True)
                    break
                if size not in points:
                    points[size] = measured(part, {**FEW, grows: size})
                    point = {"part": part, "grows": grows, "size": size, "seconds": points[size]}
                    with path.open("a") as file:
                        file.write(json.dumps(point) + "\n")
                    print(json.dumps(point), file=sys.stderr, flush=True)
                before = points[size]
    return seconds


def slope(points: dict[int, float]) -> float:
    """Of the logarithms of seconds and size, over the last two points."""
    (small, less), (large, more) = sorted(points.items())[-2:]
    return math.log(more / less) / math.log(large / small)


def row(part: str, grows: str, points: dict[int, float]) -> str:
    """A row of the table: the slope, and beside it that of n log n between the same two sizes."""
    listed = ", ".join(f"{size:,}: {taken:.2g}" for size, taken in sorted(points.items()))
    own, usual = slope(points), slope({size: size * math.log(size) for size in points})
    return f"| {part} | {grows} | {listed} | {own:.2f} | {usual:.2f} | {own / usual:.2f} |"


def draw(seconds: dict[tuple[str, str], dict[int, float]], path: Path) -> None:
    """Two panels with logarithmic axes, a line a part, and N log N."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    for panel, grows in zip(panels, ("images", "classes"), strict=True):
        other = next(f"{count:,} {name}" for name, count in FEW.items() if name != grows)
        for part in PARTS:
            points = dict(sorted(seconds[part, grows].items()))
            panel.plot(list(points), list(points.values()), "o-", label=part)
        sizes = np.array(IMAGES if grows == "images" else CLASSES, float)
        line = sizes * np.log(sizes)
        panel.plot(sizes, line / line[-1] * 30, "k:", label="n log n")
        panel.set(xscale="log", yscale="log", xlabel=grows, title=f"{grows} grow, {other}")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("processor seconds, one thread")
    panels[0].legend()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure, print slopes, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a point")
    parser.add_argument("--points", type=Path, default=Path("build/growth.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("docs/images/growth.png"))
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    torch.set_num_threads(1)
    torch.optim.LBFGS([torch.zeros(1)])  # what it imports is not measured
    seconds = fill(options.points, options.limit)
    draw(seconds, options.out)
    print("| part | grows | seconds by size | slope at the end | of n log n | ratio |")
    print("|---|---|---|---:|---:|---:|")
    for (part, grows), points in seconds.items():
        print(row(part, grows, points))


if __name__ == "__main__":
    main()
