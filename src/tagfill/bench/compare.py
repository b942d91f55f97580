"""Uncertainty of a difference: a row against the baseline on the same resampled test images."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import numpy as np

from tagfill.bench.cells import Outcome, kept_scores
from tagfill.evaluate.arrays import Floats
from tagfill.evaluate.resampling import (
    Difference,
    Statistic,
    Weights,
    mean_average_precision_statistic,
    paired_bootstrap,
)
from tagfill.files import write_json

RESAMPLES = 1000


def difference(
    first: Sequence[Outcome], second: Sequence[Outcome], out: Path, resamples: int = RESAMPLES
) -> Difference | None:
    """Test mAP of the first minus the second, each the mean over its seeds, with a 95 % interval.

    Images are resampled, seeds are not. The result is cached, as it takes seconds. None if the
    two were not tested on the same labels.
    """
    names = [[outcome.folder.name for outcome in side] for side in (first, second)]
    key = hashlib.blake2b(json.dumps([names, resamples]).encode(), digest_size=10).hexdigest()
    cache = out / "differences" / f"{key}.json"
    if cache.is_file():
        return Difference(**json.loads(cache.read_text(encoding="utf-8")))
    labels = [kept_scores(outcome.folder)[1] for outcome in (*first, *second)]
    if not all(np.array_equal(labels[0], label) for label in labels):
        return None
    result = paired_bootstrap(_mean(first), _mean(second), len(labels[0]), resamples=resamples)
    write_json(cache, asdict(result))
    return result


def _mean(outcomes: Sequence[Outcome]) -> Statistic:
    """The mean over seeds, as a statistic of the images."""
    statistics = [_statistic(outcome.folder) for outcome in outcomes]

    def statistic(weights: Weights) -> Floats:
        return np.asarray(np.mean([statistic(weights) for statistic in statistics], axis=0))

    return statistic


@lru_cache(maxsize=16)
def _statistic(folder: Path) -> Statistic:
    """The mAP of a cell; resamples are cached, since the baseline is used many times."""
    plain = mean_average_precision_statistic(*kept_scores(folder))
    known: dict[bytes, Floats] = {}

    def statistic(weights: Weights) -> Floats:
        key = hashlib.blake2b(weights.tobytes()).digest()
        if key not in known:
            known[key] = plain(weights)
        return known[key]

    return statistic
