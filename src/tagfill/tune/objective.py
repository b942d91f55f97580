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
from tagfill.models.plain_heads import Head
from tagfill.train.batched import Outcome, Setting
from tagfill.train.config import RunConfig
from tagfill.train.data import prepare, without_unreadable
from tagfill.train.device import make_accelerator
from tagfill.train.events import Events, Sink
from tagfill.train.forward import StageData
from tagfill.train.grid import train_grid
from tagfill.train.method import Positives
from tagfill.train.model import Assembly
from tagfill.train.resolve import Request
from tagfill.train.run import configure, train
from tagfill.tune.space import at_point

HEADS_AT_ONCE = 8


@dataclass(frozen=True)
class Result:
    """Result of a point: its best score by the criterion, or its error."""

    score: float | None
    epoch: int = 0
    error: str | None = None


class Objective:
    """Trains points of the search and evaluates them on the validation images, never on the test
    ones.

    Linear heads on features are trained many at once; anything else as a run of its own, in a
    folder under ``out``.

    Args:
        request: what is the same for all points.
        out: where runs go.
        sinks: where progress goes.
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
    def at_once(self) -> int:
        """How many points are best trained together."""
        return HEADS_AT_ONCE if self._trains_heads else 1

    @property
    def method(self) -> str:
        return self.config.stages[-1].method.name

    def scores(self, points: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Result]:
        """Train points; the names are those of their run folders, where they have one."""
        configs = [self._checked(point) for point in points]
        if not self._trains_heads:
            pairs = zip(configs, names, strict=True)
            return [
                config if isinstance(config, Result) else self._run(config, n)
                for config, n in pairs
            ]
        results = iter(self._heads([config for config in configs if isinstance(config, RunConfig)]))
        return [config if isinstance(config, Result) else next(results) for config in configs]

    @cached_property
    def _trains_heads(self) -> bool:
        stages, head = self.config.stages, self.config.model.head
        return len(stages) == 1 and stages[0].inputs == "features" and head == "linear"

    def _resolve(self, point: Mapping[str, Any]) -> tuple[RunConfig, list[str]]:
        return configure(at_point(self.request, point), self.data)

    def _checked(self, point: Mapping[str, Any]) -> RunConfig | Result:
        try:
            return self._resolve(point)[0]
        except TagfillError as error:
            return Result(None, error=str(error))

    def _heads(self, configs: Sequence[RunConfig]) -> list[Result]:
        settings = [Setting(config.stages[0], config.seed) for config in configs]
        outcomes = train_grid(
            settings,
            self._stage_data,
            lambda seed: copy.deepcopy(self._head),
            self._positives,
            self.events,
        )
        return [_result(outcome) for outcome in outcomes]

    def _run(self, config: RunConfig, name: str) -> Result:
        folder = self.out / "trials" / name
        shutil.rmtree(folder, ignore_errors=True)
        try:
            metrics = train(config, self.data, folder, self.sinks).metrics
        except TagfillError as error:
            return Result(None, error=str(error))
        return Result(float(metrics["best_score"]), int(metrics["best_epoch"]))

    @cached_property
    def _assembly(self) -> Assembly:
        return Assembly(self.config, self.data, make_accelerator().device, self.events)

    @cached_property
    def _head(self) -> Head:
        """The initial head of a run with the seed of the search; never trained itself."""
        return self._assembly.network.head

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


def _result(outcome: Outcome) -> Result:
    return Result(outcome.best_score, outcome.best_epoch, outcome.error)
