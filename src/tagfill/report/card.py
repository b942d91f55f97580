"""The model card: what the model is, where it comes from, and where its limits are."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import tomli_w

from tagfill.errors import TagfillError
from tagfill.methods import configure, find
from tagfill.methods.base import Info
from tagfill.report.classes import ClassRow
from tagfill.report.content import RunContent
from tagfill.settings import plain
from tagfill.train.config import StageConfig

FEW = 20
"""Known training positives below which a class is hardly learned."""


def model_card(content: RunContent, rows: list[ClassRow]) -> dict[str, Any]:
    """Content of the card; ``toml`` and ``again`` are settings and command that repeat the run."""
    described, config = content.described, content.run.config
    known = {row.name: row.positives for row in rows if row.positives is not None}
    data = {
        "labels": config.data.labels,
        "images": config.data.images,
        "full labels": config.data.truth,
        "validation labels": config.data.val,
        "test labels": config.data.test,
        "fingerprint of the labels": content.metrics["data_hash"],
    }
    return {
        "data": {name: value for name, value in data.items() if value},
        "network": _network(content),
        **{name: described["weights"][name] for name in ("license", "source")},
        "stages": [_stage(stage) for stage in config.stages],
        "versions": {
            "python": content.run.metadata.get("python", "?"),
            **content.run.metadata.get("versions", {}),
        },
        "rare": [name for name, positives in known.items() if 0 < positives < FEW],
        "unlearned": [name for name, positives in known.items() if not positives],
        "toml": tomli_w.dumps(plain(dataclasses.asdict(config))),
        "again": f"tagfill train --config {content.run.path / 'config.toml'} --out NEW_FOLDER",
    }


def _network(content: RunContent) -> dict[str, str]:
    network, entry = content.described["network"], content.described["input"]
    backbone, head = network["backbone"], network["head"]
    size = f"{entry['size']} x {entry['size']} pixels, proportions not kept"
    settings = ", ".join(f"{key} {value}" for key, value in head["settings"].items())
    named = {
        "backbone": backbone["name"],
        "head": f"{head['name']} ({settings})" if settings else head["name"],
        "reads": size if content.reads_images else f"{backbone['channels']} given features",
        "parameters": f"{backbone['parameters']:,} in the backbone",
        "trained parameters": f"{content.metrics['parameters']:,}",
        "calibration": (content.described["calibration"] or {}).get("kind", "none"),
    }
    if not backbone["parameters"]:
        del named["parameters"]
    return named


def _stage(stage: StageConfig) -> dict[str, Any]:
    """A stage as text; the user's own method may no longer exist."""
    method = stage.method
    info, settings = Info(Path(method.name).name, ""), dict(method.settings)
    with contextlib.suppress(TagfillError):
        info = find(method.name).INFO
        settings = dataclasses.asdict(configure(method.name, method.settings, method.preset))
    schedule = dataclasses.asdict(stage)
    del schedule["method"]
    return {
        "method": method.name,
        "info": info,
        "settings": _as_text(settings),
        "schedule": _as_text(schedule),
    }


def _as_text(values: dict[str, Any]) -> dict[str, str]:
    return {key.replace("_", " "): str(value) for key, value in values.items() if value is not None}
