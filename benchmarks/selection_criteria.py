"""How well each criterion picks models when validation labels are incomplete.

Linear heads on the published VOC 2012 features (five losses x three learning rates x 15 epochs,
single-positive training labels) are scored on validation labels of which split is hidden, five
draws each. For every criterion: rank correlation with the test mAP within a run and over all
models, and the test mAP lost by choosing the epoch of a run, or the model, with it.

Run: python benchmarks/selection_criteria.py ../shared/data/voc2012/mlspl
Prints one JSON object; about a minute on one core.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn.functional import logsigmoid

from tagfill.evaluate import CRITERIA, mean_average_precision

EPOCHS, BATCH, DRAWS = 15, 32, 5
FEATURES = "_features_imagenet_efficientnet_lite0_448.npy"
Array = np.ndarray


def assume_negative(logits: Tensor, observed: Tensor) -> Tensor:
    """Unknown is negative."""
    return -(observed * logsigmoid(logits) + (1 - observed) * logsigmoid(-logits)).mean()


def smoothed(logits: Tensor, observed: Tensor) -> Tensor:
    """Unknown is negative, targets 0.9 and 0.1."""
    return assume_negative(logits, 0.1 + 0.8 * observed)


def weak_negative(logits: Tensor, observed: Tensor) -> Tensor:
    """Unknown is negative at 1 / (K - 1) of the weight."""
    weight = 1 / (logits.shape[1] - 1)
    terms = observed * logsigmoid(logits) + weight * (1 - observed) * logsigmoid(-logits)
    return -terms.mean()


def entropy(logits: Tensor, observed: Tensor) -> Tensor:
    """Unknown entries gain entropy."""
    chance = torch.sigmoid(logits)
    negative_entropy = chance * logsigmoid(logits) + (1 - chance) * logsigmoid(-logits)
    return (-observed * logsigmoid(logits) + 0.2 * (1 - observed) * negative_entropy).mean()


def expected_positives(logits: Tensor, observed: Tensor) -> Tensor:
    """Positives, and 1.5 tags an image on average."""
    surplus = (torch.sigmoid(logits).sum(1).mean() - 1.5) / logits.shape[1]
    return -(observed * logsigmoid(logits)).mean() + surplus**2


LOSSES = (assume_negative, smoothed, weak_negative, entropy, expected_positives)


def epochs(
    loss: Callable[[Tensor, Tensor], Tensor], rate: float, features: Tensor, observed: Tensor
) -> Iterator[torch.nn.Linear]:
    """Train a linear head; yields it after every epoch."""
    torch.manual_seed(0)
    head = torch.nn.Linear(features.shape[1], observed.shape[1])
    optimizer = torch.optim.Adam(head.parameters(), lr=rate)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(features)).split(BATCH):
            optimizer.zero_grad()
            loss(head(features[rows]), observed[rows]).backward()
            optimizer.step()
        yield head


def candidates(folder: Path) -> tuple[list[Array], Array, Array]:
    """Validation scores of all models, their test mAP [runs, epochs], and validation truth."""
    features, tested = (
        torch.tensor(np.load(folder / f"{split}{FEATURES}")).float() for split in ("train", "val")
    )
    truth = np.load(folder / "formatted_train_labels.npy").astype(np.int8)
    test_truth = np.load(folder / "formatted_val_labels.npy").astype(np.int8)
    observed = torch.tensor(np.load(folder / "formatted_train_labels_obs.npy")).float()
    train, val = (np.load(folder / f"split_{split}_index.npy") for split in ("train", "val"))
    scores, test = [], []
    for loss in LOSSES:
        for rate in (3e-3, 1e-3, 1e-4):
            for head in epochs(loss, rate, features[train], observed[train]):
                with torch.no_grad():
                    scores.append(head(features[val]).numpy())
                    test.append(mean_average_precision(head(tested).numpy(), test_truth).mAP)
    return scores, np.array(test).reshape(-1, EPOCHS), truth[val]


def one_positive(truth: Array, rng: np.random.Generator) -> Array:
    """One positive of each image, all else unknown."""
    kept = np.argmax(truth * rng.random(truth.shape), axis=1)
    return np.where((np.arange(truth.shape[1]) == kept[:, None]) & (truth == 1), 1, -1)


def half_the_positives(truth: Array, rng: np.random.Generator) -> Array:
    """Each positive with chance 1/2, all else unknown."""
    return np.where((truth == 1) & (rng.random(truth.shape) < 0.5), 1, -1)


def half_the_entries(truth: Array, rng: np.random.Generator) -> Array:
    """Each entry with chance 1/2."""
    return np.where(rng.random(truth.shape) < 0.5, truth, -1)


def full(truth: Array, rng: np.random.Generator) -> Array:
    """Everything known."""
    return truth


REGIMES = {
    full: ("mAP",),
    half_the_entries: ("known_mAP",),
    half_the_positives: ("observed_mAP", "observed_reciprocal_rank"),
    one_positive: ("observed_mAP", "observed_reciprocal_rank"),
}


def quality(values: Array, test: Array) -> tuple[float, float, float, float]:
    """Correlations within runs and over all, and test mAP lost per run and over all."""
    runs = range(len(test))
    return (
        float(np.mean([spearmanr(values[run], test[run])[0] for run in runs])),
        float(spearmanr(values.ravel(), test.ravel())[0]),
        float(np.mean([test[run].max() - test[run, values[run].argmax()] for run in runs])),
        float(test.max() - test.ravel()[values.argmax()]),
    )


def main() -> None:
    """Train the candidates and evaluate every criterion."""
    torch.set_num_threads(1)
    scores, test, truth = candidates(Path(sys.argv[1]))
    result = {}
    for hide, names in REGIMES.items():
        for name in names:
            draws = []
            for seed in range(1 if hide is full else DRAWS):
                labels = hide(truth, np.random.default_rng(seed)).astype(np.int8)
                values = np.array(
                    [CRITERIA[name](values_of_epoch, labels) for values_of_epoch in scores]
                )
                draws.append(quality(values.reshape(test.shape), test))
            titles = ("correlation_in_run", "correlation", "lost_in_run", "lost")
            means = np.mean(draws, axis=0).round(3).tolist()
            result[f"{hide.__name__}: {name}"] = dict(zip(titles, means, strict=True))
    print(json.dumps({"models": test.size, "test_mAP_best": test.max(), "criteria": result}))


if __name__ == "__main__":
    main()
