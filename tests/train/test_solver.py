"""Runs whose head is found at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.train.given import write_given_features

import tagfill
from tagfill.errors import TagfillError
from tagfill.models.bundle import load as load_bundle
from tagfill.models.deploy import Deployable
from tagfill.train.folder import RunFolder
from tagfill.train.run import resume


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"))


def weights(path: Path) -> bytes:
    return (path / "model" / "model.safetensors").read_bytes()


def events(path: Path) -> list[dict[str, Any]]:
    lines = (path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_auto_finds_the_head_at_once_and_says_how(data: Path, tmp_path: Path) -> None:
    run = tagfill.fit(data, out=tmp_path / "run")
    solved = run.metrics["solved"]
    assert solved["writer"] == "some"
    assert solved["strength"] > 0
    assert run.metrics["epochs"] == 1
    epochs = [one for one in events(run.path) if one.get("event", one.get("kind")) == "epoch"]
    assert len(epochs) <= 1
    assert all(one["loss"] == solved["loss"] > 0 for one in epochs)
    assert all(one["solved"] == solved["steps"] > 0 for one in epochs)
    told = (run.path / "events.jsonl").read_text(encoding="utf-8")
    assert "any of the tags that are there were written" in told
    assert run.metrics["test"]["mAP"] > 80


def test_the_stored_model_scores_like_the_run(data: Path, tmp_path: Path) -> None:
    run = tagfill.fit(data, out=tmp_path / "run", method_settings={"transform": "roots"})
    bundle = load_bundle(run.path / "model")
    assert bundle.network.head.power == 0.5
    assert bundle.network.head.unit
    features = np.load(data / "val_features_toy.npy").astype(np.float32)
    truth = np.load(data / "formatted_val_labels.npy")
    with torch.no_grad():
        logits = bundle.network.head(torch.from_numpy(features)).logits.numpy()
    from tagfill.evaluate import mean_average_precision

    precision = mean_average_precision(logits, truth.astype(np.int8)).mAP
    assert precision == pytest.approx(run.metrics["test"]["mAP"], abs=1e-3)


def test_the_same_bytes_every_time_and_after_a_kill(data: Path, tmp_path: Path) -> None:
    first = tagfill.fit(data, out=tmp_path / "first")
    again = tagfill.fit(data, out=tmp_path / "again")
    assert weights(first.path) == weights(again.path)
    killed = RunFolder(again.path)
    (again.path / "metrics.json").unlink()
    (again.path / "model" / "model.safetensors").unlink()
    resume(killed.path)
    assert weights(first.path) == weights(again.path)


def test_validation_labels_do_not_matter(data: Path, tmp_path: Path) -> None:
    """The choice is made on the training labels alone."""
    by_truth = tagfill.fit(data, out=tmp_path / "truth")
    by_nothing = tagfill.fit(data, out=tmp_path / "last", select="last")
    assert weights(by_truth.path) == weights(by_nothing.path)


def test_a_penalty_is_open_to_losses_of_single_entries(data: Path, tmp_path: Path) -> None:
    weak = tagfill.fit(data, out=tmp_path / "weak", method="an", l2=1e-3)
    strong = tagfill.fit(data, out=tmp_path / "strong", method="an", l2=10.0)
    size = [
        float(load_bundle(run.path / "model").network.head.classifier.weight.detach().norm())
        for run in (weak, strong)
    ]
    assert size[0] > 3 * size[1]
    assert weak.metrics["epochs"] == 1
    assert tagfill.fit(data, out=tmp_path / "bce", method="bce", l2=0.1).metrics["solved"]


def test_a_penalty_is_refused_where_there_is_no_such_loss(data: Path, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="role cannot be trained with"):
        tagfill.fit(data, out=tmp_path / "role", method="role", l2=0.1)


def test_ridge_is_least_squares(data: Path, tmp_path: Path) -> None:
    run = tagfill.fit(data, out=tmp_path / "ridge", method="ridge")
    assert run.metrics["solved"]["strength"] > 0
    assert run.metrics["test"]["mAP"] > 75


def test_a_head_that_is_not_linear_is_trained_by_the_loop(tmp_path: Path) -> None:
    from tests.train.toy import toy_stage

    stage = toy_stage("likelihood")
    stage.run()
    assert stage.solved is None
    assert len(stage.history) == stage.config.epochs
    assert stage.history[-1]["loss"] < stage.history[0]["loss"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tagfill.scenes import write_scenes

    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, 60, 64, seed=3)
    return folder


@pytest.fixture(scope="module")
def of_photos(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> tagfill.Run:
    out = tmp_path_factory.mktemp("runs") / "regions"
    return tagfill.fit(photos, out=out, backbone="test_resnet", input_size=64, pretrained=False)


def test_photos_are_seen_whole_and_in_regions(of_photos: tagfill.Run) -> None:
    head = of_photos.model.network.head
    assert head.regions
    split = of_photos.data.val
    grids = of_photos.assembly.head_features(split)
    assert grids.shape[2:] == (3, 3)
    with torch.no_grad():
        logits = head(torch.from_numpy(grids)).logits.numpy()
    np.testing.assert_allclose(of_photos.scores("val"), logits, atol=1e-4)


def test_a_photo_has_the_same_score_from_its_file(of_photos: tagfill.Run) -> None:
    split = of_photos.data.val
    predicted = of_photos.predict(list(split.paths[:3]))
    scores = torch.from_numpy(of_photos.scores("val")[:3]).float()
    model = Deployable(of_photos.model.network, of_photos.model.calibration)
    given = np.array([one.probabilities for one in predicted])
    np.testing.assert_allclose(given, model.probabilities(scores).numpy(), atol=5e-3)


def test_regions_can_be_left_out(photos: Path, tmp_path: Path) -> None:
    run = tagfill.fit(
        photos,
        out=tmp_path / "whole",
        backbone="test_resnet",
        input_size=64,
        pretrained=False,
        head_settings={"regions": False},
    )
    assert not run.model.network.head.regions
    assert run.assembly.head_features(run.data.val).ndim == 2


@pytest.mark.parametrize("method", ["auto", "ridge", "an"])
def test_features_that_stay_where_they_are_give_the_same_bytes(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    held = tagfill.fit(data, out=tmp_path / "held", method=method, epochs=2)
    for limit in ("READ_ONCE_BYTES", "IN_MEMORY_BYTES"):
        monkeypatch.setattr(f"tagfill.train.cache.{limit}", 0)
    streamed = tagfill.fit(data, out=tmp_path / "streamed", method=method, epochs=2)
    assert weights(streamed.path) == weights(held.path)
    assert np.array_equal(streamed.recovery.probability, held.recovery.probability)
