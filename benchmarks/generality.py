"""The default learner on labels that nothing was tuned on, one tag per image.

    python benchmarks/generality.py ../shared/data/voc2012 [--draws 2] [--only details] [--write]

Made of VOC 2012 and its published features: two or three photos on one sheet (their features are
averaged, their tags joined), and tags that say more (every class also as "large", "cut off" and
"several", from the annotated boxes). `em` and `role` learn in 5 and in 25 epochs on the learner's
features, whichever is better on fully labeled validation images: a help that `auto` does not get.
Prints one line a draw, or writes the table of docs/results/generality.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import torch

from pages import show_rows
from tagfill.evaluate import mean_average_precision
from tagfill.linear import Choice, fit_head
from tagfill.linear.basis import rooted
from tagfill.observe import single_positive
from tagfill.sklearn import IncompleteLabelClassifier

Array = np.ndarray
Splits = dict[str, tuple[Array, Array]]
PAGE = Path(__file__).parents[1] / "docs" / "results" / "generality.md"
LARGE = 0.3
"""Share of the image that a large object's box covers."""
HEADER = [
    "data",
    "images",
    "classes",
    "tags an image",
    "`auto`",
    "unknown is absent, same solver",
    "`em`",
    "`role`",
    "all labels, same learner",
    "chosen by `auto`",
]


def voc(folder: Path) -> Splits:
    """Features and labels of the published splits; the test images are VOC's own val images."""
    given = folder / "mlspl"
    parts = {}
    for part in ("train", "val"):
        features = np.load(given / f"{part}_features_imagenet_efficientnet_lite0_448.npy")
        labels = np.load(given / f"formatted_{part}_labels.npy").astype(np.int8)
        parts[part] = features.astype(np.float32), labels
    rows = {name: np.load(given / f"split_{name}_index.npy") for name in ("train", "val")}
    splits = {name: tuple(array[rows[name]] for array in parts["train"]) for name in rows}
    return {**splits, "test": parts["val"]}


def sheets(folder: Path, photos: int) -> Splits:
    """So many photos on one sheet."""
    draw = np.random.default_rng([photos, 5])
    splits = {}
    for name, (features, labels) in voc(folder).items():
        chosen = np.stack([draw.permutation(len(labels)) for _ in range(photos)], 1)
        splits[name] = features[chosen].mean(1), labels[chosen].max(1)
    return splits


def details(folder: Path) -> Splits:
    """Every class, and as "large", "cut off" and "several"; tags of at least 20 training images."""
    splits = voc(folder)
    given = folder / "mlspl"
    names = {part: np.load(given / f"formatted_{part}_images.npy") for part in ("train", "val")}
    files = {
        "train": names["train"][np.load(given / "split_train_index.npy")],
        "val": names["train"][np.load(given / "split_val_index.npy")],
        "test": names["val"],
    }
    annotations = folder / "VOCdevkit" / "VOC2012" / "Annotations"
    classes = _classes(annotations, files["train"])
    labels = {
        split: np.stack(
            [_tags(annotations / f"{Path(str(name)).stem}.xml", classes) for name in of]
        )
        for split, of in files.items()
    }
    kept = labels["train"].sum(0) >= 20
    tagged = {split: values[:, kept].any(1) for split, values in labels.items()}
    return {
        split: (splits[split][0][tagged[split]], values[tagged[split]][:, kept])
        for split, values in labels.items()
    }


def _classes(annotations: Path, files: Array) -> list[str]:
    found = set()
    for name in files:
        tree = ElementTree.parse(annotations / f"{Path(str(name)).stem}.xml")
        found |= {thing.findtext("name", "") for thing in tree.iter("object")}
    return sorted(found)


def _tags(file: Path, classes: list[str]) -> Array:
    root = ElementTree.parse(file).getroot()
    area = float(root.findtext("size/width", "1")) * float(root.findtext("size/height", "1"))
    tags = np.zeros((4, len(classes)), np.int8)
    for thing in root.iter("object"):
        if thing.findtext("difficult", "0") == "1":
            continue
        column = classes.index(thing.findtext("name", ""))
        left, top, right, bottom = (
            float(thing.findtext(f"bndbox/{side}", "0"))
            for side in ("xmin", "ymin", "xmax", "ymax")
        )
        tags[3, column] |= tags[0, column]
        tags[0, column] = 1
        tags[1, column] |= (right - left) * (bottom - top) > LARGE * area
        tags[2, column] |= thing.findtext("truncated", "0") == "1"
    return tags.ravel()


def scored(head: object, splits: Splits, split: str) -> float:
    """mAP in percent of one split."""
    features, labels = splits[split]
    scores = head.logits(features) if hasattr(head, "logits") else head.decision_function(features)
    return mean_average_precision(scores, labels).mAP


def in_epochs(method: str, splits: Splits, observed: Array, seed: int) -> float:
    """Test mAP of a method that trains in epochs, their number chosen on validation images."""
    roots = {
        split: (rooted(torch.from_numpy(features)).numpy(), labels)
        for split, (features, labels) in splits.items()
    }
    heads = [
        IncompleteLabelClassifier(method, epochs=epochs, random_state=seed).fit(
            roots["train"][0], observed
        )
        for epochs in (5, 25)
    ]
    return scored(max(heads, key=lambda head: scored(head, roots, "val")), roots, "test")


def rows(folder: Path, only: set[str], draws: int) -> Iterator[list[str]]:
    """One row of the table for every draw."""
    cases = {
        "two photos a sheet": lambda: sheets(folder, 2),
        "three photos a sheet": lambda: sheets(folder, 3),
        "details": lambda: details(folder),
    }
    for name, make in cases.items():
        if only and not any(part in name for part in only):
            continue
        splits = make()
        features, labels = splits["train"]
        full = scored(fit_head(features, labels), splits, "test")
        for seed in range(draws):
            observed = single_positive(labels, seed).astype(np.int8)
            head = fit_head(features, observed)
            absent = fit_head(features, observed, candidates=[Choice(writer="each", share=1.0)])
            numbers = [
                scored(head, splits, "test"),
                scored(absent, splits, "test"),
                *(in_epochs(method, splits, observed, seed) for method in ("em", "role")),
                full,
            ]
            about = [f"{len(labels):,}", str(labels.shape[1]), f"{labels.sum(1).mean():.2f}"]
            yield [name, *about, *(f"{one:.2f}" for one in numbers), head.choice.describe()]


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = rows(given.folder, set(given.only.split(",")) - {""}, given.draws)
    show_rows(HEADER, found, PAGE if given.write else None)


if __name__ == "__main__":
    main()
