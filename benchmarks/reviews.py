"""Do correct answers help, also a network that is fine-tuned? Test mAP after reviews.

    python benchmarks/reviews.py FOLDER [--voc DEVKIT] [--draws 3] [--only scenes] [--write]

Drawn scenes of 96 px and photos of VOC 2012 at 128 px (left out where they are not there): 1,000
images to learn from, 2,000 to test. One tag of every image is written; the truth then answers
entries in the order of `recover` (gain), the likeliest or the most uncertain first, or at random.
Each set of labels is learned as a linear head on fixed features and by a short fine-tuning of the
whole network (`--mode linear_init`), both by `auto`. Every draw has other images, tags and seeds.
Data and runs stay in FOLDER, so that an interrupted benchmark goes on. Prints one line for each set
of labels, or writes the table of docs/results/reviews.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

import tagfill
from pages import show_rows
from tagfill.labels import UNKNOWN, Dataset
from tagfill.labels.io import load_labels, save_labels
from tagfill.observe import observe_dataset
from tagfill.observe.regimes import make
from tagfill.recover.choose import expected_gain
from tagfill.recover.recovery import recover
from tagfill.scenes import write_scenes

PAGE = Path(__file__).parents[1] / "docs" / "results" / "reviews.md"
TRAIN, TEST = 1000, 2000
SIDES = {"scenes": 96, "VOC photos": 128}
REVIEWS = [
    (0, "none"),
    *((count, "gain") for count in (500, 1000, 2000, 5000)),
    *((2000, order) for order in ("likely", "uncertain", "random")),
]
HEADER = ["data", "answers", "order", "of them yes", "linear head", "fine-tuned"]


class Draw:
    """Images of a data set with one tag each, their truth, and what `recover` thinks of them."""

    def __init__(self, name: str, folder: Path, number: int, devkit: Path, epochs: int) -> None:
        self.side, self.folder, self.seed = SIDES[name], folder / f"{name}-{number}", number
        self.epochs = epochs
        self.folder.mkdir(parents=True, exist_ok=True)
        self.full = self._scenes() if name == "scenes" else self._photos(devkit)
        self.masked = observe_dataset(self.full, make("single_positive"), seed=number)
        save_labels(self.full, self.folder / "truth.csv", format="csv_wide")
        save_labels(self.masked, self.folder / "none.csv", format="csv_wide")

    def _scenes(self) -> Dataset:
        labels = self.folder / "scenes" / "labels.csv"
        if not labels.is_file():
            count, share = TRAIN + TEST, TEST / (TRAIN + TEST)
            write_scenes(labels.parent, count, self.side, self.seed, test_fraction=share)
        return load_labels(labels)

    def _photos(self, devkit: Path) -> Dataset:
        labels = load_labels(devkit)
        draw = np.random.default_rng([self.seed, 41])
        parts = [
            draw.permutation(labels.splits[split])[:count]
            for split, count in (("train", TRAIN), ("val", TEST))
        ]
        splits = {"train": np.arange(TRAIN), "test": np.arange(TRAIN, TRAIN + TEST)}
        table = labels.table.take(np.concatenate(parts))
        return replace(labels, table=table, splits=splits, truth=None, boxes=None)

    @cached_property
    def chances(self) -> np.ndarray:
        """Probabilities of the tags of the training images."""
        self.mean_ap("none", "linear")
        recovery = recover(self.folder / "none-linear")
        train = self.masked.table.take(self.masked.splits["train"])
        return recovery.probability[[recovery.table.row_of[image] for image in train.images]]

    def mean_ap(self, labels: str, mode: str) -> float:
        """Test mAP of a run, trained unless it is finished."""
        run = self.folder / f"{labels}-{mode}"
        if (run / "metrics.json").is_file():
            return float(tagfill.open_run(run).metrics["test"]["mAP"])
        settings = {} if mode == "linear" else {"epochs": self.epochs, "learning_rate": 1e-4}
        trained = tagfill.fit(
            self.folder / f"{labels}.csv",
            images=self.full.image_root,
            truth=self.folder / "truth.csv",
            mode=mode,
            backbone="efficientnet_lite0",
            input_size=self.side,
            seed=self.seed,
            out=run,
            progress=False,
            **settings,
        )
        return float(trained.metrics["test"]["mAP"])

    def reviewed(self, order: str, count: int) -> int:
        """Write the labels after correct answers; how many of them are yes."""
        rows = self.masked.splits["train"]
        values = self.masked.table.values
        keys = {
            "gain": expected_gain(self.chances, values[rows] == UNKNOWN),
            "likely": self.chances,
            "uncertain": -np.abs(self.chances - 0.5),
            "random": np.random.default_rng([self.seed, 31]).random(self.chances.shape),
        }[order]
        keys = np.where(values[rows] == UNKNOWN, keys, -np.inf)
        places = np.argsort(-keys, axis=None, kind="stable")[:count]
        asked = np.zeros(values.shape, dtype=bool)
        asked[rows[places // values.shape[1]], places % values.shape[1]] = True
        values = np.where(asked, self.full.table.values, values)
        table = replace(self.masked.table, values=values, reviewed=asked)
        file = self.folder / f"{order}-{count}.csv"
        save_labels(replace(self.masked, table=table), file, format="csv_wide")
        return int((values[asked] == 1).sum())


def rows(given: argparse.Namespace) -> Iterator[list[str]]:
    """One row for each review."""
    for name in given.only.split(","):
        if name != "scenes" and not given.voc.is_dir():
            continue
        draws = [
            Draw(name, given.folder, number, given.voc, given.epochs)
            for number in range(given.draws)
        ]
        for count, order in REVIEWS:
            labels = f"{order}-{count}" if count else "none"
            yes = [draw.reviewed(order, count) if count else 0 for draw in draws]
            cells = []
            for mode in ("linear", "linear_init"):
                reached = [draw.mean_ap(labels, mode) for draw in draws]
                cells.append(f"{np.mean(reached):.2f} ± {np.std(reached):.2f}")
            yield [name, f"{count:,}", order, f"{np.mean(yes):,.0f}", *cells]


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--voc", type=Path, default=Path("../shared/data/voc2012/VOCdevkit/VOC2012")
    )
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", default=",".join(SIDES), help="names of data sets, with commas")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    show_rows(HEADER, rows(given), PAGE if given.write else None)


if __name__ == "__main__":
    main()
