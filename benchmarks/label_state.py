"""What ROLE's label estimates cost in mAP when they are smaller, or in a file.

    python benchmarks/label_state.py FOLDER [--voc FOLDER] [--seeds 3] [--write]

Linear heads on fixed features, one tag per training image: VOC (features and tags as published;
left out where they are not there) and 1,200 drawn scenes of 224 px. The epoch is chosen on
validation images with all labels, as in the papers. Runs stay in FOLDER, so that an interrupted
benchmark goes on. Prints one line for each estimator, or writes the table of docs/performance.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tagfill
from pages import show_rows
from tagfill.labels.io import load_labels, save_labels
from tagfill.observe import observe_dataset
from tagfill.observe.regimes import make
from tagfill.scenes import write_scenes

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
ESTIMATORS = ("dense", "memory_mapped", "low_rank", "network")
HEADER = ["estimates", "bytes an entry", "VOC, test mAP", "scenes, test mAP"]
BYTES = {"dense": "12", "memory_mapped": "12, in a file", "low_rank": "12 r / K", "network": "0"}
IMAGES, SIDE = 1200, 224


def drawn(folder: Path) -> dict[str, Path]:
    """Scenes with one tag of every training image, and their full labels."""
    full, single = folder / "scenes" / "labels.csv", folder / "scenes" / "single.csv"
    if not single.is_file():
        write_scenes(full.parent, IMAGES, SIDE, 0, overwrite=True)
        masked = observe_dataset(load_labels(full), make("single_positive"), seed=0)
        save_labels(masked, single, format="csv_wide")
    return {"labels": single, "truth": full, "images": full.parent / "images"}


def test_map(data: dict[str, Path], out: Path, estimator: str, seed: int) -> float:
    """Test mAP of a run, trained unless it is finished."""
    if (out / "metrics.json").is_file():
        return float(tagfill.open_run(out).metrics["test"]["mAP"])
    run = tagfill.fit(
        **data,
        method="role",
        method_settings={"estimator": estimator},
        mode="linear",
        seed=seed,
        out=out,
        progress=False,
    )
    return float(run.metrics["test"]["mAP"])


def rows(given: argparse.Namespace) -> Iterator[list[str]]:
    """One row for each estimator."""
    sets = {"VOC": {"labels": given.voc} if given.voc.is_dir() else None}
    sets["scenes"] = drawn(given.folder)
    for estimator in ESTIMATORS:
        reached = []
        for name, data in sets.items():
            if data is None:
                reached.append("not there")
                continue
            outs = [given.folder / f"{name}-{estimator}-{seed}" for seed in range(given.seeds)]
            maps = [test_map(data, out, estimator, seed) for seed, out in enumerate(outs)]
            reached.append(f"{np.mean(maps):.2f} ± {np.std(maps):.2f}")
        yield [f"`{estimator}`", BYTES[estimator], *reached]


def main() -> None:
    """Print the rows, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--voc", type=Path, default=Path("../shared/data/voc2012/mlspl"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    show_rows(HEADER, rows(given), PAGE if given.write else None, "label state")


if __name__ == "__main__":
    main()
