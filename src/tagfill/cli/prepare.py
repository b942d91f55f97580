"""`tagfill prepare`: label tables of official downloads with the published splits."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tagfill.cli.labels import counts, save
from tagfill.cli.mask import Settings
from tagfill.cli.options import Force, Json, given
from tagfill.cli.output import emit, log, say, show_table
from tagfill.errors import TagfillError, counted
from tagfill.files import refuse_existing
from tagfill.images import check_images
from tagfill.labels import Dataset
from tagfill.labels.prepare import DIFFERS, SOURCES, Options, Prepared
from tagfill.labels.prepare import prepare as read_official
from tagfill.observe import REGIMES, defaults, make, observe_official

CSV_CELLS = 2_000_000
"""Larger tables are written as parquet."""
_REGIME = (
    "Hide labels of the training images; the full ones go into a second file beside OUT, called"
    f" OUT-truth. One of {', '.join(REGIMES)}."
)
_SUFFIX = {".csv": "csv_wide", ".parquet": "parquet", ".jsonl": "jsonl"}


def prepare(
    name: Annotated[str, Parameter(help=f"One of {', '.join(SOURCES)}.")],
    root: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(alias="-o")] = None,
    regime: Annotated[str | None, Parameter(help=_REGIME)] = None,
    seed: int = 1200,
    settings: Settings = Settings(),  # noqa: B008 - frozen
    options: Annotated[Options, Parameter(name="*")] = Options(),  # noqa: B008 - frozen
    images: Path | None = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make label tables from official downloads (VOC, COCO, NUS-WIDE, CUB).

    The table has the published split, and the order and seed of the papers.

    Args:
        root: Where the download was unpacked, with or without the outer folder.
        out: The file to write: .csv, .parquet or .jsonl. By default NAME.csv, NAME.parquet for
            large tables.
        seed: Seed of that draw; 1200 is the published one.
        images: Folder the image ids are relative to, if it is not found.
    """
    if images is not None and not images.is_dir():
        raise TagfillError("no such image folder", file=images)
    prepared = read_official(name, root, options)
    folder = images or prepared.dataset.image_root
    dataset = replace(prepared.dataset, image_root=folder if folder and folder.is_dir() else None)
    missing = None
    if dataset.image_root is not None:
        checked = check_images(dataset.table.images, dataset.image_root, decode=False)
        missing = len(checked.missing)
    target = _target(out or Path(name), dataset)
    result = {
        "name": name,
        "title": SOURCES[name].title,
        "source": dataset.source,
        "classes": len(dataset.table.classes),
        "images": prepared.sizes,
        "published_images": dict(prepared.expected) or None,
        "split": prepared.split,
        "as_published": prepared.as_published,
        "image_root": dataset.image_root,
        "images_missing": missing,
        **_write(dataset, target, regime, settings, seed, force=force),
        "notes": [*prepared.notes, *_doubts(prepared)],
    }
    emit(result, _show, json=json)


def _target(out: Path, dataset: Dataset) -> Path:
    if out.suffix:
        if out.suffix.lower() not in _SUFFIX:
            known = ", ".join(_SUFFIX)
            raise TagfillError(f"cannot write {out.suffix}", file=out, remedy=f"use {known}")
        return out
    large = dataset.table.values.size > CSV_CELLS
    return out.with_name(out.name + (".parquet" if large else ".csv"))


def _write(
    dataset: Dataset,
    target: Path,
    regime: str | None,
    settings: Settings,
    seed: int,
    *,
    force: bool,
) -> dict[str, Any]:
    """Write the table, or the masked one and the truth beside it."""
    format = _SUFFIX[target.suffix.lower()]
    bare = replace(dataset, boxes=None, truth=None)
    metadata: dict[str, Any] = {"out": target, "format": format, "truth": None, "regime": regime}
    if regime is None:
        if given(settings):
            raise TagfillError("settings of a regime need --regime")
        save(bare, target, format, force=force)
        return {**metadata, "labels": counts(dataset.table)}
    masked = observe_official(dataset, make(regime, given(settings)), seed)
    truth = target.with_name(f"{target.stem}-truth{target.suffix}")
    refuse_existing(target, force=force)
    save(bare, truth, format, force=force)
    save(replace(bare, table=masked.table), target, format, force=force)
    return {
        **metadata,
        "truth": truth,
        "settings": {**defaults(regime), **given(settings)},
        "seed": seed,
        "labels": counts(masked.table.take(masked.splits["train"])),
        "labels_before": counts(dataset.table.take(masked.splits["train"])),
    }


def _doubts(prepared: Prepared) -> list[str]:
    """How the image counts differ from those of the papers."""
    if prepared.split != DIFFERS:
        return []
    sizes, expected = prepared.sizes, prepared.expected
    splits = [
        f"{split} {sizes[split]:,} instead of {expected[split]:,}"
        for split in expected
        if sizes[split] != expected[split]
    ]
    return [f"these are not the published numbers of images: {', '.join(splits)}"]


def _show(result: Mapping[str, Any]) -> None:
    for note in result["notes"]:
        log.print(f"note: {note}")
    if result["images_missing"] is None:
        log.print("note: the image folder was not found; set it with --images")
    elif result["images_missing"]:
        missing = counted(result["images_missing"], "image file is", "image files are")
        log.print(f"warning: {missing} not in {result['image_root']}")
    wanted = result["published_images"] or {}
    rows = [[split, count, wanted.get(split)] for split, count in result["images"].items()]
    classes = counted(result["classes"], "class", "classes")
    split = "not the published one" if result["split"] == DIFFERS else result["split"]
    title = f"{result['title']}, {classes}; split: {split}"
    show_table(title, ["split", "images", "papers"], rows)
    if result["regime"]:
        before, after = result["labels_before"], result["labels"]
        drawn = f"{result['regime']}, seed {result['seed']}, training labels"
        show_table(drawn, ["", "all", "kept"], [[k, before[k], after[k]] for k in after])
    say(f"written: {result['out']}")
    if result["truth"]:
        say(f"full labels: {result['truth']}")
    say(f"next: {_next(result)}")


def _next(result: Mapping[str, Any]) -> str:
    words = ["tagfill", "train", str(result["out"])]
    words += ["--images", str(result["image_root"] or "FOLDER")]
    if result["truth"] is not None:
        words += ["--truth", str(result["truth"])]
    return shlex.join(words)
