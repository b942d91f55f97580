"""`tagfill fill`: one command from labels to missing tags, continued and never repeated."""

import csv
import json
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from tagfill.cli.main import main
from tagfill.labels import Dataset, LabelTable
from tagfill.labels.io import load_labels, save_labels
from tagfill.labels.photos import Keywords
from tagfill.labels.photos.packet import changed_packet
from tagfill.observe import observe_dataset
from tagfill.observe.regimes import make

pytestmark = pytest.mark.usefixtures("quick_choices")

COLORS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200)}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """90 pictures with patches of one to three colors, of which one color is written."""
    folder = tmp_path_factory.mktemp("scenes")
    (folder / "drawn" / "images").mkdir(parents=True)
    draw = np.random.default_rng(0)
    values = (draw.random((90, 3)) < 0.5).astype(np.int8)
    values[np.arange(90), draw.integers(0, 3, 90)] = 1
    names = tuple(f"{number:02}.png" for number in range(90))
    for name, row in zip(names, values, strict=True):
        pixels = np.full((64, 64, 3), 235, dtype=np.uint8)
        for corner, color, there in zip(draw.permutation(4)[:3], COLORS.values(), row, strict=True):
            if there:
                y, x = 32 * (corner // 2), 32 * (corner % 2)
                pixels[y + 2 : y + 30, x + 2 : x + 30] = color
        Image.fromarray(pixels).save(folder / "drawn" / "images" / name)
    full = Dataset(LabelTable(names, tuple(COLORS), values), folder, "csv_wide")
    masked = observe_dataset(full, make("single_positive"), seed=0)
    save_labels(masked, folder / "one_tag.csv", format="csv_wide")
    return folder


def fill(*words, capsys):
    assert main(["fill", *map(str, words), "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_fill_trains_recovers_and_reports_and_repeats_nothing(scenes, capsys, monkeypatch):
    monkeypatch.chdir(scenes)
    words = ("one_tag.csv", "--images", "drawn/images")
    first = fill(*words, "--precision", "0.5", capsys=capsys)
    suggestions = rows_of(first["suggestions"])
    assert first["found"] == len(suggestions) > 0
    assert 0.5 <= first["expected_precision"] <= 1
    assert f"{first['found']:,} missing tags" in first["headline"]
    assert first["next"] == f"tagfill serve {first['run']}"
    page = scenes / first["report"]
    headline = first["headline"].capitalize()
    assert headline in page.read_text(encoding="utf-8").split("<h1>")[0]
    model = scenes / first["run"] / "model" / "model.safetensors"
    trained = model.stat().st_mtime_ns
    decided = (scenes / first["suggestions"]).read_text(encoding="utf-8").replace(",,", ",no,")
    (scenes / first["suggestions"]).write_text(decided, encoding="utf-8")

    again = fill(*words, "--precision", "0.9", capsys=capsys)
    assert again["run"] == first["run"]
    assert model.stat().st_mtime_ns == trained
    assert again["found"] <= first["found"]
    assert len(rows_of(again["suggestions"])) == first["found"], "a decision is never lost"
    assert {row["decision"] for row in rows_of(again["suggestions"])} == {"no"}


def test_changed_labels_get_a_run_of_their_own(scenes, capsys, monkeypatch):
    monkeypatch.chdir(scenes)
    text = (scenes / "one_tag.csv").read_text(encoding="utf-8")
    labels = scenes / "changing.csv"
    labels.write_text(text, encoding="utf-8")
    first = fill(labels, "--images", "drawn/images", capsys=capsys)
    labels.write_text("\n".join(text.splitlines()[:-8]) + "\n", encoding="utf-8")
    second = fill(labels, "--images", "drawn/images", capsys=capsys)
    assert second["run"] != first["run"]
    assert second["images"] < first["images"]


def test_an_impossible_precision_is_refused_before_training(scenes, capsys, monkeypatch):
    monkeypatch.chdir(scenes)
    assert main(["fill", "one_tag.csv", "--images", "drawn/images", "--precision", "1.5"]) == 2
    assert "between 0 and 1" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="no exiftool")
def test_photos_with_keywords_are_filled_confirmed_and_read_by_exiftool(
    scenes, tmp_path, capsys, monkeypatch
):
    """Keywords in photos, `fill`, a yes and a no, `apply`, and exiftool reads the result."""
    monkeypatch.chdir(tmp_path)
    photos = tmp_path / "photos"
    photos.mkdir()
    before = load_labels(scenes / "one_tag.csv").table
    for image, row in zip(before.images, before.values, strict=True):
        tags = tuple(name for name, value in zip(before.classes, row, strict=True) if value == 1)
        packet = changed_packet(None, Keywords(tags, ()))
        picture = Image.open(scenes / "drawn" / "images" / image)
        picture.save(photos / image.replace(".png", ".jpg"), xmp=packet, quality=95)

    filled = fill(photos, "--precision", "0.5", capsys=capsys)
    suggestions = rows_of(filled["suggestions"])
    first, second = suggestions[0], suggestions[1]
    first["decision"], second["decision"] = "yes", "no"
    answers = tmp_path / "answers.csv"
    with answers.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(first))
        writer.writeheader()
        writer.writerows([first, second])
    assert main(["apply", str(answers), str(photos), "--to", "xmp"]) == 0

    def subject(row):
        sidecar = (photos / row["image"]).with_suffix(".xmp")
        command = ["exiftool", "-j", "-Subject", str(sidecar)]
        told = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)[0]
        return {told["Subject"]} if isinstance(told["Subject"], str) else set(told["Subject"])

    written = before.values[before.row_of[first["image"].replace(".jpg", ".png")]] == 1
    expected = {name for name, there in zip(before.classes, written, strict=True) if there}
    assert subject(first) == expected | {first["tag"]}
    assert second["tag"] not in subject(second)
    after = load_labels(photos).table
    column = after.classes.index(second["tag"])
    assert after.values[after.row_of[second["image"]], column] == 0
    assert after.reviewed is not None
    assert after.reviewed.sum() == 2
