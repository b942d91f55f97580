"""A run from beginning to end: config, data, model, method, loop, evaluate, save.

Each step has its own module: ``resolve`` makes the configuration, ``data`` reads and splits the
labels, ``model`` builds the network and its inputs, ``method`` starts the method, ``loop`` trains,
``evaluate`` computes metrics, ``save`` writes the files.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from accelerate import Accelerator

from tagfill.errors import TagfillError
from tagfill.files import unlinked
from tagfill.linear.threads import single_thread
from tagfill.methods.base import Method
from tagfill.train.config import RunConfig
from tagfill.train.data import Sources, TrainingData, prepare
from tagfill.train.evaluate import evaluate
from tagfill.train.events import EventFile, Events, Sink
from tagfill.train.folder import RunFolder, free_path
from tagfill.train.limits import Interrupted, Limits, stop_on_signal
from tagfill.train.loop import Stage, stage_seed
from tagfill.train.method import begin_stage, make_method
from tagfill.train.model import Assembly
from tagfill.train.processes import World, make_accelerator
from tagfill.train.quality import choose_quality
from tagfill.train.resolve import Request, resolve
from tagfill.train.save import Checkpoint, checkpoints_of, fitting, save_run, saved_checkpoint
from tagfill.train.trained import TrainedRun


def fit(
    request: Request,
    out: Path | None = None,
    sinks: Sequence[Sink] = (),
    sources: Sources | None = None,
) -> TrainedRun:
    """Train from a request; the run folder is new.

    Args:
        out: the run folder; by default a new one under ``tagfill-runs``.
        sources: label files that have been read already, as this request reads them.

    Raises:
        TagfillError: the request or the data is not valid.
        Interrupted: the user stopped; the run folder holds a checkpoint.
    """
    request = replace(request, data=request.data.absolute())
    data = prepare(request.data, sources)
    config, notes = configure(request, data)
    if config.data != request.data:
        data = prepare(config.data, data.sources)
    paths = [path for split in data.splits.values() for path in split.paths or ()]
    config, why = choose_quality(config, request, paths)
    notes += why
    name = f"{Path(config.data.labels).stem or 'run'}-{Path(config.stages[-1].method.name).stem}"
    return train(config, data, out or free_path(name), sinks, notes)


def configure(request: Request, data: TrainingData) -> tuple[RunConfig, list[str]]:
    """The complete configuration for these data on this machine, and the reasons for it."""
    return resolve(
        request,
        regime=data.regime,
        images=len(data.train),
        given_features=data.train.features is not None,
        has_gpu=torch.cuda.is_available(),
    )


def train(
    config: RunConfig,
    data: TrainingData,
    out: Path,
    sinks: Sequence[Sink] = (),
    notes: Sequence[str] = (),
) -> TrainedRun:
    """Train a complete configuration on prepared data; the run folder is new."""
    accelerator = make_accelerator(config.precision, config.threads)
    metadata = {"data_hash": data.content_hash, "regime": data.regime, "images": data.sizes}
    folder, is_main = RunFolder(out), World.current().is_main
    with folder.lock(is_main):
        if is_main:
            folder.create(config, metadata)
        accelerator.wait_for_everyone()
        try:
            return _execute(folder, config, data, accelerator, sinks, (*data.notes, *notes), None)
        except Exception as error:
            if is_main and not isinstance(error, Interrupted):
                folder.discard_start()
            raise


def resume(path: Path, sinks: Sequence[Sink] = (), *, previous: bool = False) -> TrainedRun:
    """Continue an interrupted run; it ends as if it had never stopped.

    Args:
        previous: continue from the checkpoint before the last.
    """
    folder, config = RunFolder.open(path)
    if folder.is_finished:
        return TrainedRun(folder, config)
    accelerator = make_accelerator(config.precision, config.threads)
    with folder.lock(World.current().is_main):
        saved = saved_checkpoint(folder, len(config.stages), previous=previous)
        return _execute(folder, config, prepare(config.data), accelerator, sinks, (), saved)


def _execute(
    folder: RunFolder,
    config: RunConfig,
    data: TrainingData,
    accelerator: Accelerator,
    sinks: Sequence[Sink],
    notes: Sequence[str],
    saved: Checkpoint | None,
) -> TrainedRun:
    """Model, stages, evaluation, saving; ``saved`` is where to continue from."""
    is_main = World.current().is_main
    everyone = (EventFile(unlinked(folder.events)), *sinks) if is_main else ()
    deadline = None if config.time_limit is None else time.monotonic() + config.time_limit
    limits = Limits(deadline, config.checkpoint_seconds)
    with Events(*everyone) as events, stop_on_signal(limits):
        events.event("start" if saved is None else "resume", data=data.sizes, regime=data.regime)
        for note in (*notes, *_sharding(config)):
            events.note(note)
        try:
            assembly = Assembly(config, data, accelerator.device, events, limits=limits)
            size = assembly.network.backbone.spec.size or None
            config = replace(config, model=replace(config.model, input_size=size))
            with accelerator.main_process_first():  # the others find its features in the cache
                data = assembly.without_unreadable()
            if saved is None and is_main:
                folder.settle(config, {"data_hash": data.content_hash, "images": data.sizes})
            elif saved is not None and saved[1]["data_hash"] != data.content_hash:
                raise TagfillError(
                    "the labels have changed since the run began",
                    file=config.data.labels,
                    remedy="start a new run, with --init to begin from this one's weights",
                )
            stage = _train_stages(folder, assembly, accelerator, saved)
            evaluation = evaluate(stage, assembly, config)
        except Interrupted as stop:
            events.event("interrupted")
            raise Interrupted(f"tagfill train --resume {folder.path}") from stop
        if is_main:
            save_run(folder, assembly.network, data, evaluation)
        events.event("end", **evaluation.precisions)
    return TrainedRun(folder, config, data=data, metrics=evaluation.metrics)


def _train_stages(
    folder: RunFolder, assembly: Assembly, accelerator: Accelerator, saved: Checkpoint | None
) -> Stage:
    """Train all stages that are not done yet, on the same network; returns the last."""
    stages = assembly.config.stages
    first = 1 if saved is None else saved[1]["stage"]
    previous: Method | None = None
    for number in range(first, len(stages) + 1):
        config = stages[number - 1]
        method = make_method(config)
        head = assembly.network.head
        head.train_embeddings(method.needs.embeddings)
        module = assembly.network if config.inputs == "images" else head
        with accelerator.main_process_first():
            data = assembly.stage_data(config, method.needs)
            begin_stage(method, config, data, assembly)
        if previous is not None and type(previous) is type(method):
            method.inherit(previous)
        stage = Stage(
            module,
            method,
            config,
            data,
            accelerator=accelerator,
            events=assembly.events,
            keep=checkpoints_of(folder, assembly.data),
            seed=stage_seed(assembly.config.seed, number),
            limits=assembly.limits,
            number=number,
            stages=len(stages),
            shard=assembly.config.shard and config.inputs == "images",
        )
        if saved is not None and number == first:
            with fitting(folder):
                stage.restore(*saved)
        with single_thread(config.inputs == "features" and head.reads != "maps"):
            stage.run()
        assembly.follow_head()
        previous = method
    return stage


def _sharding(config: RunConfig) -> list[str]:
    processes = World.current().size
    if not config.shard:
        return []
    if processes == 1:
        return ["shard: no effect, there is one process"]
    if not any(stage.inputs == "images" for stage in config.stages):
        return ["shard: no effect, only the head is trained"]
    return [f"shard: the fine-tuned network is divided among {processes} processes"]
