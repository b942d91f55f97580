"""The complete example on built-in data: draw, hide all tags but one, train, compare, recover."""

from __future__ import annotations

import shutil
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tagfill.console import Tell
from tagfill.errors import TagfillError
from tagfill.labels import POSITIVE, Dataset
from tagfill.labels.io import load_labels, save_labels
from tagfill.observe import observe_dataset
from tagfill.observe.regimes import make
from tagfill.scenes import write_scenes

if TYPE_CHECKING:
    from tagfill.recover.evaluate import Cut
    from tagfill.recover.recovery import Recovery
    from tagfill.train.trained import TrainedRun

SIZE = 224
SEED = 0
METHODS = {
    "an": "assume negative (untagged means absent)",
    "auto": "recommended (untagged means unknown)",
    "oracle": "the same learner with all tags of all images",
}
FIRST = "auto"
"""The method that is trained first: the features that it reads are extracted with all others'."""


@dataclass(frozen=True)
class DemoData:
    """The files of the demo, and its runs of the first seed by method."""

    folder: Path
    full: Path
    masked: Path
    opened: dict[str, TrainedRun] = field(default_factory=dict)

    def run(self, method: str, seed: int = 0) -> Path:
        """Folder of a run."""
        return self.folder / "runs" / f"{method}-seed{seed}"


@dataclass(frozen=True)
class Row:
    """One line of the comparison: test mAP of each seed."""

    name: str
    meaning: str
    maps: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.maps)

    @property
    def spread(self) -> float:
        return statistics.stdev(self.maps) if len(self.maps) > 1 else 0.0


def draw_and_mask(out: Path, count: int, workers: int) -> tuple[DemoData, Dataset]:
    """Draw scenes and keep one tag of every training image; existing files are reused."""
    data = DemoData(out, out / "scenes" / "labels.csv", out / "one_tag_per_image.csv")
    drawn = load_labels(data.full) if data.full.is_file() else None
    if drawn is None or len(drawn.table) != count:
        shutil.rmtree(out / "runs", ignore_errors=True)
        write_scenes(out / "scenes", count, SIZE, SEED, workers=workers, overwrite=True)
    full = load_labels(data.full)
    masked = observe_dataset(full, make("single_positive"), seed=SEED)
    save_labels(masked, data.masked, format="csv_wide")
    return data, masked


def compare(data: DemoData, seeds: int, tell: Tell) -> list[Row]:
    """Train every method with every seed; runs that are finished are not repeated."""
    if seeds < 1:
        raise TagfillError(f"at least one seed is needed, got {seeds}")
    rows = [Row(name, meaning) for name, meaning in METHODS.items()]
    for row in sorted(rows, key=lambda row: row.name != FIRST):
        for seed in range(seeds):
            run = _train(data, row.name, seed)
            data.opened.setdefault(row.name, run)
            row.maps.append(float(run.metrics["test"]["mAP"]))
        tell(f"{row.name}: test mAP {row.mean:.1f}")
    return rows


def gap_closed(rows: list[Row]) -> float:
    """Share of the distance from the baseline to the oracle that the recommended method covers."""
    baseline, recommended, oracle = (row.mean for row in rows)
    return (recommended - baseline) / max(oracle - baseline, 1e-9)


@dataclass(frozen=True)
class Suggested:
    """The tags that were recovered: the file, how many, and how good they are."""

    file: Path
    cut: Cut
    expected_missing: float
    missing: int


def recover_tags(data: DemoData) -> tuple[Recovery, Suggested]:
    """Find the hidden tags of the recommended run, as `tagfill recover` does."""
    from tagfill.recover.choose import DEFAULT_PRECISION, Amount
    from tagfill.recover.evaluate import cuts
    from tagfill.recover.files import write_suggestions
    from tagfill.recover.recovery import recover

    recovery = recover(data.opened["auto"])
    file = data.folder / "recovered_tags.csv"
    write_suggestions(recovery.suggest(Amount()), recovery.table, recovery.evidence.kind, file)
    assert recovery.truth is not None
    levels = cuts(recovery.probability, recovery.unknown, recovery.truth)
    cut = next(level for level in levels if level.expected_precision == DEFAULT_PRECISION)
    missing = int((recovery.truth[recovery.unknown] == POSITIVE).sum())
    return recovery, Suggested(file, cut, recovery.expected_missing, missing)


def write_pages(data: DemoData, recovery: Recovery) -> tuple[Path, Path]:
    """The report of the recommended run, and a comparison of the three methods."""
    from tagfill.report.page import write_comparison, write_report

    report = write_report(data.opened["auto"], recovery=recovery)
    runs = [data.opened[method] for method in METHODS]
    return report.path, write_comparison(runs, data.folder / "comparison.html").path


def _train(data: DemoData, method: str, seed: int) -> TrainedRun:
    from tagfill.train.config import DataConfig
    from tagfill.train.folder import RunFolder
    from tagfill.train.resolve import Request
    from tagfill.train.run import fit, resume

    out = data.run(method, seed)
    if RunFolder(out).config.is_file():
        return resume(out)
    request = Request(
        data=DataConfig(
            labels=str(data.full if method == "oracle" else data.masked),
            images=str(data.full.parent / "images"),
            truth=str(data.full),
        ),
        mode="linear",
        method="auto" if method == "oracle" else method,
        overrides={"seed": seed, "input_size": SIZE},
    )
    same = [run.data.sources for name, run in data.opened.items() if "oracle" not in (name, method)]
    return fit(request, out, sources=same[0] if same else None)
