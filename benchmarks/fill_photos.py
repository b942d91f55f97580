"""`tagfill fill` on 600 VOC photos with one or two of their tags: minutes, tags found, precision.

    python benchmarks/fill_photos.py ../shared/data/voc2012/VOCdevkit/VOC2012 [--draws 2] [--write]

Photos of the training half of VOC 2012 are drawn at random; the truth is only compared with. Prints
one row a draw and precision, or writes the table of docs/results/fill.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pages import write_table
from tagfill.labels import POSITIVE
from tagfill.labels.io import load_labels

PAGE = Path(__file__).parents[1] / "docs" / "results" / "fill.md"
PHOTOS = 600
PRECISIONS = (0.9, 0.8, 0.5)
HEADER = ["draw", "written", "missing", "asked for", "found", "of them right", "seconds"]


def write_photos(folder: Path, devkit: Path, seed: int) -> tuple[Path, dict[str, set[str]]]:
    """A table of photos with one or two keywords each, and all tags of the photos."""
    labels = load_labels(devkit)
    draw = np.random.default_rng([seed, 21])
    rows = draw.permutation(labels.splits["train"])[:PHOTOS]
    table, truth = labels.table, {}
    file = folder / "photos.csv"
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["photo", "keywords"])
        for row in rows:
            tags = [table.classes[k] for k in np.flatnonzero(table.values[row] == POSITIVE)]
            written = draw.permutation(tags)[: draw.integers(1, 3)]
            name = Path(table.images[row]).name
            truth[name] = set(tags)
            writer.writerow([name, ";".join(written)])
    return file, truth


def fill(photos: Path, images: Path, precision: float) -> tuple[dict[str, object], float]:
    """What the command says, and its seconds."""
    command = [sys.executable, "-m", "tagfill", "fill", photos.name, "--images", str(images)]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, "--precision", str(precision), "--json", "--quiet"],
        cwd=photos.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout), time.perf_counter() - began


def rows_of(devkit: Path, seed: int) -> list[list[str]]:
    """One row for each precision; the second and third find the model of the first."""
    lines = []
    with tempfile.TemporaryDirectory() as place:
        photos, truth = write_photos(Path(place), devkit, seed)
        with open(photos, encoding="utf-8") as stream:
            written = sum(len(row["keywords"].split(";")) for row in csv.DictReader(stream))
        missing = sum(map(len, truth.values())) - written
        for precision in PRECISIONS:
            said, seconds = fill(photos, devkit / "JPEGImages", precision)
            with open(photos.parent / str(said["suggestions"]), encoding="utf-8") as stream:
                suggested = list(csv.DictReader(stream))
            right = sum(row["tag"] in truth[Path(row["image"]).name] for row in suggested)
            share = f"{right / len(suggested):.0%}" if suggested else "-"
            counts = [str(written), str(missing), f"{precision:.0%}", str(len(suggested))]
            lines.append([str(seed), *counts, share, f"{seconds:.0f}"])
    return lines


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("devkit", type=Path)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    lines = [f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
    for seed in range(given.draws):
        for row in rows_of(given.devkit.resolve(), seed):
            lines.append(f"| {' | '.join(row)} |")
            print(lines[-1], flush=True)
    if given.write:
        write_table(PAGE, lines)


if __name__ == "__main__":
    main()
