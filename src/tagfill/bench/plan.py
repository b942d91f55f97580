"""From a recipe to its cells, and from a cell to the configuration of a run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from tagfill import methods
from tagfill.bench.recipe import LabelChoice, Recipe, Size, Source
from tagfill.errors import TagfillError, nearest
from tagfill.train.config import DataConfig, RunConfig
from tagfill.train.resolve import FINETUNE_FROM, Request, resolve

_GROUPS = ("method", "head")
_OF_A_HEAD = ("head.", "head_preset")


@dataclass(frozen=True)
class Cell:
    """One run of a table.

    Args:
        seed: counted from 0.
        labels: what is hidden.
        method: its name; empty where a model is evaluated.
        model: folder under the data folder of a model to evaluate.
    """

    row: str
    column: str
    seed: int
    source: Source
    labels: LabelChoice
    method: str
    settings: Mapping[str, Any]
    model: str | None = None

    @property
    def place(self) -> str:
        return f"{self.row} / {self.column} / seed {self.seed}"

    def request(self, data: DataConfig) -> Request:
        """The request that ``tagfill train`` would make for the cell."""
        overrides: dict[str, Any] = {}
        grouped: dict[str, dict[str, Any]] = {"": overrides, "method": {}, "head": {}}
        for key, value in self.settings.items():
            group, _, name = key.rpartition(".")
            if group not in grouped:
                raise TagfillError(f"unknown setting {key}", remedy="use method.NAME or head.NAME")
            grouped[group][name] = value
        if grouped["head"]:
            overrides["head_settings"] = grouped["head"]
        mode, preset, protocol = (
            overrides.pop(key, None) for key in ("mode", "preset", "protocol")
        )
        return Request(
            data=data,
            mode=mode or "auto",
            method=self.method,
            method_preset=preset,
            method_settings=grouped["method"],
            protocol=protocol,
            overrides=overrides,
        )

    def check(self) -> RunConfig | None:
        """The configuration as far as it does not depend on the data; none to evaluate a model.

        Raises:
            TagfillError: the cell could not be run on any data.
        """
        if self.model is not None:
            return None
        config, _ = resolve(
            self.request(DataConfig(labels="unread")),
            regime=self.labels.regime,
            images=FINETUNE_FROM,
            given_features=self.source.inputs == "features",
            has_gpu=torch.cuda.is_available(),
        )
        return config


def plan(recipe: Recipe, size: Size, seeds: int | None = None) -> list[Cell]:
    """The cells of a size, row by row; ``seeds`` replaces the size's own number of them."""
    if seeds is not None and seeds < 1:
        raise TagfillError(f"at least one seed is needed, got {seeds}")
    return [
        cell
        for row in recipe.rows
        for column in recipe.columns
        if size.has(row, column)
        for cell in _cells(recipe, size, row, column, seeds)
    ]


def _cells(
    recipe: Recipe, size: Size, row_name: str, column_name: str, seeds: int | None
) -> Iterator[Cell]:
    row, column = recipe.rows[row_name], recipe.columns[column_name]
    if row.is_quoted or not row.belongs_to(column_name):
        return
    settings = _settings(recipe, size, row_name, column_name)
    labels, masked = column.labels, recipe.vary == "mask"
    if size.regime_settings:
        labels = replace(labels, settings={**labels.settings, **size.regime_settings})
    if row.labels is not None:
        labels = replace(row.labels, images=labels.images)
    if row.order is not None:
        labels = replace(labels, order=row.order)
    for seed in range(1 if row.model else seeds or size.seeds_of(column_name)):
        yield Cell(
            row_name,
            column_name,
            seed,
            size.data[column.data],
            replace(labels, seed=labels.seed + seed) if masked else labels,
            row.method or "",
            {**settings, "seed": 0 if masked else seed},
            row.model,
        )


def choose(
    cells: Iterable[Cell], recipe: Recipe, only: Collection[str], columns: Collection[str]
) -> list[Cell]:
    """The cells of some rows or methods and of some columns; all where none are named."""
    _check_names("--only", only, {*recipe.rows, *(row.method for row in recipe.rows.values())})
    _check_names("--columns", columns, set(recipe.columns))
    return [
        cell
        for cell in cells
        if (not only or {cell.row, cell.method} & set(only))
        and (not columns or cell.column in columns)
    ]


def _settings(recipe: Recipe, size: Size, row_name: str, column_name: str) -> dict[str, Any]:
    row, column = recipe.rows[row_name], recipe.columns[column_name]
    own = (size.row_settings.get(row_name, {}), size.column_settings.get(column_name, {}))
    merged: dict[str, Any] = {}
    for settings in (size.settings, column.settings, row.settings, *own):
        flat: dict[str, Any] = {}
        for key, value in settings.items():  # method = {k = 1} and "method.k" = 1 are the same
            if key in _GROUPS and isinstance(value, Mapping):
                flat |= {f"{key}.{name}": setting for name, setting in value.items()}
            else:
                flat[key] = value
        if "head" in flat:  # the settings of another head do not fit it
            merged = {key: merged[key] for key in merged if not key.startswith(_OF_A_HEAD)}
        merged |= flat
    if row.method not in (None, "auto"):
        known = getattr(methods.find(str(row.method)), "PRESETS", {})
        if column.preset in known:
            merged.setdefault("preset", column.preset)
        if "preset" in merged and size.presets.get(column.data) in known:
            merged["preset"] = size.presets[column.data]
    return merged


def _check_names(option: str, requested: Collection[str], known: Collection[str | None]) -> None:
    for name in requested:
        if name not in known:
            names = ", ".join(sorted(name for name in known if name))
            remedy = f"{nearest(name, filter(None, known))}use one of {names}"
            raise TagfillError(f"{option}: there is no {name!r}", remedy=remedy)


def cell_key(config: RunConfig, data_identity: str) -> str:
    """A hash of the data and of all settings that change the result.

    The recipe's name is no part of it, nor are paths, presets' names, and aliases of methods.
    """
    stages = []
    for stage in config.stages:
        method = stage.method
        resolved = methods.configure(method.name, method.settings, method.preset)
        name = methods.find(method.name).INFO.alias_of or method.name
        described = {"name": name, "settings": dataclasses.asdict(resolved)}
        stages.append({**dataclasses.asdict(stage), "method": described})
    metadata = {
        "data": data_identity,
        "model": dataclasses.asdict(config.model),
        "stages": stages,
        **{name: getattr(config, name) for name in ("seed", "select", "precision")},
    }
    text = json.dumps(metadata, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
