from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.bench.small_recipe import recipe

from tagfill.bench.cells import SCORES, Outcome, kept_scores
from tagfill.bench.counts import k_interval
from tagfill.bench.plan import Cell, plan
from tagfill.bench.table import NOT_RUN, Report, Sheet, Table, difference, spread
from tagfill.bench.write import markdown
from tagfill.evaluate import mean_average_precision

GENERATOR = np.random.default_rng(0)
LABELS = (GENERATOR.random((60, 3)) < 0.3).astype(np.int8)


def outcome(
    cell: Cell, test: float, tmp_path: Path, *, skill: float = 1.0, error: str | None = None
) -> Outcome:
    folder = tmp_path / cell.place.replace(" / ", "-")
    folder.mkdir(exist_ok=True)
    noise = np.random.default_rng(cell.seed).normal(size=LABELS.shape)
    scores = (noise + skill * LABELS).astype(np.float32)
    np.savez(folder / SCORES, test=scores, test_labels=LABELS)
    metrics = {} if error else {"mAP": {"val": test + 1, "test": test}, "OF1": {"test": 50.0}}
    return Outcome(cell, metrics, folder, error)


def sheet_rows(sheet: Sheet) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in sheet.rows}


def test_mean_and_standard_deviation() -> None:
    assert spread([]) == ""
    assert spread([80.0]) == "80.00"
    assert spread([80.0, 81.0, 82.0]) == "81.00 ± 1.00"


def test_overview_and_details(tmp_path: Path) -> None:
    made = recipe()
    cells = [cell for cell in plan(made, made.sizes["smoke"]) if cell.column == "one"]
    tests = {"an": (70.0, 72.0), "em": (75.0, 79.0)}
    outcomes = [outcome(cell, tests[cell.row][cell.seed], tmp_path) for cell in cells]
    overview, details = Table(made, outcomes, tmp_path).report().sheets
    texts = sheet_rows(overview)
    assert texts["AN"] == ("71.00 ± 1.41 (70.0)", NOT_RUN)
    assert texts["Lost"] == ("quoted (60.1)", "quoted")
    assert details.title == "one positive"
    assert details.headers[1:4] == ("seeds", "validation", "test")
    em = sheet_rows(details)["EM"]
    assert em[:3] == ("2", "78.00 ± 2.83", "77.00 ± 2.83")
    assert em[-2:] == ("71.0", "71.5")


def test_metrics_the_paper_does_not_give_are_only_in_the_details(tmp_path: Path) -> None:
    made = recipe(('paper = "nobody"', 'paper = "nobody"\nmetrics = ["mAP", "OF1"]'))
    outcomes = [
        outcome(cell, 70.0, tmp_path)
        for cell in plan(made, made.sizes["smoke"])
        if cell.column == "one"
    ]
    overview, details = Table(made, outcomes, tmp_path).report().sheets
    assert (
        overview.title == "Test: mAP (non-interpolated), percent; the paper's number in parentheses"
    )
    assert sheet_rows(details)["AN"][4] == "50.00 ± 0.00"
    quoting = recipe(
        ('paper = "nobody"', 'paper = "nobody"\nmetrics = ["mAP", "OF1"]'),
        ("paper = { one = 71.5 }", "paper_more = { OF1 = { one = 51.0 } }"),
    )
    _, more, _ = Table(quoting, outcomes, tmp_path).report().sheets
    assert sheet_rows(more)["EM"][0] == "50.00 ± 0.00 (51.0)"


@pytest.mark.parametrize(
    ("paper", "heading"),
    [("nobody", "What differs from the paper's set-up:"), ("no paper; ours", "Set-up:")],
)
def test_a_page_without_a_paper_differs_from_none(paper: str, heading: str) -> None:
    made = recipe(
        ('paper = "nobody"', f'paper = "{paper}"'),
        ("seeds = 2", 'seeds = 2\ndiffers = ["drawn scenes"]'),
    )
    page = markdown(made, "smoke", "tagfill bench mine", Report((), ()))
    assert f"\n{heading}\n\n- drawn scenes\n" in page


def test_failures_are_shown(tmp_path: Path) -> None:
    made = recipe()
    cells = plan(made, made.sizes["smoke"])
    outcomes = [outcome(cells[0], 70, tmp_path), outcome(cells[1], 0, tmp_path, error="no luck")]
    report = Table(made, outcomes, tmp_path).report()
    assert sheet_rows(report.sheets[0])["AN"][0] == "failed: no luck (70.0)"
    assert report.failures == ("an / one: no luck",)
    statuses = [record["status"] for record in report.records]
    assert statuses[:3] == ["done", "failed: no luck", NOT_RUN]
    assert statuses[-1] == "quoted"


def test_averages_need_every_column(tmp_path: Path) -> None:
    made = recipe(('paper = "nobody"', 'paper = "nobody"\naverage = true'))
    cells = [cell for cell in plan(made, made.sizes["smoke"]) if cell.seed == 0]
    values = {("an", "one"): 70.0, ("an", "known"): 80.0, ("em", "one"): 71.0}
    outcomes = [
        outcome(cell, values[cell.row, cell.column], tmp_path)
        for cell in cells
        if (cell.row, cell.column) in values
    ]
    texts = sheet_rows(Table(made, outcomes, tmp_path).report().sheets[0])
    assert texts["AN"][-1] == "75.00"
    assert texts["EM"][-1] == NOT_RUN


def test_differences_are_of_means_over_seeds(tmp_path: Path) -> None:
    made = recipe()
    cells = [cell for cell in plan(made, made.sizes["smoke"]) if cell.column == "one"]
    good = [outcome(cell, 0, tmp_path, skill=2) for cell in cells if cell.row == "em"]
    bad = [outcome(cell, 0, tmp_path, skill=0.5) for cell in cells if cell.row == "an"]
    gap = difference(good, bad, tmp_path, resamples=200)
    assert gap is not None
    means = [
        np.mean([mean_average_precision(*kept_scores(result.folder)).mAP for result in side])
        for side in (good, bad)
    ]
    assert gap.value == pytest.approx(means[0] - means[1])
    assert 0 < gap.low < gap.value < gap.high
    (kept,) = (tmp_path / "differences").glob("*.json")
    kept.write_text(kept.read_text().replace(json.dumps(gap.value), "-1"), encoding="utf-8")
    again = difference(good, bad, tmp_path, resamples=200)
    assert again == replace(gap, value=-1)  # read, not computed again
    same = difference(bad, bad, tmp_path, resamples=50)
    assert same is not None
    assert (same.low, same.value, same.high) == (0, 0, 0)


def test_models_tested_on_other_labels_are_not_compared(tmp_path: Path) -> None:
    cells = plan(recipe(), recipe().sizes["smoke"])
    first, second = outcome(cells[0], 0, tmp_path), outcome(cells[4], 0, tmp_path)
    np.savez(second.folder / SCORES, test=np.zeros((60, 3)), test_labels=1 - LABELS)
    assert difference([first], [second], tmp_path, resamples=10) is None


@pytest.mark.parametrize("images", [3, 10])
def test_k_of_a_few_images(images: int) -> None:
    """Against the exact hypergeometric distribution; both ways of drawing."""
    positives = np.array([1] * 9 + [4] * 3)
    low, high = k_interval(positives, images, draws=20_000)
    assert low == (1.0 if images == 3 else 1.6)
    assert high == pytest.approx(3.0 if images == 3 else 1.9)
