"""From runs to missing tags: on given features, and round the whole loop on images."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.train.given import FEATURES, write_given_features
from tests.train.test_events import Shown

import tagfill
from tagfill import scenes
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.labels import LabelTable
from tagfill.labels.io import load_labels
from tagfill.priors import written
from tagfill.recover import posterior
from tagfill.recover.choose import Amount, Entries
from tagfill.recover.evaluate import cuts
from tagfill.recover.recovery import Recovery, recover

LOOP = {"epochs": 12, "learning_rate": 0.02, "threads": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"), train=400)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "em"
    return tagfill.fit(data, method="em", out=out, **LOOP).path


@pytest.fixture(scope="module")
def recovery(run: Path) -> Recovery:
    return recover(run, folds=3)


def test_recovered_tags_are_right_about_as_often_as_expected(recovery: Recovery) -> None:
    assert recovery.evidence.kind == "out_of_fold"
    assert recovery.truth is not None
    missing = (recovery.truth[recovery.unknown] == 1).sum()
    assert recovery.expected_missing == pytest.approx(missing, rel=0.2)
    for cut in cuts(recovery.probability, recovery.unknown, recovery.truth):
        assert cut.precision == pytest.approx(cut.expected_precision, abs=0.12)
    at_80 = recovery.suggest(Amount(precision=0.8))
    assert len(at_80) > 0.4 * missing


def test_only_unknown_entries_are_suggested(recovery: Recovery) -> None:
    entries = recovery.suggest(Amount(top=3))
    assert (recovery.table.values[entries.rows, entries.columns] == -1).all()
    assert len(entries) == np.minimum(recovery.unknown.sum(axis=1), 3).sum()


def test_completed_labels_keep_what_is_known(recovery: Recovery) -> None:
    filled, known = recovery.complete(0.9), ~recovery.unknown
    assert np.array_equal(filled.values[known], recovery.table.values[known])
    assert recovery.truth is not None
    added = recovery.unknown & (filled.values == 1)
    assert added.sum() == len(recovery.suggest(Amount(precision=0.9)))
    absent = recovery.unknown & (filled.values == 0)
    assert (recovery.truth[absent] == 1).mean() < 0.15


def test_held_out_images_are_looked_at_too(recovery: Recovery, data: Path) -> None:
    assert len(recovery.table) == 480
    assert recovery.probability.shape == recovery.table.values.shape


def test_one_percentage_leads_through_features_and_heads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes.write_scenes(tmp_path / "scenes", 24, 64, 2, workers=1)
    tiny = {"backbone": "test_resnet", "pretrained": False, "input_size": 64, "threads": 1}
    data, out = tmp_path / "scenes" / "labels.csv", tmp_path / "run"
    trained = tagfill.fit(data, mode="linear", out=out, **tiny).path
    for cache, steps in (("empty", {"features", "probabilities"}), (None, {"probabilities"})):
        if cache:
            monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / cache))
        (trained / posterior.FILE).unlink(missing_ok=True)
        shown = Shown()
        recover(trained, folds=3, sinks=[shown])
        assert {label.split()[0] for label in shown.labels} == steps
        assert shown.shares == sorted(shown.shares)
        assert shown.shares[0] < 0.6
        assert shown.shares[-1] == 1


def test_what_was_found_is_kept_and_damage_is_noticed(
    recovery: Recovery, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = run / posterior.FILE
    before = kept.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(posterior, "posterior", None)  # nothing is computed again
        again = recover(run, folds=3)
    assert np.allclose(again.probability, recovery.probability, atol=1e-6)
    assert again.evidence.how == recovery.evidence.how
    damaged = bytearray(before)
    damaged[-5] ^= 1
    kept.write_bytes(damaged)
    assert np.allclose(recover(run, folds=3).probability, recovery.probability, atol=1e-6)
    assert kept.read_bytes() == before


def test_what_training_chose_is_not_chosen_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tagfill.fit(data, out=tmp_path / "auto").path
    with monkeypatch.context() as patched:
        patched.setattr(written, "choose", None)
        quick = recover(out, folds=3).probability
    metrics = json.loads((out / "metrics.json").read_text())
    metrics["solved"]["writer"] = "nobody"
    (out / "metrics.json").write_text(json.dumps(metrics))
    (out / posterior.FILE).unlink()
    assert np.abs(recover(out, folds=3).probability - quick).max() < 0.05


def test_the_command_takes_what_the_report_has_found(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tagfill.fit(data, out=tmp_path / "run").path
    found = recover(run)
    monkeypatch.setattr(posterior, "posterior", None)  # nothing is computed again
    assert main(["recover", str(run), "--out", str(tmp_path / "s.csv"), "--quiet"]) == 0
    rows = (tmp_path / "s.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + len(found.suggest(Amount()))


def test_wrong_positives_are_suspected_and_right_ones_are_not() -> None:
    draw = np.random.default_rng(0)
    chance = draw.beta(0.2, 1.0, (1000, 8))
    truth = (draw.random(chance.shape) < chance).astype(np.int8)
    labels = np.where((truth == 1) & (draw.random(chance.shape) < 0.6), 1, -1).astype(np.int8)
    images = tuple(f"{row}.jpg" for row in range(1000))
    unwritten = 0.4 * chance / (1 - 0.6 * chance)
    evidence = posterior.Evidence(unwritten, chance, ())

    def suspects(values: np.ndarray) -> Entries:
        table = LabelTable(images, tuple("abcdefgh"), values)
        return Recovery(Path(), "auto", table, evidence, truth).suspects()

    assert len(suspects(labels)) < 0.01 * (labels == 1).sum()
    wrong = (truth == 0) & (draw.random(chance.shape) < 0.02)
    entries = suspects(np.where(wrong, 1, labels).astype(np.int8))
    caught = wrong[entries.rows, entries.columns]
    assert caught.mean() > 0.5
    assert caught.sum() > 0.3 * wrong.sum()
    assert (np.diff(entries.probability) >= 0).all()


def test_a_model_that_knows_labels_by_heart_is_not_believed(tmp_path: Path) -> None:
    """Features without any meaning, enough of them to learn every label."""
    folder = write_given_features(tmp_path / "data", train=120)
    rng = np.random.default_rng(3)
    for split, count in (("train", 120), ("val", 80)):
        noise = rng.normal(size=(count, 20 * FEATURES)).astype(np.float16)
        np.save(folder / f"{split}_features_toy.npy", noise)
    options = {**LOOP, "epochs": 30, "select": "last"}
    result = recover(tagfill.fit(folder, method="an", out=tmp_path / "run", **options).path)
    positive = result.table.values == 1
    written, other = (result.evidence.known[mask].mean() for mask in (positive, ~positive))
    assert written == pytest.approx(other, abs=0.1)
    assert result.suggest(Amount(precision=0.9)).rows.size < 10


def test_changed_labels_are_refused(tmp_path: Path) -> None:
    folder = write_given_features(tmp_path / "data")
    run = tagfill.fit(folder, method="an", out=tmp_path / "run", **{**LOOP, "epochs": 1}).path
    observed = np.load(folder / "formatted_train_labels_obs.npy")
    np.save(folder / "formatted_train_labels_obs.npy", np.roll(observed, 1, axis=1))
    with pytest.raises(TagfillError, match="the labels have changed"):
        recover(run)


def test_validation_labels_show_what_scores_are_worth_and_test_labels_are_not_used(
    tmp_path: Path,
) -> None:
    def expected(*only_written: str) -> float:
        folder = write_given_features(tmp_path / "-".join(("data", *only_written)), train=400)
        for part in only_written:  # as if no tag of these images were missing
            written = np.load(folder / f"formatted_{part}_labels_obs.npy")
            np.save(folder / f"formatted_{part}_labels.npy", written)
        return recover(tagfill.fit(folder, out=folder / "run").path).expected_missing

    plain = expected()
    test, train_and_val = "val", "train"  # as the published code calls them
    assert expected(test) == plain
    assert expected(train_and_val) < 0.8 * plain


def test_too_many_folds_are_refused(run: Path) -> None:
    with pytest.raises(TagfillError, match="cannot be divided into 1 folds"):
        recover(run, folds=1)


def test_the_command_writes_all_files_and_figures(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, completed, suspects = (tmp_path / name for name in ("s.parquet", "c.csv", "d.jsonl"))
    options = ["--budget", "25", "--folds", "2", "--completed", str(completed)]
    options += ["--suspects", str(suspects), "--out", str(out), "--json", "--quiet"]
    assert main(["recover", str(run), *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["suggestions"] == 25
    assert result["missing"] > 0
    assert [cut["expected_precision"] for cut in result["cuts"]] == [0.95, 0.9, 0.8, 0.7, 0.5]
    table = load_labels(completed).table
    assert len(table) == 480
    assert table.negatives > table.positives
    assert suspects.exists()
    assert main(["recover", str(run), *options]) == 2
    assert "exists already" in capsys.readouterr().err


def answered(path: Path, truth: dict[str, dict[str, str]]) -> None:
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    for row in rows:
        row["decision"] = "yes" if truth[row["image"]][row["tag"]] == "1" else "no"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("mode", ["linear", "finetune"])
def test_the_loop_closes_on_images(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scenes, one tag each, a run, suggestions, answers, better labels, the next run."""
    scenes.write_scenes(tmp_path / "scenes", 24, 64, 2, workers=1)
    labels, masked = tmp_path / "scenes" / "labels.csv", tmp_path / "scenes" / "single.csv"
    assert main(["mask", str(labels), str(masked), "--regime", "single_positive"]) == 0
    tiny = ["--backbone", "test_resnet", "--no-pretrained", "--input-size", "64", "--epochs", "1"]
    tiny += ["--workers", "0", "--threads", "1", "--quiet", "--no-report"]
    tiny += ["--mode", mode, "--method", "an"]
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(["train", str(masked), *tiny, "--out", str(first)]) == 0
    suggestions, reviewed = tmp_path / "s.csv", tmp_path / "scenes" / "reviewed.csv"
    budget = ["--budget", "40", "--folds", "2", "--quiet"]
    assert main(["recover", str(first), "--out", str(suggestions), *budget]) == 0
    with labels.open(encoding="utf-8") as file:
        answered(suggestions, {row["image"]: row for row in csv.DictReader(file)})
    capsys.readouterr()
    assert main(["apply", str(suggestions), str(masked), str(reviewed), "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["yes"] + told["no"] == told["changed"] == 40
    before, after, full = (load_labels(path).table for path in (masked, reviewed, labels))
    assert (after.values != before.values).sum() == 40
    known = after.values != -1
    assert np.array_equal(after.values[known], full.values[known])
    again = [*tiny, "--init", str(first), "--out", str(second)]
    assert main(["train", str(reviewed), *again]) == 0
    assert tagfill.load(second).classes == tagfill.load(first).classes
