"""The training loop for many settings at once, each with the batches and seeds of its own run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

import torch
from torch import Tensor

from tagfill.methods.base import ElementwiseMethod, LossTerms, Method, Step
from tagfill.models.output import Output
from tagfill.models.plain_heads import LinearHead
from tagfill.train.config import StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.gather import World
from tagfill.train.heads import Heads
from tagfill.train.inputs import derived_seed, epoch_order, scores
from tagfill.train.loop import stage_seed
from tagfill.train.optim import make_schedule, optimizer_over
from tagfill.train.select import Selector

_PROBED = 3  # images on which a loss is tried for all heads at once


@dataclass(frozen=True)
class Setting:
    """One point of a grid: how to train, and the seed of its run."""

    stage: StageConfig
    seed: int = 0


@dataclass
class Outcome:
    """Result of a setting.

    Args:
        weights: of the best epoch, for ``load_state_dict`` of its head; empty after an error.
        best_epoch: from 1.
        best_score: by the criterion of the data.
        history: loss and score of every epoch.
        error: why there is no result.
    """

    weights: dict[str, Tensor] = field(default_factory=dict)
    best_epoch: int = 0
    best_score: float | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


class Batched:
    """Trains G linear heads on the same features, one setting each.

    Args:
        settings: equal in batch size, epochs, optimizer and schedule; those with the same method
            settings should be neighbors.
        heads: their untrained heads, on the device.
        started: their methods, started.
        data: features and labels.
        device: where to train.
        events: where progress goes.
    """

    def __init__(
        self,
        settings: Sequence[Setting],
        heads: Sequence[LinearHead],
        started: Sequence[Method],
        data: StageData,
        *,
        device: torch.device,
        events: Events,
    ) -> None:
        self.settings, self.methods, self.data = settings, started, data
        self.device, self.events = device, events
        self.stage = settings[0].stage
        self.heads = Heads(
            heads,
            [setting.stage.learning_rate for setting in settings],
            [setting.stage.weight_decay for setting in settings],
            decoupled=self.stage.optimizer == "adamw",
        )
        self.joint = self._joint_blocks()
        joint = {index for members, _ in self.joint for index in range(members.start, members.stop)}
        self.single = [index for index in range(len(settings)) if index not in joint]
        groups = [{"params": self.heads.units}, *self._method_groups()]
        self.learned = [parameter for group in groups for parameter in group["params"]]
        self.optimizer = optimizer_over(self.stage.optimizer, groups, learning_rate=1.0)
        self.batches = -(-len(data.inputs) // self.stage.batch_size)
        self.schedule = make_schedule(
            self.stage.schedule,
            self.optimizer,
            steps=self.stage.epochs * self.batches,
            warmup=self.stage.warmup,
        )
        self.selectors = [Selector(setting.stage.patience) for setting in settings]
        self.outcomes = [Outcome() for _ in settings]
        self.sums = torch.zeros(len(settings), device=device)
        self.steps = 0

    def run(self) -> list[Outcome]:
        """Train to the end, or until every setting has run out of patience."""
        for epoch in range(1, self.stage.epochs + 1):
            if not any(map(self._is_training, range(len(self.settings)))):
                break
            self._train_epoch(epoch)
            self._finish_epoch(epoch)
        return self.outcomes

    def _is_training(self, number: int) -> bool:
        return self.outcomes[number].error is None and not self.selectors[number].exhausted

    def _method_groups(self) -> Iterator[dict[str, Any]]:
        for method in self.methods:
            for group in method.parameter_groups():
                yield {"params": group.parameters, "lr": group.learning_rate}

    def _joint_blocks(self) -> list[tuple[slice, ElementwiseMethod]]:
        """Runs of neighboring settings whose loss can be computed for all their heads at once."""
        blocks = []
        numbers = range(len(self.settings))
        for _, members in groupby(numbers, key=lambda number: self.settings[number].stage.method):
            block = list(members)
            method = self.methods[block[0]]
            if isinstance(method, ElementwiseMethod) and _takes_all_heads(
                method, self.data.observed
            ):
                blocks.append((slice(block[0], block[-1] + 1), method))
        return blocks

    def _train_epoch(self, epoch: int) -> None:
        size, images = self.stage.batch_size, len(self.data.inputs)
        seeds = [stage_seed(setting.seed) for setting in self.settings]
        distinct = seeds[:1] if len(set(seeds)) == 1 else seeds
        orders = [epoch_order(images, size, seed, epoch) for seed in distinct]
        batches = [torch.stack(rows) for rows in zip(*orders, strict=True)]
        loaded = self.data.inputs.batches([rows.flatten() for rows in batches], epoch)
        self.sums.zero_()
        for number, (rows, batch) in enumerate(zip(batches, loaded, strict=True)):
            self._train_batch(rows, batch.weak.to(self.device), epoch, number)
            done = (epoch - 1) * self.batches + number + 1
            label = f"{len(self.settings)} settings, batch {size}, epoch {epoch}"
            self.events.progress(done, self.stage.epochs * self.batches, label)

    def _train_batch(self, rows: Tensor, features: Tensor, epoch: int, number: int) -> None:
        """A step of every setting; ``rows`` is [1, B] if all see the same images, else [G, B]."""
        seen = features if len(rows) == 1 else features.unflatten(0, rows.shape)
        logits = self.heads(seen).logits
        observed = self._labels(self.data.observed, rows)
        steps = {
            index: self._step(index, logits[:, index], observed[:, index], rows, (epoch, number))
            for index in self.single
        }
        losses = [
            (members, method.terms(logits[:, members], observed[:, members]).mean(dim=(0, 2)))
            for members, method in self.joint
        ] + [
            (slice(index, index + 1), _total(self.methods[index].loss(step)))
            for index, step in steps.items()
        ]
        reduce(add, (loss.sum() for _, loss in losses)).backward()
        for members, loss in losses:
            self.sums[members] += loss.detach()
        self._update()
        for index, step in steps.items():
            self.methods[index].after_step(step)

    def _labels(self, table: Tensor, rows: Tensor) -> Tensor:
        """[B, G, K] of a table [N, K]."""
        gathered = table.index_select(0, rows.mT.flatten()).to(self.device)
        return gathered.view(-1, len(rows), table.shape[1]).expand(-1, len(self.settings), -1)

    def _step(
        self, member: int, logits: Tensor, observed: Tensor, rows: Tensor, at: tuple[int, int]
    ) -> Step:
        """The step that the method of one setting would get in its own run."""
        own = rows[member % len(rows)]
        seed = derived_seed(stage_seed(self.settings[member].seed), *at, 3)
        truth = self.data.truth if self.methods[member].needs.truth else None
        return Step(
            output=Output(logits),
            observed=observed,
            index=own.to(self.device),
            epoch=at[0],
            step=self.steps,
            weights=(self.heads.weight_of(member),),
            generator=torch.Generator().manual_seed(seed),
            truth=None if truth is None else truth[own].to(self.device),
        )

    def _update(self) -> None:
        self.heads.before_step(self.optimizer.param_groups[0]["lr"])
        self.optimizer.step()
        self.heads.after_step()
        for parameter in self.learned:
            parameter.grad = None
        if self.schedule is not None:
            self.schedule.step()
        self.steps += 1

    def _finish_epoch(self, epoch: int) -> None:
        """Evaluate every setting, and let the methods update their state."""
        needed = [method.needs.epoch_scores for method in self.methods]
        probabilities: list[Tensor | None] = [None] * len(needed)
        if any(needed):
            by_head = scores(self.heads, self.data.inputs, World(), self.device).sigmoid()
            probabilities = [part.contiguous() for part in by_head.unbind(1)]
        for method, needs_scores, own in zip(self.methods, needed, probabilities, strict=True):
            method.after_epoch(epoch, own if needs_scores else None)
        val = self.data.val_inputs
        evaluated = None if val is None else scores(self.heads, val, World(), self.device)
        for number, loss in enumerate((self.sums / self.batches).tolist()):
            if self._is_training(number):
                self._evaluate(
                    number, epoch, loss, None if evaluated is None else evaluated[:, number]
                )

    def _evaluate(self, number: int, epoch: int, loss: float, logits: Tensor | None) -> None:
        outcome, selector = self.outcomes[number], self.selectors[number]
        if not math.isfinite(loss):
            outcome.weights, outcome.best_score = {}, None
            outcome.error = f"the loss is not finite in epoch {epoch}"
            return
        if self.data.validate is not None and logits is not None:
            score = self.data.validate(logits.contiguous())
        else:
            score = -loss if self.data.criterion == "loss" else float(epoch)
        outcome.history.append({"epoch": epoch, "loss": loss, "score": score})
        if selector.update(epoch, score):
            outcome.weights = self.heads.state_of(number)
            outcome.best_epoch, outcome.best_score = epoch, score


def _total(terms: LossTerms) -> Tensor:
    return torch.stack(list(terms.values())).sum(0, keepdim=True)


def _takes_all_heads(method: ElementwiseMethod, observed: Tensor) -> bool:
    """Whether a loss of [B, K] entries gives the same for [B, G, K] as head by head."""
    if (
        type(method).loss is not ElementwiseMethod.loss
        or type(method).after_step is not Method.after_step
    ):
        return False
    labels = observed[:_PROBED]
    logits = torch.linspace(-4, 4, 2 * labels.numel()).view(len(labels), 2, -1)
    try:
        joint = method.terms(logits, labels[:, None].expand_as(logits))
    except (RuntimeError, IndexError, ValueError):
        return False
    single = [method.terms(head_logits, labels) for head_logits in logits.unbind(1)]
    return torch.allclose(joint, torch.stack(single, dim=1))
