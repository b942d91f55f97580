"""From a request to a complete configuration, with the reason for each choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
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
    _check_choice("mode", request.mode, get_args(Mode))
    _check_choice("protocol", request.protocol or "none", PROTOCOLS)
    _check_choice("preset", request.preset or "good", PRESETS)
    resolver = _Resolver(request, given_features, has_gpu)
    return resolver.config(regime, images), resolver.notes


class _Resolver:
    """A request on its way to a configuration; ``notes`` has the reasons."""

    def __init__(self, request: Request, given_features: bool, has_gpu: bool) -> None:
        self.request, self.given_features, self.has_gpu = request, given_features, has_gpu
        self.protocol = PROTOCOLS[request.protocol or "none"]
        self.notes: list[str] = []
        preset = PRESETS[request.preset] if request.preset else {}
        settings = self.protocol.settings_for(request.method)
        self.overrides = {**preset, **settings, **request.overrides}
        self.preferred_mode: Mode | None = self.overrides.pop("mode", None)
        _check_known(self.overrides)

    def config(self, regime: str, images: int) -> RunConfig:
        mode = self._mode(images)
        if self.request.protocol is None and mode in ("finetune", "linear_init"):
            self.overrides = {**self._gentle(), **self.overrides}
        method = self._method(mode, regime)
        data = self.request.data
        if self.protocol.val_split:
            data = replace(data, val_split=self.protocol.val_split)
        if self.given_features:
            self._check_no_backbone()
        model = ModelConfig(**fitted_fields(ModelConfig, self.overrides))
        stages = self._stages(mode, method)
        model = self._fitting_head(model, stages)
        if mode == "linear":
            fixed = methods.fixed_by_head(method.name, model.head_settings)
            method = replace(method, settings={**fixed, **method.settings})
            stages = (replace(stages[0], method=method),)
            idle = [name for name in OF_THE_LOOP if self.request.overrides.get(name) is not None]
            if idle and finds_head_at_once(stages[0], model):
                why = f"{method.name} solves a linear head directly"
                self.notes.append(f"{', '.join(idle)}: no effect, {why}")
        run = fitted_fields(RunConfig, self.overrides)
        return RunConfig(**run, data=data, model=model, stages=stages)

    def _mode(self, images: int) -> Mode:
        mode, preferred = self.request.mode, self.preferred_mode
        if self.given_features:
            if mode not in ("auto", "linear", "two_stage"):
                raise TagfillError(
                    f"mode {mode} needs images, but the source has features only",
                    remedy="use --mode linear, or point --images to the image folder",
                )
            if preferred not in (None, "linear"):
                self.notes.append(
                    f"deviation: mode linear instead of {preferred}: there are no images"
                )
            return "linear" if mode == "auto" else mode
        if mode != "auto":
            return mode
        if preferred is not None:
            return preferred
        if not self.has_gpu:
            minutes = images * FINETUNE["epochs"] / FINETUNED_PER_SECOND / 60
            self.notes.append(
                "mode: linear, because there is no GPU; --mode finetune trains the whole network"
                f" (about {counted(max(1, round(minutes)), 'minute')} on two cores)"
            )
            return "linear"
        if images < FINETUNE_FROM:
            self.notes.append(
                f"mode: linear, because {images:,} training images are few for a whole network;"
                " --mode linear_init fine-tunes it anyway"
            )
            return "linear"
        self.notes.append(f"mode: linear_init, because there is a GPU for {images:,} images")
        return "linear_init"

    def _gentle(self) -> dict[str, Any]:
        """Gentle fine-tuning; the evidence is docs/results/training.md."""
        own: dict[str, Any] = {}
        if self.overrides.get("pretrained", True):
            own["freeze_batchnorm"] = True
        if self.overrides.get("head", "linear") == "linear":
            own["head_multiplier"] = HEAD_MULTIPLIER
        if self.request.method == "auto" and "ema" not in self.overrides:
            own["finetune_ema"] = AVERAGE
        return own

    def _check_no_backbone(self) -> None:
        for name in (*OF_THE_BACKBONE, "quality"):
            if self.request.overrides.get(name) is not None:
                option = name.replace("_", "-")
                raise TagfillError(
                    f"--{option} has no effect: the source has features only",
                    remedy=f"leave out --{option}, or train from image files",
                )

    def _method(self, mode: Mode, regime: str) -> MethodConfig:
        name, preset = self.request.method, self.request.method_preset
        settings, default = dict(self.request.method_settings), self.protocol.method
        if mode == "two_stage":
            name = _staged(name)
        if default is not None and name in ("auto", default.name):
            if name == "auto":
                self.notes.append(f"method: {default.name}, from the protocol")
            name, preset = default.name, preset or default.preset
            settings = {**default.settings, **settings}
        elif name == "auto":
            name = methods.AUTO
            self.notes.append(f"method: {name}, for labels that look {regime.replace('_', '-')}")
        if is_file(name):
            name = str(Path(name).absolute())  # a run can be resumed from any folder
        methods.configure(name, settings, preset)
        return MethodConfig(name, preset, settings)

    def _stages(self, mode: Mode, method: MethodConfig) -> tuple[StageConfig, ...]:
        every = self.overrides
        own = {
            prefix: {
                key.removeprefix(f"{prefix}_"): value
                for key, value in every.items()
                if key.startswith(f"{prefix}_")
            }
            for prefix in OF_ONE_STAGE
        }
        if mode == "linear":
            return (_stage(method, "features", LINEAR, {**every, **own["linear"]}),)
        finetune = {**every, **own["finetune"]}
        if mode == "finetune":
            return (_stage(method, "images", FINETUNE, finetune),)
        if mode == "linear_init":
            return (
                _stage(method, "features", LINEAR, own["linear"]),
                _stage(method, "images", FINETUNE_AFTER_LINEAR, finetune),
            )
        features = self.given_features or not self.has_gpu
        kind: InputKind = "features" if features else "images"
        base = LINEAR if features else FINETUNE
        *plans, last = methods.stages(method.name, method.settings, method.preset)
        earlier = (MethodConfig(plan.method, None, dict(plan.settings)) for plan in plans)
        final = replace(method, settings={**last.settings, **method.settings})
        return (
            *(_stage(first, kind, base, every) for first in earlier),
            _stage(final, kind, base, {**every, **own["second"]}),
        )

    def _fitting_head(self, model: ModelConfig, stages: Sequence[StageConfig]) -> ModelConfig:
        """The head the method needs, unless the user named one."""
        needs = [methods.find(stage.method.name).INFO.needs for stage in stages]
        wanted = head_giving({need for stage_needs in needs for need in stage_needs.of_the_head()})
        if wanted is None and (self.given_features or model.head != "linear"):
            return model
        wanted = wanted or "linear"
        last = stages[-1].method
        required = methods.head_settings(last.name, last.settings, last.preset)
        if model.head != wanted and "head" in self.overrides:
            raise TagfillError(
                f"{last.name} needs the head {wanted}, not {model.head}",
                remedy=f"leave out --head, or use --head {wanted}",
            )
        if model.head != wanted:
            self.notes.append(f"head: {wanted}, which {last.name} needs")
        return replace(model, head=wanted, head_settings={**required, **model.head_settings})


def finds_head_at_once(stage: StageConfig, model: ModelConfig) -> bool:
    """Whether a stage has no epochs: its method solves a linear head on fixed features."""
    solver = methods.find(stage.method.name).INFO.needs.solver or stage.l2 is not None
    plain = model.head == "linear" and not model.head_settings.get("dropout")
    return solver and stage.inputs == "features" and plain


def _staged(name: str) -> str:
    """The method for two stages: only methods that define stages can use them."""
    able = methods.staged_names()
    if name not in ("auto", *able):
        raise TagfillError(
            f"mode two_stage trains {' or '.join(able)}, not {name}",
            remedy="leave out --method, or choose another --mode",
        )
    return able[0] if name == "auto" else name


def _stage(
    method: MethodConfig,
    inputs: InputKind,
    defaults: Mapping[str, Any],
    overrides: Mapping[str, Any],
) -> StageConfig:
    settings = fitted_fields(StageConfig, {**defaults, **overrides})
    return StageConfig(**settings, method=method, inputs=inputs)


def _check_choice(what: str, chosen: str, known: Iterable[str]) -> None:
    if chosen not in known:
        raise TagfillError(f"unknown {what} {chosen!r}", remedy=f"use one of {', '.join(known)}")


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
