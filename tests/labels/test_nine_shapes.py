"""One set of scenes in the nine shapes people keep tags in: the same 28 classes and labels."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.labels.workbooks import xlsx

from tagfill.labels.io import load_labels
from tagfill.labels.photos import Keywords
from tagfill.labels.photos.packet import changed_packet
from tagfill.scenes import CLASSES, generate

Tags = dict[str, list[str]]
"""The tags of every image file."""


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tags]:
    """Pictures of scenes until every class was seen, and what they show."""
    folder = tmp_path_factory.mktemp("scenes")
    tags: Tags = {}
    seen: set[str] = set()
    for number, scene in enumerate(generate(400, size=64)):
        names = [name for name, value in zip(CLASSES, scene.labels, strict=True) if value == 1]
        if not set(names) - seen or not names:
            continue
        fresh = sorted(set(names) - seen)
        seen.update(names)
        for copy in range(2):
            file = f"scene {number}-{copy}.jpg"
            scene.image.save(folder / file)
            tags[file] = fresh + [name for name in names if name not in fresh]
        if len(seen) == len(CLASSES):
            break
    assert len(seen) == len(CLASSES) == 28
    return folder, tags


def in_files(folder: Path, photos: Path, tags: Tags) -> Path:
    for image, names in tags.items():
        packet = changed_packet(None, Keywords(tuple(names)))
        Image.open(photos / image).save(folder / image, xmp=packet)
    return folder


def sidecars(folder: Path, photos: Path, tags: Tags) -> Path:
    for number, (image, names) in enumerate(tags.items()):
        (folder / image).write_bytes((photos / image).read_bytes())
        file = f"{image}.xmp" if number % 2 else f"{Path(image).stem}.xmp"
        (folder / file).write_bytes(changed_packet(None, Keywords(tuple(names))))
    return folder


def messy_tag_list(folder: Path, photos: Path, tags: Tags) -> Path:
    spellings: list[Callable[[str], str]] = [str.lower, str.upper, str.title]
    times: Counter[str] = Counter()
    with (folder / "tags.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["photo", "keywords"])
        for number, (image, names) in enumerate(tags.items()):
            spelled = [spellings[times[name] % 3](name) for name in names]
            times.update(names)
            writer.writerow([image, ";|,"[number % 3].join(spelled)])
    return folder / "tags.csv"


def excel_csv(folder: Path, photos: Path, tags: Tags) -> Path:
    lines = ["Dateiname;Bewertung;Schlagwörter;Datum"]
    lines += [
        f"{image};{n % 6};{', '.join(tags[image])};01.02.2020" for n, image in enumerate(tags)
    ]
    path = folder / "Mappe1.csv"
    path.write_bytes("\r\n".join([*lines, ";;;", ""]).encode("cp1252"))
    return path


def workbook(folder: Path, photos: Path, tags: Tags) -> Path:
    rows: list[list[object]] = [["My photos"], ["File", "Rating", "Tags"]]
    rows += [
        [image, number % 6, "; ".join(names)] for number, (image, names) in enumerate(tags.items())
    ]
    path = folder / "tags.xlsx"
    path.write_bytes(xlsx(rows))
    return path


def wide_with_x(folder: Path, photos: Path, tags: Tags) -> Path:
    lines = ["Bild;" + ";".join(CLASSES)]
    lines += [
        image + ";" + ";".join("x" if name in names else "" for name in CLASSES)
        for image, names in tags.items()
    ]
    path = folder / "wide.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def folders(folder: Path, photos: Path, tags: Tags) -> Path:
    for image, names in tags.items():
        (folder / names[0]).mkdir(exist_ok=True)
        (folder / names[0] / image).write_bytes((photos / image).read_bytes())
    return folder


def upload(image: str, number: int) -> str:
    return f"/data/upload/3/{number:08x}-{image.replace(' ', '%20')}"


def label_studio(folder: Path, photos: Path, tags: Tags) -> Path:
    tasks = [
        {
            "id": number,
            "data": {"image": upload(image, number)},
            "annotations": [
                {
                    "result": [
                        {"from_name": "choice", "type": "choices", "value": {"choices": names}}
                    ]
                }
            ],
        }
        for number, (image, names) in enumerate(tags.items())
    ]
    return written(folder / "project.json", tasks)


def json_min(folder: Path, photos: Path, tags: Tags) -> Path:
    records = [
        {
            "image": upload(image, number),
            "id": number,
            "choice": {"choices": names} if len(names) > 1 else names[0],
            "annotator": 1,
            "annotation_id": number,
            "created_at": "2024-01-01T00:00:00Z",
            "updated_at": "2024-01-01T00:00:00Z",
            "lead_time": 3.5,
        }
        for number, (image, names) in enumerate(tags.items())
    ]
    return written(folder / "project-min.json", records)


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


SHAPES: dict[str, Callable[[Path, Path, Tags], Path]] = {
    function.__name__: function
    for function in (
        *(in_files, sidecars, messy_tag_list, excel_csv, workbook, wide_with_x, folders),
        *(label_studio, json_min),
    )
}


def content(path: Path) -> dict[str, set[str]]:
    """The tags of every image by its bare name; nothing is known to be absent."""
    table = load_labels(path).table
    assert table.negatives == 0
    return {
        image.rsplit("/", 1)[-1]: {
            name for name, value in zip(table.classes, row, strict=True) if value == 1
        }
        for image, row in zip(table.images, table.values, strict=True)
    }


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "folders"])
def test_all_tags(tmp_path: Path, scenes: tuple[Path, Tags], shape: str) -> None:
    photos, tags = scenes
    path = SHAPES[shape](tmp_path, photos, tags)
    assert set(load_labels(path).table.classes) == set(CLASSES)
    assert content(path) == {image: set(names) for image, names in tags.items()}


@pytest.mark.parametrize("shape", SHAPES)
def test_one_tag_a_photo(tmp_path: Path, scenes: tuple[Path, Tags], shape: str) -> None:
    photos, tags = scenes
    single = {
        f"{n} {image}": [name] for image, names in tags.items() for n, name in enumerate(names)
    }
    copies = tmp_path / "copies"
    copies.mkdir()
    for image in single:
        (copies / image).write_bytes((photos / image.split(" ", 1)[1]).read_bytes())
    folder = tmp_path / "source"
    folder.mkdir()
    path = SHAPES[shape](folder, copies, single)
    assert set(load_labels(path).table.classes) == set(CLASSES)
    assert content(path) == {image: set(names) for image, names in single.items()}
