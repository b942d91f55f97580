"""PASCAL VOC: the devkit, and folders of annotation files in its XML.

Of a devkit, the class lists of ``ImageSets/Main`` are read, and boxes from ``Annotations``. In the
lists 1 means the image shows the class, -1 that it does not, and 0 that it shows only objects
marked difficult, which by the challenge's rule are no positives. Images without lists are labeled
by their annotations and the same rule.

LabelImg, Roboflow and others write annotation files without such lists, beside the images or in a
folder of their own. An annotated image shows no other classes; of an image without annotation
nothing is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import defusedxml
import defusedxml.ElementTree

from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._folders import folders_below, labeled_images, split_of
from tagfill.labels.formats._text import head, text_lines
from tagfill.labels.formats.base import Difficult, Format, Source
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

BROKEN = (
    defusedxml.ElementTree.ParseError,
    defusedxml.DefusedXmlException,
    ValueError,
    LookupError,  # an encoding nobody knows
)
_DIFFICULT: dict[Difficult, int] = {
    "negative": NEGATIVE,
    "positive": POSITIVE,
    "unknown": UNKNOWN,
}
"""The label of a class with no objects but difficult ones."""
_LOOKED_AT = 5
_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_YEAR = re.compile(r"VOC\d{4}")


@dataclass(frozen=True)
class Annotation:
    """One annotation file.

    Args:
        image: the name of the image.
        size: its width and height in pixels.
        labels: of all classes seen: positive, unless all objects of the class are difficult.
        boxes: classes and corners, in pixels, of the objects that count.
        difficult: how many objects are marked so.
    """

    image: str
    size: tuple[float, float]
    labels: dict[str, int]
    boxes: list[tuple[str, tuple[float, ...]]]
    difficult: int


def _read_annotation(file: Path, source: Source) -> Annotation | None:
    """Read one annotation file; ``None`` (and an error) if it is broken."""
    counts_as = _DIFFICULT[source.options.difficult]
    labels: dict[str, int] = {}
    boxes: list[tuple[str, tuple[float, ...]]] = []
    difficult = 0
    try:
        root = defusedxml.ElementTree.parse(file).getroot()
        size = (_number(root, "size/width"), _number(root, "size/height"))
        for thing in root.iter("object"):
            name = (thing.findtext("name") or "").strip()
            if not name:
                raise ValueError("an object has no name")
            left, top, right, bottom = (_number(thing, f"bndbox/{side}") for side in _CORNERS)
            value = counts_as if _number(thing, "difficult") else POSITIVE
            difficult += _number(thing, "difficult") != 0
            labels[name] = POSITIVE if value == POSITIVE else labels.get(name, value)
            if value == POSITIVE:
                # Pixels count from 1 in VOC, and the last one belongs to the box.
                boxes.append((name, (left - 1, top - 1, right, bottom)))
    except BROKEN as error:
        source.problems.error(f"not readable as a VOC annotation ({error})", file=file)
        return None
    return Annotation((root.findtext("filename") or "").strip(), size, labels, boxes, difficult)


def _number(element: Element, path: str) -> float:
    number = float(element.findtext(path) or 0)
    if not math.isfinite(number):
        raise ValueError(f"{path} is not a number")
    return number


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


def _read(source: Source) -> Dataset:
    devkit = find_devkit(source.path)
    if devkit is None:
        raise source.refusal("no VOC devkit here (Annotations and ImageSets/Main)")
    split_of, folder = _splits(devkit), devkit / "Annotations"
    codes = _class_lists(devkit, sorted(set(split_of.values())), source)
    annotations: dict[str, Annotation] = {}
    files = {file.stem: file for file in folder.glob("*.xml") if file.is_file()}
    for stem in sorted(split_of) or sorted(files):
        annotation = _read_annotation(files[stem], source) if stem in files else None
        if annotation is not None:
            annotations[stem] = annotation
            codes.setdefault(stem, annotation.labels)
    builder = LabelBuilder(source)
    builder.absent = None
    hard = sum(annotation.difficult for annotation in annotations.values())
    unlabeled = sum(stem not in codes for stem in split_of)
    unlisted = len(files) - len(annotations) if split_of else 0
    remarks = {
        f"{hard} objects are marked difficult; images with no other of the class count as"
        f" {source.options.difficult} (--difficult changes this)": True,
        f"{unlabeled} images have neither class lists nor annotations: labels unknown": unlabeled,
        f"{unlisted} annotated images are in no image set and were skipped": unlisted,
        "--absent has no effect here: VOC states negatives": source.options.absent,
    }
    builder.notes += [remark for remark, applies in remarks.items() if applies]
    classes = sorted({name for labels in codes.values() for name in labels})
    label_of = {name: builder.label(name) for name in classes}
    for stem in sorted(split_of or annotations):
        record = builder.record(f"{stem}.jpg")
        builder.split(record, split_of.get(stem, ""))
        for name in classes if stem in codes else ():
            builder.mark(record, label_of[name], codes[stem].get(name, NEGATIVE))
        if stem in annotations:
            for name, corners in annotations[stem].boxes:
                builder.boxes.add(record, label_of.get(name), corners, annotations[stem].size)
    return builder.dataset(devkit / "JPEGImages")


def _splits(devkit: Path) -> dict[str, str]:
    main = devkit / "ImageSets" / "Main"
    names = [name for name in ("train", "val", "test") if (main / f"{name}.txt").is_file()]
    if (main / "trainval.txt").is_file() and not {"train", "val"} & set(names):
        names.append("trainval")
    return {line.split()[0]: name for name in names for _, line in text_lines(main / f"{name}.txt")}


def _class_lists(devkit: Path, splits: Iterable[str], source: Source) -> dict[str, dict[str, int]]:
    """Labels by image, then class."""
    difficult = _DIFFICULT[source.options.difficult]
    meaning = {"1": POSITIVE, "-1": NEGATIVE, "0": difficult}
    codes: dict[str, dict[str, int]] = {}
    for split in splits:
        for file in sorted((devkit / "ImageSets" / "Main").glob(f"*_{split}.txt")):
            name = file.name.removesuffix(f"_{split}.txt")
            for row, line in text_lines(file):
                stem, *rest = line.split()
                if len(rest) != 1 or rest[0] not in meaning:
                    source.problems.error("expected an image and 1, 0 or -1", file=file, row=row)
                    continue
                codes.setdefault(stem, {})[name] = meaning[rest[0]]
    return codes


def _files(path: Path) -> Iterator[PurePosixPath]:
    for folder, names in folders_below(path):
        yield from (folder / name for name in names if name.lower().endswith(".xml"))


def _detect_files(path: Path) -> bool:
    if path.is_file():
        return path.suffix.lower() == ".xml" and _is_annotation(path)
    files = [path / file for file in islice(_files(path), _LOOKED_AT)] if path.is_dir() else []
    if not files or not all(map(_is_annotation, files)):
        return False
    folder, home = files[0].parent, files[0].parent.parent
    lists = (home / "ImageSets").is_dir() or (home / "JPEGImages").is_dir()
    return not (folder.name == "Annotations" and lists)


def _is_annotation(file: Path) -> bool:
    text = head(file)[:2000]
    return "<annotation" in text and "<annotations" not in text


def _read_files(source: Source) -> Dataset:
    path = source.path
    folder = path if path.is_dir() else path.parent
    images = _images(path, folder)
    if not images:
        raise source.refusal("it has no annotation files")
    builder = LabelBuilder(source)
    unlabeled: list[int] = []
    for image, file in images.items():
        annotation = None if file is None else _read_annotation(file, source)
        named = annotation.image if annotation and not image.suffix else ""
        record = builder.record(named or str(image))
        builder.split(record, split_of(image))
        if annotation is None:
            unlabeled.append(record)
            continue
        for name, value in annotation.labels.items():
            builder.mark(record, builder.label(name), value)
        for name, corners in annotation.boxes:
            builder.boxes.add(record, builder.label(name), corners, annotation.size)
    builder.close_world(except_for=unlabeled)
    return builder.dataset(folder if path.is_dir() else None)


def _images(path: Path, folder: Path) -> dict[PurePosixPath, Path | None]:
    """All images with their annotations; of annotations without image, the name without suffix."""
    if path.is_file():
        return {PurePosixPath(path.stem): path}
    images = dict(labeled_images(folder, [".xml", ".XML"]))
    known = set(images.values())
    for file in _files(folder):
        if folder / file not in known:
            images[file.with_suffix("")] = folder / file
    return images


FORMATS = (
    Format(
        "voc",
        "PASCAL VOC devkit folder",
        lambda path: path.is_dir() and find_devkit(path) is not None,
        _read,
        default_absent=None,
    ),
    Format(
        "voc_xml",
        "folder of PASCAL VOC annotation files (XML), without a devkit",
        _detect_files,
        _read_files,
        default_absent="negative",
    ),
)
