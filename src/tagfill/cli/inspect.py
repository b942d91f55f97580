"""`tagfill inspect`: describe a label file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tagfill.cli.labels import AS_USUAL, Reading, metadata
from tagfill.cli.options import Json
from tagfill.cli.output import emit, log, print_json
from tagfill.errors import LabelError, Problem, Problems, TagfillError
from tagfill.images import ImageCheck, check_images
from tagfill.labels import Dataset
from tagfill.labels.cleanup import find_variants, write_aliases
from tagfill.labels.regime import Regime
from tagfill.labels.stats import Statistics
from tagfill.remote import local_images

MOST_PAIRS = 1000


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
    from tagfill.cli.inspect_view import show, show_errors

    problems = Problems()
    try:
        dataset = reading.load(data, problems)
    except TagfillError as error:
        if not json and not problems.errors:
            raise
        problems.entries.extend(_problems_of(error))
    if problems.errors:
        if json:
            print_json({"source": data, "usable": False, "problems": metadata(problems)})
        else:
            show_errors(data, problems.errors)
        return 2
    if propose_aliases is not None:
        _propose(dataset, propose_aliases)
    result = inspected(dataset, reading.images, workers)
    emit(result, show, json=json)
    return 0


def _propose(dataset: Dataset, path: Path) -> None:
    if path.exists():
        raise TagfillError("exists already", file=path, remedy="choose another name")
    variants = find_variants(dataset.table)
    write_aliases(variants, path)
    count = sum(len(group.others) for group in variants)
    log.print(f"{path}: {count} proposed aliases; check them before use")


def inspected(dataset: Dataset, images: Path | None, workers: int | None) -> dict[str, Any]:
    """Everything ``inspect`` reports, as JSON values."""
    total = Statistics.of(dataset.table)
    check = _check(dataset, images, workers)
    return {
        "source": dataset.source,
        "format": dataset.format,
        "usable": True,
        "classes": len(total.classes),
        "class_names": total.classes,
        **_summary(total),
        "splits": {name: _summary(Statistics.of(dataset.split(name))) for name in dataset.splits},
        "truth": None if dataset.truth is None else _summary(Statistics.of(dataset.truth)),
        "per_class": _per_class(total),
        "labels_per_image": total.labels_per_image,
        "co_occurrence": [
            {"classes": [first, second], "images": count}
            for first, second, count in total.top_pairs(MOST_PAIRS)
        ],
        "classes_without_positive": total.without_positive,
        "classes_without_negative": total.without_negative,
        "variants": [asdict(group) for group in find_variants(dataset.table)],
        "boxes": None if dataset.boxes is None else len(dataset.boxes),
        "image_root": images or dataset.image_root,
        "image_files": None if check is None else _files(check),
        "content_hash": dataset.table.content_hash,
        "problems": metadata([*dataset.problems, *(check.problems if check else ())]),
        "notes": [*dataset.notes, *_hints(dataset, total, images)],
    }


def _summary(statistics: Statistics) -> dict[str, Any]:
    return {
        "images": statistics.images,
        "positives": statistics.positives,
        "negatives": statistics.negatives,
        "unknowns": statistics.unknowns,
        "confirmed_none": statistics.confirmed_none,
        "no_known_label": statistics.no_known_label,
        "regime": statistics.regime,
    }


def _per_class(statistics: Statistics) -> list[dict[str, Any]]:
    columns = zip(
        statistics.classes,
        statistics.class_positives.tolist(),
        statistics.class_negatives.tolist(),
        statistics.class_unknowns.tolist(),
        strict=True,
    )
    return [
        {"class": name, "positives": positives, "negatives": negatives, "unknowns": unknowns}
        for name, positives, negatives, unknowns in columns
    ]


def _check(dataset: Dataset, images: Path | None, workers: int | None) -> ImageCheck | None:
    """Open all images of a named folder; of an implied folder, only check that they exist."""
    root = images or dataset.image_root
    if root is not None:
        root = local_images(root, dataset.table.images)
    if root is None or (images is None and not root.is_dir()):
        return None
    return check_images(dataset.table.images, root, decode=images is not None, workers=workers)


def _files(check: ImageCheck) -> dict[str, Any]:
    return {name: value for name, value in vars(check).items() if name != "problems"}


def _hints(dataset: Dataset, statistics: Statistics, images: Path | None) -> Iterator[str]:
    one_positive = statistics.labels_per_image.tolist()[:2] == [0, statistics.images]
    if statistics.regime is Regime.FULL and one_positive:
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
