"""ROLE's estimates in the training loop: their rate, and their way from stage to stage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.methods.harness import make_features, make_truth, single_positive
from tests.train.given import write_given_features

from tagfill import methods
from tagfill.train.config import DataConfig, MethodConfig, RunConfig, StageConfig
from tagfill.train.data import prepare
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.inputs import FeatureInputs
from tagfill.train.method import Positives, begin
from tagfill.train.run import train
from tagfill.train.save import load_checkpoint


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"updates": "sparse"},
        {"estimator": "memory_mapped"},
        {"estimator": "low_rank"},
        {"estimator": "low_rank", "updates": "sparse"},
        {"estimator": "network"},
    ],
    ids=str,
)
def test_a_linear_start_hands_its_estimates_over(settings: dict[str, Any], tmp_path: Path) -> None:
    role = MethodConfig("role", settings={"k": 1.5, **settings})
    first = StageConfig(role, epochs=3, learning_rate=0.1, batch_size=64)
    still = StageConfig(role, epochs=1, learning_rate=0.0, batch_size=64)
    source = DataConfig(str(write_given_features(tmp_path / "data", train=60, test=20)))
    data = prepare(source)
    ends = {}
    for name, stages in {"one": (first,), "two": (first, still), "none": (still,)}.items():
        config = RunConfig(source, stages, workers=0, threads=1, select="last")
        run = train(config, data, tmp_path / name)
        ends[name] = load_checkpoint(run.folder.checkpoint)[0]["method"]
    bookkeeping = {f"estimator.{name}" for name in ("rows.last", "rows.steps", "scores")}
    for name in set(ends["one"]) - bookkeeping:
        learned, handed, untouched = (values(ends[key][name]) for key in ("one", "two", "none"))
        torch.testing.assert_close(handed, learned, rtol=1e-4, atol=1e-4)
        assert (learned - untouched).abs().max() > 0.05


def values(table: torch.Tensor) -> torch.Tensor:
    """Of a table with Adam's two moments beside them, only the values."""
    return table[:, 0] if table.ndim == 3 else table


@pytest.mark.parametrize(("inputs", "rate"), [("images", 0.1), ("features", 0.01)])
def test_estimates_learn_ten_times_faster_than_the_head(inputs: Any, rate: float) -> None:
    truth = make_truth()
    observed = single_positive(truth)
    stage = StageConfig(
        MethodConfig("role", settings={"k": 1.5}),
        inputs=inputs,
        learning_rate=1e-3,
        head_multiplier=10,
    )
    method = methods.make("role", {"k": 1.5})
    data = StageData(FeatureInputs(make_features(truth)), observed)
    positives = Positives(observed, lambda: make_features(truth).flatten(1).numpy(), Events())
    begin(method, stage, data, positives, seed=0, device=torch.device("cpu"))
    assert method.parameter_groups()[0].learning_rate == pytest.approx(rate)
