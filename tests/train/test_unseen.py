"""Training images scored by heads that have not seen them."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagfill
from tagfill.labels import Dataset, LabelTable
from tagfill.priors import how_written
from tagfill.recover import posterior, recovery
from tagfill.train.limits import Interrupted
from tagfill.train.resolve import Request
from tagfill.train.run import fit, resume
from tagfill.train.unseen import OUT_OF_FOLD

pytestmark = pytest.mark.usefixtures("quick_choices")
IMAGES, CLASSES = 300, 8


def table_of(values: np.ndarray) -> LabelTable:
    images = tuple(f"{row}.jpg" for row in range(len(values)))
    return LabelTable(images, tuple(f"tag{one}" for one in range(CLASSES)), values.astype(np.int8))


@pytest.fixture(scope="module")
def features() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(IMAGES, 24)).astype(np.float32)


@pytest.fixture(scope="module")
def truth(features: np.ndarray) -> np.ndarray:
    """Tags that features tell apart, at least one for each image."""
    noise = 0.3 * np.random.default_rng(6).normal(size=(IMAGES, CLASSES))
    scores = features[:, :CLASSES] + noise
    return ((scores > 0.6) | (scores == scores.max(1, keepdims=True))).astype(np.int8)


@pytest.fixture(scope="module")
def one_tag(truth: np.ndarray) -> LabelTable:
    order = truth * np.random.default_rng(7).random(truth.shape)
    return table_of(np.where(order == order.max(1, keepdims=True), 1, -1))


@pytest.fixture
def run(one_tag: LabelTable, features: np.ndarray, tmp_path: Path) -> tagfill.Run:
    return tagfill.fit(one_tag, features=features, out=tmp_path / "run", progress=False)


def test_calibration_and_recover_expect_the_same_number_of_tags(run: tagfill.Run) -> None:
    found = recovery.recover(run.path)
    believed = found.evidence.unknown[-len(run.data.val) :].sum(axis=1).mean()
    expected = run.probabilities("val").sum(axis=1).mean()
    alone = how_written(run.scores("val"), run.data.val.table.values)
    without = alone.posterior(run.scores("val"), run.data.val.table.values).sum(axis=1).mean()
    assert expected == pytest.approx(believed, rel=0.05)
    assert without != pytest.approx(believed, rel=0.15)


def test_recover_fits_no_head_again_and_finds_the_same(
    run: tagfill.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        for name in ("fit_head", "out_of_fold", "likely_choice"):
            patch.setattr(posterior, name, None)
        reused = recovery.recover(run.path)
    shutil.rmtree(run.path / "scores")
    (run.path / posterior.FILE).unlink()
    anew = recovery.recover(run.path)
    assert np.abs(reused.evidence.unknown - anew.evidence.unknown).max() < 1e-4
    assert np.abs(reused.evidence.known - anew.evidence.known).max() < 1e-4
    assert reused.evidence.how == anew.evidence.how


@pytest.mark.parametrize("known", ["all", "at random"])
def test_validation_labels_that_need_no_others_get_none(
    known: str, one_tag: LabelTable, features: np.ndarray, truth: np.ndarray, tmp_path: Path
) -> None:
    shown = np.random.default_rng(8).random(truth.shape) < (1.0 if known == "all" else 0.5)
    values = one_tag.values.copy()
    values[-60:] = np.where(shown, truth, -1)[-60:]
    parts = {"train": np.arange(IMAGES - 60), "val": np.arange(IMAGES - 60, IMAGES)}
    labels = Dataset(table_of(values), source=Path("labels.csv"), format="csv_wide", splits=parts)
    run = tagfill.fit(labels, features=features, out=tmp_path / "run", progress=False)
    assert not (run.path / "scores" / f"{OUT_OF_FOLD}.safetensors").exists()
    assert run.metrics["val"]["mAP"] is not None


def test_heads_that_change_the_features_are_calibrated_by_validation_images(
    one_tag: LabelTable, features: np.ndarray, tmp_path: Path
) -> None:
    """What was chosen for changed features says nothing about heads on the features as they are."""
    settings = {"head_settings": {"power": 0.5}, "progress": False}
    run = tagfill.fit(one_tag, features=features, out=tmp_path / "run", **settings)
    assert run.metrics["solved"] is not None
    assert not (run.path / "scores" / f"{OUT_OF_FOLD}.safetensors").exists()
    assert recovery.recover(run.path).expected_missing > 0


class StopsAtTheSecondFold:
    """A terminal at which Ctrl-C is pressed."""

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        """Nothing to do."""

    def progress(self, done: int, total: int, label: str) -> None:
        if label == "out of fold" and done == 2:
            os.kill(os.getpid(), signal.SIGINT)

    def close(self) -> None:
        """Nothing to do."""


def test_ctrl_c_between_the_folds_changes_nothing(run: tagfill.Run, tmp_path: Path) -> None:
    request = Request(data=run.config.data, mode="linear")
    with pytest.raises(Interrupted):
        fit(request, tmp_path / "stopped", [StopsAtTheSecondFold()])
    resume(tmp_path / "stopped")
    stopped = tagfill.open_run(tmp_path / "stopped")
    for name in ("model/model.safetensors", f"scores/{OUT_OF_FOLD}.safetensors"):
        assert (stopped.path / name).read_bytes() == (run.path / name).read_bytes(), name
    for name in ("thresholds", "val"):
        assert stopped.metrics[name] == run.metrics[name]
