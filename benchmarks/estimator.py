"""The estimator beside scikit-learn's logistic regression on small tables with labels hidden.

    python benchmarks/estimator.py [--draws 5] [--only digits,wine] [--write]

Tables that come with scikit-learn or are drawn by it; one positive of every row, half of the
positives, one entry in ten, or all labels are shown. Both learn from the same labels of one half of
the rows; mean average precision on the other half, whose labels are complete. Logistic regression
is one against the rest with unknown entries taken as negative (of entries known at random: left
out), once on the features as they are and once standardized. Prints one line for each table and
regime, or writes the table of docs/results/estimator.md.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_multilabel_classification,
)
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from pages import show_rows
from tagfill.evaluate import mean_average_precision
from tagfill.observe import positive_proportion, single_positive
from tagfill.sklearn import IncompleteLabelClassifier

Array = np.ndarray
PAGE = Path(__file__).parents[1] / "docs" / "results" / "estimator.md"


def one_hot(loaded: object) -> tuple[Array, Array]:
    """Every row has one class."""
    return loaded.data, (loaded.target[:, None] == np.arange(loaded.target.max() + 1)).astype(int)


def digit_pairs() -> tuple[Array, Array]:
    """Two digits on one sheet: the darker of both pixels, the tags of both."""
    pixels, tags = one_hot(load_digits())
    first, second = np.random.default_rng(0).integers(0, len(pixels), (2, 2000))
    return np.maximum(pixels[first], pixels[second]), np.maximum(tags[first], tags[second])


def digit_traits() -> tuple[Array, Array]:
    """Digits that are even, prime, large, have a loop, a straight line or a hook."""
    loaded = load_digits()
    traits = [{0, 2, 4, 6, 8}, {2, 3, 5, 7}, {5, 6, 7, 8, 9}, {0, 6, 8, 9}, {1, 4, 7}, {2, 3, 5}]
    return loaded.data, np.stack([np.isin(loaded.target, [*trait]) for trait in traits], 1) * 1


def wine_traits() -> tuple[Array, Array]:
    """Which of six measurements lie above their median, told by the other seven and the class."""
    loaded = load_wine()
    tags = loaded.data[:, :6] > np.median(loaded.data[:, :6], axis=0)
    return loaded.data[:, 6:], tags.astype(int)


def yeast_like() -> tuple[Array, Array]:
    """As many rows, features and tags as the yeast data: 14 noisy, related tags, 4.2 a row."""
    draw = np.random.default_rng(1)
    hidden = draw.normal(size=(2417, 12))
    features = hidden @ draw.normal(size=(12, 103)) + 2 * draw.normal(size=(2417, 103))
    scores = hidden @ draw.normal(size=(12, 14)) + 2 * draw.normal(size=(2417, 14))
    cut = np.quantile(scores, np.linspace(0.25, 0.95, 14)[::-1], axis=0).diagonal()
    return features, (scores > cut).astype(int)


def drawn(rows: int, tags: int, mean: int) -> tuple[Array, Array]:
    """Word counts with several topics."""
    return make_multilabel_classification(
        rows, n_features=40, n_classes=tags, n_labels=mean, allow_unlabeled=False, random_state=2
    )


TABLES: dict[str, Callable[[], tuple[Array, Array]]] = {
    "digits": lambda: one_hot(load_digits()),
    "digits, two on a sheet": digit_pairs,
    "digits, traits": digit_traits,
    "wine": lambda: one_hot(load_wine()),
    "wine, traits": wine_traits,
    "iris": lambda: one_hot(load_iris()),
    "breast cancer": lambda: one_hot(load_breast_cancer()),
    "topics, 5 tags": lambda: drawn(600, 5, 2),
    "topics, 20 tags": lambda: drawn(2000, 20, 3),
    "like yeast": yeast_like,
}


def at_random(truth: Array, seed: int) -> Array:
    """One entry in ten."""
    return np.where(np.random.default_rng([seed, 5]).random(truth.shape) < 0.1, truth, -1)


REGIMES: dict[str, Callable[[Array, int], Array]] = {
    "one positive": lambda truth, seed: single_positive(truth, seed),
    "half of the positives": lambda truth, seed: positive_proportion(truth, seed, proportion=0.5),
    "one entry in ten": at_random,
    "all": lambda truth, seed: truth,
}


def regression(features: Array, labels: Array, scored: Array) -> Array:
    """[M, K] scores of one logistic regression a class."""
    scores = np.zeros((len(scored), labels.shape[1]))
    for column, label in enumerate(labels.T):
        rows = label != -1 if (labels == 0).any() else slice(None)
        if len(np.unique(label[rows] == 1)) == 2:
            model = LogisticRegression(max_iter=2000).fit(features[rows], label[rows] == 1)
            scores[:, column] = model.decision_function(scored)
    return scores


def measured(features: Array, truth: Array, regime: str, seed: int) -> tuple[list[float], str]:
    """mAP of both regressions and of the estimator on the other half, and the features it chose."""
    order = np.random.default_rng([seed, 3]).permutation(len(truth))
    train, test = order[: len(truth) // 2], order[len(truth) // 2 :]
    labels = REGIMES[regime](truth[train].astype(np.int8), seed).astype(np.int8)
    scaler = StandardScaler().fit(features[train])
    plain, scaled = features, scaler.transform(features)
    model = IncompleteLabelClassifier(random_state=seed).fit(features[train], labels)
    scores = [regression(x[train], labels, x[test]) for x in (plain, scaled)]
    scores.append(model.decision_function(features[test]))
    reached = [mean_average_precision(one, truth[test].astype(np.int8)).mAP for one in scores]
    return reached, model.transform_


def rows(only: set[str], draws: int, log: bool) -> Iterator[list[str]]:
    """One row of the table for each table and regime."""
    for name, load in TABLES.items():
        if only and not any(name.startswith(one) for one in only):
            continue
        features, truth = load()
        for regime in REGIMES:
            trials = [measured(features, truth, regime, seed) for seed in range(draws)]
            reached = np.array([trial[0] for trial in trials])
            gain = reached[:, 2] - reached[:, :2].max(axis=1)
            if log:
                print([trial[1] for trial in trials], file=sys.stderr)
            means = [f"{value:.1f}" for value in reached.mean(axis=0)]
            yield [name, regime, *means, f"{gain.mean():+.1f} ± {gain.std(ddof=1):.1f}"]


def main() -> None:
    """Print the rows, or write the page."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--log", action="store_true")
    given = parser.parse_args()
    header = ["table", "shown", "regression", "regression, standardized", "estimator"]
    header.append("estimator minus the better")
    only = set(filter(None, given.only.split(",")))
    show_rows(header, rows(only, given.draws, given.log), PAGE if given.write else None)


if __name__ == "__main__":
    main()
