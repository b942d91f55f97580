"""Exact average precision of a large score matrix: tagfill beside a loop over scikit-learn.

Run: python benchmarks/average_precision.py [--images 40000] [--classes 80] [--repeats 5]
Prints one JSON object: median processor seconds of both, their ratio and the largest difference.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score

from tagfill.evaluate import average_precision, bootstrap, mean_average_precision_statistic

Matrix = np.ndarray


def simulate(images: int, classes: int, decimals: int | None) -> tuple[Matrix, Matrix]:
    """Scores and labels with COCO's share of positives; rounding makes ties."""
    rng = np.random.default_rng(0)
    labels = (rng.random((images, classes)) < 0.036).astype(np.int8)
    scores = rng.normal(size=labels.shape) + 1.5 * labels
    return (scores if decimals is None else scores.round(decimals)).astype(np.float32), labels


def loop_over_scikit_learn(scores: Matrix, labels: Matrix) -> Matrix:
    """What most published code does; unknown entries are cut out class by class."""
    values = []
    for score, label in zip(scores.T, labels.T, strict=True):
        known = label != -1
        values.append(average_precision_score(label[known], score[known]))
    return np.array(values)


def seconds(job: Callable[[], object]) -> float:
    """Processor time of one call; nothing here uses a second thread."""
    start = time.process_time()
    job()
    return time.process_time() - start


def compare(scores: Matrix, labels: Matrix, repeats: int) -> dict[str, float]:
    """Medians of both, taken in turns so that noise falls on both alike."""
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(seconds(lambda: average_precision(scores, labels)))
        theirs.append(seconds(lambda: loop_over_scikit_learn(scores, labels)))
    difference = average_precision(scores, labels) - loop_over_scikit_learn(scores, labels)
    return {
        "tagfill_seconds": round(statistics.median(ours), 4),
        "scikit_learn_seconds": round(statistics.median(theirs), 4),
        "times_faster": round(statistics.median(theirs) / statistics.median(ours), 1),
        "largest_difference": float(np.abs(difference).max()),
    }


def main() -> None:
    """Compare on distinct, tied and partly unknown entries, and time the bootstrap."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=40_000)
    parser.add_argument("--classes", type=int, default=80)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    scores, labels = simulate(options.images, options.classes, None)
    tied, _ = simulate(options.images, options.classes, 2)
    partial = np.where(np.random.default_rng(1).random(labels.shape) < 0.5, -1, labels)
    statistic = mean_average_precision_statistic(scores, labels)
    result = {
        "images": options.images,
        "classes": options.classes,
        "distinct_scores": compare(scores, labels, options.repeats),
        "tied_scores": compare(tied, labels, options.repeats),
        "half_unknown": compare(scores, partial, options.repeats),
        "bootstrap_100_resamples_seconds": round(
            seconds(lambda: bootstrap(statistic, options.images, resamples=100)), 2
        ),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
