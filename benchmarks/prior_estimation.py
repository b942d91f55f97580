"""How far estimates of k and class priors are from the truth, where the truth is known.

Three data sets (VOC 2012 with the published features, picture-book scenes with features of the
offline backbone, a synthetic table with 30 tags an image), three regimes, several draws and
estimators. The error of k is signed; that of the class priors is the sum over classes of |estimate
- truth|, as a share of k.

Run: python benchmarks/prior_estimation.py ../shared/data/voc2012/mlspl [--write docs/priors.md]
Prints one JSON object, or puts the tables between the marks of a page; some minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from tagfill.observe import known_proportion, positive_proportion, single_positive
from tagfill.priors import estimate_prior
from tagfill.priors.estimate import with_complete
from tagfill.priors.estimators import observed_rate

DRAWS = 3
SCENES = 800
REGIMES = {
    "one positive": lambda truth, seed: single_positive(truth, seed),
    "half of the positives": lambda truth, seed: positive_proportion(truth, seed, proportion=0.5),
    "half of all labels": lambda truth, seed: known_proportion(truth, seed, proportion=0.5),
}
Array = np.ndarray
Errors = dict[str, dict[str, float]]


def voc(folder: Path) -> tuple[Array, Array]:
    """Published features and full labels of the training images."""
    features = np.load(folder / "train_features_imagenet_efficientnet_lite0_448.npy")
    return features.astype(np.float32), np.load(folder / "formatted_train_labels.npy")


def table(images: int = 4000, classes: int = 100, k: float = 30.0) -> tuple[Array, Array]:
    """Labels that hang on 12 hidden traits, and 64 noisy features that show the traits."""
    draw = np.random.default_rng(1)
    traits = draw.normal(size=(images, 12))
    logits = 15 * (traits @ draw.normal(size=(12, classes)) / 12**0.5)
    logits += 7.5 * draw.normal(size=classes)
    shift = brentq(lambda b: expit(logits + b).sum(1).mean() - k, -99, 99)
    truth = (draw.random(logits.shape) < expit(logits + shift)).astype(np.int8)
    features = np.tanh(traits @ draw.normal(size=(12, 64)) / 12**0.5)
    return (features + 0.02 * draw.normal(size=features.shape)).astype(np.float32), truth


def scenes(count: int = SCENES, size: int = 192) -> tuple[Array, Array]:
    """Picture-book scenes as the offline backbone sees them."""
    import torch

    from tagfill.models.factory import build_backbone
    from tagfill.models.preprocess import eval_transform
    from tagfill.scenes import generate

    backbone = build_backbone("efficientnet_lite0").eval()
    prepare, batch, features, labels = eval_transform(backbone.spec, size), [], [], []
    for scene in generate(count, size, seed=3):
        batch.append(prepare(scene.image))
        labels.append(scene.labels)
        if len(batch) == 50 or len(labels) == count:
            with torch.no_grad():
                features.append(backbone.pooled(torch.stack(batch)).numpy())
            batch = []
    return np.concatenate(features), np.stack(labels).astype(np.int8)


def kept_scenes(cache: Path | None) -> tuple[Array, Array]:
    """``scenes``, from a file if it is there."""
    if cache is not None and cache.exists():
        kept = np.load(cache)
        return kept["features"], kept["labels"]
    features, labels = scenes()
    if cache is not None:
        np.savez(cache, features=features, labels=labels)
    return features, labels


def estimates(observed: Array, features: Array, regime: str) -> Iterator[tuple[str, Array]]:
    """Class priors by every estimator that fits the regime."""
    if regime == "half of all labels":
        yield "counted among known labels", estimate_prior(observed).prior
        return
    yield "observed positives only", observed_rate(observed)
    yield "`estimate_prior`", estimate_prior(observed, features=features).prior


def measure(features: Array, truth: Array) -> dict[str, Errors]:
    """Regime -> estimator -> mean k, mean signed error of k, its worst, and class error."""
    k, prior, rows = truth.sum(1).mean(), truth.mean(0), {}
    for regime, observe in REGIMES.items():
        runs = defaultdict(list)
        for seed in range(DRAWS):
            for name, guess in estimates(observe(truth, seed), features, regime):
                runs[name].append((guess.sum(), np.abs(guess - prior).sum() / k))
        rows[regime] = {
            name: {
                "k": float(np.mean([total for total, _ in values])),
                "error": float(np.mean([total / k - 1 for total, _ in values])),
                "worst": float(max((total / k - 1 for total, _ in values), key=abs)),
                "class_error": float(np.mean([error for _, error in values])),
            }
            for name, values in runs.items()
        }
    return rows


def with_complete_images(features: Array, truth: Array) -> dict[str, dict[str, float]]:
    """What a few complete images add to single positives, over 200 draws of them."""
    observed, k = single_positive(truth, 0), truth.sum(1).mean()
    guess = estimate_prior(observed, features=features)
    draw, rows = np.random.default_rng(0), {}
    for count in (5, 10, 25):
        few = [truth[draw.permutation(len(truth))[:count]] for _ in range(200)]
        alone = [estimate_prior(observed, complete=labels) for labels in few]
        both = [with_complete(guess, labels) for labels in few]
        means = [estimate.expected_positives for estimate in alone]
        low, high = np.percentile(means, (5, 95))
        rows[str(count)] = {
            "low": float(low),
            "high": float(high),
            "covered": _covered(alone, k),
            "count_error": _error(alone, k),
            "both_error": _error(both, k),
            "both_covered": _covered(both, k),
        }
    return rows


def _error(runs: list, k: float) -> float:
    return float(np.mean([abs(run.expected_positives / k - 1) for run in runs]))


def _covered(runs: list, k: float) -> float:
    return float(np.mean([run.interval[0] <= k <= run.interval[1] for run in runs]))


def markdown(report: dict) -> dict[str, str]:
    """The tables of the page, by the name of their marks."""
    lines = ["| data | regime | estimator | k | error of k | worst | error of class priors |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for data, entry in report["data"].items():
        for regime, runs in entry["regimes"].items():
            for name, run in runs.items():
                lines.append(
                    f"| {data}, k = {entry['k']:.2f} | {regime} | {name} | {run['k']:.2f} |"
                    f" {run['error']:+.1%} | {run['worst']:+.1%} | {run['class_error']:.1%} |"
                )
    few = ["| images | 5th to 95th percentile of their mean | mean error of the count |"]
    few[0] += " its interval holds k | mean error with both | its interval holds k |"
    few += ["|---|---|---|---|---|---|"]
    for count, run in report["complete"].items():
        few.append(
            f"| {count} | {run['low']:.2f} to {run['high']:.2f} | {run['count_error']:.1%} |"
            f" {run['covered']:.0%} | {run['both_error']:.1%} | {run['both_covered']:.0%} |"
        )
    return {"errors": "\n".join(lines), "complete": "\n".join(few)}


def write(page: Path, tables: dict[str, str]) -> None:
    """Put each table between its marks."""
    text = page.read_text(encoding="utf-8")
    for name, lines in tables.items():
        mark = f"<!-- {name} -->"
        text = re.sub(f"{mark}.*?{mark}", f"{mark}\n{lines}\n{mark}", text, flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Measure, then print or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("voc", type=Path, help="folder with the published VOC features")
    parser.add_argument("--write", type=Path, help="page with marks to fill")
    parser.add_argument("--cache", type=Path, help="npz file that keeps the features of scenes")
    options = parser.parse_args()
    sets = {
        "VOC 2012": voc(options.voc),
        "scenes": kept_scenes(options.cache),
        "table": table(),
    }
    report = {
        "data": {
            name: {"k": float(truth.sum(1).mean()), "regimes": measure(features, truth)}
            for name, (features, truth) in sets.items()
        },
        "complete": with_complete_images(*sets["VOC 2012"]),
    }
    if options.write:
        write(options.write, markdown(report))
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
