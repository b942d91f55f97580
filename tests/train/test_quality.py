"""Which input size a run takes: what was asked, what the photos hold, what five minutes allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tagfill.train import quality
from tagfill.train.cache import FeatureStore, content_hashes
from tagfill.train.config import DataConfig, RunConfig
from tagfill.train.quality import STEPS, choose_quality
from tagfill.train.resolve import Request, resolve


def photos(folder: Path, side: int, count: int = 3) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{side}-{number}.jpg" for number in range(count)]
    for number, path in enumerate(paths):
        Image.new("RGB", (side, side), (number, 0, 0)).save(path)
    return paths


def chosen(paths: list[Path], **overrides: Any) -> tuple[RunConfig, list[str]]:
    mode = overrides.pop("mode", "linear")
    request = Request(DataConfig("labels.csv"), mode=mode, method="an", overrides=overrides)
    config, _ = resolve(
        request, regime="positive_only", images=100, given_features=False, has_gpu=False
    )
    return choose_quality(config, request, paths)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(("seconds", "expected"), [(0.1, "best"), (30, "good"), (500, "fast")])
def test_by_default_the_best_that_takes_five_minutes(
    seconds: float, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "_seconds_an_image", lambda: seconds)
    config, notes = chosen(photos(tmp_path / "photos", 600))
    step = next(step for step in STEPS if step.quality == expected)
    assert (config.model.quality, config.model.input_size) == (expected, step.size)
    assert config.model.backbone == step.backbone
    assert "features of 3 images take about" in notes[0]
    assert ("would take" in notes[0]) == (expected != "best")


def test_small_photos_are_not_enlarged_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "_seconds_an_image", lambda: 0.01)
    config, notes = chosen(photos(tmp_path / "photos", 230))
    assert config.model.quality == "good"
    assert "too small for more" in notes[0]
    assert chosen(photos(tmp_path / "photos", 64), quality="best")[0].model.input_size == 224


def test_what_the_user_names_is_taken_without_a_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "_seconds_an_image", lambda: pytest.fail("timed"))
    paths = photos(tmp_path / "photos", 600)
    assert chosen(paths, quality="best")[0].model.input_size == 448
    assert chosen(paths, quality="fast")[0].model.input_size == 224
    for named in ({"input_size": 96}, {"backbone": "test_resnet"}, {"mode": "finetune"}):
        config, notes = chosen(paths, **named)
        assert notes == []
        assert config.model.input_size == named.get("input_size")


def test_features_that_are_known_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "_seconds_an_image", lambda: pytest.fail("timed"))
    paths = photos(tmp_path / "photos", 600)
    about = {"backbone": "efficientnet_lite2", "input_size": 320, "view": "plain", "kind": "pooled"}
    FeatureStore(about).add(content_hashes(paths), np.ones((3, 4), dtype=np.float16))
    config, notes = chosen(paths)
    assert config.model.input_size == 320
    assert "cached" in notes[0]
