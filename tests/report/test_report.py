"""The report of a run: every section on given features and on images, and what may be missing."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.train.given import write_given_features

import tagfill
from tagfill import scenes
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.evaluate import (
    bootstrap,
    expected_calibration_error,
    mean_average_precision,
    mean_average_precision_statistic,
    paired_bootstrap,
    summary,
)
from tagfill.labels import LabelTable
from tagfill.report.classes import class_rows, together
from tagfill.report.compare import compare, differences_of
from tagfill.report.content import RunContent, read_run
from tagfill.report.headline import calibration, headline
from tagfill.report.learned import curves
from tagfill.report.page import write_comparison, write_report

pytestmark = pytest.mark.usefixtures("quick_choices")

LOOP = {"epochs": 5, "learning_rate": 0.02, "threads": 1}
NASTY = ("<script>alert(1)</script>", 'a "quoted" & <b>bold</b> name')
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Outline(HTMLParser):
    """Checks that tags are balanced, and collects what the page would load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.alts: list[str | None] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        self.loads += [given[name] or "" for name in ("src", "srcset", "data") if name in given]
        if tag in ("link", "use", "image"):
            self.loads.append(given.get("href") or "")
        if tag == "img":
            self.alts.append(given.get("alt"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def checked(page: Path) -> str:
    """The text of a page that is whole, small and loads nothing."""
    text = page.read_text(encoding="utf-8")
    outline = Outline(text)
    assert all(address.startswith("data:image/jpeg;base64,") for address in outline.loads)
    assert all(outline.alts)
    assert outline.tags.count("h1") == 1
    assert not re.search(r"url\(|@import", text)
    assert page.stat().st_size < 5_000_000
    return text


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"), train=200)


@pytest.fixture(scope="module")
def runs(features: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    out = tmp_path_factory.mktemp("runs")
    first, second = (
        tagfill.fit(features, method=name, out=out / name, **LOOP).path for name in ("an", "em")
    )
    return first, second


@pytest.fixture(scope="module")
def content(runs: tuple[Path, Path]) -> RunContent:
    return read_run(runs[1])


@pytest.fixture(scope="module")
def on_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on drawn scenes: partly known validation labels, nasty class and image names."""
    root = tmp_path_factory.mktemp("images")
    scenes.write_scenes(root / "drawn", 60, 96, seed=3, workers=1)
    drawn = tagfill.load_labels(root / "drawn" / "labels.csv")
    common = np.argsort(-(drawn.table.values == 1).sum(axis=0))[:4]
    values = drawn.table.values[:, common].astype(np.int8)
    values[np.random.default_rng(0).random(values.shape) < 0.4] = -1
    names = (*NASTY, "tree", "sun")
    images = [f"pictures/{number:02}&amp;<i>.jpg" for number in range(len(values))]
    (root / "data" / "pictures").mkdir(parents=True)
    for old, new in zip(drawn.table.images, images, strict=True):
        shutil.copy(root / "drawn" / old, root / "data" / new)
    table = LabelTable(tuple(images), names, values)
    whole = tagfill.Dataset(table, root, "csv_wide", splits={"train": np.arange(60)})
    tagfill.save_labels(whole, root / "data" / "labels.csv", format="csv_wide")
    out = root / "run"
    run = tagfill.fit(root / "data" / "labels.csv", out=out, method="iu", mode="linear", **LOOP)
    return run.path


def test_metrics_are_those_of_the_run(content: RunContent) -> None:
    shown = headline(content)
    assert shown is not None
    assert shown.split == "test"
    values = {metric.key: metric.value for metric in shown.metrics}
    noted = content.metrics["test"]
    assert values["mAP"] == pytest.approx(noted["mAP"])
    rates = noted["at_fitted_thresholds"]
    assert values["overall_f1"] == pytest.approx(100 * rates["overall_f1"])
    assert values["class_f1"] == pytest.approx(100 * rates["class_f1_mean_of_f1"])
    assert values["overall_precision"] == pytest.approx(100 * rates["overall_precision"])
    held = content.held_out["test"]
    own = bootstrap(mean_average_precision_statistic(held.logits, held.labels), len(held.labels))
    assert (shown.metrics[0].low, shown.metrics[0].high) == (own.low, own.high)


def test_classes_and_calibration_are_those_of_the_run(content: RunContent) -> None:
    rows = {row.name: row for row in class_rows(content)}
    for noted in content.metrics["test"]["per_class"]:
        row = rows[noted["name"]]
        assert row.average_precision == pytest.approx(noted["average_precision"])
        assert row.held_out == noted["positives"]
        assert (row.positives or 0) + (row.negatives or 0) + (row.unknowns or 0) == 160
    held = content.held_out["test"]
    at_thresholds = summary(
        held.probabilities, held.labels, content.classes, threshold=held.thresholds
    )
    for metrics in at_thresholds.per_class:
        row = rows[metrics.name]
        assert row.threshold == metrics.threshold
        assert (row.precision, row.recall, row.f1) == pytest.approx(
            (metrics.precision, metrics.recall, metrics.f1)
        )
    drawn = calibration(content.evaluated)
    assert drawn is not None
    after = expected_calibration_error(held.probabilities, held.labels)
    assert drawn["after"] == pytest.approx(100 * after)
    assert drawn["after"] == pytest.approx(
        100 * content.metrics["test"]["calibrated"]["expected_calibration_error"]
    )
    assert drawn["before"] == pytest.approx(
        100 * content.metrics["test"]["calibration"]["expected_calibration_error"]
    )
    assert drawn["entries"] == held.labels.size


def test_pairs_count_images_with_both(content: RunContent) -> None:
    pairs, held = together(content), content.held_out["test"]
    assert pairs is not None
    assert not pairs["observed_any"]
    pair = pairs["pairs"][0]
    first, second = (content.classes.index(name) for name in (pair["first"], pair["second"]))
    assert pair["predicted"] == (held.decided[:, first] & held.decided[:, second]).sum()
    assert pair["true"] == ((held.labels[:, first] == 1) & (held.labels[:, second] == 1)).sum()
    assert pair["observed"] == 0


def test_a_run_on_features_gets_a_table_instead_of_pictures(runs: tuple[Path, Path]) -> None:
    written = write_report(runs[1])
    assert written.path == runs[1] / "report.html"
    assert not written.gaps
    text = checked(written.path)
    assert "trained on given features and never saw an image" in text
    assert "<img" not in text
    metrics = json.loads((runs[1] / "metrics.json").read_text())
    assert f"{metrics['test']['mAP']:.1f}" in text
    assert "Zhou et al. 2022" in text
    assert "actually" in text


def test_a_run_on_images_shows_them_and_escapes_names(on_images: Path) -> None:
    written = write_report(on_images)
    text = checked(written.path)
    assert not written.gaps
    assert NASTY[0] not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<i>.jpg" not in text
    assert text.count("<script>") == 1
    assert text.count('<img src="data:image/jpeg') >= 10
    assert "Probably a missing label" in text
    assert "Given, and unknown." in text
    assert "apache-2.0" in text


def test_differences_are_the_paired_bootstrap(runs: tuple[Path, Path]) -> None:
    first, second = read_run(runs[0]), read_run(runs[1])
    one, other = first.held_out["test"], second.held_out["test"]
    wanted = paired_bootstrap(
        mean_average_precision_statistic(other.logits, other.labels),
        mean_average_precision_statistic(one.logits, one.labels),
        len(one.labels),
    )
    assert differences_of(other, one)["mAP"] == wanted
    comparison = compare([first, second])
    assert comparison["entries"][1]["differences"]["mAP"] == wanted
    assert ("stages.1.method.name", ("an", "em")) in comparison["settings"]
    values = mean_average_precision(other.logits, other.labels).average_precision
    assert [row["precisions"][1] for row in comparison["classes"]] == pytest.approx(100 * values)


def test_the_comparison_page(runs: tuple[Path, Path], on_images: Path, tmp_path: Path) -> None:
    page = write_comparison([*runs, on_images], tmp_path / "all.html").path
    text = checked(page)
    second = read_run(runs[1])
    gap = differences_of(second.held_out["test"], read_run(runs[0]).held_out["test"])["mAP"]
    assert f'data-metric="mAP">{gap.value:+.2f}<' in text
    assert "the classes differ" in text
    assert NASTY[0] not in text


@pytest.mark.parametrize("gone", ["labels", "model"])
def test_what_is_gone_is_said_and_the_rest_is_shown(
    runs: tuple[Path, Path], features: Path, tmp_path: Path, gone: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs[1], run)
    if gone == "labels":
        config = (run / "config.toml").read_text().replace(str(features), str(tmp_path / "nowhere"))
        (run / "config.toml").write_text(config)
    else:
        (run / "model" / "model.safetensors").unlink()
    written = write_report(run)
    assert written.gaps
    text = checked(written.path)
    metrics = json.loads((run / "metrics.json").read_text())
    assert f"{metrics['test']['mAP']:.1f}" in text
    assert "Parts of this page are missing" in text


def test_images_that_are_gone(on_images: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(on_images, run)
    data = on_images.parent / "data"
    config = (run / "config.toml").read_text().replace(str(data), str(tmp_path / "moved"))
    (run / "config.toml").write_text(config)
    (tmp_path / "moved").mkdir()
    shutil.copy(data / "labels.csv", tmp_path / "moved")
    written = write_report(run)
    assert "are missing" in written.gaps[0]
    assert "<img" not in checked(written.path)


def test_without_known_negatives_nothing_is_claimed_about_precision(
    on_images: Path, tmp_path: Path
) -> None:
    data = on_images.parent / "data"
    known = tagfill.load_labels(data / "labels.csv").table
    positives = known.with_values(np.where(known.values == 1, 1, -1))
    whole = tagfill.Dataset(positives, data, "csv_wide")
    labels = tmp_path / "positives.csv"
    tagfill.save_labels(whole, labels, format="csv_wide")
    out = tmp_path / "run"
    run = tagfill.fit(labels, images=data, method="em", mode="linear", out=out, **LOOP).path
    summary = headline(read_run(run))
    assert summary is not None
    measured, *others = [metric.key for metric in summary.metrics]
    assert measured == "observed_mAP"
    assert all(key.startswith("estimated_") for key in others)
    noted = json.loads((run / "metrics.json").read_text())["val"]["observed_mAP"]
    assert summary.metrics[0].value == pytest.approx(noted)
    text = checked(write_report(run).path)
    assert "recall</em> is the share of written tags that are given" in text
    assert '<th scope="col">recall</th>' in text
    assert '<th scope="col">AP</th>' not in text
    assert "This cannot be measured here" in text
    assert (
        "is known to be absent, so such errors cannot be distinguished from missing labels" in text
    )


def test_one_class_and_no_held_out_images(tmp_path: Path) -> None:
    data = _given(tmp_path / "data", images=120, classes=1)
    np.save(data / "split_train_index.npy", np.arange(120))
    np.save(data / "split_val_index.npy", np.arange(0))
    run = tagfill.fit(data, method="an", out=tmp_path / "run", val_fraction=0, **LOOP).path
    written = write_report(run)
    assert not written.gaps
    text = checked(written.path)
    assert "No images were held out" in text
    assert "There is only one class" in text


def test_hundreds_of_classes_stay_small(tmp_path: Path) -> None:
    data = _given(tmp_path / "data", images=150, classes=300)
    run = tagfill.fit(data, method="an", out=tmp_path / "run", **LOOP).path
    written = write_report(run)
    assert not written.gaps
    text = checked(written.path)
    assert written.path.stat().st_size < 500_000
    assert text.count('<th scope="row">class_') >= 300
    assert "30 most frequent of 300 classes" in text


def test_an_unfinished_run_is_refused(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs[0], run)
    (run / "metrics.json").unlink()
    with pytest.raises(TagfillError, match="not finished"):
        write_report(run)
    assert main(["report", str(run)]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["report", str(tmp_path)]) == 2
    assert main(["report"]) == 2
    assert main(["report", str(runs[0]), "--out", str(tmp_path)]) == 2


def test_training_writes_the_report_and_says_where(
    features: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [str(features), "--method", "an", "--epochs", "2", "--threads", "1"]
    assert main(["train", *options, "--out", str(tmp_path / "one")]) == 0
    assert capsys.readouterr().out.rstrip().endswith(f"report: {tmp_path / 'one' / 'report.html'}")
    checked(tmp_path / "one" / "report.html")
    assert main(["train", *options, "--out", str(tmp_path / "two"), "--no-report", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] is None
    assert not (tmp_path / "two" / "report.html").exists()


def test_a_failing_report_does_not_fail_training(
    features: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("a reason")

    monkeypatch.setattr("tagfill.report.page.run_metadata", fail)
    out = tmp_path / "run"
    options = [str(features), "--method", "an", "--epochs", "2", "--threads", "1", "--json"]
    assert main(["train", *options, "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "a reason" in printed.err
    assert json.loads(printed.out)["report"] is None
    assert (out / "metrics.json").is_file()


def test_curves_count_repeated_epochs_once_and_part_stages(content: RunContent) -> None:
    def epoch(stage: int, number: int, score: float) -> dict[str, Any]:
        kept = {"stage": stage, "epoch": number, "loss": -score, "score": score, "seconds": 1.0}
        return {"event": "epoch", **kept}

    events = [epoch(1, 1, 3.0), epoch(1, 2, 4.0), epoch(1, 2, 5.0), epoch(2, 1, 7.0)]
    metrics = {**content.metrics, "best_epoch": 1, "best_score": 7.0}
    training = curves(replace(content, events=events, metrics=metrics))
    assert training is not None
    assert (training["epochs"], training["stages"], training["seconds"]) == (3, 2, 3.0)
    assert training["score"] is not None
    assert [len(line.points) for line in training["score"].lines] == [2, 1]
    assert training["score"].marks == (training["score"].lines[1].points[0],)
    assert len(training["loss"].rules) == 1
    assert curves(replace(content, events=[])) is None


def _given(folder: Path, images: int, classes: int) -> Path:
    """Labels, half of them known, and features in the published layout; no test images."""
    rng = np.random.default_rng(1)
    truth = (rng.random((images, classes)) < 0.1).astype(np.int8)
    truth[np.arange(images), rng.integers(classes, size=images)] = np.arange(images) % 2
    folder.mkdir()
    np.save(folder / "formatted_train_labels.npy", truth)
    known = rng.random(truth.shape) < 0.5
    np.save(folder / "formatted_train_labels_obs.npy", np.where(known, 2 * truth - 1, 0))
    names = np.array([f"image-{number:03}.jpg" for number in range(images)])
    np.save(folder / "formatted_train_images.npy", names)
    features = truth @ rng.normal(size=(classes, 16)) + rng.normal(size=(images, 16))
    np.save(folder / "train_features_toy.npy", features.astype(np.float32))
    return folder
