"""The search itself: an Optuna study on disk or in a database that many machines share."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tagfill.compat import optional
from tagfill.errors import TagfillError
from tagfill.methods._search import Range, Values
from tagfill.tune.objective import Objective
from tagfill.tune.space import Grid

FILE = "study.sqlite3"
CREATE_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)  # seconds; the tables are created in less than one


@dataclass(frozen=True)
class Trial:
    """A finished point: its values, and its score on the validation images."""

    number: int
    point: Mapping[str, Any]
    score: float | None
    epoch: int
    error: str | None = None


@dataclass(frozen=True)
class Search:
    """A study; every process with access to its storage can continue it.

    Args:
        out: folder of the study, unless it is elsewhere.
        storage: URL of a database that several machines share.
        name: of the study in it.
        seed: of the sampler; machines that share a database draw without one.
    """

    objective: Objective
    space: Mapping[str, Values]
    out: Path
    storage: str | None = None
    name: str = "tagfill"
    seed: int = 0
    study: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "study", self._open())

    def run(self, trials: int, grid: Grid | None = None) -> list[Trial]:
        """Continue until this many trials are finished, on any machine."""
        for point in grid.points() if grid else ():
            self.study.enqueue_trial(point, skip_if_exists=True)
        while len(self.finished()) < trials:
            self._try_next()
        return self.finished()

    def finished(self) -> list[Trial]:
        """All trials with a score or an error, in order of their start."""
        return [
            Trial(
                trial.number,
                trial.params,
                trial.value,
                trial.user_attrs.get("epoch", 0),
                trial.user_attrs.get("error"),
            )
            for trial in self.study.get_trials(deepcopy=False)
            if trial.state.name == "COMPLETE" or "error" in trial.user_attrs
        ]

    def _open(self) -> Any:
        optuna = optional("optuna", "tune")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.out.mkdir(parents=True, exist_ok=True)
        url = self.storage or f"sqlite:///{(self.out / FILE).resolve()}"
        try:
            study = create_study(url, self.name)
            self._check_metadata(study)
            study.get_trials()  # all of them are read: a damaged database is told before training
        except TagfillError:
            raise
        except Exception as error:  # any error of the database driver
            raise TagfillError(f"cannot open the study at {url} ({error})") from error
        if self.storage is not None:  # every machine draws its own points
            study.sampler = optuna.samplers.TPESampler()
            return study
        study.sampler = optuna.samplers.TPESampler(seed=self.seed + len(study.trials))
        _requeue(study, [trial for trial in study.trials if trial.state.name == "RUNNING"])
        return study

    def _check_metadata(self, study: Any) -> None:
        metadata = {
            "method": self.objective.method,
            "criterion": self.objective.criterion,
            "data_hash": self.objective.data.content_hash,
        }
        for name, value in metadata.items():
            before = study.user_attrs.get(name)
            if before is None:
                study.set_user_attr(name, value)
            elif before != value:
                raise TagfillError(
                    f"the study has another {name.replace('_', ' ')}: {before}, not {value}",
                    file=self.out,
                    remedy="choose another --out, or another --study in a shared database",
                )

    def _try_next(self) -> None:
        """Ask for a point, train it, and report its score."""
        trial = self.study.ask(_distributions(self.space))
        try:
            result = self.objective.score(trial.params, str(trial.number))
        except BaseException:
            _requeue(self.study, [trial])
            raise
        if result.score is None:
            trial.set_user_attr("error", result.error)
            self.study.tell(trial, state=_state("FAIL"))
        else:
            trial.set_user_attr("epoch", result.epoch)
            self.study.tell(trial, result.score)


def create_study(url: str, name: str) -> Any:
    """The study of this name, made unless it is there.

    Of machines that start at once on an empty database one creates the tables, and the others
    are refused by the database until they are there: they ask again.
    """
    errors = optional("sqlalchemy.exc", "tune")
    create = partial(
        optional("optuna", "tune").create_study,
        study_name=name,
        storage=url,
        direction="maximize",
        load_if_exists=True,
    )
    for pause in CREATE_PAUSES:
        try:
            return create()
        except (errors.IntegrityError, errors.ProgrammingError):
            time.sleep(pause)
    return create()


def best_of(trials: Sequence[Trial]) -> Trial:
    """The trial with the highest score, the earliest of equals."""
    scored = [trial for trial in trials if trial.score is not None]
    if not scored:
        reason = trials[0].error if trials else "no trial was finished"
        raise TagfillError(f"no trial has a score: {reason}")
    return max(scored, key=lambda trial: (trial.score, -trial.number))


def _requeue(study: Any, trials: Sequence[Any]) -> None:
    for trial in trials:
        study.enqueue_trial(trial.params)
        study.tell(trial.number, state=_state("FAIL"))


def _state(name: str) -> Any:
    return getattr(optional("optuna", "tune").trial.TrialState, name)


def _distributions(space: Mapping[str, Values]) -> dict[str, Any]:
    kinds = optional("optuna", "tune").distributions
    made = {}
    for name, values in space.items():
        if not isinstance(values, Range):
            made[name] = kinds.CategoricalDistribution(values)
        elif values.whole:
            made[name] = kinds.IntDistribution(int(values.low), int(values.high), log=values.log)
        else:
            made[name] = kinds.FloatDistribution(values.low, values.high, log=values.log)
    return made
