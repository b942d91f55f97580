"""Evaluate the trained network on the held-out images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tagfill.arrays import Mask, Numbers
from tagfill.evaluate import summary
from tagfill.evaluate.selection import observed_mean_average_precision
from tagfill.evaluate.thresholds import DecisionRule, fit_decision_rule
from tagfill.labels import NEGATIVE, POSITIVE, Labels
from tagfill.priors import Written, how_written
from tagfill.train.config import RunConfig
from tagfill.train.loop import Stage
from tagfill.train.model import Assembly
from tagfill.train.unseen import chosen, out_of_fold_scores


class Labeled(NamedTuple):
    """Scores of images by heads that have not seen them, and their labels."""

    logits: Numbers
    labels: Labels
    reviewed: Mask | None


@dataclass(frozen=True)
class Evaluation:
    """Metrics at the end of training.

    Args:
        logits: [N, K] of every held-out split.
        decisions: calibration and thresholds, where they could be fitted.
        out_of_fold: [N, K] logits of the training images by heads that have not seen them, if
            these were needed.
    """

    metrics: dict[str, Any]
    logits: dict[str, Numbers]
    decisions: DecisionRule | None
    out_of_fold: Numbers | None = None

    @property
    def precisions(self) -> dict[str, float | None]:
        return {name: self.metrics[name].get("mAP") for name in self.logits}


def evaluate(stage: Stage, assembly: Assembly, config: RunConfig) -> Evaluation:
    """Score every held-out split with the weights of the best epoch, and measure."""
    data, last = assembly.data, config.stages[-1]
    held_out = {name: split for name, split in data.splits.items() if name != "train"}
    logits = {
        name: stage.placement.scores(stage.plain, assembly.inputs(split, last)).numpy()
        for name, split in held_out.items()
    }
    labeled = {
        name: Labeled(logits[name], split.eval_labels, split.eval_reviewed)
        for name, split in held_out.items()
    }
    unseen, how, decisions, val = None, None, None, data.val
    if val is not None and (val.eval_labels == POSITIVE).any():
        unseen = out_of_fold_scores(assembly, chosen(config, stage.solved), val)
        if unseen is None:
            decisions = _decision_rule(how_written(*labeled["val"]), labeled["val"])
        else:
            train = Labeled(unseen, data.train.table.values, data.train.table.reviewed)
            how = how_written(*train, complete=(labeled["val"].logits, labeled["val"].labels))
            decisions = _decision_rule(how, train, labeled["val"])
    seconds = [record["seconds"] for record in stage.history]
    metrics: dict[str, Any] = {
        "method": last.method.name,
        "regime": data.regime,
        "criterion": stage.data.criterion,
        "best_epoch": stage.selector.best_epoch,
        "best_score": stage.selector.best_score,
        "weights": stage.best_weights,
        "solved": stage.solved,
        "epochs": len(stage.history),
        "seconds_per_epoch": float(np.median(seconds)) if seconds else None,
        "parameters": sum(parameter.numel() for parameter in stage.plain.parameters()),
        "images": data.sizes,
        "data_hash": data.content_hash,
        "seed": config.seed,
        "thresholds": None if decisions is None else decisions.as_dict(),
    }
    for name, images in labeled.items():
        metrics[name] = _metrics(images, data.classes, decisions, how)
    return Evaluation(metrics, logits, decisions, unseen)


def _decision_rule(how: Written, *scored: Labeled) -> DecisionRule:
    """Calibration and thresholds by what is known and believed of all these images."""
    return fit_decision_rule(
        np.concatenate([images.logits for images in scored]),
        np.concatenate([how.posterior(*images) for images in scored]),
    )


def _metrics(
    images: Labeled,
    classes: tuple[str, ...],
    decisions: DecisionRule | None,
    how: Written | None,
) -> dict[str, Any]:
    logits, labels, _ = images
    if (labels == NEGATIVE).any():
        fitted = {} if decisions is None else decisions.metrics(logits, labels)
        return {**summary(logits, labels, classes, logits=True).as_dict(), **fitted}
    estimated = {}
    if decisions is not None and (labels == POSITIVE).any():
        believed = (how or how_written(*images)).posterior(*images)
        estimated = {"estimated": decisions.estimated(logits, believed, labels)}
    return {
        "mAP": None,
        "observed_mAP": observed_mean_average_precision(logits, labels),
        **estimated,
        "note": "no known negatives: precision cannot be measured, unknown counted as negative",
    }
