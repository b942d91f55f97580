"""From a request to a finished run: prepare, train every stage, evaluate, and keep the model."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import Accelerator
from torch import Tensor

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.evaluate import summary
from tagfill.evaluate.decisions import Decisions, fit_decisions
from tagfill.evaluate.selection import observed_mean_average_precision
from tagfill.labels import NEGATIVE, POSITIVE
from tagfill.methods.base import Method
from tagfill.models.bundle import Bundle
from tagfill.priors import regime_of
from tagfill.train import scorefile
from tagfill.train.assemble import Assembly, with_size
from tagfill.train.begin import Positives, begin
from tagfill.train.checkpoint import load_checkpoint, save_checkpoint
from tagfill.train.config import RunConfig, StageConfig
from tagfill.train.data import Sources, Split, TrainingData, prepare
from tagfill.train.device import make_accelerator, single_thread
from tagfill.train.events import EventFile, Events, Sink
from tagfill.train.folder import RunFolder, free_path
from tagfill.train.forward import StageData
from tagfill.train.gather import World
from tagfill.train.limits import Interrupted, Limits
from tagfill.train.resolve import FEW_ANSWERS, Request, resolve
from tagfill.train.scorefile import Scores
from tagfill.train.stage import Stage, stage_seed
from tagfill.train.trained import TrainedRun

Array = npt.NDArray[np.floating]


def fit(
    request: Request,
    out: Path | None = None,
    sinks: Sequence[Sink] = (),
    sources: Sources | None = None,
) -> TrainedRun:
    """Train from a request; the run folder is new.

    Args:
        request: what to train on, and how.
        out: the run folder; by default a new one under ``tagfill-runs``.
        sinks: where progress goes.
        sources: label files that have been read already, as this request reads them.

    Raises:
        TagfillError: the request or the data is at fault.
        Interrupted: the user stopped; the run folder holds a checkpoint.
    """
    request = replace(request, data=request.data.absolute())
    data = prepare(request.data, sources)
    config, notes = configure(request, data)
    if config.data != request.data:
        data = prepare(config.data, data.sources)
    name = f"{Path(config.data.labels).stem or 'run'}-{config.stages[-1].method.name}"
    return train(config, data, out or free_path(name), sinks, notes)


def configure(request: Request, data: TrainingData) -> tuple[RunConfig, list[str]]:
    """The complete configuration for these data on this machine, and the reasons for it."""
    return resolve(
        request,
        regime=_regime(data),
        images=len(data.train),
        given_features=data.train.features is not None,
        has_gpu=torch.cuda.is_available(),
    )


def _regime(data: TrainingData) -> str:
    """What the labels look like; a handful of negatives among positives is no review."""
    observed = data.train.table.values
    if regime_of(observed) != "reviewed":
        return data.regime
    few = (observed == NEGATIVE).sum() < FEW_ANSWERS * (observed == POSITIVE).sum()
    return "positive_only" if few else "reviewed"


def train(
    config: RunConfig,
    data: TrainingData,
    out: Path,
    sinks: Sequence[Sink] = (),
    notes: Sequence[str] = (),
) -> TrainedRun:
    """Train a complete configuration on prepared data; the run folder is new."""
    accelerator = make_accelerator(config.precision, config.threads)
    metadata = {"data_hash": data.content_hash, "regime": data.regime, "images": _sizes(data)}
    folder = RunFolder(out)
    if World.current().is_main:
        folder = RunFolder.create(out, config, metadata)
    accelerator.wait_for_everyone()
    return _execute(folder, config, data, accelerator, sinks, [*data.notes, *notes], None)


def resume(path: Path, sinks: Sequence[Sink] = ()) -> TrainedRun:
    """Go on with an interrupted run, to the same end as if it had never stopped."""
    folder, config = RunFolder.open(path)
    if folder.is_finished:
        return TrainedRun(folder, config)
    accelerator = make_accelerator(config.precision, config.threads)
    saved = load_checkpoint(folder.checkpoint) if folder.checkpoint.is_file() else None
    return _execute(folder, config, prepare(config.data), accelerator, sinks, (), saved)


def _execute(
    folder: RunFolder,
    config: RunConfig,
    data: TrainingData,
    accelerator: Accelerator,
    sinks: Sequence[Sink],
    notes: Sequence[str],
    saved: tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None,
) -> TrainedRun:
    main = World.current().is_main
    everyone = (EventFile(folder.events), *sinks) if main else ()
    deadline = None if config.time_limit is None else time.monotonic() + config.time_limit
    limits = Limits(deadline, config.checkpoint_seconds)
    with Events(*everyone) as events, _stop_on_interrupt(limits):
        events.event("start" if saved is None else "resume", data=_sizes(data), regime=data.regime)
        for note in (*notes, *_sharding(config)):
            events.note(note)
        assembly = Assembly(config, data, accelerator.device, events, limits=limits)
        config = with_size(config, assembly.network)
        try:
            with accelerator.main_process_first():  # the others find its features in the cache
                data = assembly.without_unreadable()
            if saved is not None:
                _check_unchanged(saved[1]["data_hash"], data, config)
            elif main:
                folder.settle(config, {"data_hash": data.content_hash, "images": _sizes(data)})
            runner = _Runner(folder, config, data, assembly, limits)
            stage = runner.run_stages(accelerator, events, saved)
            metrics = runner.evaluate(stage)
        except Interrupted as stop:
            events.event("interrupted")
            raise Interrupted(f"tagfill train --resume {folder.path}") from stop
        if main:
            runner.keep_model(metrics)
            runner.keep_scores()
            folder.write_metrics(metrics)
        events.event("end", **{split: metrics[split].get("mAP") for split in _evaluated(metrics)})
    return TrainedRun(folder, runner.config, data=data, metrics=metrics)


def _check_unchanged(data_hash: str, data: TrainingData, config: RunConfig) -> None:
    if data_hash != data.content_hash:
        raise TagfillError(
            "the labels have changed since the run began",
            file=config.data.labels,
            remedy="start a new run, with --init to begin from this one's weights",
        )


@dataclass
class _Runner:
    folder: RunFolder
    config: RunConfig
    data: TrainingData
    assembly: Assembly
    limits: Limits
    decisions: Decisions | None = None
    logits: dict[str, Scores] = field(default_factory=dict)

    def run_stages(
        self,
        accelerator: Accelerator,
        events: Events,
        saved: tuple[dict[str, dict[str, Tensor]], dict[str, Any]] | None,
    ) -> Stage:
        """Train all stages that are not done yet; returns the last."""
        stages = self.config.stages
        first = 1 if saved is None else int(saved[1]["stage"])
        previous: Method | None = None
        for number, config in enumerate(stages[first - 1 :], first):
            method = methods.make(config.method.name, config.method.settings, config.method.preset)
            module = self.assembly.trained_module(config, method.needs)
            with accelerator.main_process_first():  # the others find its features in the cache
                data = self.assembly.stage_data(config, method.needs)
                self._start(method, config, data, events)
            if previous is not None and type(previous) is type(method):
                method.inherit(previous)
            stage = Stage(
                module,
                method,
                config,
                data,
                accelerator=accelerator,
                events=events,
                keep=self._keep,
                seed=stage_seed(self.config.seed, number),
                limits=self.limits,
                number=number,
                stages=len(stages),
                shard=self.config.shard and config.inputs == "images",
            )
            if saved is not None and number == first:
                stage.restore(*saved)
            small = config.inputs == "features" and self.assembly.network.head.reads == "pooled"
            with single_thread(small):
                stage.run()
            previous = method
        return stage

    def evaluate(self, stage: Stage) -> dict[str, Any]:
        """Metrics of the trained network on every split that is held out."""
        config = self.config.stages[-1]
        seconds = [record["seconds"] for record in stage.history]
        metrics: dict[str, Any] = {
            "method": config.method.name,
            "regime": self.data.regime,
            "criterion": stage.data.criterion,
            "best_epoch": stage.selector.best_epoch,
            "best_score": stage.selector.best_score,
            "weights": stage.best_weights,
            "epochs": len(stage.history),
            "seconds_per_epoch": float(np.median(seconds)) if seconds else None,
            "parameters": sum(each.numel() for each in stage.plain.parameters()),
            "images": _sizes(self.data),
            "data_hash": self.data.content_hash,
            "seed": self.config.seed,
        }
        held_out = {name: split for name, split in self.data.splits.items() if name != "train"}
        self.logits = {
            name: stage.placement.scores(stage.plain, self.assembly.inputs(split, config)).numpy()
            for name, split in held_out.items()
        }
        self.decisions = _decisions(self.logits.get("val"), self.data.val)
        metrics["thresholds"] = None if self.decisions is None else self.decisions.as_dict()
        for name, split in held_out.items():
            metrics[name] = _metrics(self.logits[name], split, self.data.classes, self.decisions)
        return metrics

    def keep_model(self, metrics: Mapping[str, Any]) -> None:
        """Save the bundle."""
        details = {
            "method": metrics["method"],
            "regime": metrics["regime"],
            "seed": metrics["seed"],
            "data_hash": metrics["data_hash"],
            **{split: metrics[split].get("mAP") for split in _evaluated(metrics)},
        }
        decisions = self.decisions
        Bundle(
            self.assembly.network.eval(),
            self.data.classes,
            thresholds=None if decisions is None else tuple(decisions.thresholds.values.tolist()),
            calibration=None if decisions is None else decisions.calibration,
            details=details,
        ).save(self.folder.model)

    def keep_scores(self) -> None:
        """Save the scores of held-out images, for everything that is done with the run later."""
        for name, logits in self.logits.items():
            key = scorefile.key_of(self.folder.model, self.data.splits[name])
            scorefile.write(self.folder.scores(name), key, logits)

    def _start(self, method: Method, config: StageConfig, data: StageData, events: Events) -> None:
        """Tell the method what it learns from."""
        if method.needs.truth:
            source = "the full labels" if data.truth is not None else "the labels as they are"
            events.note(f"{config.method.name} is an oracle: it trains on {source}")
        val = None if self.data.val is None else self.data.val.eval_labels
        positives = Positives(data.observed, self.assembly.pooled_features, events, val)
        device, seed = self.assembly.device, self.config.seed
        begin(method, config, data, positives, seed=seed, device=device)

    def _keep(self, tensors: dict[str, dict[str, Tensor]], metadata: dict[str, Any]) -> None:
        whole = {**metadata, "data_hash": self.data.content_hash}
        save_checkpoint(self.folder.checkpoint, tensors, whole)


def _sharding(config: RunConfig) -> list[str]:
    """What becomes of the wish to divide the network."""
    processes = World.current().size
    if not config.shard:
        return []
    if processes == 1:
        return ["shard: no effect, there is one process"]
    if not any(stage.inputs == "images" for stage in config.stages):
        return ["shard: no effect, only the head is trained"]
    return [f"shard: the fine-tuned network is divided among {processes} processes"]


def _decisions(logits: Array | None, val: Split | None) -> Decisions | None:
    """Calibration and thresholds, where there are validation images with positives."""
    if logits is None or val is None or not (val.eval_labels == POSITIVE).any():
        return None
    return fit_decisions(logits, val.eval_labels)


def _metrics(
    logits: Array, split: Split, classes: tuple[str, ...], decisions: Decisions | None
) -> dict[str, Any]:
    labels = split.eval_labels
    if (labels == NEGATIVE).any():
        fitted = {} if decisions is None else decisions.metrics(logits, labels)
        return {**summary(logits, labels, classes, logits=True).as_dict(), **fitted}
    return {
        "mAP": None,
        "observed_mAP": observed_mean_average_precision(logits, labels),
        "note": "no known negatives: precision cannot be measured, unknown counted as negative",
    }


def _evaluated(metrics: Mapping[str, Any]) -> list[str]:
    return [split for split in ("val", "test") if split in metrics]


def _sizes(data: TrainingData) -> dict[str, int]:
    return {name: len(split) for name, split in data.splits.items()}


@contextmanager
def _stop_on_interrupt(limits: Limits) -> Iterator[None]:
    """First Ctrl-C: stop after the current batch with a checkpoint. Second: stop at once."""

    def ask_to_stop(number: int, frame: Any) -> None:
        if limits.stop_requested:
            raise KeyboardInterrupt
        limits.stop_requested = True

    try:
        before = signal.signal(signal.SIGINT, ask_to_stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
