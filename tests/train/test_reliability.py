"""Damage is noticed, stops are clean, and nothing that fails is in the way of the next try."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.train.given import write_given_features

import tagfill
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.train.cache import FeatureStore
from tagfill.train.config import DataConfig, MethodConfig, RunConfig, StageConfig
from tagfill.train.folder import RunFolder
from tagfill.train.limits import Interrupted
from tagfill.train.resolve import Request
from tagfill.train.run import fit, resume
from tagfill.train.save import load_checkpoint, save_checkpoint

pytestmark = pytest.mark.usefixtures("quick_choices")


class StopAt:
    """Asks for a signal after so many batches."""

    def __init__(self, batches: int, number: signal.Signals = signal.SIGTERM) -> None:
        self.left, self.number = batches, number

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        pass

    def progress(self, done: int, total: int, label: str) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)

    def close(self) -> None:
        pass


def request(data: Path, **overrides: Any) -> Request:
    quick = {"epochs": 4, "threads": 1, "checkpoint_seconds": 0.0, "workers": 0, **overrides}
    return Request(DataConfig(str(data)), mode="linear", method="an", overrides=quick)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"), train=80, test=20)


def weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_no_bit_flip_in_a_checkpoint_is_silent(tmp_path: Path) -> None:
    file = tmp_path / "last.safetensors"
    tensors = {"network": {"w": torch.arange(40.0)}, "method": {"m": torch.tensor([1, 0, -1])}}
    metadata = {"epoch": 3, "sums": {"an": 0.25}}
    save_checkpoint(file, tensors, metadata)
    content, silent = file.read_bytes(), 0
    for bit in range(0, 8 * len(content), 3):
        file.write_bytes(flipped(content, bit))
        try:
            groups, kept = load_checkpoint(file)
        except TagfillError:
            continue
        same = kept == metadata and all(
            torch.equal(groups[group][name], tensor)
            for group, members in tensors.items()
            for name, tensor in members.items()
        )
        silent += not same
    assert silent == 0


def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_leads_to_the_same_end(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = fit(request(data), tmp_path / "whole")
    with pytest.raises(Interrupted, match="--resume"):
        fit(request(data), tmp_path / "run", [StopAt(11)])
    folder = RunFolder(tmp_path / "run")
    assert folder.previous_checkpoint.is_file()
    content = folder.checkpoint.read_bytes()
    folder.checkpoint.write_bytes(flipped(content, 8 * len(content) - 9))
    assert main(["train", "--resume", str(folder.path), "--quiet"]) == 2
    message = capsys.readouterr().err
    assert "checksum differs" in message
    assert "--previous" in message
    arguments = ["train", "--resume", str(folder.path), "--previous", "--quiet", "--no-report"]
    assert main(arguments) == 0
    assert weights(folder.path) == weights(whole.path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_a_checkpoint(number: signal.Signals, data: Path, tmp_path: Path) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted):
        fit(request(data), tmp_path / "run", [StopAt(7, number)])
    assert signal.getsignal(number) is before
    assert RunFolder(tmp_path / "run").checkpoint.is_file()
    assert resume(tmp_path / "run").metrics["epochs"] == 4


def test_a_damaged_feature_shard_is_computed_again(tmp_path: Path) -> None:
    store = FeatureStore({"view": "toy"}, tmp_path)
    store.add(["a", "b"], np.ones((2, 4), dtype=np.float16))
    store.add(["c"], np.zeros((1, 4), dtype=np.float16))
    assert store.missing(["a", "b", "c", "d"]) == ["d"]
    shard = next(file for file in store.folder.glob("*.npy") if np.load(file).any())
    shard.write_bytes(flipped(shard.read_bytes(), 8 * shard.stat().st_size - 20))
    again = FeatureStore({"view": "toy"}, tmp_path)
    assert again.missing(["a", "b", "c"]) == ["a", "b"]
    assert again.damaged == [shard]
    assert not shard.exists()
    again.add(["a", "b"], np.ones((2, 4), dtype=np.float16))
    assert again.rows(["c", "a"])[np.arange(2)].tolist() == [[0] * 4, [1] * 4]


def test_no_bit_flip_in_a_shard_is_silent(tmp_path: Path) -> None:
    hashes = [f"{number:032x}" for number in range(6)]
    features = np.arange(24, dtype=np.float16).reshape(6, 4)
    store = FeatureStore({"view": "toy"}, tmp_path)
    store.add(hashes, features)
    whole = {file: file.read_bytes() for file in store.folder.iterdir() if file.suffix != ".json"}
    for damaged in whole:
        for bit in range(0, 8 * len(whole[damaged]), 3):
            for file, content in whole.items():
                file.write_bytes(flipped(content, bit) if file == damaged else content)
            if not store.missing(hashes):
                assert np.array_equal(store.rows(hashes)[np.arange(6)], features)


def test_a_pruned_cache_is_filled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tagfill.scenes import write_scenes
    from tagfill.train import cache

    write_scenes(tmp_path / "scenes", 12, 48, seed=3)
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / "cache"))
    plain, left = cache.FeatureStore.rows, [1]

    def pruned_once(store: cache.FeatureStore, hashes: Any) -> Any:
        if left:
            left.pop()
            assert cache.prune(0)
        return plain(store, hashes)

    monkeypatch.setattr(cache.FeatureStore, "rows", pruned_once)
    labels = tmp_path / "scenes" / "labels.csv"
    settings = {"epochs": 1, "input_size": 48, "workers": 0, "threads": 1}
    run = tagfill.fit(labels, out=tmp_path / "run", **settings)
    assert run.folder.is_finished
    assert not left


def test_damaged_metrics_are_named_and_measured_again(data: Path, tmp_path: Path) -> None:
    run = fit(request(data), tmp_path / "run")
    folder, measured = RunFolder(tmp_path / "run"), run.metrics["val"]
    for content in (b"", b"[1]", b"\xff{", folder.metrics.read_bytes()[:90]):
        folder.metrics.write_bytes(content)
        with pytest.raises(TagfillError, match=r"metrics\.json: is damaged"):
            folder.read_metrics()
    folder.metrics.unlink()
    assert resume(tmp_path / "run").metrics["val"] == measured
    with folder.events.open("ab") as file:
        file.write(b'\xff\n[1]\n{"event": 3}\n{"event": "mine"}\n{"event": "epoch"}\n')
    assert folder.read_events()[-1] == {"event": "mine"}


def test_a_model_that_was_deleted_is_made_again(data: Path, tmp_path: Path) -> None:
    fit(request(data), tmp_path / "run")
    before = weights(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "model")
    with pytest.raises(TagfillError, match="not finished — continue with `tagfill train --resume"):
        RunFolder(tmp_path / "run").read_metrics()
    resume(tmp_path / "run")
    assert weights(tmp_path / "run") == before


def test_leftovers_of_killed_processes_are_removed(data: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        fit(request(data), tmp_path / "run", [StopAt(6)])
    left = tmp_path / "run" / "checkpoints" / ".last.0123456789ab.part.safetensors"
    left.write_bytes(bytes(100))
    resume(tmp_path / "run")
    assert not left.exists()
    assert not (tmp_path / "run" / ".lock").exists()


def test_two_processes_never_train_in_one_folder(data: Path, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        fit(request(data), tmp_path / "run", [StopAt(6)])
    with (
        RunFolder(tmp_path / "run").lock(),
        pytest.raises(TagfillError, match="another process is training here"),
    ):
        resume(tmp_path / "run")
    assert resume(tmp_path / "run").folder.is_finished


def test_a_failed_start_is_not_in_the_way(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for wrong in ({"init": str(tmp_path / "nowhere")}, {"select": "nonsense"}):
        with pytest.raises(TagfillError):
            fit(request(data, **wrong), out)
        assert not out.exists()
    assert fit(request(data), out).folder.is_finished
    with pytest.raises(TagfillError, match="this folder already has a run"):
        fit(request(data), out)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threads", 0),
        ("workers", -1),
        ("checkpoint_seconds", float("nan")),
        ("checkpoint_seconds", float("inf")),
        ("checkpoint_seconds", -1.0),
        ("time_limit", float("nan")),
        ("seed", -1),
        *((name, 10**20) for name in ("threads", "workers", "seed")),
    ],
)
def test_impossible_numbers_are_refused(name: str, value: float) -> None:
    stages = (StageConfig(MethodConfig("an")),)
    with pytest.raises(TagfillError, match=f"{name.replace('_', ' ')} must be"):
        RunConfig(DataConfig("x"), stages, **{name: value})


NUMBERS = ("epochs", "batch_size", "learning_rate", "weight_decay", "l2", "head_multiplier")
NUMBERS += ("warmup", "clip", "accumulate", "schedule_epochs", "ema", "patience", "strong_views")
COUNTS = ("epochs", "batch_size", "accumulate", "schedule_epochs", "patience", "strong_views")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in NUMBERS for value in (-1, float("nan"), float("inf"))),
        *((name, 10**20) for name in COUNTS),
    ],
)
def test_impossible_numbers_of_a_stage_are_refused(name: str, value: float) -> None:
    with pytest.raises(TagfillError, match=f"{name.replace('_', ' ')} must be"):
        StageConfig(MethodConfig("an"), **{name: value})


def test_few_images_are_remarked_on(tmp_path: Path) -> None:
    labels = np.array([[1, 0], [0, 1], [1, 1]] * 2)
    run = tagfill.fit(labels, features=np.eye(6), out=tmp_path / "run", epochs=1, val_fraction=0.0)
    notes = [event["text"] for event in run.events if event["event"] == "note"]
    assert any("only 6 images to train on" in note for note in notes)


def test_labels_that_tell_nothing_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="nothing to learn"):
        tagfill.fit(np.ones((40, 1)), features=np.ones((40, 3)), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


OWN = """
from pathlib import Path
Path({mark!r}).write_text("ran")
from tagfill.methods.an import INFO, Config, build
"""


def test_opening_a_run_never_runs_its_code(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tagfill import trust

    mark, own = tmp_path / "ran", tmp_path / "mine.py"
    own.write_text(OWN.format(mark=str(mark)))
    out = tmp_path / "run"
    run = tagfill.fit(data, method=str(own), out=out, epochs=1, threads=1)
    assert mark.exists(), "the user named it"
    features = tmp_path / "f.npy"
    np.save(features, np.load(data / "val_features_toy.npy"))
    mark.unlink()
    trust._named.clear()
    again = ["--config", str(out / "config.toml"), "--out", str(tmp_path / "again")]
    assert main(["train", *again, "--quiet"]) == 2
    assert "--trust-code" in capsys.readouterr().err
    assert main(["recover", str(out), "--out", str(tmp_path / "s.csv"), "--quiet"]) == 0
    assert main(["report", str(out), "--quiet"]) == 0
    assert main(["evaluate", str(out), str(data), "--json"]) == 0
    assert tagfill.open_run(out).evaluate().mAP == run.evaluate().mAP
    assert main(["predict", str(out), str(features), "--quiet"]) == 0
    assert not mark.exists()
    assert main(["train", *again, "--trust-code", "--quiet"]) == 0
    assert mark.exists()
