"""A network in pieces over two processes must learn what a whole one learns."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file
from tests.processes import two_together

import tagfill
from tagfill import scenes
from tagfill.errors import TagfillError
from tagfill.train import inputs
from tagfill.train import run as runs
from tagfill.train.config import DataConfig, MethodConfig, RunConfig, StageConfig
from tagfill.train.limits import Interrupted
from tagfill.train.loop import Stage

TINY: dict[str, Any] = {
    "mode": "finetune",
    "backbone": "test_resnet",
    "pretrained": False,
    "freeze_batchnorm": True,
    "input_size": 32,
    "batch_size": 6,
    "epochs": 2,
    "workers": 0,
    "threads": 1,
    "seed": 1,
}
EM = {**TINY, "method": "em", "ema": 0.9, "clip": 0.05, "learning_rate": 0.01}
PENALIZED = {
    **TINY,
    "method": "l2r",
    "epochs": 1,
    "accumulate": 2,
    "optimizer": "sgd",
    "gradient_checkpointing": True,
}
MOMENT = (2, 1)
"""Epoch and batch of an interruption: in the middle of the second epoch."""
pytestmark = pytest.mark.slow


def write_images(folder: Path) -> Path:
    """16 scenes with one tag each; 3 will be held out, so that evaluation is uneven."""
    (folder / "images").mkdir(parents=True)
    rows = []
    for number, scene in enumerate(scenes.generate(16, size=32, seed=2)):
        scene.image.save(folder / "images" / f"{number}.png")
        rows.append(
            [f"{number}.png", *("1" if column == number % 4 else "" for column in range(4))]
        )
    with (folder / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["image", *scenes.CLASSES[:4]], *rows])
    return folder / "labels.csv"


def interrupted(labels: Path, out: Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Train until ``MOMENT``; how many numbers the process held then."""
    pause, sizes = Stage._pause, {}

    def stop_at_the_moment(self: Stage) -> None:
        if (self.position.epoch, self.position.batch) == MOMENT:
            sizes.update(held(self))
            self.limits.stop_requested = True
        pause(self)

    with patch.context() as patched:
        patched.setattr(Stage, "_pause", stop_at_the_moment)
        with pytest.raises(Interrupted):
            tagfill.fit(labels, out=out, shard=True, **EM)
    return sizes


def held(stage: Stage) -> dict[str, int]:
    """How many numbers of each kind are in this process."""
    moments = [moment["exp_avg"] for moment in stage.optimizer.state.values()]
    assert stage.ema is not None
    kinds = {
        "network": list(stage.trained.parameters()),
        "moments": moments,
        "ema": list(stage.ema.module.parameters()),
    }
    return {
        name: sum(getattr(tensor, "_local_tensor", tensor).numel() for tensor in tensors)
        for name, tensors in kinds.items()
    }


def worker(rank: int, folder: Path) -> None:
    labels, patch = folder / "data" / "labels.csv", pytest.MonkeyPatch()
    patch.setattr(inputs, "_IMAGES", 1)  # process 0 has two batches to evaluate, process 1 has one
    tagfill.fit(labels, out=folder / "ddp", **EM)
    tagfill.fit(labels, out=folder / "sharded", shard=True, **EM)
    tagfill.fit(labels, out=folder / "sharded-l2r", shard=True, **PENALIZED)
    sizes = interrupted(labels, folder / "stopped", patch)
    (folder / f"held-{rank}.json").write_text(json.dumps(sizes))
    if rank == 0:
        shutil.copytree(folder / "stopped", folder / "sharded-then-alone")
    dist.barrier()
    runs.resume(folder / "stopped")
    runs.resume(folder / "alone-then-sharded")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run folders of one process, of two with whole networks, and of two with pieces."""
    folder = tmp_path_factory.mktemp("shard")
    labels = write_images(folder / "data")
    tagfill.fit(labels, out=folder / "alone", shard=True, **EM)
    tagfill.fit(labels, out=folder / "alone-l2r", **PENALIZED)
    sizes = interrupted(labels, folder / "alone-then-sharded", pytest.MonkeyPatch())
    (folder / "held-alone.json").write_text(json.dumps(sizes))
    two_together(worker, folder)
    runs.resume(folder / "sharded-then-alone")
    return folder


def tensors(run: Path) -> dict[str, torch.Tensor]:
    """The model, and the last checkpoint: network, moments, average, best weights."""
    checkpoint = run / "checkpoints" / "last.safetensors"
    return {**load_file(run / "model" / "model.safetensors"), **load_file(checkpoint)}


def epochs(run: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == "epoch"]


def assert_close(one: Path, other: Path) -> None:
    expected = tensors(one)
    for name, tensor in tensors(other).items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-5, atol=1e-5, msg=name)
    for mine, theirs in zip(epochs(one), epochs(other), strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], abs=1e-5)
        assert mine["score"] == pytest.approx(theirs["score"], abs=1e-5)
        assert mine["weights"] == theirs["weights"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alone", "ddp"),
        ("alone", "sharded"),
        ("ddp", "sharded"),
        ("alone-l2r", "sharded-l2r"),
        ("alone", "sharded-then-alone"),
        ("alone", "alone-then-sharded"),
    ],
)
def test_pieces_learn_what_a_whole_network_learns(one: str, other: str, ends: Path) -> None:
    assert_close(ends / one, ends / other)


def test_each_process_holds_half(ends: Path) -> None:
    alone, *pair = (
        json.loads((ends / f"held-{name}.json").read_text()) for name in ("alone", 0, 1)
    )
    for kind, numbers in alone.items():
        assert sum(process[kind] for process in pair) == numbers
        assert max(process[kind] for process in pair) < 0.55 * numbers


def test_stopped_in_the_middle_it_resumes_to_the_same_bits(ends: Path) -> None:
    whole, resumed = ends / "sharded", ends / "stopped"
    expected = tensors(whole)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in tensors(resumed).items())
    metrics = [json.loads((run / "metrics.json").read_text())["val"] for run in (whole, resumed)]
    assert metrics[0] == metrics[1]


def test_the_user_hears_what_became_of_the_wish(ends: Path) -> None:
    assert "shard: no effect, there is one process" in (ends / "alone" / "events.jsonl").read_text()
    told = (ends / "sharded" / "events.jsonl").read_text()
    assert "divided among 2 processes" in told


@pytest.mark.parametrize("settings", [{"precision": "fp16"}, {"optimizer": "adafactor"}])
def test_what_cannot_be_divided_is_refused(settings: dict[str, Any]) -> None:
    optimizer = settings.pop("optimizer", "adam")
    stage = StageConfig(MethodConfig("an"), inputs="images", optimizer=optimizer)
    with pytest.raises(TagfillError, match="--shard does not work with"):
        RunConfig(DataConfig("labels.csv"), (stage,), shard=True, **settings)
