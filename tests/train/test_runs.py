"""From a request to a run folder, through the command line and Python."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from tests.processes import Command, finished
from tests.train.given import CLASSES, write_given_features

import tagfill
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.train.config import DataConfig, load_config
from tagfill.train.data import prepare
from tagfill.train.folder import RunFolder
from tagfill.train.resolve import Request
from tagfill.train.run import fit

pytestmark = pytest.mark.usefixtures("quick_choices")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"))


def trained(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    always = ["--json", "--quiet", "--no-report", "--threads", "1"]
    assert main(["train", *arguments, *always]) == 0
    metrics: dict[str, Any] = json.loads(capsys.readouterr().out)
    return metrics


def test_features_in_a_run_folder_out(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    options = ["--method", "role", "--epochs", "8", "--learning-rate", "0.05"]
    metrics = trained(capsys, str(data), *options, "--out", str(out))
    assert metrics["test"]["mAP"] > 75
    assert set(metrics) >= {"val", "best_epoch", "seconds_per_epoch"}
    assert json.loads((out / "metrics.json").read_text())["test"] == metrics["test"]
    epochs = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    assert sum(event["event"] == "epoch" for event in epochs) == 8
    network = tagfill.load(out).network
    features = torch.from_numpy(np.load(data / "val_features_toy.npy").astype(np.float32))
    assert network(features).logits.shape == (80, CLASSES)


def test_the_same_seed_gives_the_same_model_and_another_seed_does_not(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        options = ["--method", "em", "--epochs", "3", "--seed", seed]
        trained(capsys, str(data), *options, "--out", str(tmp_path / name))
    a, b, c = (load_file(tmp_path / name / "model" / "model.safetensors") for name in "abc")
    assert all(torch.equal(a[key], b[key]) for key in a)
    assert not all(torch.equal(a[key], c[key]) for key in a)


def test_the_saved_configuration_repeats_the_run(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    arguments = ["--method", "em_apl", "--method.alpha", "0.15", "--epochs", "6"]
    trained(capsys, str(data), *arguments, "--out", str(first))
    settings = load_config(first / "config.toml")
    assert settings.stages[0].method.settings == {"alpha": 0.15}
    repeated = ["--config", str(first / "config.toml"), "--out", str(again)]
    assert main(["train", *repeated, "--quiet", "--no-report"]) == 0
    assert _weights(first).keys() == _weights(again).keys()
    assert all(torch.equal(tensor, _weights(again)[key]) for key, tensor in _weights(first).items())


def test_oracles_see_the_full_labels_and_others_do_not(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_given_features(tmp_path / "other")
    truth = np.load(other / "formatted_train_labels.npy")
    observed = np.load(other / "formatted_train_labels_obs.npy")
    hidden = np.where(observed == 1, truth, 1 - truth).astype(np.int8)
    np.save(other / "formatted_train_labels.npy", hidden)
    for method, same in (("em", True), ("bce", False)):
        runs = []
        for name, source in (("true", data), ("changed", other)):
            out = tmp_path / f"{method}-{name}"
            options = ["--method", method, "--epochs", "2", "--select", "last"]
            trained(capsys, str(source), *options, "--out", str(out))
            runs.append(_weights(out))
        assert all(torch.equal(runs[0][key], runs[1][key]) for key in runs[0]) is same


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_to_the_same_end(data: Path, tmp_path: Path) -> None:
    always = ["--quiet", "--no-report"]
    options = ["--method", "role", "--epochs", "30", "--checkpoint-seconds", "0", "--threads", "1"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert finished("train", data, *options, *always, "--out", whole)[0] == 0
    process = Command("train", data, *options, *always, "--out", killed)
    checkpoint = killed / "checkpoints" / "last.safetensors"
    while not checkpoint.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=120)
    assert not (killed / "metrics.json").exists()
    assert finished("train", "--resume", killed, *always)[0] == 0
    assert all(
        torch.equal(tensor, _weights(killed)[key]) for key, tensor in _weights(whole).items()
    )
    ends = [json.loads((run / "metrics.json").read_text()) for run in (whole, killed)]
    assert ends[0]["test"] == ends[1]["test"]


@pytest.mark.slow
def test_interrupting_keeps_a_checkpoint_and_says_how_to_go_on(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    options = ["--method", "em", "--epochs", "2000", "--out", str(out), "--threads", "1"]
    process = Command("train", data, *options)
    while (
        not (out / "events.jsonl").exists() or '"epoch"' not in (out / "events.jsonl").read_text()
    ):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=120)
    assert process.returncode == 130
    assert f"tagfill train --resume {out}" in message
    assert (out / "checkpoints" / "last.safetensors").is_file()


def test_a_time_limit_ends_training_with_a_model(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    options = ["--method", "an", "--epochs", "100000", "--time-limit", "1s"]
    metrics = trained(capsys, str(data), *options, "--out", str(out))
    assert 1 <= metrics["epochs"] < 100_000
    assert (out / "model" / "model.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "nonsense"], "unknown method 'nonsense'"),
        (["--method.alhpa", "0.1", "--method", "em"], "em has no setting 'alhpa'"),
        (["--mode", "finetune"], "needs images, but the source has features"),
        (["--backbone", "resnet50"], "--backbone has no effect: the source has features only"),
        (["--method", "lac"], "needs"),
        (["--time-limit", "soon"], "'soon' is not a duration"),
        (["--method", "an", "--learning-rate", "1e38"], "not finite (term an) in epoch 1, batch 2"),
        (["--val", "nowhere.csv"], "no such file"),
        (["--epochs", "0"], "epochs must be at least 1"),
        (["--learning-rate", "-1"], "learning rate must be at least 0"),
        (["--val-fraction", "1"], "val fraction must be between 0 and 0.95"),
        (["--mode", "two_stage", "--method", "role"], "mode two_stage trains lac, not role"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(
    arguments: list[str],
    message: str,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["train", str(data), *arguments, "--out", str(tmp_path / "run"), "--quiet"]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_a_run_folder_is_never_overwritten(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    trained(capsys, str(data), "--epochs", "1", "--out", str(out))
    assert main(["train", str(data), "--out", str(out)]) == 2
    assert "--resume" in capsys.readouterr().err


def test_changed_labels_are_not_resumed(data: Path, tmp_path: Path) -> None:
    source = write_given_features(tmp_path / "source")
    out = tmp_path / "run"
    tagfill.fit(source, method="an", epochs=1, out=out, threads=1)
    (out / "metrics.json").unlink()
    labels = np.load(source / "formatted_train_labels_obs.npy")
    np.save(source / "formatted_train_labels_obs.npy", labels[::-1])
    truth = np.load(source / "formatted_train_labels.npy")
    np.save(source / "formatted_train_labels.npy", truth[::-1])
    from tagfill.train.run import resume

    with pytest.raises(TagfillError, match="labels have changed"):
        resume(out)


def _weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def test_evaluating_a_run_gives_the_metrics_it_was_trained_with(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    metrics = trained(capsys, str(data), "--epochs", "2", "--out", str(out))
    assert main(["evaluate", str(out), str(data), "--split", "test", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["mAP"] == pytest.approx(metrics["test"]["mAP"], abs=1e-4)


def test_a_run_can_be_watched_in_tensorboard(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    trained(capsys, str(data), "--epochs", "2", "--tensorboard", "--out", str(out))
    assert list((out / "tensorboard").glob("events.out.*"))


def test_a_resumed_run_takes_no_other_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--resume", str(tmp_path), "--epochs", "3"]) == 2
    assert "reads all settings from its config.toml" in capsys.readouterr().err


def test_validation_images_are_never_training_images(data: Path, tmp_path: Path) -> None:
    rows = "image,cat,dog,split\na.jpg,1,,train\nb.jpg,,1,train\nc.jpg,1,0,val\n"
    (tmp_path / "labels.csv").write_text(rows)
    for word in (",split", ",train", ",val"):
        rows = rows.replace(word, "")
    (tmp_path / "same.csv").write_text(rows)
    for name in "abc":
        Image.new("RGB", (8, 8)).save(tmp_path / f"{name}.jpg")
    own = DataConfig(str(tmp_path / "labels.csv"), val=str(tmp_path / "labels.csv"))
    held_out = prepare(own).val
    assert held_out is not None
    assert held_out.table.images == ("c.jpg",)
    leaking = DataConfig(str(tmp_path / "labels.csv"), val=str(tmp_path / "same.csv"))
    with pytest.raises(TagfillError, match="are training images too"):
        prepare(leaking)


def test_progress_tells_loss_and_the_last_validation(data: Path, tmp_path: Path) -> None:
    told = []

    class Listener:
        def event(self, kind: str, metadata: Any) -> None: ...
        def close(self) -> None: ...
        def progress(self, done: int, total: int, label: str) -> None:
            told.append((done / total, label))

    request = Request(DataConfig(str(data)), method="an", overrides={"epochs": 2, "threads": 1})
    run = fit(request, tmp_path / "run", [Listener()])
    first = json.loads((run.path / "events.jsonl").read_text().splitlines()[-3])
    assert first["epoch"] == 1
    assert told[-1][0] == 1
    assert f"mAP {first['score']:.2f}" in told[-1][1]
    assert f"loss {first['loss']:.4f}" in told[len(told) // 2 - 1][1]


def test_an_epoch_repeated_after_a_crash_counts_once(tmp_path: Path) -> None:
    epochs = [
        {"event": "epoch", "stage": 1, "epoch": number, "loss": loss, "seconds": 0.1}
        for number, loss in ((1, 0.9), (2, 0.7), (2, 0.5))
    ]
    events, again = [{"event": "start"}, *epochs[:2]], [{"event": "resume"}, epochs[2]]
    lines = [json.dumps(event) for event in (*events, *again)]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + '\n{"event": "epo')
    kept = RunFolder(tmp_path).read_events()
    assert [event["event"] for event in kept] == ["start", "epoch", "epoch", "resume"]
    assert kept[2]["loss"] == 0.5
