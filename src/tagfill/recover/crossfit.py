"""Scores of training images by heads that have not seen them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Floats
from tagfill.labels import Rows
from tagfill.labels.split import stratified_split
from tagfill.models.heads import build_head
from tagfill.train.config import RunConfig, StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.gather import World
from tagfill.train.inputs import InputBatch, Inputs, derived_seed, scores
from tagfill.train.loop import Stage
from tagfill.train.method import Positives, begin, make_method
from tagfill.train.model import Assembly
from tagfill.train.resolve import LINEAR

_AT_ONCE = 256
"""Rows evaluated at once."""


@dataclass(frozen=True, eq=False)
class Fold:
    """What a head says of images it has not learnt from.

    Args:
        rows: [n] training images that were left out.
        scores: [n, K] their logits.
        val_scores: [V, K] logits of the validation images, where there are any.
    """

    rows: Rows
    scores: Floats
    val_scores: Floats | None


class CrossFit:
    """Trains the head of a run again on part of its images and scores the rest.

    The backbone stays as the run left it; heads learn from its features with the run's own method
    and schedule, epochs chosen on the run's validation images. A run that trained on images lends
    its method to the linear protocol.

    Args:
        assembly: the run's network and inputs; its head is replaced.
        accelerator: placement and precision.
        events: told how many folds are done.
    """

    def __init__(self, assembly: Assembly, accelerator: Accelerator, events: Events) -> None:
        self.assembly, self.accelerator, self.events = assembly, accelerator, events
        self.stages = feature_stages(assembly.config)
        self.data = [assembly.stage_data(stage, make_method(stage).needs) for stage in self.stages]
        self.positives = Positives(self.data[-1].observed, assembly.pooled_features, events)
        self.inputs = assembly.inputs(assembly.data.train, self.stages[-1])

    def folds(self, count: int) -> Iterator[Fold]:
        """Leave out one part of the training images after the other; each is left out once."""
        table = self.assembly.data.train.table
        if not 2 <= count <= len(table):
            raise TagfillError(f"{len(table)} images cannot be divided into {count} folds")
        shares = {str(fold): 1 / count for fold in range(count)}
        parts = stratified_split(table, shares, self.assembly.config.seed)
        for number, rows in enumerate(parts.values()):
            self.events.progress(number, count, "out-of-fold heads")
            if len(rows):
                yield self._fold(number, rows, np.setdiff1d(np.arange(len(table)), rows))

    def _fold(self, number: int, left_out: Rows, kept: Rows) -> Fold:
        head = self._fit(torch.from_numpy(kept), number)
        unseen = Chosen(self.inputs, torch.from_numpy(left_out))
        val = self.assembly.data.val
        return Fold(
            left_out,
            self._scores(head, unseen),
            None if val is None else self._scores(head, self.assembly.inputs(val, self.stages[-1])),
        )

    def _scores(self, head: nn.Module, inputs: Inputs) -> Floats:
        logits = scores(head, inputs, World(), self.accelerator.device)
        found: Floats = logits.double().numpy()
        return found

    def _fit(self, rows: Tensor, seed: int) -> nn.Module:
        network, config = self.assembly.network, self.assembly.config
        torch.manual_seed(derived_seed(config.seed, 0))
        network.head = build_head(network.config, network.backbone.spec.channels, network.classes)
        device = self.accelerator.device
        for number, (stage, whole) in enumerate(zip(self.stages, self.data, strict=True), 1):
            method, data = make_method(stage), _some(whole, rows)
            module = self.assembly.trained_module(stage, method.needs)
            begin(method, stage, data, self.positives, seed=config.seed, device=device)
            Stage(
                module,
                method,
                stage,
                data,
                accelerator=self.accelerator,
                events=Events(),
                keep=lambda tensors, metadata: None,
                seed=derived_seed(config.seed, seed, number, 21),
            ).run()
        return network.head


def feature_stages(config: RunConfig) -> tuple[StageConfig, ...]:
    """The stages of a run that trained on features; else its method in the linear protocol."""
    stages = tuple(stage for stage in config.stages if stage.inputs == "features")
    return stages or (StageConfig(config.stages[-1].method, **LINEAR),)


class Chosen:
    """Some rows of other inputs."""

    def __init__(self, inputs: Inputs, rows: Tensor) -> None:
        self.inputs, self.rows = inputs, rows

    def __len__(self) -> int:
        return len(self.rows)

    def batches(self, order: Sequence[Tensor], epoch: int) -> Iterator[InputBatch]:
        """The batches of the whole, by row numbers of the part."""
        return self.inputs.batches([self.rows[rows] for rows in order], epoch)

    def plain(self, rows: range) -> Iterator[Tensor]:
        """The plain view, a few hundred rows at once."""
        wanted = torch.arange(rows.start, rows.stop).split(_AT_ONCE)
        return (batch.weak for batch in self.batches(wanted, 0))


def _some(data: StageData, rows: Tensor) -> StageData:
    return replace(
        data,
        inputs=Chosen(data.inputs, rows),
        observed=data.observed[rows],
        truth=None if data.truth is None else data.truth[rows],
        hidden=None,
    )
