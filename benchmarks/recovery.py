"""How many of the missing tags are found, and how often a found one is right, method by method.

Linear heads on single-positive labels whose full labels are known: the published VOC 2012 features
and draw, and picture-book scenes. For every method the expected and real precision and recall of
recovered tags at several cut-offs; mean average precision on the training images against their
full labels (Cole et al. 2021, Table 2) of the model's predictions and of the completed estimates;
and average precision over unknown entries only, of predictions and of recovered probabilities. Then
what a budget of answers brings when the entries that ``em`` finds are asked in different orders and
heads are trained again on the better labels.

Run: python benchmarks/recovery.py voc ../shared/data/voc2012/mlspl
     python benchmarks/recovery.py scenes SCENES_FOLDER (drawn there if empty)
     python benchmarks/recovery.py review ../shared/data/voc2012/mlspl
Prints Markdown tables; about ten minutes on two cores for each of the first two.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

import tagfill
from tagfill.evaluate import average_precision, mean_average_precision
from tagfill.labels.io import load_labels, save_labels
from tagfill.observe import make, observe_dataset
from tagfill.recover.choose import Amount, choose, expected_gain
from tagfill.recover.evaluate import cuts, train_map
from tagfill.recover.recovery import Recovery, recover
from tagfill.scenes import write_scenes
from tagfill.train.config import MethodConfig, StageConfig
from tagfill.train.data import TrainingData, prepare
from tagfill.train.linear import fit_linear
from tagfill.train.score import score_images
from tagfill.train.trained import TrainedRun

METHODS = ("an", "an_ls", "wan", "epr", "role", "em", "em_apl")
SCENES, SIZE = 1200, 224
BUDGETS = (500, 2000)
RETRAINED = ("an", "an_ls", "em")
Array = np.ndarray


@dataclass(frozen=True)
class Row:
    """One method on one data set."""

    method: str
    run: TrainedRun
    found: Recovery
    predicted: Array

    @property
    def figures(self) -> list[str]:
        """Entries of the first table."""
        truth, unknown = self.found.truth, self.found.unknown
        assert truth is not None
        labels = truth[unknown][:, None]
        found = average_precision(self.found.probability[unknown][:, None], labels)[0]
        plain = average_precision(self.predicted[unknown][:, None], labels)[0]
        return [
            f"`{self.method}`",
            f"{self.run.metrics['test']['mAP']:.1f}",
            f"{mean_average_precision(self.predicted, truth).mAP:.1f}",
            f"{train_map(self.found.probability, truth):.1f}",
            f"{100 * plain:.1f}",
            f"{100 * found:.1f}",
            self.found.evidence.kind,
            f"{self.found.expected_missing:,.0f}",
        ]

    @property
    def cuts(self) -> list[str]:
        """Entries of the second table: number, precision and recall at every cut-off."""
        listed = cuts(self.found.probability, self.found.unknown, self.found.truth)
        return [f"`{self.method}`", *(_entry(c.suggestions, c.precision, c.recall) for c in listed)]


def _entry(count: int, precision: float | None, recall: float | None) -> str:
    return "-" if precision is None else f"{count:,}: {precision:.2f} / {recall:.2f}"


def rows(labels: Path, truth: Path | None, folder: Path) -> Iterator[Row]:
    """Train and recover with every method."""
    for method in METHODS:
        run = tagfill.fit(labels, truth=truth, method=method, out=folder / method, threads=1)
        found = recover(run.path, folds=4)
        bundle = tagfill.load(run.path)
        dataset = load_labels(labels)
        predicted = score_images(bundle, dataset, found.table, workers=0)
        print(f"{method} done", file=sys.stderr)
        yield Row(method, run, found, predicted)


def compare(labels: Path, truth: Path | None) -> None:
    """Print both tables of a data set."""
    with tempfile.TemporaryDirectory() as folder:
        table = list(rows(labels, truth, Path(folder)))
    found = table[0].found
    assert found.truth is not None
    missing = int((found.truth[found.unknown] == 1).sum())
    print(f"{len(found.table):,} training images, {missing:,} tags missing\n")
    heads = ["method", "test mAP", "train mAP, predicted", "train mAP, completed"]
    heads += [
        "AP of unknown, predicted",
        "AP of unknown, recovered",
        "evidence",
        "expected missing",
    ]
    print_table(heads, [row.figures for row in table])
    expected = [
        f"{cut.expected_precision:.2f}" for cut in cuts(found.probability, found.unknown, None)
    ]
    print_table(["method", *expected], [row.cuts for row in table])


def print_table(head: list[str], body: list[list[str]]) -> None:
    """Markdown."""
    print("| " + " | ".join(head) + " |")
    print("|---" * len(head) + "|")
    for row in body:
        print("| " + " | ".join(row) + " |")
    print()


def scenes_in(folder: Path) -> tuple[Path, Path]:
    """Single-positive labels of scenes and their full labels; drawn if they are not there."""
    full, single = folder / "labels.csv", folder / "single.csv"
    if not full.exists():
        write_scenes(folder, SCENES, SIZE, 7, workers=1)
    masked = observe_dataset(load_labels(full), make("single_positive", {}), 1200)
    save_labels(masked, single, format="csv_wide")
    return single, full


Order = Callable[[Recovery], Array]
ORDERS: dict[str, Order] = {
    "expected gain": lambda found: expected_gain(found.probability, found.unknown),
    "doubt alone": lambda found: np.minimum(found.probability, 1 - found.probability),
    "likeliest first": lambda found: found.probability,
    "at random": lambda found: np.random.default_rng(0).random(found.unknown.shape),
}


def review(labels: Path) -> None:
    """Answer so many entries in different orders, train again, and look at the test images."""
    with tempfile.TemporaryDirectory() as folder:
        run = tagfill.fit(labels, method="em", out=Path(folder) / "run", threads=1)
        found = recover(run.path)
        data, stage = prepare(run.config.data), run.config.stages[-1]
    assert found.truth is not None
    stages = [replace(stage, method=MethodConfig(name)) for name in RETRAINED]

    def figures(observed: Array) -> list[str]:
        return [f"{test_map(data, observed, each):.2f}" for each in stages]

    body = [["none", "0", "0", *figures(found.table.values)]]
    for budget in BUDGETS:
        for name, order in ORDERS.items():
            entries = choose(found.probability, found.unknown, Amount(budget=budget), order(found))
            answers = found.truth[entries.rows, entries.columns]
            observed = found.table.values.copy()
            observed[entries.rows, entries.columns] = answers
            body.append([name, f"{budget:,}", f"{int(answers.sum()):,}", *figures(observed)])
            print(body[-1], file=sys.stderr)
    print_table(["order", "answers", "of them yes", *RETRAINED], body)


def test_map(data: TrainingData, observed: Array, stage: StageConfig) -> float:
    """Test mAP of a linear head trained on these labels."""
    train, val, test = data.train, data.val, data.test
    assert train.features is not None
    assert val is not None
    assert val.features is not None
    assert test is not None
    assert test.features is not None
    fitted = fit_linear(train.features, observed, stage, val=(val.features, val.table.values))
    with torch.no_grad():
        logits = fitted.head(torch.from_numpy(test.features).float()).logits.numpy()
    return mean_average_precision(logits, test.table.values).mAP


def main() -> None:
    """Run one of the three."""
    torch.set_num_threads(1)
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "voc":
        compare(folder, None)
    elif what == "scenes":
        compare(*scenes_in(folder))
    else:
        review(folder)


if __name__ == "__main__":
    main()
