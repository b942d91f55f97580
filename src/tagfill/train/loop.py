"""The training loop: one stage, one method, one network, from any point to the end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from tagfill.errors import TagfillError, features_not_finite
from tagfill.methods.base import LossTerms, Method, Step
from tagfill.train.config import StageConfig
from tagfill.train.epochs import EpochMetrics, Position, Selector
from tagfill.train.events import Events
from tagfill.train.forward import Forward, StageData
from tagfill.train.inputs import InputBatch, TrainingViews, epoch_order
from tagfill.train.limits import Interrupted, Limits
from tagfill.train.optim import (
    make_optimizer,
    make_schedule,
    optimizer_metadata,
    optimizer_tensors,
    restore_optimizer,
)
from tagfill.train.processes import World, place
from tagfill.train.solver import solve_head

MID_EPOCH_PATIENCE = 60
"""Within an epoch, checkpoints are this many times rarer than at the ends of epochs."""
Keep = Callable[[dict[str, dict[str, Tensor]], dict[str, Any]], None]
"""Takes a checkpoint's tensors and metadata."""


def stage_seed(seed: int, number: int = 1) -> int:
    """The seed of a run's stage, counted from 1."""
    return seed * 1_000 + number


class Stage:
    """Trains a network with a method.

    Args:
        network: maps inputs to ``Output``.
        method: started already.
        accelerator: placement, precision and processes.
        keep: stores checkpoints, if there is a run folder for them.
        seed: order and random draws depend on it and the position alone.
        limits: deadline, saving interval, and requests to stop.
    """

    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None

    def __init__(
        self,
        network: nn.Module,
        method: Method,
        config: StageConfig,
        data: StageData,
        *,
        accelerator: Accelerator,
        events: Events,
        keep: Keep | None = None,
        seed: int,
        limits: Limits | None = None,
        number: int = 1,
        stages: int = 1,
        shard: bool = False,
    ) -> None:
        self.config, self.data, self.method = config, data, method
        self.events, self.keep, self.seed = events, keep, seed
        self.limits, self.number, self.stages = limits or Limits(), number, stages
        self.accelerator, self.device = accelerator, accelerator.device
        self.world = World.current()
        self.placement = place(network, accelerator, config, shard)
        self.plain, self.ema = self.placement.network, self.placement.ema
        self.network, self.trained = self.placement.called, self.placement.trained
        self._learned: list[Tensor] = []
        self.forward = Forward(self.placement, method, data, seed)
        self.epoch_metrics = EpochMetrics(data.observed, data.hidden, self.device)
        self.selector = Selector(config.patience)
        self.position = Position()
        self.history: list[dict[str, Any]] = []
        self.best: dict[str, dict[str, Tensor]] = {}
        self.best_weights = "raw"
        self.solved: dict[str, Any] | None = None
        self._saved = time.monotonic()
        self._spent = 0.0
        self._unstepped: list[Step] = []

    @property
    def batches_per_epoch(self) -> int:
        """Number of batches in an epoch; the last one may be short."""
        return -(-len(self.data.inputs) // self.config.batch_size)

    def run(self) -> None:
        """Train to the end; afterwards the network has the best weights."""
        if not self._solve():
            self._loop()
        self.save()
        self.placement.finish(self.best["network"])
        self.method.load_state(self.best["method"])

    def _solve(self) -> bool:
        """Let the method solve the head directly; an interrupted run solves it again."""
        started, last = time.monotonic(), self.number == self.stages
        solution = solve_head(
            self.plain, self.method, self.config, self.data, seed=self.seed, last=last
        )
        if solution is None:
            return False
        if solution.note is not None:
            self.events.note(solution.note)
        self.solved, self._spent = dict(solution.details), time.monotonic() - started
        self.history, self.selector = [], Selector()
        loss = self.solved.get("loss")
        self.position = Position(batch=1, sums={} if loss is None else {"solved": loss})
        self._finish_epoch()
        return True

    def _make_optimizer(self) -> None:
        """Optimizer and schedule, which a head that is solved directly does not need."""
        config, groups = self.config, self.method.parameter_groups()
        self.optimizer = make_optimizer(config, self.trained, groups)
        epochs = config.schedule_epochs or config.epochs
        steps = epochs * -(-self.batches_per_epoch // config.accumulate)
        self.schedule = make_schedule(config, self.optimizer, steps)
        if self.accelerator.scaler is not None:  # the wrapper unscales gradients, which takes time
            self.optimizer = self.accelerator.prepare(self.optimizer)
        self._learned = [one for group in self.optimizer.param_groups for one in group["params"]]

    def _loop(self) -> None:
        if not self._learned:
            self._make_optimizer()
        while self.position.epoch <= self.config.epochs and not self.selector.exhausted:
            if self.history and self._too_late():
                break
            self._train_epoch()
            self._finish_epoch()

    def _train_epoch(self) -> None:
        """Train the rest of the current epoch, within the time limit."""
        started = time.monotonic()
        self.network.train()
        images, epoch = len(self.data.inputs), self.position.epoch
        order = epoch_order(images, self.config.batch_size, self.seed, epoch)[self.position.batch :]
        shares = [self.world.share(rows) for rows in order]
        loaded = self.data.inputs.batches(shares, epoch)
        for rows, batch in zip(order, loaded, strict=True):
            self._train_batch(rows, batch)
            self.position.batch += 1
            self._pause()
            if self._too_late():
                break
        if self._unstepped:  # the time limit ended an accumulation
            self._update()
        self._spent += time.monotonic() - started

    def _too_late(self) -> bool:
        deadline = self.limits.deadline
        return deadline is not None and self.world.any(time.monotonic() > deadline)

    def _train_batch(self, rows: Tensor, batch: InputBatch) -> None:
        closes = self._completes_update(self.position.batch + 1)
        step = self.forward(
            rows, batch, self.position.epoch, self.position.batch, self.position.step
        )
        terms = self.method.loss(step)
        self._sum_terms(terms, batch)
        self.epoch_metrics.see(step)
        total = reduce(add, terms.values())
        if total.requires_grad:
            share = total if self.config.accumulate == 1 else total / self.config.accumulate
            self.placement.backward(share, last=closes)
        self._unstepped.append(step)
        if closes:
            self._update()

    def _completes_update(self, batches: int) -> bool:
        """Whether no accumulated gradient is left after this many batches of an epoch."""
        return batches % self.config.accumulate == 0 or batches == self.batches_per_epoch

    def _update(self) -> None:
        if self.config.clip is not None:
            self.accelerator.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimizer.step()
        for parameter in self._learned:
            parameter.grad = None  # like zero_grad, without its profiler hooks
        if self.schedule is not None:
            self.schedule.step()
        if self.ema is not None:
            self.ema.update(self.trained)
        self.position.step += 1
        for step in self._unstepped:
            self.method.after_step(step)
        self._unstepped.clear()

    def _sum_terms(self, terms: LossTerms, batch: InputBatch) -> None:
        """Add to the epoch's sums; a loss that is not finite ends training."""
        values = {name: float(term.detach()) for name, term in terms.items()}
        if not math.isfinite(sum(values.values())):
            if not bool(batch.weak.isfinite().all()):
                raise features_not_finite()
            bad = ", ".join(name for name, value in values.items() if not math.isfinite(value))
            raise TagfillError(
                f"the loss is not finite (term {bad or 'sum'}) in epoch {self.position.epoch},"
                f" batch {self.position.batch + 1}",
                remedy="lower the learning rate (--learning-rate) or clip gradients (--clip 1)",
            )
        sums = self.position.sums
        for name, value in values.items():
            sums[name] = sums.get(name, 0.0) + value

    def _finish_epoch(self) -> None:
        """Evaluate the epoch, let the method update its state, and move on."""
        started, epoch = time.monotonic(), self.position.epoch
        terms = {name: value / self.position.batch for name, value in self.position.sums.items()}
        self.method.after_epoch(epoch, self._epoch_scores(epoch))
        score, weights = self._evaluate(sum(terms.values()), epoch)
        improved = self.selector.update(epoch, score)
        if improved:
            self._remember(weights)
        self.position = Position(epoch=epoch + 1, step=self.position.step)
        record = {
            "stage": self.number,
            "stages": self.stages,
            "epoch": epoch,
            "epochs": self.config.epochs if self.solved is None else 1,
            "solved": None if self.solved is None else self.solved.get("steps", 0),
            "loss": sum(terms.values()),
            "terms": terms,
            "criterion": self.data.criterion,
            "score": score if self.data.validate else None,
            "best": improved,
            "weights": weights,
            "learning_rate": self.optimizer.param_groups[0]["lr"] if self._learned else None,
            **self.epoch_metrics.finish(self.method),
            "seconds": self._spent + time.monotonic() - started,
        }
        self._spent = 0.0
        self.history.append(record)
        self.events.event("epoch", **record)
        if self._due(self.limits.save_seconds):
            self.save()

    def _evaluate(self, loss: float, epoch: int) -> tuple[float, str]:
        """The epoch's score, and which weights reached it: raw or averaged."""
        if self.data.validate is None or self.data.val_inputs is None:
            score = -loss if self.data.criterion == "loss" else float(epoch)
            return score, "raw" if self.ema is None else "ema"
        scores = {"raw": self._validation(self.trained)}
        if self.ema is not None:
            scores["ema"] = self._validation(self.ema.module)
        weights = max(scores, key=lambda name: scores[name])
        return scores[weights], weights

    def _validation(self, network: nn.Module) -> float:
        assert self.data.val_inputs is not None
        assert self.data.validate is not None
        return self.data.validate(self.placement.scores(network, self.data.val_inputs))

    def _epoch_scores(self, epoch: int) -> Tensor | None:
        """Probabilities of all training images, where the method asks for them."""
        needs, inputs = self.method.needs, self.data.inputs
        if not needs.epoch_scores:
            return None
        seen = TrainingViews(inputs, epoch) if needs.augmented_scores else inputs
        return self.placement.scores(self.trained, seen).sigmoid()

    def _remember(self, weights: str) -> None:
        source = self.ema.module if weights == "ema" and self.ema is not None else self.trained
        self.best_weights = weights
        states = {"network": source.state_dict(), "method": self.method.state()}
        self.best = {
            owner: {name: value.detach().clone() for name, value in state.items()}
            for owner, state in states.items()
        }

    def _pause(self) -> None:
        """Show progress, save at intervals, and stop on request."""
        done = (self.position.epoch - 1) * self.batches_per_epoch + self.position.batch
        loss = sum(self.position.sums.values()) / self.position.batch
        status = f"epoch {self.position.epoch}  loss {loss:.4f}"
        if self.history and self.data.validate:
            status += f"  {self.data.criterion} {self.history[-1]['score']:.2f}"
        self.events.progress(done, self.config.epochs * self.batches_per_epoch, status)
        if not self._completes_update(self.position.batch):
            return
        if self.world.any(self.limits.stop_requested):
            self.save()
            raise Interrupted
        if self._due(MID_EPOCH_PATIENCE * self.limits.save_seconds):
            self.save()

    def _due(self, seconds: float) -> bool:
        """Whether it is time to save in any process; all processes must call this."""
        return self.world.any(time.monotonic() - self._saved > seconds)

    def save(self) -> None:
        """Save everything needed to continue from exactly here."""
        self._saved = time.monotonic()
        if self.keep is None:
            return
        scaler = self.accelerator.scaler
        tensors = {
            "network": self.trained.state_dict(),
            "method": self.method.state(),
            "optimizer": optimizer_tensors(self.optimizer) if self._learned else {},
            "ema": self.ema.state_dict() if self.ema is not None else {},
            "epoch_metrics": self.epoch_metrics.state(),
            **{f"best_{name}": members for name, members in self.best.items()},
        }
        metadata = {
            "stage": self.number,
            "position": vars(self.position),
            "optimizer": optimizer_metadata(self.optimizer) if self._learned else None,
            "schedule": None if self.schedule is None else self.schedule.state_dict(),
            "scaler": None if scaler is None else scaler.state_dict(),
            "selector": vars(self.selector),
            "history": self.history,
            "best_weights": self.best_weights,
        }
        whole = {group: self.placement.to_store(members) for group, members in tensors.items()}
        if self.world.is_main:
            self.keep(whole, metadata)

    def restore(self, tensors: dict[str, dict[str, Tensor]], metadata: dict[str, Any]) -> None:
        mine, weights = self.placement.from_store, self.trained.state_dict()
        self.trained.load_state_dict(mine(tensors["network"], weights))
        if "best_network" in tensors:
            self.best = {
                "network": mine(tensors["best_network"], weights),
                "method": tensors.get("best_method", {}),
            }
            if _shapes(tensors["best_network"]) != _shapes(weights):
                raise ValueError("the best weights are those of another network")
            self.method.load_state(self.best["method"])  # at the end it must fit, too
        self.method.load_state(tensors.get("method", {}))
        if metadata["optimizer"] is not None:
            self._make_optimizer()
            moments, from_store = tensors.get("optimizer", {}), self.placement.moment_from_store
            restore_optimizer(self.optimizer, moments, metadata["optimizer"], from_store)
        if self.schedule is not None:
            self.schedule.load_state_dict(metadata["schedule"])
        if self.accelerator.scaler is not None:
            self.accelerator.scaler.load_state_dict(metadata["scaler"])
        if self.ema is not None:
            self.ema.load_state_dict(mine(tensors["ema"], weights))
        self.epoch_metrics.load_state(tensors.get("epoch_metrics", {}))
        self.best_weights = metadata["best_weights"]
        self.position = Position(**metadata["position"])
        if self.position.epoch > 1 and not self.best:
            raise ValueError("the best weights are missing")
        self.selector = Selector(**metadata["selector"])
        self.history = metadata["history"]


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}
