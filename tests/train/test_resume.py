"""Interrupted anywhere, training ends as if it had never stopped."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.train.toy import toy_stage

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.train.limits import Interrupted
from tagfill.train.loop import Stage
from tagfill.train.save import load_checkpoint, save_checkpoint


def through_disk(kept: Any, folder: Path) -> Any:
    """What a checkpoint is after it was written and read."""
    save_checkpoint(folder / "last.safetensors", *kept)
    return load_checkpoint(folder / "last.safetensors")


def assert_same_end(one: Stage, other: Stage) -> None:
    assert [_timeless(record) for record in one.history] == [
        _timeless(record) for record in other.history
    ]
    for name, tensor in one.plain.state_dict().items():
        assert torch.equal(tensor, other.plain.state_dict()[name]), name
    theirs = other.method.state()
    for name, tensor in one.method.state().items():
        assert torch.equal(tensor, theirs[name]), name
    assert vars(one.selector) == vars(other.selector)


def _timeless(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "seconds"}


STOPS = [(name, 7) for name in methods.names()]
STOPS += [(name, stop) for name in ("an", "role", "em_apl") for stop in (1, 9)]


@pytest.mark.parametrize(("name", "stop_after"), STOPS)
def test_every_method_goes_on_as_if_never_stopped(
    name: str, stop_after: int, tmp_path: Path
) -> None:
    whole = toy_stage(name)
    whole.run()
    stopped = toy_stage(name, stop_after=stop_after)
    with pytest.raises(Interrupted):
        stopped.run()
    resumed = toy_stage(name)
    resumed.restore(*through_disk(stopped.kept[-1], tmp_path))
    assert resumed.position.epoch == 1 + (stop_after - 1) // 3
    resumed.run()
    assert_same_end(whole, resumed)


@pytest.mark.parametrize(
    "settings",
    [
        {"ema": 0.9},
        {"schedule": "one_cycle"},
        {"schedule": "cosine", "optimizer": "sgd"},
        {"optimizer": "adamw", "weight_decay": 0.1, "clip": 0.5},
        {"optimizer": "adafactor"},
        {"accumulate": 2},
        {"patience": 0, "learning_rate": 1.5},
    ],
    ids=lambda settings: "-".join(settings),
)
def test_every_kind_of_loop_state_survives(settings: dict[str, Any], tmp_path: Path) -> None:
    whole = toy_stage("role", **settings)
    whole.run()
    stopped = toy_stage("role", stop_after=4, **settings)
    with pytest.raises(Interrupted):
        stopped.run()
    resumed = toy_stage("role", **settings)
    resumed.restore(*through_disk(stopped.kept[-1], tmp_path))
    resumed.run()
    assert_same_end(whole, resumed)


def test_the_scale_of_half_precision_losses_survives(tmp_path: Path) -> None:
    stages = [toy_stage("an") for _ in range(2)]
    for stage, scale in zip(stages, (8.0, 1024.0), strict=True):
        stage.accelerator = copy.copy(stage.accelerator)
        stage.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=scale)
        stage.accelerator.scaler.scale(torch.ones(1))
    stages[0].save()
    stages[1].restore(*through_disk(stages[0].kept[-1], tmp_path))
    assert stages[1].accelerator.scaler.get_scale() == 8.0


def test_accumulated_gradients_are_never_cut_in_two() -> None:
    stage = toy_stage("an", stop_after=1, accumulate=2)
    with pytest.raises(Interrupted):
        stage.run()
    assert stage.position.batch == 2


def test_a_finished_stage_resumes_to_its_end_at_once(tmp_path: Path) -> None:
    whole = toy_stage("em_apl")
    whole.run()
    again = toy_stage("em_apl")
    again.restore(*through_disk(whole.kept[-1], tmp_path))
    again.run()
    assert_same_end(whole, again)


def test_a_failed_write_leaves_the_previous_checkpoint_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "last.safetensors"
    save_checkpoint(path, {"network": {"w": torch.ones(2)}}, {"epoch": 1})

    def full_disk(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tagfill.train.save.save_file", full_disk)
    with pytest.raises(TagfillError, match="No space left"):
        save_checkpoint(path, {"network": {"w": torch.zeros(2)}}, {"epoch": 2})
    tensors, metadata = load_checkpoint(path)
    assert metadata == {"epoch": 1}
    assert torch.equal(tensors["network"]["w"], torch.ones(2))
    assert [file.name for file in tmp_path.iterdir()] == ["last.safetensors"]


def test_a_damaged_checkpoint_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "last.safetensors"
    path.write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00" + json.dumps({}).encode())
    with pytest.raises(TagfillError, match="not a readable checkpoint"):
        load_checkpoint(path)
