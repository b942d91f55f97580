"""PASCAL VOC devkit: the class lists of ``ImageSets/Main``, boxes from ``Annotations``.

In the lists 1 means the image shows the class, -1 that it does not, and 0 that it shows only
objects marked difficult, which by the challenge's rule are no positives. Images without lists are
labeled by their annotations and the same rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._text import text_lines
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.formats.voc_xml import DIFFICULT, Annotation, read_annotation
from tagfill.labels.table import NEGATIVE, POSITIVE

_YEAR = re.compile(r"VOC\d{4}")

Codes = dict[str, dict[str, int]]
"""Label by image, then class."""


def find_devkit(path: Path) -> Path | None:
    """The folder ``VOC20xx`` that a path is, or of which it is the parent or grandparent."""
    for base in (path, path / "VOCdevkit"):
        years = sorted(year for year in base.glob("VOC*") if _YEAR.fullmatch(year.name))
        devkits = [folder for folder in (base, *years) if _is_devkit(folder)]
        if len(devkits) > 1:
            names = ", ".join(devkit.name for devkit in devkits)
            raise TagfillError(f"it has several years: {names}", file=base, remedy="name one")
        if devkits:
            return devkits[0]
    return None


def _is_devkit(path: Path) -> bool:
    places = (path / "ImageSets" / "Main", path / "JPEGImages")
    return (path / "Annotations").is_dir() and any(place.is_dir() for place in places)


def _detect(path: Path) -> bool:
    return path.is_dir() and find_devkit(path) is not None


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    devkit = find_devkit(path)
    if devkit is None:
        raise TagfillError("no VOC devkit here (Annotations and ImageSets/Main)", file=path)
    split_of = _splits(devkit)
    difficult = DIFFICULT[options.difficult]
    codes = _class_lists(devkit, sorted(set(split_of.values())), difficult, problems)
    annotations = _annotations(devkit, split_of, problems)
    for stem, annotation in annotations.items():
        codes.setdefault(stem, annotation.codes(difficult))
    classes = sorted({name for labels in codes.values() for name in labels})
    builder = LabelBuilder(path, replace(options, absent=None), problems)
    builder.notes += _notes(devkit, options, split_of, codes, annotations)
    label_of = {name: builder.label(name) for name in classes}
    for stem in sorted(split_of or annotations):
        record = builder.record(f"{stem}.jpg")
        builder.split(record, split_of.get(stem, ""))
        if stem in codes:
            for name in classes:
                builder.mark(record, label_of[name], codes[stem].get(name, NEGATIVE))
        for item in annotations[stem].objects if stem in annotations else ():
            if not item.difficult or difficult == POSITIVE:
                builder.boxes.add(
                    record, label_of.get(item.name), item.corners, annotations[stem].size
                )
    return builder.dataset(FORMAT.name, devkit / "JPEGImages")


def _splits(devkit: Path) -> dict[str, str]:
    main = devkit / "ImageSets" / "Main"
    names = [name for name in ("train", "val", "test") if (main / f"{name}.txt").is_file()]
    if (main / "trainval.txt").is_file() and not {"train", "val"} & set(names):
        names.append("trainval")
    return {line.split()[0]: name for name in names for _, line in text_lines(main / f"{name}.txt")}


def _class_lists(devkit: Path, splits: Iterable[str], difficult: int, problems: Problems) -> Codes:
    meaning = {"1": POSITIVE, "-1": NEGATIVE, "0": difficult}
    codes: Codes = {}
    for split in splits:
        for file in sorted((devkit / "ImageSets" / "Main").glob(f"*_{split}.txt")):
            name = file.name.removesuffix(f"_{split}.txt")
            for row, line in text_lines(file):
                stem, *rest = line.split()
                if len(rest) != 1 or rest[0] not in meaning:
                    problems.error("expected an image and 1, 0 or -1", file=file, row=row)
                    continue
                codes.setdefault(stem, {})[name] = meaning[rest[0]]
    return codes


def _annotations(devkit: Path, wanted: Iterable[str], problems: Problems) -> dict[str, Annotation]:
    folder = devkit / "Annotations"
    stems = sorted(wanted) or sorted(file.stem for file in folder.glob("*.xml"))
    annotations = {}
    for stem in stems:
        file = folder / f"{stem}.xml"
        if file.is_file():
            annotation = read_annotation(file, problems)
            if annotation is not None:
                annotations[stem] = annotation
    return annotations


def _notes(
    devkit: Path,
    options: ReadOptions,
    split_of: dict[str, str],
    codes: Codes,
    annotations: dict[str, Annotation],
) -> list[str]:
    hard = sum(item.difficult for annotation in annotations.values() for item in annotation.objects)
    notes = [
        f"{hard} objects are marked difficult; images with no other of the class count as"
        f" {options.difficult} (--difficult changes this)"
    ]
    bare = sum(stem not in codes for stem in split_of)
    if bare:
        notes.append(f"{bare} images have neither class lists nor annotations: labels unknown")
    unlisted = sum(1 for _ in (devkit / "Annotations").glob("*.xml")) - len(annotations)
    if split_of and unlisted > 0:
        notes.append(f"{unlisted} annotated images are in no image set and were skipped")
    if options.absent:
        notes.append("--absent has no effect here: VOC states negatives")
    return notes


FORMAT = Format(
    name="voc",
    title="PASCAL VOC devkit folder",
    detect=_detect,
    read=_read,
)
