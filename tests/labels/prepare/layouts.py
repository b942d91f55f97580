"""Small downloads in the official layouts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

VOC_CLASSES = ("cat", "dog")


def write_voc(devkit: Path, lists: dict[str, dict[str, tuple[int, int]]]) -> Path:
    """A devkit; ``lists`` gives codes of cat and dog by list and image stem."""
    main = devkit / "ImageSets" / "Main"
    for folder in (main, devkit / "Annotations", devkit / "JPEGImages"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, images in lists.items():
        (main / f"{name}.txt").write_text("".join(f"{stem}\n" for stem in images))
        for column, label in enumerate(VOC_CLASSES):
            lines = (f"{stem} {codes[column]:2d}\n" for stem, codes in images.items())
            (main / f"{label}_{name}.txt").write_text("".join(lines))
        for stem in images:
            (devkit / "Annotations" / f"{stem}.xml").write_text(
                "<annotation><size><width>9</width><height>9</height></size></annotation>"
            )
    return devkit


COCO_CLASSES = {3: "cat", 7: "dog"}


def write_coco(
    home: Path, split: str, labels: dict[int, list[int]], classes: dict[int, str] = COCO_CLASSES
) -> None:
    """An instances file of the categories 3 cat and 7 dog; ``labels`` by image number."""
    images = [
        {"id": number, "file_name": f"COCO_{split}_{number:012d}.jpg", "width": 10, "height": 10}
        for number in labels
    ]
    annotations = [
        {"image_id": number, "category_id": category, "bbox": [1, 1, 2, 2]}
        for number, categories in labels.items()
        for category in categories
    ]
    categories = [{"id": number, "name": name} for number, name in classes.items()]
    content = {"images": images, "annotations": annotations, "categories": categories}
    folder = home / "annotations"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"instances_{split}.json").write_text(json.dumps(content))


def write_cub(home: Path, images: int, attributes: int, training: set[int]) -> Path:
    """The attributes folder; attribute a of image i is present where (i + a) is even."""
    (home / "attributes").mkdir(parents=True)
    numbers = range(1, images + 1)
    names = "".join(f"{i} {200 - i:03d}.Bird/bird_{i}.jpg\n" for i in numbers)
    (home / "images.txt").write_text(names)
    split = "".join(f"{i} {int(i in training)}\n" for i in numbers)
    (home / "train_test_split.txt").write_text(split)
    statements = (
        f"{i} {a} {int((i + a) % 2 == 0)} {1 + a % 4} 3.5\n"
        for i in numbers
        for a in range(1, attributes + 1)
    )
    (home / "attributes" / "image_attribute_labels.txt").write_text("".join(statements))
    listed = "".join(f"{a} has_part::{a}\n" for a in range(1, attributes + 1))
    (home.parent / "attributes.txt").write_text(listed)
    return home


def write_nuswide(home: Path, train: list[list[int]], test: list[list[int]]) -> Path:
    """The official lists of two concepts."""
    concepts = ("sky", "water")
    labels = home / "Groundtruth" / "TrainTestLabels"
    for folder in (labels, home / "ImageList", home / "ConceptsList"):
        folder.mkdir(parents=True)
    (home / "ConceptsList" / "Concepts81.txt").write_text("".join(f"{c}\n" for c in concepts))
    for split, rows in (("Train", train), ("Test", test)):
        names = "".join(f"sky\\{split}_{row}.jpg\n" for row in range(len(rows)))
        (home / "ImageList" / f"{split}Imagelist.txt").write_text(names)
        for column, concept in enumerate(concepts):
            column_text = "".join(f"{row[column]}\n" for row in rows)
            (labels / f"Labels_{concept}_{split}.txt").write_text(column_text)
    return home


def write_published(folder: Path, train: list[list[int]], test: list[list[int]]) -> Path:
    """The published arrays of the single-positive code."""
    folder.mkdir(parents=True)
    for split, rows in (("train", train), ("val", test)):
        images = [f"{split}_{row}.jpg" for row in range(len(rows))]
        np.save(folder / f"formatted_{split}_images.npy", np.array(images))
        np.save(folder / f"formatted_{split}_labels.npy", np.array(rows, dtype=np.float64))
    return folder
