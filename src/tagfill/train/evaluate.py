"""Evaluate the trained network on the held-out images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagfill.evaluate import summary
from tagfill.evaluate.decision_rule import DecisionRule, fit_decision_rule
from tagfill.evaluate.selection import observed_mean_average_precision
from tagfill.labels import NEGATIVE, POSITIVE
from tagfill.priors import presence
from tagfill.train.config import RunConfig
from tagfill.train.data import Split
from tagfill.train.loop import Stage
from tagfill.train.model import Assembly
from tagfill.train.score import Scores


@dataclass(frozen=True)
class Evaluation:
    """Metrics at the end of training.

    Args:
        logits: [N, K] of every held-out split.
        decisions: calibration and thresholds, where they could be fitted.
    """

    metrics: dict[str, Any]
    logits: dict[str, Scores]
    decisions: DecisionRule | None

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
    decisions, val = None, data.val
    if val is not None and (val.eval_labels == POSITIVE).any():
        known = presence(logits["val"], val.eval_labels, val.eval_reviewed)
        decisions = fit_decision_rule(logits["val"], known.probability)
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
    for name, split in held_out.items():
        metrics[name] = _metrics(logits[name], split, data.classes, decisions)
    return Evaluation(metrics, logits, decisions)


def _metrics(
    logits: Scores, split: Split, classes: tuple[str, ...], decisions: DecisionRule | None
) -> dict[str, Any]:
    labels = split.eval_labels
    if (labels == NEGATIVE).any():
        fitted = {} if decisions is None else decisions.metrics(logits, labels)
        return {**summary(logits, labels, classes, logits=True).as_dict(), **fitted}
    estimated = {}
    if decisions is not None and (labels == POSITIVE).any():
        believed = presence(logits, labels, split.eval_reviewed).probability
        estimated = {"estimated": decisions.estimated(logits, believed, labels)}
    return {
        "mAP": None,
        "observed_mAP": observed_mean_average_precision(logits, labels),
        **estimated,
        "note": "no known negatives: precision cannot be measured, unknown counted as negative",
    }
