"""Methods on PASCAL VOC 2012 with one tag per image, linear head on given features.

    python benchmarks/voc_linear.py [../shared/data/voc2012/mlspl] [--seeds 3] [--out DIR]

Published single-positive draw and split, EfficientNet-Lite0 features at 448 px, Adam 1e-3, batch
16, 25 epochs, epoch chosen on the fully labelled validation images, test = official val set. k is
estimated, not read from the truth. Finished runs are not repeated. The table goes to
docs/results/voc_linear.md.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import tagfill
from tagfill.train.folder import RunFolder
from tagfill.train.run import resume

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "voc2012" / "mlspl"

# method, preset: (published code on the same features, paper with ResNet-50)
ROWS: dict[tuple[str, str | None], tuple[float | None, float | None]] = {
    ("bce", None): (86.85, 86.7),
    ("bce_ls", "published"): (87.68, 87.6),
    ("an", None): (83.70, 84.2),
    ("an_ls", "published"): (84.60, 85.3),
    ("wan", None): (84.65, 84.1),
    ("epr", "published"): (84.69, 83.8),
    ("role", "published"): (85.95, 86.5),
    ("an_ls", None): (None, None),
    ("epr", None): (None, None),
    ("role", None): (None, None),
    ("em", None): (None, None),
    ("em_apl", None): (None, None),
}
HEADER = """# Linear heads on PASCAL VOC 2012, one tag per image

`python benchmarks/voc_linear.py --seeds {seeds}`, tagfill {version}. Published single-positive
draw and 80/20 split; EfficientNet-Lite0 features at 448 px; Adam 1e-3, batch 16, 25 epochs;
epoch chosen on the fully labelled validation images; test = official val set; mAP in percent,
non-interpolated, mean and standard deviation over {seeds} training seeds. `bce` and `bce_ls`
are oracles: they see all labels. k of `epr` and `role` is estimated from the observed labels.
*Published code*: the MLSPL authors' code on the same features, one run. *Paper*: Cole et al.
2021, Table 1, ResNet-50.

| method | preset | validation | test | published code | paper |
|---|---|---|---|---|---|
"""


def main() -> None:
    """Train what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("tagfill-runs") / "voc_linear")
    options = parser.parse_args()
    lines = []
    for (method, preset), (code, paper) in ROWS.items():
        figures = [run(options.data, options.out, method, preset, s) for s in range(options.seeds)]
        val, test = (spread([each[part] for each in figures]) for part in ("val", "test"))
        cells = [method, preset or "paper", val, test, shown(code), shown(paper)]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    page = ROOT / "docs" / "results" / "voc_linear.md"
    header = HEADER.format(seeds=options.seeds, version=tagfill.__version__)
    page.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")


def run(data: Path, out: Path, method: str, preset: str | None, seed: int) -> dict[str, float]:
    """Validation and test mAP of one run, from its folder if it is there."""
    folder = out / f"{method}-{preset or 'paper'}-{seed}"
    if RunFolder(folder).config.is_file():
        metrics = resume(folder).metrics
    else:
        metrics = tagfill.fit(
            data, method=method, method_preset=preset, mode="linear", seed=seed, out=folder
        ).metrics
    return {part: metrics[part]["mAP"] for part in ("val", "test")}


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.2f} ± {deviation:.2f}"


def shown(value: float | None) -> str:
    """A figure, or nothing."""
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
