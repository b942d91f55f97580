"""From points of the search to their scores on validation images."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.evaluate.selection import choose_criterion
from tagfill.train.config import RunConfig
from tagfill.train.data import prepare, without_unreadable
from tagfill.train.events import Events, Sink
from tagfill.train.forward import StageData
from tagfill.train.linear import train_head
from tagfill.train.method import Positives, make_method
from tagfill.train.model import Assembly
from tagfill.train.processes import make_accelerator
from tagfill.train.resolve import Request
from tagfill.train.run import configure, train
from tagfill.tune.space import at_point


@dataclass(frozen=True)
class Result:
    """Result of a point: its best score by the criterion, or its error."""

    score: float | None
    epoch: int = 0
    error: str | None = None


class _ProgressOnly(Events):
    """A search has too many epochs to list."""

    def event(self, kind: str, **metadata: Any) -> None: ...


class Objective:
    """Trains points of the search and evaluates them on the validation images, never on the test
    ones.

    Linear heads on features are trained in memory; anything else as a run of its own, in a folder
    under ``out``.
    """

    def __init__(self, request: Request, out: Path, sinks: Sequence[Sink] = ()) -> None:
        self.request, self.out, self.sinks = request, out, sinks
        self.data = prepare(request.data)
        self.config, notes = self._resolve({})
        if self.config.data != request.data:
            self.data = prepare(self.config.data, self.data.sources)
        if self.data.train.paths is not None:
            self.data = without_unreadable(self.data)
        self.criterion = self._criterion()
        self.events = Events(*sinks)
        for note in (*self.data.notes, *notes):
            self.events.note(note)

    @property
    def method(self) -> str:
        return self.config.stages[-1].method.name

    def score(self, point: Mapping[str, Any], name: str) -> Result:
        """Train a point; the name is that of its run folder, where it has one."""
        try:
            config = self._resolve(point)[0]
            return self._head(config) if self._trains_heads else self._run(config, name)
        except TagfillError as error:
            return Result(None, error=str(error))

    @cached_property
    def _trains_heads(self) -> bool:
        stages, head = self.config.stages, self.config.model.head
        return len(stages) == 1 and stages[0].inputs == "features" and head == "linear"

    def _resolve(self, point: Mapping[str, Any]) -> tuple[RunConfig, list[str]]:
        return configure(at_point(self.request, point), self.data)

    def _head(self, config: RunConfig) -> Result:
        head, stage = copy.deepcopy(self._assembly.network.head), config.stages[0]
        trained = train_head(
            head,
            make_method(stage),
            stage,
            self._stage_data,
            self._positives,
            seed=config.seed,
            events=_ProgressOnly(*self.sinks),
        ).selector
        return Result(trained.best_score, trained.best_epoch)

    def _run(self, config: RunConfig, name: str) -> Result:
        folder = self.out / "trials" / name
        shutil.rmtree(folder, ignore_errors=True)
        metrics = train(config, self.data, folder, self.sinks).metrics
        return Result(float(metrics["best_score"]), int(metrics["best_epoch"]))

    @cached_property
    def _assembly(self) -> Assembly:
        return Assembly(self.config, self.data, make_accelerator().device, self.events)

    @cached_property
    def _stage_data(self) -> StageData:
        needs = methods.find(self.method).INFO.needs
        return self._assembly.stage_data(self.config.stages[0], needs)

    @cached_property
    def _positives(self) -> Positives:
        return Positives(self._stage_data.observed, self._assembly.pooled_features, self.events)

    def _criterion(self) -> str:
        """The ranking criterion; without validation images the search is refused."""
        select, val = self.config.select, self.data.val
        if val is None or select in ("loss", "last"):
            raise TagfillError(
                "the search needs validation images to rank settings",
                remedy="give them with --val, or hold some out with --val-fraction 0.2",
            )
        return choose_criterion(val.eval_labels, name=None if select == "auto" else select).name
