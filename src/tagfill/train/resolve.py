"""From a request to a complete configuration, with the reason for each choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from tagfill import methods
from tagfill.errors import TagfillError, counted, nearest
from tagfill.models.heads import head_giving
from tagfill.settings import fitted_fields
from tagfill.train.config import (
    DataConfig,
    InputKind,
    MethodConfig,
    Mode,
    ModelConfig,
    RunConfig,
    StageConfig,
)
from tagfill.train.protocols import PRESETS, PROTOCOLS, PresetName, ProtocolName
from tagfill.trust import is_file

LINEAR: dict[str, Any] = {
    "epochs": 25,
    "batch_size": 16,
    "learning_rate": 1e-3,
    "optimizer": "adam",
}
"""The linear protocol of MLSPL."""
FINETUNE: dict[str, Any] = {
    "epochs": 10,
    "batch_size": 16,
    "learning_rate": 1e-4,
    "optimizer": "adamw",
    "weight_decay": 1e-2,
    "schedule": "cosine",
}
FINETUNE_AFTER_LINEAR = {**FINETUNE, "epochs": 5, "learning_rate": 3e-5}
AVERAGE = 0.99
"""Decay of the averaged weights that ``auto`` also tries when fine-tuning."""
FINETUNE_FROM = 1_000
"""Least number of training images for fine-tuning by default."""
HEAD_MULTIPLIER = 10.0
"""Learning rate of a new linear head relative to its backbone."""
FINETUNED_PER_SECOND = 15
"""Images a second of a small backbone at 224 px on two CPU cores, forward and backward."""
OF_THE_BACKBONE = ("backbone", "input_size", "weights", "pretrained", "lgconv", "freeze_stages")
OF_THE_LOOP = (
    *("epochs", "batch_size", "learning_rate", "optimizer", "weight_decay", "schedule", "warmup"),
    *("clip", "accumulate", "ema", "patience"),
)
OF_ONE_STAGE = ("linear", "finetune", "second")
"""Prefixes of settings that go to one kind of stage; ``second`` is of two_stage."""
PARTS = {"data", "model", "stages", "method", "inputs"}
"""Fields of configurations that are no settings of their own."""


@dataclass(frozen=True)
class Request:
    """A user's request; ``None`` and absent keys leave the choice to tagfill.

    Args:
        overrides: fields of ``ModelConfig``, ``StageConfig`` and ``RunConfig`` by name. Stage
            fields go to the last stage, in two_stage to both; with the prefix ``linear_``,
            ``finetune_`` or ``second_`` to stages of that kind only.
    """

    data: DataConfig
    mode: Mode = "auto"
    method: str = "auto"
    method_preset: str | None = None
    method_settings: Mapping[str, Any] = field(default_factory=dict)
    protocol: ProtocolName | None = None
    preset: PresetName | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)


def resolve(
    request: Request, *, regime: str, images: int, given_features: bool, has_gpu: bool
) -> tuple[RunConfig, list[str]]:
    """The complete configuration, and the reason for each choice.

    Args:
        regime: what the training labels look like.
        given_features: whether the source has features instead of images.
    """
    notes: list[str] = []
    _check_choice("mode", request.mode, get_args(Mode))
    _check_choice("protocol", request.protocol or "none", PROTOCOLS)
    _check_choice("preset", request.preset or "good", PRESETS)
    protocol = PROTOCOLS[request.protocol or "none"]
    preset = PRESETS[request.preset] if request.preset else {}
    overrides = {**preset, **protocol.settings_for(request.method), **request.overrides}
    wanted = overrides.pop("mode", None)
    _check_known(overrides)
    mode, why = _mode(request, wanted, images, given_features, has_gpu)
    notes += why
    if request.protocol is None and mode in ("finetune", "linear_init"):
        overrides = {**_gentle(overrides), **overrides}
        if request.method == "auto" and "ema" not in overrides:
            overrides.setdefault("finetune_ema", AVERAGE)
    if mode == "two_stage":
        request = _for_two_stages(request)
    method = _method(request, protocol.method, regime, notes)
    if protocol.val_split:
        request = replace(request, data=replace(request.data, val_split=protocol.val_split))
    if given_features:
        _check_no_backbone(request)
    model = _fill(ModelConfig, overrides)
    stages = _stages(mode, method, overrides, features=given_features or not has_gpu)
    model = _fitting_head(model, stages, overrides, notes)
    if mode == "linear":
        stages = _as_the_head(stages, model)
        notes += _idle_options(stages[-1], model, request.overrides)
    run = _fill(RunConfig, overrides, data=request.data, model=model, stages=stages)
    assert isinstance(run, RunConfig)
    return run, notes


def _mode(
    request: Request, preferred: str | None, images: int, given_features: bool, has_gpu: bool
) -> tuple[Mode, list[str]]:
    """The mode, and the reason if the user did not choose it."""
    if given_features:
        if request.mode not in ("auto", "linear", "two_stage"):
            raise TagfillError(
                f"mode {request.mode} needs images, but the source has features only",
                remedy="use --mode linear, or point --images to the image folder",
            )
        deviates = preferred not in (None, "linear")
        note = f"deviation: mode linear instead of {preferred}: there are no images"
        return ("linear" if request.mode == "auto" else request.mode), [note] if deviates else []
    if request.mode != "auto":
        return request.mode, []
    if preferred is not None:
        return preferred, []  # type: ignore[return-value]
    if not has_gpu:
        hours = images * FINETUNE["epochs"] / FINETUNED_PER_SECOND / 3600
        return "linear", [
            "mode: linear, because there is no GPU; --mode finetune trains the whole network"
            f" (about {counted(max(1, round(hours * 60)), 'minute')} on two cores)"
        ]
    if images < FINETUNE_FROM:
        return "linear", [
            f"mode: linear, because {images:,} training images are few for a whole network;"
            " --mode linear_init fine-tunes it anyway"
        ]
    return "linear_init", [f"mode: linear_init, because there is a GPU for {images:,} images"]


def _gentle(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Gentle fine-tuning; the evidence is docs/results/training.md."""
    own: dict[str, Any] = {}
    if overrides.get("pretrained", True):
        own["freeze_batchnorm"] = True
    if overrides.get("head", "linear") == "linear":
        own["head_multiplier"] = HEAD_MULTIPLIER
    return own


def _for_two_stages(request: Request) -> Request:
    """The method for two stages: only methods that define stages can use them."""
    able = methods.staged_names()
    if request.method not in ("auto", *able):
        raise TagfillError(
            f"mode two_stage trains {' or '.join(able)}, not {request.method}",
            remedy="leave out --method, or choose another --mode",
        )
    return replace(request, method=able[0]) if request.method == "auto" else request


def _check_no_backbone(request: Request) -> None:
    idle = [
        name for name in (*OF_THE_BACKBONE, "quality") if request.overrides.get(name) is not None
    ]
    if idle:
        option = idle[0].replace("_", "-")
        raise TagfillError(
            f"--{option} has no effect: the source has features only",
            remedy=f"leave out --{option}, or train from image files",
        )


def _check_choice(what: str, chosen: str, known: Iterable[str]) -> None:
    if chosen not in known:
        raise TagfillError(f"unknown {what} {chosen!r}", remedy=f"use one of {', '.join(known)}")


def _method(
    request: Request, default: MethodConfig | None, regime: str, notes: list[str]
) -> MethodConfig:
    name, preset, settings = request.method, request.method_preset, dict(request.method_settings)
    if default is not None and name in ("auto", default.name):
        if name == "auto":
            notes.append(f"method: {default.name}, from the protocol")
        name, preset = default.name, preset or default.preset
        settings = {**default.settings, **settings}
    elif name == "auto":
        name = methods.AUTO
        notes.append(f"method: {name}, for labels that look {regime.replace('_', '-')}")
    if is_file(name):
        name = str(Path(name).absolute())  # a run can be resumed from any folder
    methods.configure(name, settings, preset)
    return MethodConfig(name, preset, settings)


def _stages(
    mode: Mode, method: MethodConfig, overrides: Mapping[str, Any], *, features: bool
) -> tuple[StageConfig, ...]:
    linear = {**overrides, **_prefixed("linear_", overrides)}
    finetune = {**overrides, **_prefixed("finetune_", overrides)}
    if mode == "linear":
        return (_stage(method, "features", LINEAR, linear),)
    if mode == "finetune":
        return (_stage(method, "images", FINETUNE, finetune),)
    if mode == "linear_init":
        return (
            _stage(method, "features", LINEAR, _prefixed("linear_", overrides)),
            _stage(method, "images", FINETUNE_AFTER_LINEAR, finetune),
        )
    kind: InputKind = "features" if features else "images"
    base = LINEAR if features else FINETUNE
    *earlier, last = methods.stages(method.name, method.settings, method.preset)
    final = replace(method, settings={**last.settings, **method.settings})
    second = {**overrides, **_prefixed("second_", overrides)}
    return (
        *(
            _stage(MethodConfig(plan.method, None, dict(plan.settings)), kind, base, overrides)
            for plan in earlier
        ),
        _stage(final, kind, base, second),
    )


def _prefixed(prefix: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key.removeprefix(prefix): override
        for key, override in overrides.items()
        if key.startswith(prefix)
    }


def _stage(
    method: MethodConfig,
    inputs: InputKind,
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> StageConfig:
    stage = _fill(StageConfig, {**defaults, **overrides}, method=method, inputs=inputs)
    assert isinstance(stage, StageConfig)
    return stage


def _fitting_head(
    model: ModelConfig,
    stages: tuple[StageConfig, ...],
    overrides: Mapping[str, Any],
    notes: list[str],
) -> ModelConfig:
    """The head the method needs, unless the user named one."""
    needs = [methods.find(stage.method.name).INFO.needs for stage in stages]
    wanted = head_giving({need for stage_needs in needs for need in stage_needs.of_the_head()})
    if wanted is None:
        return model
    last = stages[-1].method
    required = methods.head_settings(last.name, last.settings, last.preset)
    settings = {**required, **model.head_settings}
    if model.head == wanted:
        return replace(model, head_settings=settings)
    if "head" in overrides:
        raise TagfillError(
            f"{last.name} needs the head {wanted}, not {model.head}",
            remedy=f"leave out --head, or use --head {wanted}",
        )
    notes.append(f"head: {wanted}, which {last.name} needs")
    return replace(model, head=wanted, head_settings=settings)


def finds_head_at_once(stage: StageConfig, model: ModelConfig) -> bool:
    """Whether a stage has no epochs: its method solves a linear head on fixed features."""
    solver = methods.find(stage.method.name).INFO.needs.solver or stage.l2 is not None
    plain = model.head == "linear" and not model.head_settings.get("dropout")
    return solver and stage.inputs == "features" and plain


def _idle_options(
    stage: StageConfig, model: ModelConfig, overrides: Mapping[str, Any]
) -> list[str]:
    """Options of the training loop that a method without epochs ignores."""
    idle = [name for name in OF_THE_LOOP if overrides.get(name) is not None]
    if not idle or not finds_head_at_once(stage, model):
        return []
    return [f"{', '.join(idle)}: no effect, {stage.method.name} solves a linear head directly"]


def _as_the_head(stages: tuple[StageConfig, ...], model: ModelConfig) -> tuple[StageConfig, ...]:
    """Head settings given by the user override the method's."""
    method = stages[-1].method
    settings = {**methods.fixed_by_head(method.name, model.head_settings), **method.settings}
    fixed = replace(method, settings=settings)
    return (*stages[:-1], replace(stages[-1], method=fixed))


def _fill(kind: Any, overrides: Mapping[str, Any], **fixed: Any) -> Any:
    return kind(**fitted_fields(kind, overrides), **fixed)


def _check_known(overrides: Mapping[str, Any]) -> None:
    stage, model, run = (
        {known.name for known in dataclasses.fields(kind)} - PARTS
        for kind in (StageConfig, ModelConfig, RunConfig)
    )
    plain = stage | model | run
    of_one_stage = {f"{prefix}_{name}" for prefix in OF_ONE_STAGE for name in stage}
    unknown = sorted(set(overrides) - plain - of_one_stage)
    if unknown:
        near = nearest(unknown[0], [*plain, *of_one_stage])
        raise TagfillError(
            f"unknown setting {unknown[0]}",
            remedy=f"{near}known: {', '.join(sorted(plain))}; for one stage of several also with"
            f" {' or '.join(f'{prefix}_' for prefix in OF_ONE_STAGE)} in front",
        )
