"""Answers of a review on their way through training and recovery."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tagfill
from tagfill.labels import LabelTable
from tagfill.recover.recovery import recover

pytestmark = pytest.mark.usefixtures("quick_choices")


@pytest.fixture
def half_written() -> tuple[LabelTable, np.ndarray, np.ndarray]:
    """Tags that features tell apart, half of them written; labels, features and the truth."""
    draw = np.random.default_rng(5)
    features = draw.normal(size=(300, 24)).astype(np.float32)
    truth = (features[:, :8] + 0.3 * draw.normal(size=(300, 8)) > 0.6).astype(np.int8)
    written = (truth == 1) & (draw.random(truth.shape) < 0.5)
    images = tuple(f"{row}.jpg" for row in range(300))
    classes = tuple(f"tag{column}" for column in range(8))
    values = np.where(written, 1, -1).astype(np.int8)
    return LabelTable(images, classes, values), features, truth


def test_after_a_review_recover_still_expects_what_is_missing(half_written, tmp_path: Path) -> None:
    """The likeliest entries are answered; without a record that looks like "all were written"."""
    table, features, truth = half_written
    run = tagfill.fit(table, features=features, out=tmp_path / "first", progress=False)
    first = recover(run.path)
    chances = first.probability[[first.table.row_of[image] for image in table.images]]
    keys = np.where(table.values == -1, chances, -np.inf)
    asked = np.zeros(truth.shape, dtype=bool)
    asked.ravel()[np.argsort(-keys, axis=None)[:150]] = True
    answered = replace(table, values=np.where(asked, truth, table.values), reviewed=asked)
    assert (truth[asked] == 0).any()

    run = tagfill.fit(answered, features=features, out=tmp_path / "second", progress=False)
    again = recover(run.path)
    assert again.table.reviewed is not None
    assert again.table.reviewed.sum() == 150
    missing = (truth[answered.values == -1] == 1).sum()
    assert again.expected_missing == pytest.approx(missing, rel=0.35)
