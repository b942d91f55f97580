"""Labels and decisions as files: every format, class folders, sidecars, tagged photos."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Reviewer

from tagfill.cli.main import main
from tagfill.labels import Dataset
from tagfill.labels.formats import formats
from tagfill.labels.io import load_labels
from tagfill.serve.app import create_app
from tagfill.serve.server import Options, build_service
from tagfill.serve.service import Service

FILES = ["csv_wide", "csv_long", "tag_list", "jsonl", "parquet", "label_studio"]
needs_exiftool = pytest.mark.skipif(
    shutil.which("exiftool") is None, reason="exiftool is not installed (make services)"
)


def exported(client: Reviewer, format: str, folder: Path) -> Path:
    """The file of an export; of a zip the folder with what it holds."""
    answer = client.get("/api/labels/export", params={"format": format})
    assert answer.status_code == 200, answer.text
    name = answer.headers["content-disposition"].rpartition("filename=")[2].strip('"')
    file = folder / name
    file.write_bytes(answer.content)
    if file.suffix != ".zip":
        return file
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert len(set(archive.namelist())) == len(archive.namelist())
        archive.extractall(folder / format)
    return folder / format


def label(dataset: Dataset, image: str, tag: str) -> int:
    table = dataset.table
    return int(table.values[table.row_of[image], table.classes.index(tag)])


def test_every_format_that_is_written_can_be_exported(anna: Reviewer) -> None:
    offered = set(anna.get("/api/labels/formats").json())
    assert offered >= {name for name, kind in formats().items() if kind.write} | {"xmp"}
    assert {*FILES, "image_folder", "xmp", "photos"} >= offered  # all of them are tested below


def test_export_holds_written_labels_and_decisions(
    anna: Reviewer, service: Service, tmp_path: Path
) -> None:
    anna.say(0, "boat")
    anna.say(1, "boat", "no")
    anna.say(2, "unicorn")
    for name in anna.get("/api/labels/formats").json():
        answer = anna.get("/api/labels/export", params={"format": name})
        assert answer.status_code == 200, name
        assert answer.content
    content = anna.get("/api/labels/export", params={"format": "csv_wide"}).content
    file = tmp_path / "out.csv"
    file.write_bytes(io.BytesIO(content).getvalue())
    table = load_labels(file).table
    images, classes = service.library.table.images, table.classes
    value = lambda row, tag: int(table.values[table.row_of[images[row]], classes.index(tag)])  # noqa: E731
    assert (value(0, "boat"), value(1, "boat"), value(2, "unicorn")) == (1, 0, 1)
    old = service.library.table
    known = old.values != -1
    kept = table.select(old.images).with_classes(old.classes).values
    untouched = known & (kept == old.values)
    assert untouched.sum() >= known.sum() - 2


def test_apply_reads_the_database(anna: Reviewer, service: Service, tmp_path: Path) -> None:
    row = 0
    written = anna.get(f"/api/photos/{row}").json()["yes"]
    anna.say(row, written[0], "no", view="suspects")  # a person overrules the file
    anna.say(1, "boat")
    anna.say(2, "unicorn")
    anna.post("/api/review/complete", json={"photo": 3, "yes": []})
    anna.post("/api/tags/rename", json={"tag": "car", "to": "automobile"})
    labels, out = service.library.source, tmp_path / "applied.csv"
    code = main(["apply", str(tmp_path / "review.db"), str(labels), str(out), "--to", "csv_wide"])
    assert code == 0
    table, now = load_labels(out).table, service.ledger.table
    assert set(table.classes) == set(now.classes)
    kept = table.select(now.images).with_classes(now.classes)
    assert (kept.values == now.values).all()
    missing = tmp_path / "nothing.db"
    assert main(["apply", str(missing), str(labels), str(tmp_path / "x.csv")]) == 2
    assert not missing.exists()


@pytest.mark.parametrize("format", FILES)
def test_every_exported_format_is_read_back_with_the_answers(
    format: str, anna: Reviewer, service: Service, tmp_path: Path
) -> None:
    anna.say(0, "boat")
    anna.say(1, "boat", "no")
    file = exported(anna, format, tmp_path)
    if file.is_dir():
        file = min(file.iterdir(), key=lambda path: len(path.name))
    dataset, images = load_labels(file, format=format), service.library.table.images
    assert [label(dataset, images[row], "boat") for row in (0, 1)] == [1, 0]


def test_class_folders_hold_a_copy_for_every_tag(
    anna: Reviewer, service: Service, tmp_path: Path
) -> None:
    images, row = service.library.table.images, 0
    written = service.tags_of(row, 1)
    anna.say(row, "boat & sail")
    anna.say(row, "unicorn")
    anna.say(1, "boat & sail", "no")
    folder = exported(anna, "image_folder", tmp_path) / "labels"
    dataset = load_labels(folder)
    assert dataset.format == "image_folder"
    assert set(dataset.splits) == set(service.library.splits)
    assert set(dataset.table.classes) == set(service.ledger.columns.names)
    name, split = Path(images[row]).name, service.library.split_of[row]
    copies = sorted((folder / split).rglob(name))
    held = {copy.relative_to(folder / split).parts[0] for copy in copies}
    assert held == {*written, "boat & sail", "unicorn"}
    assert all(copy.read_bytes() == service.library.paths[row].read_bytes() for copy in copies)
    for copy in copies:
        tag = copy.relative_to(folder / split).parts[0]
        assert label(dataset, copy.relative_to(folder).as_posix(), tag) == 1
    others = sorted((folder / service.library.split_of[1]).rglob(Path(images[1]).name))
    assert others
    for copy in others:
        assert label(dataset, copy.relative_to(folder).as_posix(), "boat & sail") == 0
    known = sum(max(1, len(service.tags_of(each, 1))) for each in range(len(images)))
    assert len(dataset.table) == known


def test_what_cannot_be_class_folders_is_refused(anna: Reviewer) -> None:
    anna.say(0, "animal/bird")
    answer = anna.get("/api/labels/export", params={"format": "image_folder"})
    assert answer.status_code == 409
    assert "'animal/bird' cannot be the name of a folder" in answer.json()["detail"]
    assert anna.get("/api/labels/export", params={"format": "coco"}).status_code == 404


def test_export_as_sidecars(anna: Reviewer, service: Service) -> None:
    anna.say(0, "boat & <sail>")
    content = anna.get("/api/labels/export", params={"format": "xmp"}).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        name = Path(service.library.table.images[0]).with_suffix(".xmp").as_posix()
        assert "boat &amp; &lt;sail&gt;" in archive.read(name).decode()


@pytest.fixture
def photos(opened: Any, tmp_path: Path) -> Iterator[tuple[Reviewer, Service]]:
    """A server on copies of the photos, which may be changed; the first has IPTC keywords."""
    library, model = opened
    paths = tuple(tmp_path / "originals" / image for image in library.table.images)
    for source, path in zip(library.paths, paths, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
    os.utime(paths[1], (0, 0))  # from before zip files
    keyword = ["exiftool", "-q", "-overwrite_original", "-IPTC:Keywords=Ostsee"]
    subprocess.run([*keyword, str(paths[0])], check=True)
    options = Options(database=str(tmp_path / "photos.db"))
    service = build_service(replace(library, paths=paths), model, options)
    yield Reviewer(create_app(service), base_url="http://127.0.0.1:8731").begin("Anna"), service
    service.close()


def metadata(photo: Path) -> dict[str, list[str]]:
    """Keywords as exiftool reads them."""
    fields = ("-IPTC:Keywords", "-XMP-dc:Subject")
    told = subprocess.run(
        ["exiftool", "-j", "-struct", *fields, str(photo)], capture_output=True, check=True
    )
    found = json.loads(told.stdout)[0]
    return {
        name: [value] if isinstance(value := found.get(name, []), str) else value
        for name in ("Keywords", "Subject")
    }


@needs_exiftool
def test_photos_with_the_answers_inside(photos: tuple[Reviewer, Service], tmp_path: Path) -> None:
    client, service = photos
    images = service.library.table.images
    before = [path.read_bytes() for path in service.library.paths]
    client.say(0, "Möwe")
    client.say(1, "Möwe")
    folder = exported(client, "photos", tmp_path)
    assert [path.read_bytes() for path in service.library.paths] == before
    assert sorted(path.name for path in folder.rglob("*.*")) == sorted(
        Path(image).name for image in images[:2]
    )
    first, second = (metadata(folder / images[row]) for row in (0, 1))
    assert set(first["Keywords"]) == set(first["Subject"]) == {"Ostsee", *service.tags_of(0, 1)}
    assert set(second["Subject"]) == set(service.tags_of(1, 1))
    assert second["Keywords"] == []  # IPTC only where the photo has it
    dataset = load_labels(folder, format="xmp")
    assert [label(dataset, images[row], "Möwe") for row in (0, 1)] == [1, 1]


@needs_exiftool
def test_a_photo_that_can_hold_no_tags_gets_a_sidecar(
    photos: tuple[Reviewer, Service], tmp_path: Path
) -> None:
    client, service = photos
    service.library.paths[0].write_bytes(b"no longer a photo")
    client.say(0, "boat")
    folder, image = exported(client, "photos", tmp_path), service.library.table.images[0]
    assert (folder / image).read_bytes() == b"no longer a photo"
    assert "boat" in (folder / f"{image}.xmp").read_text()
    service.library.paths[0].unlink()
    for format in ("photos", "image_folder"):
        answer = client.get("/api/labels/export", params={"format": format})
        assert answer.status_code == 409
        assert "1 photos are missing" in answer.json()["detail"]


@needs_exiftool
def test_the_named_command_writes_into_the_photos(photos: tuple[Reviewer, Service]) -> None:
    client, service = photos
    client.say(0, "boat")
    words = shlex.split(client.get("/api/labels/command").json()["command"])
    assert words[:2] == ["tagfill", "apply"]
    assert words[3] == str(service.library.source)
    labels = (
        service.library.paths[0].parents[1] / "labels.csv"
    )  # of a single photo: exiftool is slow
    image, tag = service.library.table.images[0], service.tags_of(0, 1)[0]
    labels.write_text(f"image,tags\n{image},{tag}\n")
    images = words.index("--images") + 1
    words[3], words[images] = str(labels), str(service.library.paths[0].parents[1])
    assert main(words[1:]) == 0
    held = metadata(service.library.paths[0])
    assert set(held["Keywords"]) == set(held["Subject"]) == {"Ostsee", "boat", tag}
