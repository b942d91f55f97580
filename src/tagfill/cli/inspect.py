"""`tagfill inspect`: describe a label file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagfill.cli.labels import AS_USUAL, Reading
from tagfill.cli.options import Json
from tagfill.cli.output import emit, log, print_json, say, show_table
from tagfill.errors import LabelError, Problem, Problems, TagfillError, grouped
from tagfill.files import JsonObject
from tagfill.images import ImageCheck, check_images
from tagfill.labels import Dataset
from tagfill.labels.cleanup import find_variants, write_aliases
from tagfill.labels.stats import Regime, Statistics
from tagfill.remote import local_images

MOST_PAIRS = 1000
SHOWN_CLASSES, SHOWN_BINS, SHOWN_PAIRS, SHOWN_PROBLEMS = 40, 10, 8, 20
BAR = 20
USUAL_SPLITS = ("train", "val", "test")
STATES = ("positives", "negatives", "unknowns")
COUNTS = ("images", *STATES, "confirmed_none", "no_known_label", "regime")


def inspect(
    data: Path,
    /,
    *,
    reading: Reading = AS_USUAL,
    workers: int | None = None,
    propose_aliases: Path | None = None,
    json: Json = False,
) -> int:
    """Describe labels: counts, unknowns, co-occurrence, every problem.

    With --images, every image is opened; missing, unreadable and duplicate ones are reported.
    The exit code is 2 if the labels cannot be used.

    Args:
        data: The label file or folder to read.
        workers: Threads that open images; by default one per processor.
        propose_aliases: Write tags that look like spellings of the same tag to this TOML file,
            for --aliases.
    """
    problems = Problems()
    try:
        dataset = reading.load(data, problems)
    except TagfillError as error:
        if not json and not problems.errors:
            raise
        problems.entries.extend(_problems_of(error))
    if problems.errors:
        if json:
            print_json({"source": data, "usable": False, "problems": problems.entries})
        else:
            _show_errors(data, problems.errors)
        return 2
    if propose_aliases is not None:
        _propose(dataset, propose_aliases)
    emit(inspected(dataset, reading.images, workers), _show, json=json)
    return 0


def _propose(dataset: Dataset, path: Path) -> None:
    if path.exists():
        raise TagfillError("exists already", file=path, remedy="choose another name")
    variants = find_variants(dataset.table)
    write_aliases(variants, path)
    count = sum(len(group.others) for group in variants)
    log.print(f"{path}: {count} proposed aliases; check them before use")


def inspected(dataset: Dataset, images: Path | None, workers: int | None) -> dict[str, Any]:
    total = Statistics.of(dataset.table)
    check = _check(dataset, images, workers)
    files = {} if check is None else {**vars(check)}
    problems = [*dataset.problems, *files.pop("problems", ())]
    return {
        "source": dataset.source,
        "format": dataset.format,
        "usable": True,
        "classes": len(total.classes),
        "class_names": total.classes,
        **_counts(total),
        "splits": {name: _counts(Statistics.of(dataset.split(name))) for name in dataset.splits},
        "truth": None if dataset.truth is None else _counts(Statistics.of(dataset.truth)),
        "per_class": _per_class(total),
        "labels_per_image": total.labels_per_image,
        "co_occurrence": [
            {"classes": [first, second], "images": count}
            for first, second, count in total.top_pairs(MOST_PAIRS)
        ],
        "classes_without_positive": total.without_positive,
        "classes_without_negative": total.without_negative,
        "variants": find_variants(dataset.table),
        "boxes": None if dataset.boxes is None else len(dataset.boxes),
        "image_root": images or dataset.image_root,
        "image_files": files or None,
        "content_hash": dataset.table.content_hash,
        "problems": problems,
        "notes": [*dataset.notes, *_hints(dataset, total, images)],
    }


def _counts(statistics: Statistics) -> dict[str, Any]:
    return {name: getattr(statistics, name) for name in COUNTS}


def _per_class(statistics: Statistics) -> list[dict[str, Any]]:
    counts = [getattr(statistics, f"class_{state}").tolist() for state in STATES]
    rows = zip(statistics.classes, *counts, strict=True)
    return [dict(zip(("class", *STATES), row, strict=True)) for row in rows]


def _check(dataset: Dataset, images: Path | None, workers: int | None) -> ImageCheck | None:
    """Open all images of a named folder; of an implied folder, only check that they exist."""
    root = images or dataset.image_root
    if root is not None:
        root = local_images(root, dataset.table.images)
    if root is None or (images is None and not root.is_dir()):
        return None
    return check_images(dataset.table.images, root, decode=images is not None, workers=workers)


def _hints(dataset: Dataset, statistics: Statistics, images: Path | None) -> Iterator[str]:
    one_positive = statistics.labels_per_image.tolist()[:2] == [0, statistics.images]
    told = any("--zeros unknown" in note for note in dataset.notes)
    if statistics.regime is Regime.FULL and one_positive and not told:
        yield (
            "every image has one positive and the rest is negative; if unlisted tags may be"
            " present too, read with --absent unknown"
        )
    if images is None and dataset.image_root is None:
        yield "image files were not checked; set their folder with --images"
    elif images is None:
        yield f"image files exist but were not opened; --images {dataset.image_root} opens them"


def _problems_of(error: TagfillError) -> Sequence[Problem]:
    if isinstance(error, LabelError):
        return error.problems
    file = None if error.file is None else str(error.file)
    return [Problem("error", error.message, file, error.row, error.remedy)]


def _show(result: JsonObject) -> None:
    say(*_summary(result))
    if result["splits"]:
        _show_splits(result["splits"])
    _show_classes(result["per_class"])
    say(_labels_per_image(result["labels_per_image"].tolist()))
    pairs = [
        f"{' + '.join(pair['classes'])} {pair['images']:,}"
        for pair in result["co_occurrence"][:SHOWN_PAIRS]
    ]
    say(f"often together: {', '.join(pairs) or 'none'}")
    if result["image_files"] is not None:
        say(_image_files(result["image_files"], result["image_root"]))
    say(*(f"note: {note}" for note in result["notes"]))
    kinds = grouped(result["problems"])
    lines = [f"{problem.severity}: {problem}" for problem in kinds]
    say(*_shortened(lines) or ["no problems found"])


def _show_errors(source: Path, errors: Sequence[Problem]) -> None:
    """Print all reasons why labels cannot be used on stderr."""
    number = f"{len(errors):,} errors" if len(errors) > 1 else "1 error"
    log.print(f"tagfill: {source} cannot be used: {number}")
    for line in _shortened([str(error) for error in grouped(errors)]):
        log.print(f"  {line}")
    log.print("  fix these first; images and the rest are checked after that")


def _shortened(lines: list[str]) -> list[str]:
    """The first lines, and how many there are beyond them."""
    more = len(lines) - SHOWN_PROBLEMS
    rest = [f"... and {more:,} more; --json lists them all"] if more > 0 else []
    return lines[:SHOWN_PROBLEMS] + rest


def _summary(result: JsonObject) -> Iterator[str]:
    entries = result["images"] * result["classes"]
    yield f"{result['source']} ({result['format']})"
    yield (
        f"{result['images']:,} images x {result['classes']:,} classes, regime:"
        f" {result['regime'].replace('_', ' ')}"
    )
    shares = {
        state: f"{100 * result[state] / entries:.1f} %" if entries else "-" for state in STATES
    }
    yield ", ".join(f"{result[state]:,} {state} ({share})" for state, share in shares.items())
    yield (
        f"images confirmed to have none of the classes: {result['confirmed_none']:,},"
        f" with no known label: {result['no_known_label']:,}"
    )
    if result["truth"] is not None:
        yield f"full labels behind them: {result['truth']['positives']:,} positives"


def _show_splits(splits: Mapping[str, JsonObject]) -> None:
    keys = ["images", *STATES, "regime"]
    usual = [name for name in USUAL_SPLITS if name in splits]
    names = dict.fromkeys([*usual, *splits])
    show_table(
        "", ["split", *keys], [[name, *(splits[name][key] for key in keys)] for name in names]
    )


def _show_classes(classes: Sequence[JsonObject]) -> None:
    ranked = sorted(classes, key=lambda row: -row["positives"])
    longest = ranked[0]["positives"] or 1
    rows = [[*row.values(), "▇" * -(-BAR * row["positives"] // longest)] for row in ranked]
    show_table("", ["class", *STATES, ""], rows[:SHOWN_CLASSES])
    if len(ranked) > SHOWN_CLASSES:
        say(f"... and {len(ranked) - SHOWN_CLASSES:,} rarer classes; --json lists them all")


def _labels_per_image(histogram: Sequence[int]) -> str:
    bins = [f"{labels} in {images:,}" for labels, images in enumerate(histogram) if images]
    if len(bins) > SHOWN_BINS:
        bins = [*bins[:SHOWN_BINS], f"... up to {len(histogram) - 1}"]
    return f"positives in an image: {', '.join(bins)} images"


def _image_files(files: JsonObject, root: object) -> str:
    counts = [
        f"{files['checked']:,} image files checked in {root}",
        f"{len(files['missing']):,} missing",
    ]
    if files["opened"]:
        counts.append(f"{len(files['unreadable']):,} unreadable")
        counts.append(f"{len(files['duplicates']):,} groups of identical files")
    if files["smallest"]:
        sizes = ["{} x {}".format(*files[which]) for which in ("smallest", "largest")]
        counts.append(f"sizes {' to '.join(sizes)}")
    return ", ".join(counts)
