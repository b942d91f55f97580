"""Several runs side by side, each against the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagfill.evaluate import Difference, mean_average_precision, paired_bootstrap
from tagfill.report.charts import Chart, Series, line_chart
from tagfill.report.content import HeldOut, RunContent
from tagfill.report.headline import Headline, headline, resamples_for, statistics
from tagfill.report.learned import epochs_of, score_points


@dataclass(frozen=True)
class Entry:
    """One run of a comparison.

    Args:
        name: of its folder, made unique.
        method, backbone, head: in short.
        headline: its metrics.
        differences: of each metric, this run minus the first, where both were evaluated on the same
            images and labels; empty otherwise, and for the first.
        incomparable: why there are none.
    """

    name: str
    method: str
    backbone: str
    head: str
    headline: Headline | None
    differences: Mapping[str, Difference]
    incomparable: str | None


@dataclass(frozen=True)
class ClassDifference:
    """Average precision of a class in every run, and how far each is from the first's."""

    name: str
    values: tuple[float | None, ...]
    differences: tuple[float | None, ...]


@dataclass(frozen=True)
class Comparison:
    """All that the page of a comparison shows."""

    entries: tuple[Entry, ...]
    metrics: tuple[str, ...]
    classes: tuple[ClassDifference, ...]
    curves: Chart | None
    criterion: str | None
    settings: tuple[tuple[str, tuple[str, ...]], ...]


def compare(contents: Sequence[RunContent]) -> Comparison:
    """Compare runs with the first of them."""
    names = unique_names(contents)
    pairs = zip(names, contents, strict=True)
    entries = tuple(_entry(name, content, contents[0]) for name, content in pairs)
    keys = (metric.key for entry in entries if entry.headline for metric in entry.headline.metrics)
    chart, criterion = _curves(names, contents)
    return Comparison(
        entries,
        tuple(dict.fromkeys(keys)),
        _classes(contents),
        chart,
        criterion,
        _settings(contents),
    )


def unique_names(contents: Sequence[RunContent]) -> list[str]:
    """Folder names, with as much of the path as makes them unique."""
    paths = [content.path.resolve() for content in contents]
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{content.name} ({number})" for number, content in enumerate(contents, 1)]


def _entry(name: str, content: RunContent, first: RunContent) -> Entry:
    differences: dict[str, Difference] = {}
    reason = None if content is first else why_not(content.evaluated, first.evaluated)
    if content is not first and reason is None:
        assert content.evaluated is not None
        assert first.evaluated is not None
        differences = differences_of(content.evaluated, first.evaluated)
    network = content.described["network"]
    return Entry(
        name=name,
        method=content.metrics["method"],
        backbone=network["backbone"]["name"],
        head=network["head"]["name"],
        headline=headline(content),
        differences=differences,
        incomparable=reason,
    )


def why_not(one: HeldOut | None, other: HeldOut | None) -> str | None:
    """Why two runs cannot be compared image by image; None if they can."""
    if one is None or other is None:
        return "the images of one of the two could not be scored again"
    if one.split.table.classes != other.split.table.classes:
        return "the classes differ"
    if one.split.table.images != other.split.table.images:
        return "the metrics are of different images"
    if not np.array_equal(one.labels, other.labels):
        return "the metrics are of different labels"
    return None


def differences_of(run: HeldOut, first: HeldOut) -> dict[str, Difference]:
    """Paired bootstrap of every headline metric: the run minus the first."""
    ours, theirs = statistics(run), statistics(first)
    count = resamples_for(run.labels.size)
    return {
        key: paired_bootstrap(ours[key], theirs[key], len(run.labels), resamples=count)
        for key in ours
    }


def _classes(contents: Sequence[RunContent]) -> tuple[ClassDifference, ...]:
    """Average precisions in percent, of the classes all runs know."""
    precisions = [_average_precisions(content) for content in contents]
    shared = [name for name in precisions[0] if all(name in rates for rates in precisions)]
    rows = [
        ClassDifference(name, *_against_first([rates[name] for rates in precisions]))
        for name in shared
    ]
    return tuple(rows)


def _average_precisions(content: RunContent) -> dict[str, float | None]:
    held = content.evaluated
    if held is None or not held.has_negatives:
        return {}
    values = mean_average_precision(held.logits, held.labels).average_precision
    pairs = zip(content.classes, values.tolist(), strict=True)
    return {name: None if np.isnan(value) else 100 * value for name, value in pairs}


def _against_first(
    values: Sequence[float | None],
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    first = values[0]
    rest = (None if value is None or first is None else value - first for value in values)
    return tuple(values), tuple(rest)


def _curves(
    names: Sequence[str], contents: Sequence[RunContent]
) -> tuple[Chart | None, str | None]:
    """Validation metrics of the runs that were evaluated by the same criterion as the first."""
    criterion = contents[0].metrics["criterion"]
    lines = [
        Series(name, points)
        for name, content in zip(names, contents, strict=True)
        if content.metrics["criterion"] == criterion
        and (points := score_points(epochs_of(content)))
    ]
    if not lines:
        return None, None
    return line_chart(lines, x_label="epoch", y_label=criterion), criterion


def _settings(contents: Sequence[RunContent]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    flat = [_flat(dataclasses.asdict(content.config)) for content in contents]
    keys = dict.fromkeys(key for settings in flat for key in settings)
    rows = ((key, tuple(settings.get(key, "") for settings in flat)) for key in keys)
    return tuple((key, values) for key, values in rows if len(set(values)) > 1)


def _flat(value: Any, place: str = "") -> dict[str, str]:
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list | tuple):
        members = {str(number): member for number, member in enumerate(value, 1)}.items()
    else:
        return {} if value is None else {place: str(value)}
    flat: dict[str, str] = {}
    for key, member in members:
        flat |= _flat(member, f"{place}.{key}" if place else str(key))
    return flat
