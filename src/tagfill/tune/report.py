"""Results of a search: a CSV file and a chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagfill.files import atomic_path, write_csv
from tagfill.tune.space import METHOD
from tagfill.tune.study import Trial

TABLE, PICTURE = "trials.csv", "trials.png"


def ranked(trials: Sequence[Trial]) -> list[Trial]:
    """Best first; trials without a score last."""
    worst = float("-inf")
    return sorted(
        trials, key=lambda trial: worst if trial.score is None else trial.score, reverse=True
    )


def write_table(trials: Sequence[Trial], out: Path) -> Path:
    """All trials, best first."""
    names = list(dict.fromkeys(name for trial in trials for name in trial.point))
    path = out / TABLE
    rows = (
        [trial.number, trial.score, trial.epoch]
        + [trial.point.get(name, "") for name in names]
        + [trial.error or ""]
        for trial in ranked(trials)
    )
    write_csv(path, ["trial", "score", "epoch", *names, "error"], rows)
    return path


def write_picture(trials: Sequence[Trial], criterion: str, out: Path) -> Path:
    """Scores in the order of the trials, and against every searched number; a ring is the best."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    scored = [trial for trial in trials if trial.score is not None]
    numeric = _numeric(scored)
    figure = Figure(figsize=(4.2 * (1 + len(numeric)), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 1 + len(numeric), sharey=True, squeeze=False)[0]
    _history(axes[0], scored, criterion)
    for axis, name in zip(axes[1:], numeric, strict=True):
        _against(axis, name, scored)
    path = out / PICTURE
    with atomic_path(path) as draft:
        figure.savefig(draft, dpi=150)
    return path


def _numeric(trials: Sequence[Trial]) -> list[str]:
    """Settings with several numbers; batch size is shown by color instead."""
    names = []
    for name in dict.fromkeys(name for trial in trials for name in trial.point):
        values = {trial.point.get(name) for trial in trials}
        if name != "batch_size" and all(isinstance(value, int | float) for value in values):
            names.append(name)
    return names


def _history(axis: Any, trials: Sequence[Trial], criterion: str) -> None:
    order = range(1, len(trials) + 1)
    scores = [trial.score or 0.0 for trial in trials]
    best = [max(scores[:count]) for count in order]
    axis.step(order, best, where="post", color="0.6", label="best so far")
    axis.scatter(order, scores, s=18, color="0.3", zorder=3)
    _mark_best(axis, order, scores)
    axis.set(xlabel="trial", ylabel=f"validation {criterion}")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(frameon=False)
    axis.grid(alpha=0.3)


def _against(axis: Any, name: str, trials: Sequence[Trial]) -> None:
    values, scores = [trial.point[name] for trial in trials], [trial.score for trial in trials]
    for size in sorted({trial.point.get("batch_size", 0) for trial in trials}):
        own = [at for at, trial in enumerate(trials) if trial.point.get("batch_size", 0) == size]
        label = f"batch {size}" if size else None
        axis.scatter([values[at] for at in own], [scores[at] for at in own], s=18, label=label)
    _mark_best(axis, values, scores)
    axis.set(xlabel=name.removeprefix(METHOD).replace("_", " "))
    if min(values) > 0:
        _logarithmic(axis, max(values) / min(values))
    if name == "learning_rate" and axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False)
    axis.grid(alpha=0.3)


def _mark_best(axis: Any, values: Sequence[Any], scores: Sequence[Any]) -> None:
    best = max(range(len(scores)), key=lambda at: scores[at])
    ring = {"s": 110, "facecolors": "none", "edgecolors": "tab:red", "linewidths": 1.5}
    axis.scatter([values[best]], [scores[best]], zorder=4, **ring)


def _logarithmic(axis: Any, spread: float) -> None:
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if spread < 50 else (1,)))
    axis.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axis.xaxis.set_minor_formatter(NullFormatter())
