"""The README's picture: demo scenes with the tag somebody wrote and the tags that were found.

python benchmarks/readme_picture.py tagfill-demo docs/images/before_after.png
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
from matplotlib import pyplot as plt

import tagfill
from tagfill.images import open_image

SHOWN = 4
WRITTEN, ADDED = "#2f6f4f", "#b3541e"


def main(demo: Path, out: Path) -> None:
    """Draw the photos with most recovered tags, the written tag above, the found ones below."""
    run = tagfill.open_run(demo / "runs" / "auto-seed0")
    table = run.data.train.table
    recovered: dict[str, list[str]] = {}
    for row in run.recover(precision=0.9):
        if row["image"] in table.row_of:
            recovered.setdefault(row["image"], []).append(row["tag"])
    chosen = sorted(recovered, key=lambda image: -len(recovered[image]))[:SHOWN]
    figure, axes = plt.subplots(1, SHOWN, figsize=(3 * SHOWN, 4.1), dpi=110)
    for axis, image in zip(axes, chosen, strict=True):
        row = table.row_of[image]
        assert run.data.train.paths is not None
        axis.imshow(open_image(run.data.train.paths[row]))
        axis.axis("off")
        written = [
            name
            for name, value in zip(table.classes, table.values[row], strict=True)
            if value == tagfill.POSITIVE
        ]
        axis.set_title("written: " + ", ".join(written), color=WRITTEN, fontsize=12)
        tags = "\n".join(f"+ {tag}" for tag in recovered[image][:4])
        axis.text(0.5, -0.04, tags, transform=axis.transAxes, ha="center", va="top", color=ADDED)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.9, bottom=0.26, wspace=0.05)
    figure.savefig(out, bbox_inches="tight", pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
