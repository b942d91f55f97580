"""Several runs side by side, each against the first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagfill.evaluate import Difference, mean_average_precision, paired_bootstrap
from tagfill.report.charts import Chart, Series, line_chart
from tagfill.report.content import HeldOut, RunContent
from tagfill.report.headline import headline, resamples_for, statistics
from tagfill.report.learned import epochs_of, score_points


def compare(contents: Sequence[RunContent]) -> dict[str, Any]:
    """All that the page of a comparison shows: runs, each compared with the first."""
    names = unique_names(contents)
    pairs = zip(names, contents, strict=True)
    entries = [_entry(name, content, contents[0]) for name, content in pairs]
    shown = (entry["headline"].metrics for entry in entries if entry["headline"])
    return {
        "entries": entries,
        "metrics": list(dict.fromkeys(metric.key for metrics in shown for metric in metrics)),
        "classes": _classes(contents),
        "curves": _curves(names, contents),
        "criterion": contents[0].metrics["criterion"],
        "settings": _settings(contents),
    }


def unique_names(contents: Sequence[RunContent]) -> list[str]:
    """Folder names, with as much of the path as makes them unique."""
    paths = [content.run.path.resolve() for content in contents]
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{content.run.name} ({number})" for number, content in enumerate(contents, 1)]


def _entry(name: str, content: RunContent, first: RunContent) -> dict[str, Any]:
    """One run; ``incomparable`` says why there are no ``differences`` from the first."""
    differences: dict[str, Difference] = {}
    reason = None if content is first else why_not(content.evaluated, first.evaluated)
    if content is not first and reason is None:
        assert content.evaluated is not None
        assert first.evaluated is not None
        differences = differences_of(content.evaluated, first.evaluated)
    network = content.described["network"]
    return {
        "name": name,
        "method": content.metrics["method"],
        "backbone": network["backbone"]["name"],
        "head": network["head"]["name"],
        "headline": headline(content),
        "differences": differences,
        "incomparable": reason,
    }


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


def _classes(contents: Sequence[RunContent]) -> list[dict[str, Any]]:
    """Average precisions in percent, of the classes all runs know."""
    precisions = [_average_precisions(content) for content in contents]
    shared = [name for name in precisions[0] if all(name in rates for rates in precisions)]
    classes = []
    for name in shared:
        first, *_ = row = [rates[name] for rates in precisions]
        gains = [None if rate is None or first is None else rate - first for rate in row]
        classes.append({"name": name, "precisions": row, "differences": gains})
    return classes


def _average_precisions(content: RunContent) -> dict[str, float | None]:
    held = content.evaluated
    if held is None or not held.has_negatives:
        return {}
    values = mean_average_precision(held.logits, held.labels).average_precision
    pairs = zip(content.classes, values.tolist(), strict=True)
    return {name: None if np.isnan(value) else 100 * value for name, value in pairs}


def _curves(names: Sequence[str], contents: Sequence[RunContent]) -> Chart | None:
    """Validation metrics of the runs that were evaluated by the same criterion as the first."""
    criterion = contents[0].metrics["criterion"]
    lines = [
        Series(name, points)
        for name, content in zip(names, contents, strict=True)
        if content.metrics["criterion"] == criterion
        and (points := score_points(epochs_of(content)))
    ]
    return line_chart(lines, x_label="epoch", y_label=criterion) if lines else None


def _settings(contents: Sequence[RunContent]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    flat = [_flat(dataclasses.asdict(content.run.config)) for content in contents]
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
