"""Heat maps of trained models: what they show, the pictures, and the command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.explain.font import installed
from tests.train.given import write_given_features

import tagfill
from tagfill import scenes
from tagfill.cli import explain as explain_command
from tagfill.cli.main import main
from tagfill.console import unquote_name
from tagfill.errors import TagfillError
from tagfill.explain.draw import Seen, overlay, sheet
from tagfill.explain.maps import explain_images
from tagfill.images import open_image
from tagfill.models.bundle import Bundle
from tagfill.models.network import build_network

TINY = ["--backbone", "test_resnet", "--no-pretrained", "--input-size", "64", "--epochs", "1"]
TINY += ["--workers", "0", "--threads", "1", "--quiet", "--no-report", "--method", "an"]


def bundle_of(head: str) -> Bundle:
    torch.manual_seed(0)
    network = build_network("test_resnet", head, classes=3, size=64, pretrained=False).eval()
    return Bundle(network, ("cat", "dog", "big, red bus"))


def picture(seed: int = 0, size: tuple[int, int] = (80, 60)) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    return Image.fromarray(noise)


@pytest.mark.parametrize("head", ["linear", "cam", "q2l", "lem"])
def test_every_head_says_where(head: str) -> None:
    explanations = list(explain_images(bundle_of(head), [picture(seed) for seed in range(20)]))
    assert len(explanations) == 20
    rows, columns = explanations[0].heat.shape[1:]
    assert explanations[0].heat.shape[0] == 3
    assert rows == columns >= 2
    assert ((explanations[0].probabilities > 0) & (explanations[0].probabilities < 1)).all()
    if head in ("q2l", "lem"):
        assert np.allclose(explanations[0].heat.sum(axis=(1, 2)), 1, atol=1e-5)
    else:
        logits = np.log(explanations[0].probabilities / (1 - explanations[0].probabilities))
        assert np.allclose(explanations[0].heat.mean(axis=(1, 2)), logits, atol=1e-4)


def test_class_activation_follows_what_moves_in_the_image() -> None:
    """A head that looks at one feature is hot where that feature is strong."""
    bundle = bundle_of("linear")
    images = [picture()]
    with torch.no_grad():
        features = bundle.network.backbone(bundle.transform(images[0])[None])[0]
        channel = int(features.flatten(1).std(dim=1).argmax())
        bundle.network.head.classifier.weight.zero_()
        bundle.network.head.classifier.weight[1, channel] = 2.0
    (explanation,) = explain_images(bundle, images)
    assert np.unravel_index(
        explanation.heat[1].argmax(), explanation.heat[1].shape
    ) == np.unravel_index(int(features[channel].argmax()), features[channel].shape)


def test_color_appears_where_the_heat_is() -> None:
    gray = Image.new("RGB", (80, 80), (128, 128, 128))
    heat = np.zeros((4, 4), dtype=np.float32)
    heat[0, 3] = 1.0
    drawn = np.asarray(overlay(gray, heat), dtype=int)
    assert drawn.shape == (80, 80, 3)
    assert np.abs(drawn[70, 10] - 128).max() <= 2
    assert np.abs(drawn[8, 72] - 128).max() > 60


def test_a_flat_map_leaves_the_picture_alone() -> None:
    gray = Image.new("RGB", (20, 20), (90, 90, 90))
    flat = np.full((3, 3), 0.1, dtype=np.float32)
    assert np.array_equal(np.asarray(overlay(gray, flat)), np.asarray(gray))


def test_a_sheet_has_room_for_every_tag_and_name() -> None:
    heat = np.random.default_rng(0).random((4, 4)).astype(np.float32)
    tags = [Seen("a tag with a very long name that cannot fit under its tile", 0.01, heat)] * 3
    page = sheet([("x" * 100 + ".jpg", picture(size=(40, 90)), tags), ("b.jpg", picture(), [])])
    assert page.width > 4 * 200
    assert page.height > 224 * 90 / 40
    assert page.getpixel((2, 2)) == (255, 255, 255)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    scenes.write_scenes(folder / "scenes", 24, 64, 2, workers=1)
    labels, out = str(folder / "scenes" / "labels.csv"), folder / "run"
    assert main(["train", labels, *TINY, "--out", str(out)]) == 0
    return out


def scenes_of(run: Path) -> Path:
    return run.parent / "scenes"


def test_the_command_draws_every_tag_and_a_sheet(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [str(scenes_of(run) / "images" / f"00000{number}.jpg") for number in (1, 2)]
    options = ["--tags", "bird, cloud", "--out", str(tmp_path / "out"), "--json"]
    assert main(["explain", str(run), *images, *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["maps"] == "class activation"
    assert [tag["tag"] for tag in result["images"][1]["tags"]] == ["bird", "cloud"]
    for image in result["images"]:
        for tag in image["tags"]:
            assert Image.open(tag["picture"]).size == (64, 64)
            assert 0 <= tag["peak"]["x"] <= 1
    assert Image.open(result["sheet"]).width > 600


def test_files_of_the_same_name_do_not_overwrite_each_other(run: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        picture().save(tmp_path / name / "photo.png")
    places = [str(tmp_path / name) for name in ("a", "b")]
    assert main(["explain", str(run), *places, "--top", "1", "--out", str(tmp_path / "out")]) == 0
    assert len(list((tmp_path / "out").glob("photo*.png"))) == 2


def test_names_no_font_has_get_one_note(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("猫", "犬", "кошка"):
        picture().save(tmp_path / f"{name}.png")
    images = [str(file) for file in sorted(tmp_path.glob("*.png"))]
    words = ["explain", str(run), *images, "--top", "1", "--out", str(tmp_path / "out")]
    with installed():
        assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.out.count("note:") == 1
    assert "note: no installed font has 犬 猫: drawn as boxes" in shown.out
    assert shown.err == ""
    assert main(["explain", str(run), str(tmp_path / "кошка.png"), *words[-4:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []


def test_pointing_leaves_out_what_was_learnt_from(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boxes = str(scenes_of(run) / "boxes.json")
    assert main(["explain", str(run), "--pointing", boxes, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    trained = sum(json.loads((run / "metrics.json").read_text())["images"].values())
    test = json.loads((run / "metrics.json").read_text())["images"]["test"]
    assert result["images"] <= test < trained
    assert any("trained on them" in note for note in result["notes"])
    assert 0 < result["overall"]["chance"] < 0.5
    assert result["overall"]["cases"] == sum(
        counts["cases"] for counts in result["classes"].values()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give images, or boxes"),
        (["x.jpg"], "--out"),
        (["x.jpg", "--out", "o", "--tags", "zebra"], "no tag 'zebra'"),
        (["x.jpg", "--out", "o"], "skipped: x.jpg: no such file"),
    ],
)
def test_mistakes_get_one_message(
    arguments: list[str],
    message: str,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explain", str(run), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_data_without_boxes_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(run), "--pointing", str(scenes_of(run) / "labels.csv")]) == 2
    assert "no boxes" in capsys.readouterr().err


def test_a_model_of_features_cannot_say_where(tmp_path: Path) -> None:
    data = write_given_features(tmp_path / "data")
    trained = tagfill.fit(data, method="an", epochs=1, threads=1, out=tmp_path / "run")
    with pytest.raises(TagfillError, match="reads features, not images"):
        next(explain_images(tagfill.load(trained.path), [picture()]))


def test_bad_photos_are_skipped_and_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for name in (b"a.png", b"caf\xe9.png"):
        picture().save(os.fsdecode(os.fsencode(photos) + b"/" + name))
    (photos / "b.png").write_bytes(b"no picture")
    os.mkfifo(photos / "c.png")
    options = ["--top", "1", "--out", str(tmp_path / "out"), "--json"]
    assert main(["explain", str(run), str(photos), *options]) == 1
    result = json.loads(capsys.readouterr().out)
    assert len(result["images"]) == 2
    assert [Path(item["image"]).name for item in result["skipped"]] == ["b.png", "c.png"]
    for image in result["images"]:
        assert Path(unquote_name(image["tags"][0]["picture"])).is_file()


def test_pictures_are_opened_as_they_are_needed(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(40):
        picture(number).save(photos / f"{number:02}.png")
    opened, most = 0, 0
    saved = explain_command._saved

    def opening(*arguments: object) -> Image.Image:
        nonlocal opened
        opened += 1
        return open_image(*arguments)

    def saving(*arguments: object) -> dict[str, object]:
        nonlocal opened, most
        most, opened = max(most, opened), opened - 1
        return saved(*arguments)

    monkeypatch.setattr(explain_command, "open_image", opening)
    monkeypatch.setattr(explain_command, "_saved", saving)
    out = str(tmp_path / "out")
    assert main(["explain", str(run), str(photos), "--top", "1", "--out", out]) == 0
    assert most <= 16
