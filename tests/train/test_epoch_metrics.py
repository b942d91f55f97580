"""What the log of a run says about labels nobody wrote."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from tests.train.given import write_given_features
from tests.train.toy import toy_stage
from torch import Tensor

from tagfill.methods.base import Method, Step
from tagfill.models.output import Output
from tagfill.train.config import DataConfig
from tagfill.train.epochs import BINS, EpochMetrics, pseudo_label_metrics
from tagfill.train.resolve import Request
from tagfill.train.run import fit

OBSERVED = torch.tensor([[1, -1, -1], [-1, -1, 1]], dtype=torch.int8)
TRUTH = torch.tensor([[1, 1, 0], [1, 0, 1]], dtype=torch.int8)
LOGITS = torch.tensor([[0.0, 8.0, -8.0], [-8.0, -8.0, 2.0]])


class Believing(Method):
    def __init__(self, estimates: Tensor | None, labels: Tensor | None = None) -> None:
        self._estimates, self._labels = estimates, labels

    def estimates(self) -> Tensor | None:
        return self._estimates

    def pseudo_labels(self) -> Tensor | None:
        return self._labels


def step(rows: list[int]) -> Step:
    index = torch.tensor(rows)
    return Step(Output(LOGITS[index]), OBSERVED[index], index, epoch=1, step=0)


def test_sums_up_an_epoch_by_kind_of_entry() -> None:
    watch = EpochMetrics(OBSERVED, TRUTH, torch.device("cpu"))
    for row in (1, 0):
        watch.see(step([row]))
    summary = watch.finish(Believing(None))
    losses = [math.log(2), math.log1p(math.exp(-2))]
    assert summary["positive_loss"] == pytest.approx(sum(losses) / 2)
    assert summary["unobserved_positive_loss"] == pytest.approx(4.0, abs=0.01)
    positives = summary["histograms"]["unobserved_positives"]
    assert (positives[0], positives[-1], sum(positives)) == (1, 1, 2)
    negatives = summary["histograms"]["unobserved_negatives"]
    assert (negatives[0], sum(negatives), len(negatives)) == (2, 2, BINS)
    assert summary["pseudo_labels"] is None
    assert watch.finish(Believing(None)) == {}


def test_counts_only_what_was_seen() -> None:
    watch = EpochMetrics(OBSERVED, TRUTH, torch.device("cpu"))
    watch.see(step([1]))
    summary = watch.finish(Believing(None))
    assert sum(summary["histograms"]["unobserved_positives"]) == 1


def test_without_truth_only_the_loss_of_observed_positives() -> None:
    watch = EpochMetrics(OBSERVED, None, torch.device("cpu"))
    watch.see(step([0, 1]))
    assert list(watch.finish(Believing(None))) == ["positive_loss"]


def test_precision_and_recall_of_pseudo_labels() -> None:
    estimates = torch.tensor([[1.0, 0.9, 0.6], [0.4, 0.1, 1.0]])
    everything = pseudo_label_metrics(Believing(estimates), OBSERVED, TRUTH)
    assert everything == {
        "positives": {"count": 2, "precision": 0.5, "recall": 0.5},
        "negatives": {"count": 2, "precision": 0.5, "recall": 0.5},
    }
    some = pseudo_label_metrics(
        Believing(estimates, labels=torch.tensor([[-1, -1, -1], [-1, 0, -1]])),
        OBSERVED,
        TRUTH,
    )
    assert some == {
        "positives": {"count": 0, "precision": None, "recall": 0.0},
        "negatives": {"count": 1, "precision": 1.0, "recall": 0.5},
    }


def test_watching_leaves_training_as_it_is() -> None:
    watched, unwatched = toy_stage("role"), toy_stage("role")
    unwatched.epoch_metrics.active = False
    watched.run()
    unwatched.run()
    for name, tensor in watched.plain.state_dict().items():
        assert torch.equal(tensor, unwatched.plain.state_dict()[name]), name
    assert "histograms" in watched.history[0]
    assert "histograms" not in unwatched.history[0]


def test_a_run_logs_every_epoch(tmp_path: Path) -> None:
    data = DataConfig(labels=str(write_given_features(tmp_path / "data")))
    request = Request(data, mode="linear", method="em_apl", overrides={"epochs": 4})
    run = fit(request, tmp_path / "run")
    lines = map(json.loads, run.folder.events.read_text().splitlines())
    epochs = [line for line in lines if line["event"] == "epoch"]
    assert len(epochs) == 4
    entries = {name: sum(counts) for name, counts in epochs[0]["histograms"].items()}
    assert sum(entries.values()) == 128 * 5
    labeled = [epoch["pseudo_labels"]["negatives"]["count"] for epoch in epochs]
    assert labeled[0] == 0
    assert labeled[1] < labeled[2]
    assert labeled[2] == labeled[3]
