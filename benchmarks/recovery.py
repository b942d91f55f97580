"""Expected and real precision of recovered tags where the truth is known.

    python benchmarks/recovery.py ../shared/data/voc2012/mlspl [--draws 3] [--only voc] [--write]

VOC 2012 (the published features and training images, all 4,574 and 600 of them), its photos
(256 px, 2,400 and 600 of them) and picture-book scenes (800 of 224 px), both by regions of
EfficientNet-Lite2 at 320 px, as `tagfill fill` sees them. One tag of every image, one or two tags
of every image, and half of the tags are written, several draws each, and then the likeliest missing
tags are answered, one for every five images; the truth answers and is compared with. Prints one
line a draw, or writes the table of docs/results/recovery.md. `--only`: voc (few: 600 of its
images), photos, scenes. `--means`: one line for all draws, before answers.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from features import LITE2
from features import scenes as drawn_scenes
from features import voc as voc_photos
from pages import show_rows
from regions import grids
from tagfill.labels import POSITIVE
from tagfill.observe import positive_proportion, single_positive
from tagfill.recover.posterior import known_entries, posterior

Array = np.ndarray
PAGE = Path(__file__).parents[1] / "docs" / "results" / "recovery.md"
CUTS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
HEADER = ["data", "written", "images", "missing", "expected missing", *(f"{c:g}" for c in CUTS)]
MEANS_HEADER = ["data", "written", "images", *(f"{cut:g}" for cut in CUTS)]


@dataclass(frozen=True)
class Reached:
    """What an expected precision gives where the truth is known.

    Args:
        expected: the precision asked for.
        precision: the real one; NaN where nothing is suggested.
        count: tags suggested.
        best: tags the same order gives if the cut is chosen with the truth.
    """

    expected: float
    precision: float
    count: int
    best: int


def precision_table(
    probability: Array, unknown: Array, truth: Array, levels: Sequence[float]
) -> list[Reached]:
    """Expected and real precision of recovered tags."""
    order = np.argsort(-probability[unknown], kind="stable")
    size = np.arange(1, len(order) + 1)
    expected = np.cumsum(probability[unknown][order]) / size
    real = np.cumsum(truth[unknown][order] == POSITIVE) / size
    table = []
    for level in levels:
        count = int((expected >= level).sum())
        reached = np.flatnonzero(real >= level)
        best = int(reached[-1]) + 1 if len(reached) else 0
        table.append(Reached(level, float(real[count - 1]) if count else np.nan, count, best))
    return table


def one_or_two(truth: Array, seed: int) -> Array:
    """One or two of the tags of every image, as the writer felt."""
    draw = np.random.default_rng([seed, 12])
    order = np.where(truth == 1, draw.random(truth.shape), 2.0).argsort(axis=1).argsort(axis=1)
    most = draw.integers(1, 3, (len(truth), 1))
    return np.where((truth == 1) & (order < most), 1, -1).astype(np.int8)


WRITERS = {
    "one tag": lambda truth, seed: single_positive(truth, seed),
    "one or two tags": one_or_two,
    "half of the tags": lambda truth, seed: positive_proportion(truth, seed, proportion=0.5),
}


def voc(folder: Path) -> tuple[Array, Array]:
    """Features and labels of the published training split."""
    rows = np.load(folder / "split_train_index.npy")
    features = np.load(folder / "train_features_imagenet_efficientnet_lite0_448.npy")
    return features[rows], np.load(folder / "formatted_train_labels.npy")[rows].astype(np.int8)


def cases(folder: Path, only: set[str]) -> Iterator[tuple[str, Array, Array, tuple[int, ...]]]:
    """Name, features, labels and numbers of images."""
    if "voc" in only or "few" in only:
        yield "VOC 2012", *voc(folder), (600, 4574) if "voc" in only else (600,)
    if "photos" in only:
        photos = voc_photos(folder.parent, 2400)
        yield "VOC photos", grids(photos, LITE2, 320), photos.labels.astype(np.int8), (600, 2400)
    if "scenes" in only:
        with tempfile.TemporaryDirectory() as images:
            scenes = drawn_scenes(224, 800, Path(images))
            yield "scenes", grids(scenes, LITE2, 320), scenes.labels.astype(np.int8), (800,)


def rows(folder: Path, only: set[str], draws: int) -> Iterator[list[str]]:
    """One row of the table for every draw."""
    for name, features, labels, sizes in cases(folder, only):
        for size in sizes:
            for writer, write in WRITERS.items():
                for seed in range(draws):
                    chosen = np.random.default_rng([seed, 7]).permutation(len(labels))[:size]
                    truth = labels[chosen]
                    observed = write(truth, seed).astype(np.int8)
                    probability = chances(features[chosen], observed)
                    yield [name, writer, f"{size:,}", *measured(probability, observed, truth)]
                    answered = reviewed(probability, observed, truth, size // 5)
                    probability = chances(features[chosen], answered, answered != observed)
                    writer_and_answers = f"{writer}, {size // 5:,} answers"
                    numbers = measured(probability, answered, truth)
                    yield [name, writer_and_answers, f"{size:,}", *numbers]


def mean_rows(folder: Path, only: set[str], draws: int) -> Iterator[list[str]]:
    """One row for every kind of data: real minus expected precision, mean and standard error."""
    for name, features, labels, sizes in cases(folder, only):
        for size, (writer, write) in product(sizes, WRITERS.items()):
            off = []
            for seed in range(draws):
                chosen = np.random.default_rng([seed, 7]).permutation(len(labels))[:size]
                observed = write(labels[chosen], seed).astype(np.int8)
                probability = chances(features[chosen], observed)
                table = precision_table(probability, observed == -1, labels[chosen], CUTS)
                off.append([100 * (row.precision - row.expected) for row in table])
            error = np.nanstd(off, axis=0, ddof=1) / draws**0.5
            means = zip(np.nanmean(off, axis=0), error, strict=True)
            yield [name, writer, f"{size:,}", *(f"{mean:+.1f} ± {se:.1f}" for mean, se in means)]


def chances(features: Array, observed: Array, reviewed: Array | None = None) -> Array:
    """[N, K] probabilities of all entries."""
    return known_entries(observed, posterior(features, observed, reviewed=reviewed).unknown)


def reviewed(probability: Array, observed: Array, truth: Array, answers: int) -> Array:
    """The labels after correct answers to the likeliest unknown entries."""
    order = np.argsort(-np.where(observed == -1, probability, -1.0), axis=None, kind="stable")
    answered = observed.copy()
    answered.ravel()[order[:answers]] = truth.ravel()[order[:answers]]
    return answered


def measured(probability: Array, observed: Array, truth: Array) -> list[str]:
    """Missing tags, and for each expected precision the real one and how many tags it gives."""
    unknown = observed == -1
    table = precision_table(probability, unknown, truth, CUTS)
    return [
        f"{int((truth[unknown] == 1).sum()):,}",
        f"{probability[unknown].sum():,.0f}",
        *(f"{100 * row.precision:.0f} ({row.count:,} of {row.best:,})" for row in table),
    ]


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", default="voc,photos,scenes")
    parser.add_argument("--means", action="store_true", help="of all draws, without answers")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    only, page = set(given.only.split(",")), PAGE if given.write else None
    if given.means:
        show_rows(MEANS_HEADER, mean_rows(given.folder, only, given.draws), page, "means")
    else:
        show_rows(HEADER, rows(given.folder, only, given.draws), page)


if __name__ == "__main__":
    main()
