"""A run keeps what it fitted on validation, and prediction uses it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.train.given import CLASSES, write_given_features

import tagfill
from tagfill.cli.main import main
from tagfill.evaluate import at_threshold, count, precision_recall

pytestmark = pytest.mark.usefixtures("quick_choices")


def test_from_training_to_tags(tmp_path, capsys):
    data, run = write_given_features(tmp_path / "data", train=400), tmp_path / "run"
    options = ["--method", "em", "--epochs", "6", "--learning-rate", "0.05", "--threads", "1"]
    assert main(["train", str(data), *options, "--quiet", "--json", "--out", str(run)]) == 0
    metrics = json.loads(capsys.readouterr().out)
    fitted, test = metrics["thresholds"], metrics["test"]
    assert (fitted["goal"], fitted["calibration"]) == ("f1", "platt")
    assert test["at_fitted_thresholds"]["overall_f1"] > test["at_threshold"]["overall_f1"]
    before, after = test["calibration"], test["calibrated"]
    assert after["expected_calibration_error"] < before["expected_calibration_error"] / 2

    bundle = tagfill.load(run)
    assert len(bundle.thresholds) == len(bundle.calibration["slope"]) == CLASSES
    features = data / "val_features_toy.npy"
    assert main(["predict", str(run), str(features), "--format", "jsonl"]) == 0
    tags_by_image = [json.loads(line)["tags"] for line in capsys.readouterr().out.splitlines()]
    decided = np.array([[name in tags for name in bundle.classes] for tags in tags_by_image])
    truth = np.load(data / "formatted_val_labels.npy")
    figures = precision_recall(count(decided, truth))
    assert figures.overall_f1 == pytest.approx(test["at_fitted_thresholds"]["overall_f1"], abs=0.01)
    probabilities = [prediction.probabilities for prediction in bundle.predict(np.load(features))]
    assert (at_threshold(probabilities, bundle.thresholds) == decided).all()
