"""Do correct answers help a network that is fine-tuned? Test mAP after reviews of drawn scenes.

    python benchmarks/reviews.py FOLDER [--images 1200] [--size 96] [--epochs 3] [--write]

One tag of every training image is written; the truth then answers entries in the order of `recover`
(likely), of doubt (uncertain) or at random. Each set of labels is learned as a linear head on fixed
features and by a short fine-tuning of the whole network (`--mode linear_init`), both by `auto`.
Data and runs stay in FOLDER, so that an interrupted benchmark goes on. Prints one line for each set
of labels, or writes the table of docs/results/reviews.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import tagfill
from pages import show_rows
from tagfill.labels import LabelTable
from tagfill.labels.io import load_labels, save_labels
from tagfill.observe import observe_dataset
from tagfill.observe.regimes import make
from tagfill.recover.recovery import recover
from tagfill.scenes import write_scenes

PAGE = Path(__file__).parents[1] / "docs" / "results" / "reviews.md"
SEED = 0
REVIEWS = [
    (0, "none"),
    (250, "likely"),
    (500, "likely"),
    (1000, "likely"),
    (2000, "likely"),
    (500, "uncertain"),
    (2000, "uncertain"),
    (2000, "random"),
]
HEADER = ["answers", "order", "of them yes", "linear head", "fine-tuned"]


def mean_ap(folder: Path, labels: Path, given: argparse.Namespace, mode: str) -> float:
    """Test mAP of a run, trained unless it is finished."""
    run = folder / f"{labels.stem}-{mode}"
    settings = {} if mode == "linear" else {"epochs": given.epochs, "learning_rate": 1e-4}
    if (run / "metrics.json").is_file():
        trained = tagfill.open_run(run)
    else:
        trained = tagfill.fit(
            labels,
            images=folder / "scenes" / "images",
            truth=folder / "scenes" / "labels.csv",
            mode=mode,
            backbone="efficientnet_lite0",
            input_size=given.size,
            seed=SEED,
            out=run,
            progress=False,
            **settings,
        )
    return float(trained.metrics["test"]["mAP"])


def answered(table: LabelTable, truth: LabelTable, chances: np.ndarray, review: str, count: int):
    """The labels after correct answers, with a record of what was answered."""
    unknown = table.values == -1
    keys = {
        "likely": chances,
        "uncertain": -np.abs(chances - 0.5),
        "random": np.random.default_rng([SEED, 31]).random(chances.shape),
    }[review]
    places = np.argsort(-np.where(unknown, keys, -np.inf), axis=None, kind="stable")[:count]
    values, asked = table.values.copy(), np.zeros(table.values.shape, dtype=bool)
    values.ravel()[places] = truth.values.ravel()[places]
    asked.ravel()[places] = True
    yes = int((values.ravel()[places] == 1).sum())
    return replace(table, values=values, reviewed=asked), yes


def rows(given: argparse.Namespace) -> Iterator[list[str]]:
    """One row for each review."""
    folder = given.folder
    if not (folder / "scenes" / "labels.csv").is_file():
        write_scenes(folder / "scenes", given.images, given.size, SEED, overwrite=True)
    full = load_labels(folder / "scenes" / "labels.csv")
    masked = observe_dataset(full, make("single_positive"), seed=SEED)
    save_labels(masked, folder / "none.csv", format="csv_wide")
    mean_ap(folder, folder / "none.csv", given, "linear")
    recovery = recover(folder / "none-linear")
    train = masked.table.take(masked.splits["train"])
    order = [recovery.table.row_of[image] for image in train.images]
    chances = recovery.probability[order]
    truth = full.table.select(train.images).with_classes(train.classes)
    for count, review in REVIEWS:
        labels, yes = folder / "none.csv", 0
        if count:
            labels = folder / f"{review}-{count}.csv"
            table, yes = answered(train, truth, chances, review, count)
            whole = masked.table.values.copy()
            whole[masked.splits["train"]] = table.values
            asked = np.zeros(whole.shape, dtype=bool)
            asked[masked.splits["train"]] = table.reviewed
            labeled = replace(masked.table, values=whole, reviewed=asked)
            save_labels(replace(masked, table=labeled), labels, format="csv_wide")
        reached = [mean_ap(folder, labels, given, mode) for mode in ("linear", "linear_init")]
        yield [f"{count:,}", review, f"{yes:,}", *(f"{one:.2f}" for one in reached)]


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=1200)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    show_rows(HEADER, rows(given), PAGE if given.write else None)


if __name__ == "__main__":
    main()
