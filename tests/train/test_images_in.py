"""Runs on image files: every mode, augmented views, flawed files, cached features."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

import tagfill
from tagfill import scenes
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.images import open_photo
from tagfill.models.preprocess import Preprocess
from tagfill.train import cache
from tagfill.train import run as runs
from tagfill.train.inputs import ImageInputs
from tagfill.train.limits import Interrupted
from tagfill.train.loop import Stage
from tagfill.train.model import Assembly
from tagfill.train.views import strong_view, weak_view

TINY = {
    "backbone": "test_resnet",
    "pretrained": False,
    "input_size": 64,
    "workers": 0,
    "threads": 1,
    "batch_size": 8,
    "seed": 1,
}
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_choices")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 scenes with one tag each, plus a missing and a broken image."""
    folder = tmp_path_factory.mktemp("photos")
    classes = scenes.CLASSES[:5]
    (folder / "images" / "my trip").mkdir(parents=True)
    rows = []
    for number, scene in enumerate(scenes.generate(24, size=64, seed=2)):
        name = f"{'my trip/' if number % 2 else ''}bild {number} ü.png"
        scene.image.save(folder / "images" / name)
        rows.append([name, *("1" if column == number % 5 else "" for column in range(5))])
    (folder / "images" / "broken.jpg").write_bytes(b"no picture")
    rows += [["gone.jpg", "1", "", "", "", ""], ["broken.jpg", "", "1", "", "", ""]]
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([["image", *classes], *rows])
    return folder / "labels.csv"


def notes_of(run: Path) -> str:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return "\n".join(line["text"] for line in lines if line["event"] == "note")


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "model" / "model.safetensors")


def test_flawed_images_are_named_and_left_out(data: Path, tmp_path: Path) -> None:
    run = tagfill.fit(data, mode="linear", epochs=1, out=tmp_path / "run", **TINY)
    assert sum(run.metrics["images"].values()) == 24
    told = notes_of(run.path)
    assert "gone.jpg" in told
    assert "broken.jpg" in told


def test_evaluation_finds_the_images_of_the_run_and_says_which_it_saw(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tagfill.fit(
        data, images=data.parent / "images", mode="linear", epochs=1, out=tmp_path / "run", **TINY
    )
    elsewhere = tmp_path / "more.csv"
    elsewhere.write_bytes(data.read_bytes())
    assert main(["evaluate", str(run.path), str(elsewhere), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["images"] == 24
    told = "\n".join(result["notes"])
    assert "gone.jpg" in told
    assert "broken.jpg" in told
    assert f"{run.metrics['images']['train']} of 24 images were trained on" in told


def test_without_known_negatives_the_end_of_training_names_what_was_evaluated(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.items()]
    tiny[1] = "--no-pretrained"
    words = ["train", str(data), "--mode", "linear", "--epochs", "1", "--no-report", *tiny]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert "validation: observed_mAP" in capsys.readouterr().out


def test_an_error_of_a_worker_is_the_users_message_alone(data: Path) -> None:
    view = weak_view(Preprocess(64, (0.5,) * 3, (0.5,) * 3))
    broken = data.parent / "images" / "broken.jpg"
    inputs = ImageInputs([broken], size=64, plain_view=view, weak_view=view, workers=1)
    with pytest.raises(TagfillError, match=r"broken\.jpg") as caught:
        list(inputs.plain(range(1)))
    assert "Traceback" not in str(caught.value)


def test_every_image_is_decoded_once_and_its_features_are_shared(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / "cache"))
    decoded: list[str] = []

    def counting(path: Path) -> BinaryIO:
        decoded.append(path.name)
        return open_photo(path)

    monkeypatch.setattr("tagfill.train.extract.open_photo", counting)
    first = tagfill.fit(data, mode="linear", epochs=1, out=tmp_path / "a", **TINY)
    photos = [name for name in decoded if name != "broken.jpg"]
    assert len(photos) == len(set(photos)) == 24
    decoded.clear()
    again = tagfill.fit(data, mode="linear", epochs=1, out=tmp_path / "b", **TINY)
    assert set(decoded) == {"broken.jpg"}
    assert first.metrics["val"] == again.metrics["val"]
    assert [store.images for store in cache.stores()] == [24, 24], "of regions, and pooled"


def test_a_changed_image_is_computed_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (8, 8), "red").save(path)
    before = cache.content_hashes([path])
    Image.new("RGB", (8, 8), "blue").save(path)
    assert cache.content_hashes([path]) != before


@pytest.mark.parametrize("mode", ["finetune", "linear_init"])
def test_fine_tuning_moves_the_backbone(mode: str, data: Path, tmp_path: Path) -> None:
    run = tagfill.fit(data, mode=mode, epochs=1, linear_epochs=1, out=tmp_path / "run", **TINY)
    frozen = tagfill.fit(data, mode="linear", epochs=1, out=tmp_path / "linear", **TINY)
    trained, still = (
        load_file(model.path / "model" / "model.safetensors") for model in (run, frozen)
    )
    backbone = [key for key in trained if key.startswith("backbone") and trained[key].ndim > 1]
    assert any(not torch.equal(trained[key], still[key]) for key in backbone)


def test_two_stages_of_lac_on_cached_views(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = tagfill.fit(
        data, mode="two_stage", method="lac", epochs=1, strong_views=2, out=out, **TINY
    )
    assert [stage.method.name for stage in run.config.stages] == ["plc", "lac"]
    assert run.config.model.head == "lem"
    assert "2 strong views per image are computed once" in notes_of(out)


@pytest.mark.parametrize(
    ("method", "settings"),
    [("pu_mlc", {}), ("boostlu", {}), ("plc", {}), ("em", {"head": "q2l"}), ("em", {"ema": 0.9})],
)
def test_methods_with_special_needs_train_on_images(
    method: str, settings: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = tagfill.fit(data, mode="finetune", method=method, epochs=1, out=out, **settings, **TINY)
    assert run.metrics["val"]["observed_mAP"] > 0
    logits = tagfill.load(out).network(torch.zeros(1, 3, 64, 64)).logits
    assert logits.shape == (1, 5)


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tagfill.Run]:
    """Runs that nothing stopped, one for each set of settings."""
    done: dict[str, tagfill.Run] = {}

    def run(settings: dict[str, Any]) -> tagfill.Run:
        key = str(settings)
        if key not in done:
            done[key] = tagfill.fit(data, out=tmp_path_factory.mktemp("whole") / "run", **settings)
        return done[key]

    return run


ROLE_AFTER_LINEAR = {"mode": "linear_init", "method": "role", "linear_epochs": 2, "epochs": 2}
LAC_IN_TWO_STAGES = {"mode": "two_stage", "epochs": 2, "strong_views": 2}


@pytest.mark.parametrize(
    ("settings", "moment"),
    [
        ({"mode": "finetune", "method": "em", "epochs": 3, "ema": 0.9}, (1, 1, 1)),
        (ROLE_AFTER_LINEAR, (1, 2, 1)),
        (ROLE_AFTER_LINEAR, (2, 1, 1)),
        (ROLE_AFTER_LINEAR, (2, 2, 2)),
        (LAC_IN_TWO_STAGES, (1, 2, 3)),
        (LAC_IN_TWO_STAGES, (2, 1, 2)),
    ],
)
def test_stopped_in_any_stage_it_resumes_to_the_same_end(
    settings: dict[str, Any],
    moment: tuple[int, int, int],
    data: Path,
    whole: Callable[..., tagfill.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {**settings, **TINY, "select": "last"}
    unstopped = whole(settings)
    pause = Stage._pause

    def stop_at_the_moment(self: Stage) -> None:
        here = (self.number, self.position.epoch, self.position.batch)
        self.limits.stop_requested = here == moment
        pause(self)

    monkeypatch.setattr(Stage, "_pause", stop_at_the_moment)
    with pytest.raises(Interrupted):
        tagfill.fit(data, out=tmp_path / "stopped", **settings)
    monkeypatch.setattr(Stage, "_pause", pause)
    resumed = runs.resume(tmp_path / "stopped")
    one, other = (weights(trained.path) for trained in (unstopped, resumed))
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert unstopped.metrics["val"] == resumed.metrics["val"]


def test_mixup_on_cached_features_is_said_to_deviate(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    tagfill.fit(data, mode="linear", method="pu_mlc", epochs=1, out=out, **TINY)
    assert "deviation: mixup mixes the features" in notes_of(out)


def test_starting_from_an_earlier_run(data: Path, tmp_path: Path) -> None:
    first = tagfill.fit(data, mode="finetune", epochs=1, out=tmp_path / "a", **TINY)
    again = tagfill.fit(
        data,
        mode="finetune",
        epochs=1,
        learning_rate=0.0,
        init=str(first.path),
        out=tmp_path / "b",
        freeze_batchnorm=True,
        weight_decay=0.0,
        **TINY,
    )
    one, other = (weights(trained.path) for trained in (first, again))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_a_wrong_image_folder_is_one_clear_error(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["train", str(data), "--images", str(tmp_path / "empty")]) == 2
    assert "set the image folder with --images" in capsys.readouterr().err


def test_views_depend_on_seed_epoch_and_image_alone(data: Path) -> None:
    normal = Preprocess(32, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    paths = sorted(data.parent.glob("images/*.png"))[:4]
    inputs = ImageInputs(
        paths,
        size=32,
        plain_view=weak_view(normal),
        weak_view=weak_view(normal),
        strong_view=strong_view(normal),
    )
    together = next(inputs.batches([torch.tensor([0, 1, 2])], 1))
    alone = next(inputs.batches([torch.tensor([2])], 1))
    later = next(inputs.batches([torch.tensor([2])], 2))
    assert together.strong is not None
    assert alone.strong is not None
    assert later.strong is not None
    assert torch.equal(together.weak[2], alone.weak[0])
    assert torch.equal(together.strong[2], alone.strong[0])
    assert not torch.equal(alone.strong, later.strong)


def test_stopping_while_features_are_computed_keeps_them(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tagfill.train.extract._BATCH_PIXELS", 8 * 64 * 64)
    done = Assembly._features_done

    def stop(self: Assembly, view: str, count: int, total: int) -> None:
        self.limits.stop_requested = True
        done(self, view, count, total)

    monkeypatch.setattr(Assembly, "_features_done", stop)
    with pytest.raises(Interrupted, match="run"):
        tagfill.fit(data, mode="linear", epochs=1, out=tmp_path / "run", **TINY)
    assert [store.images for store in cache.stores()] == [8, 8]
    monkeypatch.setattr(Assembly, "_features_done", done)
    assert runs.resume(tmp_path / "run").metrics["epochs"] == 1
