"""Train many settings at once: heads are small, so one pass over the features trains them all.

Settings with the same batch size and schedule become one module of linear heads. Each head sees the
images in the order of its own run and ends with the weights of that run, up to rounding. Settings
that cannot be batched (several views, mixup, averaged weights, heads that are not linear) are
trained one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from accelerate import Accelerator

from tagfill.errors import TagfillError
from tagfill.methods.base import Method
from tagfill.models.plain_heads import Head, LinearHead
from tagfill.train.batched import Batched, Outcome, Setting
from tagfill.train.config import StageConfig
from tagfill.train.device import make_accelerator, single_thread
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.loop import Stage, stage_seed
from tagfill.train.method import Positives, begin, make_method

WEIGHTS_AT_ONCE = 20_000_000
"""How many weights are trained side by side; more settings are trained in several rounds."""


@dataclass(frozen=True)
class _Member:
    index: int
    setting: Setting
    head: Head
    method: Method


def train_grid(
    settings: Sequence[Setting],
    data: StageData,
    make_head: Callable[[int], Head],
    positives: Positives,
    events: Events,
) -> list[Outcome]:
    """Train every setting, as many as possible at once.

    Args:
        settings: the points of the grid.
        data: features and labels, the same for all.
        make_head: a new head as a run with the given seed would start from.
        positives: for methods that need k or class priors.
        events: where progress goes.

    Returns:
        The outcome of each setting, in order; one that cannot be trained has an error.
    """
    accelerator = make_accelerator()
    outcomes: dict[int, Outcome] = {}
    members = []
    for index, setting in enumerate(settings):
        try:
            member = _started(index, setting, data, make_head, positives, accelerator.device)
            members.append(member)
        except TagfillError as error:
            outcomes[index] = Outcome(error=str(error))
    for round_ in _rounds(members):
        with single_thread(round_[0].head.reads == "pooled"):
            results = _train_round(round_, data, accelerator, events)
        outcomes.update({member.index: one for member, one in zip(round_, results, strict=True)})
    return [outcomes[index] for index in range(len(settings))]


def is_batchable(stage: StageConfig, method: Method, head: Head) -> bool:
    """Whether a setting can be trained side by side with others."""
    needs = method.needs
    plain = isinstance(head, LinearHead) and head.dropout.p == 0 and stage.inputs == "features"
    one_view = not (needs.two_views or needs.mixup or needs.embeddings or needs.activation_maps)
    looped = not needs.solver and stage.l2 is None
    elementwise = stage.clip is None and stage.optimizer != "adafactor"
    stepwise = looped and stage.ema is None and stage.accumulate == 1
    return plain and one_view and elementwise and stepwise


def _started(
    index: int,
    setting: Setting,
    data: StageData,
    make_head: Callable[[int], Head],
    positives: Positives,
    device: torch.device,
) -> _Member:
    method = make_method(setting.stage)
    begin(method, setting.stage, data, positives, seed=setting.seed, device=device)
    return _Member(index, setting, make_head(setting.seed).to(device), method)


def _rounds(members: Sequence[_Member]) -> Iterator[list[_Member]]:
    """Members that are trained together, those with the same method settings next to each other."""
    rounds: dict[object, list[_Member]] = {}
    for member in members:
        stage = member.setting.stage
        if is_batchable(stage, member.method, member.head):
            key = (stage.batch_size, stage.epochs, stage.optimizer, stage.schedule, stage.warmup)
            rounds.setdefault(key, []).append(member)
        else:
            yield [member]
    for together in rounds.values():
        together.sort(key=lambda member: repr(member.setting.stage.method))
        weights = sum(parameter.numel() for parameter in together[0].head.parameters())
        size = max(1, WEIGHTS_AT_ONCE // weights)
        yield from (together[at : at + size] for at in range(0, len(together), size))


def _train_round(
    members: Sequence[_Member], data: StageData, accelerator: Accelerator, events: Events
) -> list[Outcome]:
    heads = [member.head for member in members if isinstance(member.head, LinearHead)]
    if len(heads) < 2:
        return [_train_alone(member, data, accelerator, events) for member in members]
    started = [member.method for member in members]
    settings = [member.setting for member in members]
    batched = Batched(settings, heads, started, data, device=accelerator.device, events=events)
    return batched.run()


def _train_alone(
    member: _Member, data: StageData, accelerator: Accelerator, events: Events
) -> Outcome:
    stage = Stage(
        member.head,
        member.method,
        member.setting.stage,
        data,
        accelerator=accelerator,
        events=events,
        seed=stage_seed(member.setting.seed),
    )
    try:
        stage.run()
    except TagfillError as error:
        return Outcome(error=str(error))
    history = [{key: epoch[key] for key in ("epoch", "loss", "score")} for epoch in stage.history]
    selector = stage.selector
    return Outcome(stage.best["network"], selector.best_epoch, selector.best_score, history)
