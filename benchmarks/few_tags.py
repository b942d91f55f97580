"""Expected and real precision of missing tags where few tags are known, with and without priors.

    python benchmarks/few_tags.py ../shared/data/voc2012 [--draws 4] [--sizes 60,150,600] [--write]

VOC 2012, its photos in pairs, its finer tags (see generality.py) and scenes; one tag, one or two
tags and half of the tags of every image are written. Suggestions of all draws of a data set and
writer are taken together; a row is the mean over data sets, writers and expected precisions with at
least eight suggestions. Without priors is the same fit with endless spreads.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from generality import details, sheets, voc
from pages import show_rows
from prior_estimation import scenes
from recovery import WRITERS, precision_table
from tagfill.linear.fit import out_of_fold
from tagfill.priors import presence, writer_fit
from tagfill.priors.written import likely_choice

Array = np.ndarray
PAGE = Path(__file__).parents[1] / "docs" / "results" / "few_tags.md"
LEVELS = (0.95, 0.9, 0.8, 0.7, 0.5)
FEWEST = 8
HEADER = [
    "images",
    "priors",
    "suggested at 90 %",
    "right",
    "real minus expected",
    "absolute",
    "worst",
]
Draw = tuple[Array, Array, Array]


@contextmanager
def without_priors() -> Iterator[None]:
    """Spreads so wide that the priors say nothing."""
    kept = writer_fit.RATIO_SPREAD, writer_fit.SLOPE_SPREAD
    writer_fit.RATIO_SPREAD = writer_fit.SLOPE_SPREAD = 1e6
    try:
        yield
    finally:
        writer_fit.RATIO_SPREAD, writer_fit.SLOPE_SPREAD = kept


def drawn(features: Array, labels: Array, size: int, draws: int) -> Iterator[list[Draw]]:
    """For each writer: out-of-fold scores, observed labels and truth of every draw."""
    for write in WRITERS.values():
        group = []
        for seed in range(draws):
            rows = np.random.default_rng([seed, 7]).permutation(len(labels))[:size]
            observed = write(labels[rows], seed).astype(np.int8)
            choice = likely_choice(features[rows], observed)
            scores = out_of_fold(features[rows], observed, choice)
            group.append((scores, observed, labels[rows]))
        yield group


def reached(group: list[Draw]) -> dict[float, tuple[int, int]]:
    """Suggested and right tags of all draws by expected precision."""
    total = {level: np.zeros(2, int) for level in LEVELS}
    for scores, observed, truth in group:
        chances = presence(scores, observed).probability
        for row in precision_table(chances, observed == -1, truth, LEVELS):
            right = round(row.precision * row.count) if row.count else 0
            total[row.expected] += (row.count, right)
    return {level: (int(count), int(right)) for level, (count, right) in total.items()}


def summary(size: int, priors: str, tables: list[dict[float, tuple[int, int]]]) -> list[str]:
    """One row of the page."""
    errors = np.array(
        [
            right / count - level
            for table in tables
            for level, (count, right) in table.items()
            if count >= FEWEST
        ]
    )
    count, right = (sum(table[0.9][place] for table in tables) for place in (0, 1))
    worst = errors.min()
    numbers = (f"{100 * one:+.1f}" for one in (errors.mean(), np.abs(errors).mean(), worst))
    return [str(size), priors, f"{count:,}", f"{right / max(count, 1):.0%}", *numbers]


def rows(folder: Path, sizes: list[int], draws: int) -> Iterator[list[str]]:
    """Two rows for every number of images."""
    data = [voc(folder)["train"], sheets(folder, 2)["train"], details(folder)["train"], scenes()]
    for size in sizes:
        groups = [group for one in data for group in drawn(*one, size, draws)]
        with without_priors():
            before = [reached(group) for group in groups]
        yield summary(size, "no", before)
        yield summary(size, "yes", [reached(group) for group in groups])


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--sizes", default="60,150,600")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    show_rows(HEADER, rows(given.folder, sizes, given.draws), PAGE if given.write else None)


if __name__ == "__main__":
    main()
