"""Time of a linear epoch.

python benchmarks/linear_speed.py [../shared/data/voc2012/mlspl] [--rounds 5] [--clock cpu]

One epoch (train, validation and test; batch 16) of tagfill's loop, beside a plain loop of the kind
research code has: a DataLoader over single items with ``--workers`` processes (the published code
has 4), dictionaries as batches, a few Python statements per step, scikit-learn's average precision
class by class. The bare loop is the least that torch allows: tensors in memory, one gather, one
layer, torch's own loss, the fused optimizer.

All sides are measured in turn within one process; medians, one JSON object. On a machine that is
busy with other work, ``--clock cpu`` counts processor time, that of the loader's processes
included.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import torch
from sklearn.metrics import average_precision_score
from torch import nn
from torch.utils.data import DataLoader, Dataset

from tagfill.evaluate import mean_average_precision
from tagfill.methods.base import Needs
from tagfill.train.config import DataConfig, MethodConfig, RunConfig, StageConfig
from tagfill.train.data import Split, TrainingData, prepare
from tagfill.train.events import Events
from tagfill.train.linear import train_head
from tagfill.train.method import Positives, make_method
from tagfill.train.model import Assembly
from tagfill.train.processes import World, make_accelerator, scores

METHOD, BATCH = "an", 16
PUBLISHED_SECONDS = 6.2
"""Seconds of the published code for such an epoch, as measured on an idle machine with 2 cores."""


class Items(Dataset[dict[str, Any]]):
    """One image's features and labels at a time, as research code serves them."""

    def __init__(self, split: Split) -> None:
        assert split.features is not None
        self.features = split.features
        self.observed = np.where(split.table.values == 1, 1.0, 0.0).astype(np.float32)
        self.truth = np.asarray(split.eval_labels, dtype=np.float32)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, row: int) -> dict[str, Any]:
        return {
            "image": torch.FloatTensor(np.copy(self.features[row])),
            "observed": torch.FloatTensor(np.copy(self.observed[row])),
            "truth": torch.FloatTensor(np.copy(self.truth[row])),
            "row": row,
        }


class PlainLoop:
    """The epoch of a script: every phase over a DataLoader, predictions copied batch by batch."""

    def __init__(self, data: TrainingData, workers: int) -> None:
        assert data.train.features is not None
        classes, channels = len(data.classes), data.train.features.shape[1]
        self.loaders = {
            name: DataLoader(Items(split), BATCH, shuffle=name == "train", num_workers=workers)
            for name, split in data.splits.items()
        }
        self.model = nn.Linear(channels, classes)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.classes = classes

    def epoch(self) -> dict[str, float]:
        """Train, then validation and test mAP."""
        return {phase: self._phase(phase) for phase in self.loaders}

    def _phase(self, phase: str) -> float:
        training = phase == "train"
        self.model.train(training)
        count = len(self.loaders[phase].dataset)  # type: ignore[arg-type]
        predicted, truth = np.zeros((count, self.classes)), np.zeros((count, self.classes))
        done = 0
        for batch in self.loaders[phase]:
            with torch.set_grad_enabled(training):
                self.optimizer.zero_grad()
                probability = torch.sigmoid(self.model(batch["image"]))
                loss = _assume_negative(probability, batch["observed"])
                if training:
                    loss.backward()
                    self.optimizer.step()
            size = len(batch["row"])
            predicted[done : done + size] = probability.detach().cpu().numpy()
            truth[done : done + size] = batch["truth"].numpy()
            done += size
        if training:
            return float("nan")
        precisions = [
            average_precision_score(truth[:, k], predicted[:, k]) for k in range(self.classes)
        ]
        return 100 * float(np.mean(precisions))


def _assume_negative(probability: torch.Tensor, observed: torch.Tensor) -> torch.Tensor:
    loss = torch.zeros_like(probability)
    loss[observed == 1] = -torch.log(probability[observed == 1] + 1e-5)
    loss[observed == 0] = -torch.log(1 - probability[observed == 0] + 1e-5)
    return loss.mean()


class BareLoop:
    """The same steps with nothing around them: no checks, no seeds, no method, no history."""

    def __init__(self, data: TrainingData) -> None:
        self.splits = {name: Items(split) for name, split in data.splits.items()}
        train = self.splits["train"]
        self.features = torch.from_numpy(np.array(train.features, np.float32))
        self.observed = torch.from_numpy(train.observed)
        self.model = nn.Linear(self.features.shape[1], self.observed.shape[1])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True)

    def epoch(self) -> None:
        """Train, then validation and test mAP."""
        for rows in torch.randperm(len(self.features)).split(BATCH):
            logits = self.model(self.features[rows])
            nn.functional.binary_cross_entropy_with_logits(logits, self.observed[rows]).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        for name in ("val", "test"):
            features = torch.from_numpy(np.array(self.splits[name].features, np.float32))
            with torch.no_grad():
                logits = self.model(features)
            mean_average_precision(logits.numpy(), self.splits[name].truth)


class Ours:
    """tagfill's loop on the same data."""

    def __init__(self, data: TrainingData) -> None:
        self.data, self.events = data, Events()
        self.stage = StageConfig(MethodConfig(METHOD), batch_size=BATCH)
        self.device = make_accelerator().device
        assembly = self.assembly()
        self.train_data = assembly.stage_data(self.stage, Needs())
        self.test_inputs = assembly.inputs(data.splits["test"], self.stage)

    def assembly(self, seed: int = 0) -> Assembly:
        """Network and inputs of a run."""
        config = RunConfig(DataConfig(""), (self.stage,), seed=seed)
        return Assembly(config, self.data, self.device, self.events)

    def epoch(self, epochs: int) -> None:
        """Train and validate for some epochs, and score the test images as often."""
        assembly, stage = self.assembly(), replace(self.stage, epochs=epochs)
        head, truth = assembly.network.head, self.data.splits["test"].eval_labels
        positives = Positives(self.train_data.observed, assembly.pooled_features, self.events)
        train_head(
            head,
            make_method(stage),
            stage,
            self.train_data,
            positives,
            seed=0,
            events=self.events,
        )
        for _ in range(epochs):
            logits = scores(head, self.test_inputs, World(), self.device)
            mean_average_precision(logits.numpy(), truth)


def processor_time() -> float:
    """Seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default="../shared/data/voc2012/mlspl")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4, help="of tagfill per round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=4, help="of the plain loop's DataLoader")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    options = parser.parse_args()
    clock = time.perf_counter if options.clock == "wall" else processor_time
    torch.set_num_threads(options.threads)
    data = prepare(DataConfig(options.data))
    plain, ours, epochs = PlainLoop(data, options.workers), Ours(data), options.epochs
    bare = BareLoop(data)
    plain_times, our_times, bare_times = [], [], []

    def seconds(work: Callable[[], object]) -> float:
        started = clock()
        work()
        return clock() - started

    for _ in range(options.rounds):
        plain_times.append(seconds(plain.epoch))
        our_times.append(seconds(lambda: ours.epoch(epochs)) / epochs)
        bare_times.append(seconds(bare.epoch))
    result = {
        "images": {name: len(split) for name, split in data.splits.items()},
        "threads": options.threads,
        "workers_of_plain_loop": options.workers,
        "clock": options.clock,
        "plain_epoch_seconds": median(plain_times),
        "tagfill_epoch_seconds": median(our_times),
        "bare_epoch_seconds": median(bare_times),
        "percent_of_bare": 100 * median(map(float.__truediv__, bare_times, our_times)),
        "times_faster_than_plain": median(map(float.__truediv__, plain_times, our_times)),
        "published_epoch_seconds_idle_machine": PUBLISHED_SECONDS,
        "times_faster_than_published": PUBLISHED_SECONDS / median(our_times),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
