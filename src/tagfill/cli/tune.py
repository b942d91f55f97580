"""`tagfill tune`: search for the best settings."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tagfill.cli.options import Json, Quiet, given
from tagfill.cli.output import log, print_json, say, show_table
from tagfill.cli.train import (
    AUTOMATIC,
    Choices,
    DataOptions,
    LoopOptions,
    NetworkOptions,
    make_request,
)
from tagfill.train.events import Terminal

if TYPE_CHECKING:
    from tagfill.train.resolve import Request
    from tagfill.tune.study import Trial

SHOWN = 10


def tune(
    data: str,
    *,
    trials: int | None = None,
    grid: Literal["mlspl", "em_alpha", "lac", "lac_queue"] | None = None,
    choices: Choices = AUTOMATIC,
    out: Path = Path("tagfill-tune"),
    storage: str | None = None,
    study: str = "tagfill",
    data_options: DataOptions = None,
    network: NetworkOptions = None,
    loop: LoopOptions = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Search learning rate, batch size and hyperparameters of the method.

    Trials are evaluated on validation images only. What you set (--learning-rate, --batch-size,
    --method.NAME, --protocol) is not searched. --mode linear trains many trials at once. Run the
    same command again to continue after an interruption.

    Args:
        data: Label file or folder; see `tagfill inspect`.
        trials: Number of finished trials in total; 32 by default, plus those of a grid.
        grid: Start with the grid of a paper. mlspl: batch 8 and 16, learning rates 1e-2 to 1e-5.
            em_alpha: alpha of em and em_apl. lac: batch size and delta. lac_queue: K.
        out: Folder of the study, its table and its picture.
        storage: URL of a database that several machines share; by default a file in the folder.
        study: Name of the study in a shared database.
    """
    from tagfill.tune.objective import Objective
    from tagfill.tune.report import write_picture, write_table
    from tagfill.tune.space import find_grid, narrowed, space_of
    from tagfill.tune.study import Search, best_of

    overrides = given(network) | given(loop)
    request = make_request(data, given(data_options), overrides, choices)
    objective = Objective(request, out, [] if quiet else [Terminal(log)])
    chosen = find_grid(grid) if grid else None
    config = objective.config
    space = narrowed(request, config, chosen) if chosen else space_of(request, config)
    search = Search(objective, space, out, storage, study, config.seed)
    done = search.run(trials or (len(chosen.points()) if chosen else 32), chosen)
    best = best_of(done)
    result = {
        "method": objective.method,
        "criterion": objective.criterion,
        "best": _metadata(best),
        "command": command(request, best.point),
        "trials": [_metadata(trial) for trial in done],
        "table": str(write_table(done, out)),
        "picture": str(write_picture(done, objective.criterion, out)),
    }
    if json:
        print_json(result)
    else:
        _show(result, done)
    return 0


def command(request: Request, point: Mapping[str, Any]) -> str:
    """The `tagfill train` command with the settings of a point."""

    from tagfill.tune.space import METHOD, at_point

    chosen = at_point(request, point)
    words = ["tagfill", "train", request.data.labels]
    plain = {"method": request.method, "mode": request.mode, "protocol": request.protocol}
    defaults = {field.name: field.default for field in dataclasses.fields(request.data)}
    options = {
        **{name: value for name, value in plain.items() if value not in (None, "auto")},
        **{n: v for n, v in vars(request.data).items() if n != "labels" and v != defaults[n]},
        **{n: v for n, v in chosen.overrides.items() if n not in ("head_settings", "head_preset")},
        **{f"{METHOD}{name}": value for name, value in chosen.method_settings.items()},
        **{f"head.{name}": v for name, v in chosen.overrides.get("head_settings", {}).items()},
    }
    presets = {"method": request.method_preset, "head": chosen.overrides.get("head_preset")}
    options |= {f"{part}.preset": name for part, name in presets.items() if name is not None}
    for name, value in options.items():
        words += _option(name, value)
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    flag = name if "." in name else name.replace("_", "-")
    if isinstance(value, bool) and "." not in name:
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, bool):
        return [f"--{flag}", str(value).lower()]
    return [f"--{flag}", str(value)]


def _metadata(trial: Trial) -> dict[str, Any]:
    return {
        "trial": trial.number,
        "score": trial.score,
        "epoch": trial.epoch,
        "settings": dict(trial.point),
        "error": trial.error,
    }


def _show(result: Mapping[str, Any], done: list[Trial]) -> None:
    from tagfill.tune.report import ranked

    names = list(dict.fromkeys(name for trial in done for name in trial.point))
    rows = []
    for trial in ranked(done)[:SHOWN]:
        values = [trial.point[name] for name in names]
        shown = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in values]
        rows.append([str(trial.number), trial.score, trial.epoch, *shown])
    title = f"{result['method']}: best of {len(done)} trials"
    show_table(title, ["trial", result["criterion"], "epoch", *names], rows)
    failed = [trial for trial in done if trial.score is None]
    if failed:
        say(f"{len(failed)} trials failed, the first: {failed[0].error}")
    say(f"table: {result['table']}, picture: {result['picture']}")
    say("train with the best settings:", result["command"])
