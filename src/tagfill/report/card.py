"""The model card: what the model is, where it comes from, and where its limits are."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from tagfill.errors import TagfillError
from tagfill.methods import configure, find
from tagfill.report.classes import ClassRow
from tagfill.report.content import RunContent
from tagfill.settings import plain
from tagfill.train.config import StageConfig

FEW = 20
"""Known training positives below which a class is hardly learned."""


@dataclass(frozen=True)
class StageCard:
    """One stage of training: the method with its paper, and all hyper-parameters.

    An ``oracle`` learns from the full labels behind masked ones.
    """

    method: str
    title: str
    paper: str
    alias_of: str | None
    oracle: bool
    settings: dict[str, str]
    schedule: dict[str, str]


@dataclass(frozen=True)
class ModelCard:
    """Content of the model card.

    Args:
        data: where labels and images came from.
        network: architecture and weights.
        weights, license: of the backbone.
        stages: of training.
        versions: of the software.
        rare: classes with few known training positives.
        unlearned: classes with none.
        toml: settings that repeat the run.
        again: the command for it.
    """

    data: dict[str, str]
    network: dict[str, str]
    weights: str
    license: str
    stages: tuple[StageCard, ...]
    versions: dict[str, str]
    rare: tuple[str, ...]
    unlearned: tuple[str, ...]
    toml: str
    again: str


def model_card(content: RunContent, rows: list[ClassRow]) -> ModelCard:
    """Collect the card."""
    described, config = content.described, content.config
    known = [row for row in rows if row.positives is not None]
    return ModelCard(
        data=_data(content),
        network=_network(content),
        weights=described["weights"]["source"],
        license=described["weights"]["license"],
        stages=tuple(_stage(stage) for stage in config.stages),
        versions={
            "python": content.metadata.get("python", "?"),
            **content.metadata.get("versions", {}),
        },
        rare=tuple(row.name for row in known if 0 < (row.positives or 0) < FEW),
        unlearned=tuple(row.name for row in known if not row.positives),
        toml=tomli_w.dumps(plain(dataclasses.asdict(config))),
        again=f"tagfill train --config {content.path / 'config.toml'} --out NEW_FOLDER",
    )


def _data(content: RunContent) -> dict[str, str]:
    named = {
        "labels": content.config.data.labels,
        "images": content.config.data.images,
        "full labels": content.config.data.truth,
        "validation labels": content.config.data.val,
        "test labels": content.config.data.test,
        "fingerprint of the labels": content.metrics["data_hash"],
    }
    return {name: value for name, value in named.items() if value}


def _network(content: RunContent) -> dict[str, str]:
    network, entry = content.described["network"], content.described["input"]
    backbone, head = network["backbone"], network["head"]
    size = f"{entry['size']} x {entry['size']} pixels, proportions not kept"
    named = {
        "backbone": backbone["name"],
        "head": _settings(head["name"], head["settings"]),
        "reads": size if content.reads_images else f"{backbone['channels']} given features",
        "parameters": f"{backbone['parameters']:,} in the backbone",
        "trained parameters": f"{content.metrics['parameters']:,}",
        "calibration": (content.described["calibration"] or {}).get("kind", "none"),
    }
    if not backbone["parameters"]:
        del named["parameters"]
    return named


def _settings(name: str, settings: dict[str, Any]) -> str:
    listed = ", ".join(f"{key} {value}" for key, value in settings.items())
    return f"{name} ({listed})" if listed else name


def _stage(stage: StageConfig) -> StageCard:
    """A stage as text; the user's own method may no longer exist."""
    method = stage.method
    title, paper, alias, oracle = Path(method.name).name, "", None, False
    settings = dict(method.settings)
    with contextlib.suppress(TagfillError):
        info = find(method.name).INFO
        title, paper, alias, oracle = info.title, info.source, info.alias_of, info.needs.truth
        settings = dataclasses.asdict(configure(method.name, method.settings, method.preset))
    schedule = dataclasses.asdict(stage)
    del schedule["method"]
    return StageCard(
        method.name, title, paper, alias, oracle, _as_text(settings), _as_text(schedule)
    )


def _as_text(values: dict[str, Any]) -> dict[str, str]:
    return {key.replace("_", " "): str(value) for key, value in values.items() if value is not None}
