"""Tables of `tagfill evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tagfill.cli.output import say, show_table

Metadata = Mapping[str, Any]

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


def show(result: Metadata) -> None:
    """Print a report; shares are shown in percent."""
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
        [row["name"], *(_count_or_percent(row[name]) for name in _CLASS_COLUMNS)]
        for row in result["per_class"]
    ]
    show_table("Classes (%)", ["class", *_CLASS_COLUMNS.values()], classes)


def _headline(result: Metadata) -> Iterator[str]:
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


def _rest(result: Metadata) -> Iterator[str]:
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


def _count_or_percent(value: float | None) -> float | None:
    return value if isinstance(value, int) else _percent(value)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _number(value: float | None, scale: float = 1.0, digits: int = 2) -> str:
    return "-" if value is None else f"{scale * value:.{digits}f}"
