"""What fitted thresholds and calibration are worth on VOC 2012, with full and incomplete labels.

Trains linear heads on the published features (published single-positive draw and split), fits
calibration and thresholds on the 1,143 validation images, once with their full labels, once with
half of the positives, once with one positive an image, and evaluates them on the 5,823 test images
with full labels.

Run: python benchmarks/thresholds.py ../shared/data/voc2012/mlspl
Writes docs/results/thresholds.md; about two minutes on one core.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from tagfill.evaluate import (
    apply_calibration,
    at_threshold,
    classwise_calibration_error,
    count,
    expected_calibration_error,
    fit_calibration,
    fit_thresholds,
    precision_recall,
    sigmoid,
)
from tagfill.evaluate.calibration import KINDS
from tagfill.evaluate.thresholds import MIN_SUPPORT, SHRINK
from tagfill.models.bundle import load
from tagfill.priors import presence
from tagfill.train.config import DataConfig
from tagfill.train.data import Split, prepare
from tagfill.train.resolve import Request
from tagfill.train.run import fit

METHODS, EPOCHS = ("an", "em", "role"), 10
OUT = Path(__file__).parents[1] / "docs" / "results" / "thresholds.md"
Array = np.ndarray


def train(method: str, folder: Path, out: Path) -> tuple[Array, Array]:
    """Logits of the validation and of the test images."""
    settings = {"epochs": EPOCHS, "threads": 1}
    data = DataConfig(labels=str(folder))
    fit(Request(data, method=method, protocol="mlspl", overrides=settings), out)
    head = load(out).network.head
    splits = prepare(DataConfig(labels=str(folder), val_split="published"))

    @torch.no_grad()
    def logits(split: Split | None) -> Array:
        features = torch.from_numpy(split.features.astype(np.float32))
        return head(features).logits.numpy().astype(np.float64)

    return logits(splits.val), logits(splits.test)


def hidden(truth: Array) -> dict[str, Array]:
    """Validation labels as three kinds of annotators would give them."""
    rng = np.random.default_rng(0)
    half = np.where((truth == 1) & (rng.random(truth.shape) < 0.5), 1, -1)
    kept = np.argmax(truth * rng.random(truth.shape), axis=1)
    single = (np.arange(truth.shape[1]) == kept[:, None]) & (truth == 1)
    return {
        "full": truth,
        "half of the positives": half,
        "one positive an image": np.where(single, 1, -1),
    }


def f1(probabilities: Array, thresholds: Array | float, truth: Array) -> str:
    """Micro and macro F1 in percent."""
    figures = precision_recall(count(at_threshold(probabilities, thresholds), truth))
    return f"{100 * figures.overall_f1:.1f} / {100 * figures.class_f1_mean_of_f1:.1f}"


def threshold_rows(
    scores: dict[str, tuple[Array, Array]], val: Array, test: Array
) -> Iterator[str]:
    """F1 with each kind of threshold."""
    for method, (logits, tested) in scores.items():
        plain = f1(sigmoid(tested), 0.5, test)
        for name, labels in hidden(val).items():
            believed = presence(logits, labels).probability
            calibration = fit_calibration(logits, believed)
            seen = apply_calibration(logits, calibration)
            found = apply_calibration(tested, calibration)
            fitted = fit_thresholds(seen, believed)
            alone = fit_thresholds(seen, believed, shrink=0)
            entries = [plain, f1(found, 0.5, test), f1(found, fitted.common, test)]
            entries += [f1(found, alone.values, test), f1(found, fitted.values, test)]
            yield f"| `{method}` | {name} | {' | '.join(entries)} |"


def correction_rows(
    scores: dict[str, tuple[Array, Array]], val: Array, test: Array
) -> Iterator[str]:
    """Share written, and calibration with and without the correction."""
    for method, (logits, tested) in scores.items():
        for name, labels in hidden(val).items():
            believed = presence(logits, labels)
            true_rate = (labels == 1).sum() / (val == 1).sum()
            as_negatives = np.where(labels == 1, 1, 0)
            ignored = fit_calibration(logits, as_negatives)
            corrected = fit_calibration(logits, believed.probability)
            entries = [f"{believed.share_written:.2f} ({true_rate:.2f})"]
            for calibration in (None, ignored, corrected):
                found = apply_calibration(tested, calibration)
                error = expected_calibration_error(found, test)
                entries.append(f"{100 * error:.2f} ({found.sum(axis=1).mean():.2f})")
            yield f"| `{method}` | {name} | {' | '.join(entries)} |"


def kind_rows(scores: dict[str, tuple[Array, Array]], val: Array, test: Array) -> Iterator[str]:
    """Calibration error of each kind of map."""
    for method, (logits, tested) in scores.items():
        for name, labels in hidden(val).items():
            believed = presence(logits, labels).probability
            entries = []
            for kind in KINDS:
                calibration = fit_calibration(logits, believed, kind=kind)
                found = apply_calibration(tested, calibration)
                error = expected_calibration_error(found, test)
                by_class = np.nanmean(classwise_calibration_error(found, test))
                entries.append(f"{100 * error:.2f} / {100 * by_class:.2f}")
            yield f"| `{method}` | {name} | {' | '.join(entries)} |"


REPORT = """# Thresholds and calibration on VOC 2012

`python benchmarks/thresholds.py ../shared/data/voc2012/mlspl`: linear heads on the published
features, trained on one positive an image ({epochs} epochs, one seed). Calibration and thresholds
are fitted on the {val} validation images and evaluated on the {test} test images with full labels.
"Known in validation" says which labels of the validation images the fit was given.

## What is fitted

A run fits three things to the validation scores and keeps them with the model (`model.json`, fields
`calibration` and `thresholds`; a summary in `metrics.json` under `thresholds`):

1. **How labels came to be known** (`tagfill.priors.presence`): the writer under which the labels
   are likeliest, and with it the probability that each unknown tag is there.
2. **Calibration** (`fit_calibration`): p = sigmoid(slope x + bias) for each class, drawn toward the
   line of all classes, fitted to these probabilities.
3. **Thresholds** (`fit_thresholds`): the highest F1, or the target precision or recall, with n
   labeled positives weighing n against {shrink:g} for the common threshold, and below {least}
   positives the common threshold alone. Without known negatives, precision and F1 are expected
   values under 1., and recall is that of labeled positives.

## F1 (micro / macro, %)

0.5 on raw probabilities; after calibration 0.5, one common threshold, one a class without
shrinkage, and one a class drawn toward the common one (what a run stores).

| method | known in validation | raw 0.5 | calibrated 0.5 | common | per class | shrunk (stored) |
|---|---|---|---|---|---|---|
{thresholds}

## Missing positives: calibration error with and without the correction

Expected calibration error in % of test probabilities; in brackets the expected number of tags of an
image (true: {k:.2f}). "Uncorrected" takes every unlabeled validation entry for negative. The
share written is the estimated share of positives that were labeled; in brackets the true one.

| method | known in validation | share written | raw | uncorrected | corrected |
|---|---|---|---|---|---|
{correction}

## Kinds of calibration

Expected calibration error / mean of the classes' errors, in %.

| method | known in validation | {kinds} |
|---|---|---|---|---|
{by_kind}

## Reading

- 0.5 is a poor threshold for methods that do not aim at probabilities: assume-negative training
  scores too low, entropy maximization keeps everything near 0.5. Calibration repairs most of it.
- After calibration a common threshold is about as good as one a class. Fitted to each class alone,
  thresholds follow noise and lose up to two points. Shrunk ones gain up to 1.3 points of macro F1
  over the common one for `an` and `em`, and lose up to half a point for `role`.
- Positives that were never labeled push probabilities down by the share written. The correction
  brings them back without a single known negative. With one positive an image the chance to be
  labeled depends on how many tags the image has; the model of that (one tag drawn, tags
  independent given the image) estimates the rate a little low.
- The strengths of shrinkage were set by fitting on one half of the validation images and evaluating
  on the other (eight splits): 10 gave calibration its lowest Brier score; 40 is a compromise, micro
  F1 wanting more and macro F1 less. A sweep over the test images had been looked at before (80 to
  160 did best there) and was not followed.
"""


def main() -> None:
    """Train, fit, evaluate and write the report."""
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as runs:
        scores = {method: train(method, folder, Path(runs, method)) for method in METHODS}
    data = prepare(DataConfig(labels=str(folder), val_split="published"))
    val, test = np.array(data.val.eval_labels), np.array(data.test.eval_labels)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(
        REPORT.format(
            epochs=EPOCHS,
            shrink=SHRINK,
            least=MIN_SUPPORT,
            val=f"{len(val):,}",
            test=f"{len(test):,}",
            k=test.sum(axis=1).mean(),
            thresholds="\n".join(threshold_rows(scores, val, test)),
            correction="\n".join(correction_rows(scores, val, test)),
            kinds=" | ".join(KINDS),
            by_kind="\n".join(kind_rows(scores, val, test)),
        )
    )
    print(OUT.read_text())


if __name__ == "__main__":
    main()
