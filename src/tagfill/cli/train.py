"""`tagfill train`: from a label file to a model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import Parameter

from tagfill.cli.labels import TableOptions, settled
from tagfill.cli.options import Flag, Json, Quiet, given, options_of
from tagfill.cli.output import emit, log, say, show_table
from tagfill.cli.report import after_training
from tagfill.errors import TagfillError
from tagfill.train.config import DataConfig, Mode, ModelConfig, RunConfig, StageConfig, load_config
from tagfill.train.events import Sink, TensorBoard, Terminal
from tagfill.train.folder import free_path
from tagfill.train.protocols import PresetName, ProtocolName
from tagfill.trust import trust

if TYPE_CHECKING:
    from tagfill.train.resolve import Request
    from tagfill.train.trained import TrainedRun


@dataclass(frozen=True)
class _StageOptions:
    linear_epochs: int | None = None
    "Epochs of the linear stage of linear_init."
    linear_learning_rate: float | None = None
    "Learning rate of the linear stage of linear_init."
    second_epochs: int | None = None
    "Epochs of the second stage of two_stage."
    second_learning_rate: float | None = None
    "Learning rate of the second stage of two_stage."


if TYPE_CHECKING:
    DataOptions: TypeAlias = Any
    NetworkOptions: TypeAlias = Any
    LoopOptions: TypeAlias = Any
else:
    DataOptions = options_of("Data", TableOptions, DataConfig)
    NetworkOptions = options_of("Network", ModelConfig)
    LoopOptions = options_of("Loop", _StageOptions, StageConfig, RunConfig)


@Parameter(name="*")
@dataclass(frozen=True)
class Choices:
    """Method, mode and protocol."""

    method: str = "auto"
    "See `tagfill methods`; or the path of a Python file with a method of your own."
    mode: Mode = "auto"
    """linear: head on cached features. finetune: everything. linear_init: first linear, then all.
    two_stage: the schedule of LAC."""
    protocol: ProtocolName | None = None
    "Train with the settings of a paper."
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None
    """A hyper-parameter of the method or the head: method.NAME=VALUE, head.NAME=VALUE. Also
    written --method.NAME VALUE; --method.preset NAME and --head.preset NAME take a preset."""


AUTOMATIC = Choices()


def train(
    data: str | None = None,
    *,
    choices: Choices = AUTOMATIC,
    preset: PresetName | None = None,
    time_limit: str | None = None,
    out: Path | None = None,
    resume: Path | None = None,
    previous: Flag = False,
    config: Path | None = None,
    data_options: DataOptions = None,
    network: NetworkOptions = None,
    loop: LoopOptions = None,
    tensorboard: Flag = False,
    report: bool = True,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Train a model from a label file.

    Everything has a default that suits the data; what was chosen is printed. Ctrl-C saves a
    checkpoint and stops; `tagfill train --resume RUN` continues.

    Args:
        data: Label file or folder; see `tagfill inspect`.
        preset: fast, good or best.
        time_limit: Longest training time, such as 20m or 1h30m.
        out: The run folder.
        resume: Continue an interrupted run.
        previous: With --resume: continue from the checkpoint before the last, if the last is
            damaged.
        config: Repeat the run of a config.toml.
        tensorboard: Also write TensorBoard scalars into the run folder.
        report: Write report.html into the run folder.
    """
    from tagfill.train.processes import is_first_process

    if sum(option is not None for option in (data, resume, config)) != 1:
        raise TagfillError("give a label file, or --resume RUN, or --config FILE")
    overrides = given(network) | given(loop)
    if time_limit is not None:
        overrides["time_limit"] = seconds_of(time_limit)
    request = None
    if data is not None:
        request = make_request(data, given(data_options), overrides, choices, preset)
    elif overrides or choices.set_ or data_options is not None:
        raise TagfillError(
            "a resumed or repeated run reads all settings from its config.toml",
            remedy="remove the other options, or change them in a copy of that file",
        )
    if previous and resume is None:
        raise TagfillError("--previous needs --resume")
    run = _run(request, resume, config, out, tensorboard, quiet, previous)
    if not is_first_process():
        return 0
    page = after_training(run, quiet=quiet) if report else None
    if json or not quiet:
        emit({"run": str(run.path), "report": page, **run.metrics}, _show, json=json)
    return 0


def _run(
    request: Request | None,
    resume: Path | None,
    config: Path | None,
    out: Path | None,
    tensorboard: bool,
    quiet: bool,
    previous: bool,
) -> TrainedRun:
    from tagfill.train import run as runs
    from tagfill.train.data import prepare
    from tagfill.train.processes import is_first_process

    sinks: list[Sink] = [] if quiet else [Terminal(log)]
    target = resume or out
    if target is None:
        target = free_path(Path(request.data.labels).stem or "run") if request else free_path("run")
    if tensorboard and is_first_process():
        sinks.append(TensorBoard(target / "tensorboard"))
    if resume is not None:
        return runs.resume(resume, sinks, previous=previous)
    if config is not None:
        settings = load_config(config)
        return runs.train(settings, prepare(settings.data), target, sinks)
    assert request is not None
    return runs.fit(request, target, sinks)


def make_request(
    labels: str,
    data: Mapping[str, Any],
    overrides: dict[str, Any],
    choices: Choices = AUTOMATIC,
    preset: PresetName | None = None,
) -> Request:
    """The request for the options of a command.

    Args:
        labels: the label source.
        data: given options of ``DataOptions``.
        overrides: given options of the network and the loop.
        choices: method, mode, protocol, and settings of method and head.
        preset: fast, good or best.
    """
    from tagfill.train.resolve import Request

    parts: dict[str, dict[str, Any]] = {"method": {}, "head": {}}
    for setting in choices.set_ or ():
        part, name, value = _setting(setting)
        parts[part][name] = value
    method_preset = parts["method"].pop("preset", None)
    if "preset" in parts["head"]:
        overrides["head_preset"] = parts["head"].pop("preset")
    if parts["head"]:
        overrides["head_settings"] = parts["head"]
    trust(choices.method)
    return Request(
        data=DataConfig(labels=labels, **settled(data)),
        method_preset=method_preset,
        method_settings=parts["method"],
        overrides=overrides,
        method=choices.method,
        mode=choices.mode,
        protocol=choices.protocol,
        preset=preset,
    )


def _setting(text: str) -> tuple[str, str, Any]:
    key, equals, value = text.partition("=")
    part, dot, name = key.partition(".")
    if not (equals and dot) or part not in ("method", "head"):
        raise TagfillError(
            f"--set {text} has the wrong form", remedy="write --set method.NAME=VALUE"
        )
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        parsed = value
    return part, name.replace("-", "_"), parsed


def seconds_of(text: str) -> float:
    """Seconds in a duration such as 90s, 20m, 1h30m or 2h."""
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", text.strip())
    if not match or not any(match.groups()):
        raise TagfillError(f"{text!r} is not a duration", remedy="write 90s, 20m or 1h30m")
    hours, minutes, seconds = (int(group or 0) for group in match.groups())
    return float(3600 * hours + 60 * minutes + seconds)


def _show(result: Mapping[str, Any]) -> None:
    rows = []
    of_positives = result["criterion"] == "observed_mAP"
    for split in ("test",) if of_positives else ("val", "test"):
        measured = result.get(split)
        if measured is not None and measured["mAP"] is not None:
            rates = measured.get("at_fitted_thresholds") or measured.get("at_threshold") or {}
            f1 = [rates.get(name) for name in ("overall_f1", "class_f1_mean_of_f1")]
            rows.append([split, measured["mAP"], *(rate and 100 * rate for rate in f1)])
    if rows:
        show_table(result["method"], ["split", "mAP", "OF1", "CF1"], rows)
    if of_positives:
        score = f"observed_mAP {result['best_score']:.2f}"
        say(f"validation: {score}; too few known negatives for mAP")
    say(f"run folder: {result['run']}")
    if result["report"] is not None:
        say(f"report: {result['report']}")
