"""`tagfill evaluate`: every metric of a model's scores against labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagfill.cli.labels import AS_USUAL, Reading, report
from tagfill.cli.options import Flag, Json
from tagfill.cli.output import emit, say, show_table
from tagfill.errors import TagfillError
from tagfill.evaluate import Definition, EmptyClasses, ScoreFile, load_scores, summary
from tagfill.evaluate.calibration import apply_calibration
from tagfill.files import JsonObject
from tagfill.labels import Dataset, LabelTable

if TYPE_CHECKING:
    from tagfill.train.trained import TrainedRun

DEFAULT_THRESHOLD = 0.5
MOST_RESAMPLES = 1_000_000
_DECISIONS = {"at_threshold": "threshold", "top_3": "top 3", "top_3_at_threshold": "both"}
_RATES = {
    "overall_precision": "OP, overall precision",
    "overall_recall": "OR, overall recall",
    "overall_f1": "OF1",
    "class_precision": "CP, mean precision of classes",
    "class_recall": "CR, mean recall of classes",
    "class_f1_of_means": "CF1 of CP and CR",
    "class_f1_mean_of_f1": "CF1, mean F1 of classes",
}
_AT_K = ("precision", "recall", "hit")
_CLASS_COLUMNS = {
    "positives": "pos",
    "negatives": "neg",
    "unknowns": "unknown",
    "average_precision": "AP",
    "precision": "P",
    "recall": "R",
    "f1": "F1",
}


def evaluate(
    model: Path,
    data: Path,
    /,
    *,
    split: str | None = None,
    observed: Flag = False,
    logits: Flag = False,
    threshold: float | None = None,
    average_precision: Definition = "non_interpolated",
    empty_classes: EmptyClasses = "skip",
    bootstrap: int = 0,
    seed: int = 0,
    reading: Reading = AS_USUAL,
    json: Json = False,
) -> None:
    """Compute all metrics of a model; unknown labels are left out.

    Args:
        model: A run or model folder, or a score file: .csv or .parquet with a column "image" and
            one column per class, or .npy with the rows and columns of DATA.
        data: The label file or folder to compare with.
        split: The split of DATA to use, if it has splits.
        observed: Compare with the observed labels even if DATA also has the full ones.
        logits: The scores are logits, not probabilities.
        threshold: A tag is given when its probability is at least this. When not given: a run's
            own fitted thresholds, 0.5 for score files.
        average_precision: Which definition of average precision.
        empty_classes: How classes without positives count in means over classes.
        bootstrap: Number of resamples for confidence intervals, such as 1000.
        seed: Seed of the resamples.
    """
    if threshold is not None and not math.isfinite(threshold):
        raise TagfillError(f"--threshold must be a finite number, got {threshold}")
    if not 0 <= bootstrap <= MOST_RESAMPLES:
        raise TagfillError(f"--bootstrap must be from 0 to {MOST_RESAMPLES:,}, got {bootstrap:,}")
    if seed < 0:
        raise TagfillError(f"--seed must be 0 or more, got {seed}")
    if not model.exists():
        raise TagfillError("no such run, model folder or score file", file=model)
    dataset = reading.load(data)
    labels, kind = _labels(dataset, split, observed)
    fitted: list[float] | None = None
    if model.is_dir():
        labels, scored, fitted = _run_scores(model, dataset, labels, reading)
    else:
        scored = load_scores(model, labels)
    low, high = float(scored.scores.min()), float(scored.scores.max())
    if not logits and threshold is None and (low < 0 or high > 1):
        raise TagfillError(
            f"the scores run from {low:.3g} to {high:.3g}, so they are not probabilities",
            file=model,
            remedy="add --logits if they are logits, or name a --threshold in their own unit",
        )
    metrics = summary(
        scored.scores,
        labels.values,
        labels.classes,
        logits=logits,
        threshold=(fitted or DEFAULT_THRESHOLD) if threshold is None else threshold,
        definition=average_precision,
        empty_classes=empty_classes,
        resamples=bootstrap,
        seed=seed,
    )
    result: dict[str, Any] = {
        "model": model,
        "data": data,
        "split": split,
        "labels": kind,
        **metrics.as_dict(),
        "notes": [*dataset.notes, *scored.notes],
        "problems": dataset.problems,
    }
    if split is None and not set(dataset.splits) <= {"test"}:
        sizes = ", ".join(f"{name} {len(rows):,}" for name, rows in dataset.splits.items())
        note = f"all splits together ({sizes}): --split NAME evaluates one of them alone"
        result["notes"].append(note)
    if not json:
        report(replace(dataset, notes=tuple(result["notes"])))
    emit(result, _show, json=json)


def _labels(dataset: Dataset, split: str | None, observed: bool) -> tuple[LabelTable, str]:
    """Labels to compare with: the full ones, unless the user asks for the masked ones."""
    full = None if observed else dataset.truth
    table, kind = (dataset.table, "observed") if full is None else (full, "full")
    if split is not None:
        table = table.select(dataset.split(split).images)
    if not len(table):
        raise TagfillError("there are no images to evaluate", file=dataset.source)
    return table, kind


def _run_scores(
    model: Path, dataset: Dataset, labels: LabelTable, reading: Reading
) -> tuple[LabelTable, ScoreFile, list[float] | None]:
    """A trained model's probabilities, the labels over its classes, and its thresholds."""
    from tagfill.models.bundle import load
    from tagfill.train.score import score_images
    from tagfill.train.trained import TrainedRun

    bundle, run = load(model), TrainedRun.of_model(model)
    extra = sorted(set(labels.classes) - set(bundle.classes))
    if len(extra) == len(labels.classes):
        raise TagfillError("the model has none of these classes", file=dataset.source)
    own = None if run is None else run.image_folder
    folders = [None, own] if reading.images is None else [reading.images]
    scored = score_images(bundle, dataset, labels, images=folders)
    notes = [f"classes the model does not know: {', '.join(extra)}"] if extra else []
    seen = 0 if run is None else run.trained_on(scored.split, _read(dataset, run, reading))
    if seen:
        of_all = f"{seen:,} of {len(scored.split):,} images"
        notes.append(f"{of_all} were trained on: the metrics are optimistic")
    probabilities = apply_calibration(scored.logits, bundle.calibration)
    fitted = None if bundle.thresholds is None else list(bundle.thresholds)
    score_file = ScoreFile(probabilities, (*scored.notes, *notes))
    return scored.split.table.with_classes(bundle.classes), score_file, fitted


def _read(dataset: Dataset, run: TrainedRun, reading: Reading) -> dict[str, Dataset]:
    """The label file by its path, if the run would read it the same way."""
    from tagfill.train.data import read_options

    config = run.config.data
    same = reading.format == config.format and reading.options() == read_options(config)
    return {str(dataset.source.absolute()): dataset} if same else {}


def _show(result: JsonObject) -> None:
    """Print the metrics; shares are shown in percent."""
    say(*_headline(result))
    decisions = [
        [title, *(_percent(result[name][rate]) for name in _DECISIONS)]
        for rate, title in _RATES.items()
    ]
    show_table("Decided tags (%)", ["tags by", *_DECISIONS.values()], decisions)
    best = [
        [f"k = {k}", *(_percent(rates[name]) for name in _AT_K)]
        for k, rates in result["at_k"].items()
    ]
    show_table("The k best classes of each image (%)", ["", *_AT_K], best)
    say(*_rest(result))
    classes = [
        [row["name"], *(_percent(row[name]) for name in _CLASS_COLUMNS)]
        for row in result["per_class"]
    ]
    show_table("Classes (%)", ["class", *_CLASS_COLUMNS.values()], classes)


def _headline(result: JsonObject) -> Iterator[str]:
    entries = {state: result[state] for state in ("positives", "negatives", "unknowns")}
    yield (
        f"{result['images']:,} images x {result['classes']:,} classes, {result['labels']} labels: "
        + ", ".join(f"{number:,} {state}" for state, number in entries.items())
    )
    chosen = result["definitions"]["average_precision"]
    others = ", ".join(
        f"{name} {_number(value)}"
        for name, value in result["mAP_by_definition"].items()
        if name != chosen
    )
    yield f"mAP {_number(result['mAP'])} ({chosen}; {others})"
    for name, interval in result["intervals"].items():
        scale = 1.0 if name == "mAP" else 100.0
        low, high = (_number(interval[end], scale) for end in ("low", "high"))
        yield (
            f"  {name} {_number(interval['value'], scale)}, {100 * interval['level']:g} % interval"
            f" {low} to {high} ({interval['resamples']:,} resamples)"
        )
    if result["classes_without_positives"]:
        rule = "left out" if result["definitions"]["empty_classes"] == "skip" else "counted as 0"
        names = ", ".join(result["classes_without_positives"])
        yield f"classes without positives, {rule}: {names}"


def _rest(result: JsonObject) -> Iterator[str]:
    ranking, calibration = result["ranking"], result["calibration"]
    yield (
        f"Hamming loss {_number(result['hamming_loss'], digits=4)},"
        f" exact match {_number(result['exact_match'], 100.0)} %"
    )
    yield (
        f"ranking loss {_number(ranking['ranking_loss'], digits=4)}, coverage"
        f" {_number(ranking['coverage_error'])}, LRAP"
        f" {_number(ranking['label_ranking_average_precision'], 100.0)} %"
        f" (images that can be scored: {ranking['images_scored']:,})"
    )
    if calibration is None:
        yield "calibration: the scores are not probabilities"
    else:
        yield (
            f"calibration error {_number(calibration['expected_calibration_error'], digits=4)},"
            f" Brier score {_number(calibration['brier_score'], digits=4)}"
        )


def _percent(value: float | None) -> float | None:
    """A share in percent; a count stays as it is."""
    return 100.0 * value if isinstance(value, float) else value


def _number(value: float | None, scale: float = 1.0, digits: int = 2) -> str:
    return "-" if value is None else f"{scale * value:.{digits}f}"
